"""A client of a door, or of an original Pedro server.

Open client.py first; blocking.py is the same without async.
"""
