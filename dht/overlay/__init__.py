"""Who is responsible for a key: lookups, what they found, and the way into the network and back.

Open overlay.py first, then lookup.py.
"""
