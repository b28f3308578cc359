"""The node of the ``kademlia`` package, with our protocol in the place of its own and without its timers."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kademlia.network import Server

from .identity import PeerId
from .lookup import ALPHA
from .queries import Queries

for _name in ("kademlia", "rpcudp"):
    # The package warns of each answer that does not come, which is its everyday life and not the user's.
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class OurServer(Server):  # type: ignore[misc]  # the package has no types
    """A socket and a table of contacts, of which ``make`` makes the protocol."""

    def __init__(self, id: PeerId, k: int, make: Callable[[OurServer], Queries]) -> None:
        super().__init__(ksize=k, alpha=ALPHA, node_id=id)
        self._make = make

    def _create_protocol(self) -> Queries:
        return self._make(self)

    def refresh_table(self, interval: int = 3600) -> None:
        """Nothing: the overlay refreshes, in tasks that it owns."""
