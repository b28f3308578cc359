"""Where tuples meet templates: what is posted here, what matches, and what leaves for subscribers.

    facts     rendezvous.py (they come and go, and are matched) ──> feed.py (deltas) ──────────────┐
    events    time_slices.py ──> matching.py ──────────────────────────────────────────────────────├──> delivery.py
    snapshots snapshot_queue.py ──> snapshot.py ───────────────────────────────────────────────────┘
    posted    conditions.py ──> postings_by_key.py ──> postings.py, with demands.py and condition_tests.py

Where very many ask for the same, some of them pass it on to the others: fan_out/.

Open rendezvous.py first: in Rendezvous._match_fact a published fact is matched, in EventBatch._match of matching.py an event.
What a link does not take, or did not bring when it broke, is in slow_links.py and broken_links.py; interest.py tells publishers
what is asked for here, progress.py how far each of them has come.

How it works:

What one tuple decides by itself travels with the condition as a *test*, and is evaluated at the rendezvous before the network
pays for the tuple. A FILTER that reads the variables of one condition is such a test if it costs little whatever the tuple is:
comparison, logic, arithmetic, kinds of terms, plain functions of texts, numbers and dates
(gsg/languages/expressions/portable.py). It becomes a part of the definition of an alpha memory, beside the template: equal tests
of many subscribers are posted once, and their variables' names do not matter. The parts of && are tests of their own, and what
the right side of an OPTIONAL decides by itself is decided there. Patterns (REGEX, REPLACE), hashes, EXISTS, and what reads
several conditions are evaluated by the subscriber's peer. Under a window of so many events a FILTER is evaluated after the
window, so that the window counts what its condition matches.

A test comes as a text from a stranger, so its size, its depth and its functions are checked before it is posted, and whatever it
does the tuple does not match and the peer goes on. The goals of Pedro's subscriptions travel in the same way. A package registers
the functions that understand its tests under the entry point group gsg.tests; FILTERs are understood by every peer
(gsg/rendezvous/condition_tests.py).

What has arrived of events a subscriber's peer acknowledges, ten times a second or every 64 messages (gsg/feeds/acknowledging.py),
so a rendezvous knows what a link that breaks has not brought. For twenty seconds the feeds of such a link stay, for events alone,
also those that only stood by, and what they match is kept with it (gsg/rendezvous/broken_links.py). When the subscriber's peer
posts a template anew, it names the feeds in whose place the new feed is, and is told what those had not brought; what it knows
already it knows again by its number. What other rendezvous bring meanwhile waits for that, a second at most, where a publisher
said it later. Each such event says how late it is, so that a query that was asked since does not hear of it.
"""
