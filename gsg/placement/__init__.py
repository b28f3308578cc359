"""Who holds which key, where a template is posted, and how sure that is.

Open holders.py first: it asks the overlay which peers are closest to a key (dht/overlay/owner_cache.py), and remembers it. rules.py
has the decisions about anchors, as pure functions that the simulation imports too; responsibility.py says which keys are this
peer's own, and whether that is changing; anchors.py chooses where a template is posted.
"""
