"""Where tuples meet templates: what is posted here, what matches, and what leaves for subscribers.

    facts     rendezvous.py (they come and go, and are matched) ──> feed.py (deltas) ──────────────┐
    events    time_slices.py ──> matching.py ──────────────────────────────────────────────────────├──> delivery.py
    snapshots snapshot_queue.py ──> snapshot.py ───────────────────────────────────────────────────┘
    posted    conditions.py ──> postings_by_key.py ──> postings.py, with demands.py and condition_tests.py

Open rendezvous.py first: in Rendezvous._match_fact a published fact is matched, in EventBatch._match of matching.py an event.
What a link does not take, or did not bring when it broke, is in slow_links.py and broken_links.py; interest.py tells publishers
what is asked for here, progress.py how far each of them has come.
"""
