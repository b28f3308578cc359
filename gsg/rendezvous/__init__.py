"""Where tuples meet templates: what is posted here, what matches, and what leaves for subscribers.

Open rendezvous.py first, then postings.py and matching.py. A published tuple is matched in Rendezvous.deltas and in matching.py.
"""
