"""From a call to one message for each holder: in order, in batches, and events only where somebody may want them.

Open publisher.py first, then batches.py; quenching.py says which events go where.
"""
