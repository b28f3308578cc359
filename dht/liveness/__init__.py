"""Who lives: probes, suspicions, deaths and refutations (SWIM, with Lifeguard's local health).

Open swim.py first, which decides without I/O by the states in members.py; failure_detector.py carries out what it orders.
late_timers.py serves everybody who takes silence for something.
"""
