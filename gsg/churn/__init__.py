"""Peers come, go and die: keys change hands, and what comes to a peer that is no holder any more goes on.

Open handover.py first, then plan.py, which decides who is sent what. forward_facts.py and forward_events.py pass on what comes to
another than the primary meanwhile, in the order of forward_queue.py, and unknown_holders.py holds back what comes before the
holders are known. heartbeats.py finds links that are gone, and pauses.py that this peer itself was stopped. Whose a key is, without
the work, is gsg/placement/responsibility.py.

How it works:

When a peer hears of a newcomer, it looks for keys that are the newcomer's by now (gsg/churn/handover.py):

1. it sends their facts over (Replicate), and waits until they are acknowledged;
2. it tells the feeds of those keys to follow (Moved); a subscriber sets up a feed at the new holder beside the old one, and ends
   the old one when the new one is whole; the snapshot may be older than what the old one has told meanwhile, so of that its word
   counts until the new holder has been heard out (gsg/feeds/alpha_memory.py);
3. it drops the facts when no feed needs them there any more.

For 90 seconds after a newcomer was heard of, a message for a key that has moved is forwarded to its new holder
(gsg/churn/forward_facts.py, of events gsg/churn/forward_events.py). A condition for a key that another peer holds is answered
with that holder's address (NotHere). What was retracted at the new holder meanwhile is remembered, so that a fact does not come
back with a key handed over late. A peer that is stopped hands over all it holds in the same way before it goes, for ten seconds
at most; a second Ctrl-C skips that.

When peers come and die, each peer looks through the keys that it holds (gsg/churn/handover.py): of the holders that a key has
kept, the closest sends what is known of it to the new ones, and the feeds follow the primary. New is whoever was not among the
three closest when all that died of late still lived, in whatever order they died and were missed (gsg/churn/plan.py); where that
is every one of them, each sends what it has. Who died counts for two minutes, since of many that die at one moment one may be
missed much later than the others, and may be the one that was to send. A newcomer is sent its keys at once; who mostly has a key
already, as where one holder dies after the other, is asked first by a digest whether anything differs
(gsg/replication/copying.py), so what each has confirmed need not be remembered. A holder that takes more than two seconds is
waited for beside the next look. Where so many have died that a peer does not know any more who holds a key, it asks; what was not
confirmed is sent again, for a minute at most after everything else has settled. A peer that answers in another life than before
is told like one that came: it may have lost its disk, and be back before it was missed. Whoever it calls at when it starts learns
that at once, as the introduction of a later life proves itself (dht/datagrams/sealed_datagrams.py); others see it by the
incarnation in its answers. All links to it are asked then whether they stand: one to its former life may not have broken, as
where its machine lost power, and what was sent by it is nothing to wait for. Where all holders of a key die at one moment, what
lay under it is gone there, and comes back from the other keys of its facts: their primaries tell of them round after round
(gsg/replication/restoring.py). A fact is lost when the holders of all of its keys die at once.

A peer may be stopped itself, by SIGSTOP, by a machine without time for it, or by too much work at a stretch. When it goes on, the
timers that are overdue are called before anything is read that has come meanwhile. So whoever takes silence for something looks
whether its timer is late by more than half a second, and waits once more (dht/liveness/late_timers.py): dials, answers, holders
that owe a confirmation, snapshots, heartbeats, what is held for its order, and clients of Pedro that leave much unread. Each
waits anew only after another pause, and timers three times at most. A dial in which nothing came from anybody is repeated once
besides, as it may be this side that does not get to reading.

After more than 5 s others may have taken the peer for dead, ended its links and taken over its keys, of which it has seen
nothing. So it goes on like one that has just come: for 90 s its events go by all holders of their keys, what comes to it goes on
to these, and facts are compared before a snapshot (gsg/churn/pauses.py). The same goes for a machine that slept, although most of
its clocks did too.
"""
