"""A network in memory and in virtual time, under the real code: for tests, and whoever wants to try an overlay of fifty peers.

Open net.py first; loop.py is its event loop, sockets.py what asyncio's transports promise. Nothing else of dht imports it.
"""

from .net import SimNet, Stalled, run

__all__ = ["SimNet", "Stalled", "run"]
