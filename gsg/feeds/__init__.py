"""What rendezvous send to a subscriber's peer, kept as alpha memories, in the order of each publisher.

Open feeds.py first (where each template is posted, and when its rendezvous changes), then alpha_memory.py.

A feed may come by way of another subscriber, and this peer may pass one on: by_heads/.

How it works:

A link keeps the order of what goes over it, so what goes by one rendezvous needs nothing more. What a publisher sends by several
rendezvous may overtake itself on the way, and is put in order again where it comes together (gsg/feeds/publisher_order.py,
gsg/rendezvous/progress.py, gsg/feeds/ordered_delivery.py).

* The peer of a publisher counts what it sends, one number for an event and one for the facts of each call in each message, and
  remembers the last number that went to each rendezvous. Each Flash and Publish says so of the *other* rendezvous, and the
  Happened and Deltas that come of it say it too. Those of one call that carries events are named as well, so that events which
  alternate between two rendezvous are merged.
* The peer of a subscriber knows how far each link has come with each publisher. Where a message names a rendezvous that feeds
  this peer as well, and that link has not come so far, the message is held, and the rendezvous is asked: has everything up to
  this number passed by you?
* It answers when that is so, on the same link, behind all that it forwarded; what it had to forward to others only, or to nobody,
  is thereby known to be nothing that one must wait for.
* What is held leaves in the order of the numbers, each when all that may come before it has arrived or is known not to come.

How far a link has come counts by arrival, whether what arrived is held or not, so two messages may name each other. A publisher
that has used one rendezvous of late names none, and then nothing is held and nobody is asked. The wait costs one round trip at
most where the other rendezvous is no slower, and publishers do not wait for each other, with one exception. Facts of several
publishers come by one feed, and what happens to one fact there is told in the order of the feed, whoever said it, or the answer
would be wrong: a change waits behind one that is held and concerns the same fact. What a feed brings without saying whose word it
is, as a holder does that has handed its key on, may be that of somebody of whom something is held: it waits for all that is held
of that feed, and what the feed brings afterwards waits for it. Nothing is waited for longer than 5 seconds: a link that breaks
ends the waiting for it at once, and where a rendezvous stays silent, or a publisher has died between two messages, what is held
is delivered by number without what is missing, which is counted and logged.

A fact that no feed has any more, though nobody said that it went, is *left over*: its peer is gone, or has handed it over, while
what its other holders have said of it may be unread, as where the subscriber has read nothing for seconds. So every peer that
feeds the template is asked whether that was all, and those are waited for at which it is just being posted, also in the place of
a feed whose link breaks meanwhile. When all that they had said by then is told, also what had to wait for its turn, the row goes
if none has the fact. That is one small message and its answer for each of these peers, for all facts that are left over together,
and nothing where another feed has them. It takes 30 s at most, or twice that where others are being heard out already; a row that
only a peer has which was silent for so long goes then, and comes back when that is heard of. Templates with constants need none
of this: they have one feed, whose snapshot is asked for after the one that it replaces was lost, of a peer that has compared it
with the other holders.
"""
