"""What experiments ask of one peer, and where reports of participants come in: a peer that is no facilitator refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import dht

from ..errors import Refused
from ..placement.holders import Holders
from ..topics.peer_topics import PeerTopics
from ..wire.exchange import Exchange
from ..wire.experiment_messages import Orders, TakePart


class Testbed:
    """What experiments may ask of one peer."""

    __test__ = False  # for pytest, which takes it for a test by its name

    def __init__(self, own: dht.Contact, holders: Holders, exchange: Exchange, topics: PeerTopics) -> None:
        self.own = own
        self._holders = holders
        self._exchange = exchange
        self._topics = topics
        self.on_report: Callable[[dht.Contact, TakePart], Orders] | None = None
        """The facilitator, where this peer is one."""

    def answer(self, sender: dht.Contact, report: TakePart) -> Orders:
        """What to tell a participant. Raises Refused."""
        if self.on_report is None:
            raise Refused("this peer is no facilitator; start it with `gsg peer --facilitator DIR`, or take part by another one")
        return self.on_report(sender, report)

    def peers_at(self, addresses: Iterable[dht.Address]) -> list[dht.Contact]:
        """The peers that are known to be at one of some addresses."""
        wanted = set(addresses)
        return [contact for contact in self._holders.others() if contact.address in wanted]

    async def report(self, facilitator: dht.Contact, make: Callable[[int], TakePart]) -> Orders:
        """Tell a facilitator something. Raises PeerUnreachable, Refused."""
        return await self._exchange.ask(facilitator, make, Orders)

    def begin_with(self, neighbours: Iterable[dht.Contact]) -> None:
        """Take part in the overlay of all peers, from these on."""
        self._topics.begin_with(neighbours)

    def view(self) -> list[bytes]:
        """Whom this peer knows in the overlay of all, by their ids."""
        return self._topics.base_view()

    def counts(self) -> tuple[int, int]:
        """Payloads, and messages of any other kind about topics, that have come by links."""
        return self._topics.payloads, self._topics.small
