"""A client of a peer's HTTP door: :func:`connect` and :class:`Client` in Python, and what the command ``gsg`` is made of.

Open next: client.py (the verbs), peer_connection.py (requests and their answers over one WebSocket after the other),
subscription.py (one standing query), row_stream.py (one whose answer is kept elsewhere), blocking.py (the same for programs without
``async``). What is said is in ../protocol.py. Nothing of the door itself is imported here.
"""

from .blocking import Client
from .client import AsyncClient, connect
from .peer_connection import ConnectionState

__all__ = ["AsyncClient", "Client", "ConnectionState", "connect"]
