"""A publisher on its own, and ends of links that answer what it publishes there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from peers import PORT

import dht
from dht.simnet import SimNet
from gsg.errors import PeerUnreachable
from gsg.publisher.publisher import Publisher
from gsg.storage.clock import HybridClock
from gsg.tuples.features import Key, positions
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import Exchange, PeerLink
from gsg.wire.messages import Done, Failed, Flash, Message, Publish

NOW_US = 1_500_000

Reply = Callable[["PeerLink", Publish | Flash], None]


def accept(link: PeerLink, message: Publish | Flash) -> None:
    link.send(Done(message.request, 1))


def refuse(link: PeerLink, message: Publish | Flash) -> None:
    link.send(Failed(message.request, "no room"))


def say_nothing(link: PeerLink, message: Publish | Flash) -> None:
    pass


class Place:
    """One end of links that answers what is published there."""

    def __init__(self, net: SimNet, reply: Reply = accept) -> None:
        self.heard: list[Publish | Flash] = []
        self.contact = dht.Contact(dht.random_id(net.rng()), net.host(), PORT)
        self.reply = reply
        self.exchange = Exchange(self.contact, on_message=self._message, on_batch=lambda: None, on_broken=lambda *_: None)
        self.links = dht.Links(
            self.contact.id,
            self.contact.host,
            PORT,
            rng=net.rng(),
            on_frames=self.exchange.receive_frames,
            on_lost=self.exchange.drop_link,
        )
        self.exchange.attach(self.links)

    def _message(self, link: PeerLink, message: Message) -> None:
        assert isinstance(message, Publish | Flash)
        self.heard.append(message)
        self.reply(link, message)


class FixedHolders:
    """Who owns what, by the order of preference: the first of the places that has not failed."""

    def __init__(self, choose: Callable[[Key], list[Place]]) -> None:
        self.choose = choose
        self.failures: list[bytes] = []
        self.unsure = False

    async def primaries_of(self, features: Iterable[Key]) -> dict[Key, dht.Contact]:
        return {
            feature: next(place.contact for place in self.choose(feature) if place.contact.id not in self.failures)
            for feature in features
        }

    def failed(self, peer: bytes, why: PeerUnreachable) -> None:
        self.failures.append(peer)


class EverythingWanted:
    """Every event goes by every position that it may go by."""

    def places(
        self, events: Sequence[Tuple], via: Sequence[int] | None, *, within: Sequence[int] | None = None
    ) -> tuple[list[bytes], bool]:
        return [positions(items) if via is None else bytes(via) for items in events], False


def publisher_of(place: Place, holders: FixedHolders) -> Publisher:
    return Publisher(place.contact.id, holders, place.exchange, EverythingWanted(), HybridClock(lambda: NOW_US / 1_000_000))  # type: ignore[arg-type]  # know as much
