"""The HTTP door of a peer: a WebSocket for clients, and the status as JSON for people and scripts.

Open next: protocol.py (what is said), session.py (one client), door.py (the server). Clients import the protocol alone; the
server's packages are loaded with door.py.
"""
