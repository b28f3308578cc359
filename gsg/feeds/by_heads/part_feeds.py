"""Feeds that come by way of a head, which passes on what its rendezvous feeds it (gsg/rendezvous/fan_out/parts.py).

Such a feed belongs to two links: the head's brings what is passed on, and by that of the rendezvous comes what is for this peer
alone, and the word that it is to be posted again. In the order of publishers they are two ways of one rendezvous.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from typing import TypeAlias

import dht

from ...rendezvous.fan_out.parts import BY_HEADS, DIRECTLY
from ...wire.exchange import PeerLink
from ...wire.messages import Happened
from ..alpha_memory import AlphaMemory, Source
from ..feeding_links import FeedingLinks

HeadWay: TypeAlias = tuple[PeerLink, bytes]
"""By what way things come that a head passes on: its link, and the id of the rendezvous."""


def passed_on(way: HeadWay) -> Hashable:
    """By what way that comes by a head which another peer has passed on to the rendezvous, past what its publisher sent there
    (:mod:`gsg.churn.forward_events`)."""
    return (way,)


class PartSource(Source):
    """A feed by way of a head."""

    __slots__ = ("came_to", "rendezvous")

    def __init__(self, memory: AlphaMemory, number: int, head: PeerLink, rendezvous: PeerLink, came_to: int) -> None:
        super().__init__(memory, number, head)
        self.rendezvous = rendezvous
        self.came_to = came_to
        """The last position of the events that came."""

    @property
    def holder(self) -> dht.Contact:
        """The rendezvous that it comes from."""
        return self.rendezvous.contact

    @property
    def way(self) -> HeadWay:
        """By what way it comes."""
        return self.link, self.rendezvous.contact.id


class PartLinks:
    """The links of the part feeds of one peer. ``links_from(peer)`` are those by which a rendezvous feeds it directly."""

    def __init__(self, links_from: Callable[[bytes], Collection[PeerLink]]) -> None:
        self._links_from = links_from
        self._rendezvous = FeedingLinks()
        """Bounded by the feeds, as the next."""
        self._ways: dict[bytes, dict[HeadWay, set[PartSource]]] = {}
        """By rendezvous, with the feeds that come by each."""

    def add_feed(self, source: PartSource) -> None:
        """A feed comes by a head."""
        self._rendezvous.add_feed(source.rendezvous)
        self._ways.setdefault(source.holder.id, {}).setdefault(source.way, set()).add(source)

    def remove_feed(self, source: PartSource) -> bool:
        """It ends; whether it was the last one by its way."""
        if source.rendezvous in self._rendezvous:
            self._rendezvous.remove_feed(source.rendezvous)
        sources = self._ways.get(source.holder.id, {}).get(source.way, set())
        if source not in sources:
            return False  # its way was forgotten, and may be that of another feed by now
        sources.remove(source)
        return not sources

    def ways_by(self, link: PeerLink) -> dict[HeadWay, set[PartSource]]:
        """The ways of the feeds that come by a link, be it that of the head or that of the rendezvous, and these feeds."""
        found: dict[HeadWay, set[PartSource]] = {}
        for ways in self._ways.values():
            for way, sources in ways.items():
                if by_link := {source for source in sources if comes_by(source, link)}:
                    found[way] = by_link
        return found

    def come_by_no_more(self, way: HeadWay, sources: Collection[PartSource]) -> bool:
        """Whether nothing comes by a way but these feeds, if they have not ended."""
        return self._ways.get(way[1], {}).get(way, set()) <= set(sources)

    def __bool__(self) -> bool:
        return bool(self._ways)

    def is_directly(self, link: PeerLink) -> bool:
        """Whether a link is that of a rendezvous, by which something may come beside what heads bring."""
        return link in self._rendezvous

    def forget_way(self, way: HeadWay) -> None:
        """Nothing comes by a way any more."""
        _, peer = way
        ways = self._ways.get(peer, {})
        ways.pop(way, None)
        if not ways:
            self._ways.pop(peer, None)

    def forget_link(self, link: PeerLink) -> None:
        """Nothing comes by the link of a rendezvous any more."""
        self._rendezvous.forget_link(link)

    def way_of(self, link: PeerLink, message: Happened, sources: Mapping[int, Source]) -> Hashable | None:
        """By what way events come that a head has passed on, None for others; how far these have come is noted. ``sources`` are all
        feeds, by number."""
        way: Hashable | None = None
        for number in {number for feeds in {id(feeds): feeds for feeds in message.feeds}.values() for number in feeds}:
            source = sources.get(number)
            if isinstance(source, PartSource) and comes_by(source, link):
                source.came_to = max(source.came_to, message.position)
                if source.link is link:
                    was_passed_on = any(named == source.holder.id for named, _, _ in message.after)
                    way = passed_on(source.way) if was_passed_on else source.way
        return way

    def ways_from(self, named: bytes) -> Collection[PeerLink | HeadWay]:
        """By what ways that comes which is named as coming before something: of a rendezvous, or what of it goes by heads, or
        directly."""
        if not self._ways:
            return self._links_from(named)
        peer, which = named[: dht.ID_BYTES], named[dht.ID_BYTES :]
        by_heads = self._ways.get(peer, {}).keys()
        if which == BY_HEADS:
            return by_heads
        directly = {**dict.fromkeys(self._links_from(peer)), **dict.fromkeys(self._rendezvous.links_from(peer))}.keys()
        return directly if which == DIRECTLY else [*self._links_from(peer), *by_heads]

    def links(self) -> Iterator[PeerLink]:
        """The links of heads and rendezvous."""
        for ways in self._ways.values():
            for link, _ in ways:
                yield link
        yield from self._rendezvous


def is_of(source: Source | None, link: PeerLink) -> bool:
    """Whether a feed comes by way of a head, and this is the link of its rendezvous."""
    return isinstance(source, PartSource) and source.rendezvous is link


def comes_by(source: Source, link: PeerLink) -> bool:
    """Whether a link is one of a feed's."""
    return source.link is link or is_of(source, link)
