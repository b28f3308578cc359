"""The HTTP door of a peer: a WebSocket for clients (protocol.py), and the status as JSON for people and scripts.

Open next: protocol.py (what is said), session.py (one client), door.py (the server).
"""

from .door import HttpDoor

__all__ = ["HttpDoor"]
