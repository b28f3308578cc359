"""Peers come, go and die: keys change hands, and what comes to a peer that is no holder any more goes on.

Open handover.py first, then plan.py, which decides who is sent what. forward_facts.py and forward_events.py pass on what comes to
another than the primary meanwhile, in the order of forward_queue.py, and unknown_holders.py holds back what comes before the
holders are known. heartbeats.py finds links that are gone, and pauses.py that this peer itself was stopped. Whose a key is, without
the work, is gsg/placement/responsibility.py.
"""
