"""What a peer says of itself: figures, health, and what one that traces records.

Open metrics.py first for what each figure is, status.py for the counters, health.py for what probes are told, and tracing.py for
traces: what it hears of, which trace.py puts in columns and trace_recorder.py writes. inspection.py looks into queries.
survey.py asks all peers, vocabulary.py for the constants of their facts, and shared_walk.py is how a peer counts what it holds.
spans.py makes spans of OpenTelemetry, and span_export.py sends them.
"""
