"""What a peer counts, and what one that traces records.

Open status.py first for the counters, tracing.py for traces.
"""
