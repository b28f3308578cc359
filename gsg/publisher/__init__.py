"""From a call to one message for each holder: in order, in batches, and events only where somebody may want them.

Open publisher.py first, then batches.py; quenching.py says which events go where.

How it works:

A peer that publishes events asks each other peer under which keys something is posted there, and sends an event only by those.
The answer is a lease of ten seconds, renewed while events are published; while it lasts, a rendezvous tells of each key that
comes into use, and answers its subscriber, and whoever else subscribes meanwhile, only when that was acknowledged. So a
subscription that was acknowledged is never passed over, and what nobody asks for does not travel. A peer that has not answered,
or not in time, is sent all that belongs to its keys, and the others still what they ask for. For 90 seconds after peers came or
went everything is sent, as keys may be changing hands. An event all of whose keys are this very peer's is matched at once,
without a message and without encoding (gsg/local_events.py). One that has to be tried for very many templates is matched in
slices of some milliseconds (gsg/rendezvous/matching.py), at its own peer's door as where it comes by a link
(gsg/rendezvous/time_slices.py); others have their turn between, and what its publisher says next waits behind it. The same holds
for facts: those of one message come and go in slices, and a subscriber is told with each that more of the message follows. What a
client or a program publishes in one call goes in parts of a thousand tuples (gsg/publisher/caller.py), and what others publish
goes between two of them.
"""
