"""A client of a peer's HTTP door: :func:`connect` in Python, and what the command ``gsg`` is made of.

Open next: client.py (the verbs), peer_connection.py (requests and their answers over one WebSocket), subscription.py (one standing
query). What is said is in ../protocol.py. Nothing of the door itself is imported here.
"""

from .client import Client, connect

__all__ = ["Client", "connect"]
