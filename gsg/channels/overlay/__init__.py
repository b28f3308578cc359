"""Channels at peers, which find each other without being linked: an event's fields are its features.

    event ──features.py──> one tuple for each feature that somebody asks for ──> their rendezvous ──test──> channels at other peers
    subscription ──postings.py──> posted under the rarest of its features, with its test (event_tests.py)

An event has as features each of its fields, each of them with its value, and that it is an event. A condition is posted under one
that every event has of which it holds (DESIGN section 1). Other doors see events as tuples too (event_tuples.py), and what they say
of the form ``event([type = error])`` is an event here. Open overlay.py first, which does it.
"""
