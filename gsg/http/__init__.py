"""The HTTP door of a peer: a WebSocket for clients, and the status as JSON for people and scripts.

Open next: protocol.py (what is said), session.py (one client of the door), client.py (the other end). Clients import the protocol;
the server's packages are loaded with door.py.
"""
