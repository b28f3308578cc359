"""How the events of a topic spread among its members: along a tree that mends itself (Plumtree). Open diffusion.py.

arrivals.py says how long an event is waited for before it is asked for, source.py what is known of one source.
"""
