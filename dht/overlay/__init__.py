"""The overlay: who is responsible for a key, and how a peer enters the network and finds its way back.

Open overlay.py first, which puts the parts together: one lookup is lookup.py, without I/O; what lookups found is remembered in
owner_cache.py; joining.py calls at the addresses that the user gives and at those of address_book.py.
"""
