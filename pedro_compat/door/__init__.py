"""The door: the protocol of the Pedro server, in front of a peer.

Open door.py first, then connection.py and commands.py.
"""
