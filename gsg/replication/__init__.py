"""A change of a fact at all holders of its keys, and holders that compare what they have.

Open changes.py first: the primary makes a change, tells the others and answers when all have it. deaf_holders.py sets aside those
that take none. copying.py tells a holder what it lacks of some keys; anti_entropy.py, with digests.py, finds what that is in the
end, whatever went wrong, restoring.py what is gone under one key of a fact and not under the others, and catching_up.py what a
peer has missed before it answers who subscribes.

How it works:

A change has one stamp, from its publisher, under all keys of its fact, so that primaries that know nothing of each other agree on
which of two changes is the later one. Where the contrary has happened later by the time that a change arrives, as its primary or
another of its holders knows, it is not made; its publisher is told, and sends the fact again with a stamp that is later still. So
whoever speaks after another was acknowledged has the last word, whatever the clocks of the two say, and of several who speak at
once somebody has it, under all keys alike.

A holder that is slow is waited for, as long as it confirms one thing after the other. One that owes an answer and has given none
for 5 s, though it may answer datagrams, or that refuses a change because its disk fails, is *set aside* by the primary: the next
closest peer takes its place, gets the change before it is acknowledged, and everything else that it should have soon after. What
other holders tell a peer whose disk fails it knows meanwhile, in memory, and does not acknowledge: it may be the primary, and
whoever subscribes there is to have what is acknowledged elsewhere. So a holder that reads nothing keeps publishers waiting for 5
s once, and not for each change. It is asked again and again whether it takes changes, after 30 s without a word by a new link;
when it confirms that it does, it is told all of its keys, and is a holder again. Whoever stood in for it lets go of a key only
when all holders have confirmed that they have it. Only this primary sees it so: who is primary, and where subscribers are fed,
does not change by it.

A change is never acknowledged with fewer than a majority of the holders that there would be if none were set aside, so that a
primary whose words reach nobody does not take itself for alone. If that does not come about within 20 s, the publisher is told
that the change was not acknowledged, and which holder did not confirm.

A stamp is the time of a hybrid logical clock (gsg/storage/clock.py): later than every stamp that its publisher or its primary has
heard of, whatever the clocks of the peers say, up to a year apart; one that is farther ahead is damage, and refused, except by a
peer whose own clock was never set. A peer that was stopped and is back says what is later by 30 s than its own clock and than the
latest time that it knew of, until its clock has caught up: where all were stopped, it acknowledges changes while those are still
away who know what was said before, and their clocks may have been ahead. Peers tell each other every 10 s what time has been used
(gsg/churn/heartbeats.py), and keep it, so that one whose clock is hours ahead is known to be so also by those who hold nothing.
Of two changes of one fact the later one counts at every holder, so it does not matter in which order they arrive, or how often.
Any peer says who holds a key, by a lookup, and what lies under it there (Client.keys, Peer.inside.keys). What went is remembered
as a tombstone for an hour (gsg/storage/tombstones.py), so that a peer that was away does not bring it back. A tombstone outlives
its fact, and a key names what may be gone: so no term in them is longer than 256 bytes as encoded, in memory, on the wire and on
disk, and in the place of a longer constant stands its hash (gsg/tuples/long_constants.py: BLAKE2b, 160 bits, and the length).
Short facts stand for themselves, which costs nothing; of a long one each holder that is told of the tombstone finds the fact by
the hashes among those that it holds. A retraction itself carries the fact, as its publisher says it, and so do the messages by
which a primary tells it on. A long fact lies once at a holder, however many of its keys it holds.

Beside that, holders of the same keys compare digests every ten seconds and send each other what differs
(gsg/replication/anti_entropy.py), whatever went wrong before; what lies at a peer that is no holder of its key is handed over to
the holders then. A digest is a sum of one number for each fact, made of the fact and its stamp; of keys with many facts it is
remembered, and only what came or went since is added or taken off (gsg/storage/checksums.py), so that a key that grows costs what
it grows by. Tombstones are compared as well, by quarters of an hour of their stamps, from the first one of which neither of the
two has forgotten any: since each peer forgets them an hour after it has heard of them, they would differ for ever otherwise. Keys
that have just changed are left to the next round, as what changed is on its way to all holders; where a range of keys differs
three times running, those that never stand still are compared too, by what was there ten seconds ago, the less often the more
lies under them. Of ranges in which something changes all the time, so many are looked into in each round as hold 50,000 keys, in
turn: what repair costs under load does not follow from how much is stored.
"""
