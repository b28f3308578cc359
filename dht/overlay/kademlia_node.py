"""The node of the ``kademlia`` package, with our protocol in the place of its own and without its timers."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable

from kademlia.network import Server

from ..datagrams.datagrams import Queries
from ..identity.ids import PeerId
from .lookup import ALPHA

for _name in ("kademlia", "rpcudp"):
    # The package warns of each answer that does not come, which is its everyday life and not the user's.
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class OurServer(Server):  # type: ignore[misc]  # the package has no types
    """A socket and a table of contacts, of which ``make`` makes the protocol."""

    def __init__(self, id: PeerId, k: int, make: Callable[[OurServer], Queries]) -> None:
        super().__init__(ksize=k, alpha=ALPHA, node_id=id)
        self._make = make

    async def listen(self, port: int, interface: str = "0.0.0.0") -> None:
        """Open the socket. Raises OSError with its number: uvloop says that it could not bind, and not why."""
        loop = asyncio.get_running_loop()
        if getattr(loop, "is_simulated", False):
            await super().listen(port, interface)
            return
        datagrams = socket.socket(socket.AF_INET6 if ":" in interface else socket.AF_INET, socket.SOCK_DGRAM)
        try:
            datagrams.setblocking(False)
            datagrams.bind((interface, port))
            self.transport, self.protocol = await loop.create_datagram_endpoint(self._create_protocol, sock=datagrams)
        except BaseException:
            datagrams.close()
            raise

    def _create_protocol(self) -> Queries:
        return self._make(self)

    def refresh_table(self, interval: int = 3600) -> None:
        """Nothing: the overlay refreshes, in tasks that it owns."""
