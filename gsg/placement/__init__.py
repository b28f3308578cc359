"""Who holds which key, where a template is posted, and how sure that is.

Open rules.py first: the decisions, as pure functions that the simulation imports too. holders.py asks the overlay and remembers;
responsibility.py says what of it is this peer's own, and whether that is changing; anchors.py chooses where a template is posted.
"""
