"""Who lives: probes, suspicions, deaths and refutations (SWIM).

Open swim.py first, which decides; failure_detector.py carries it out.
"""
