"""What a peer counts, and what one that traces records.

Open status.py first for the counters, tracing.py for traces: what it hears of, which trace.py puts in columns and trace_recorder.py
writes. inspection.py looks into queries and what they hold.
"""
