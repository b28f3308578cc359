"""The links by which other peers feed this one, how many feeds come by each, and which feeds broke with their link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain

from ..rendezvous.broken_links import AGAIN, LINKS
from ..wire.exchange import Channel
from .alpha_memory import AlphaMemory


class FeedingLinks:
    """The links of one kind of feeds. Bounded by the links there are."""

    def __init__(self) -> None:
        self._of_peer: dict[bytes, Counter[Channel]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_peer)

    def __contains__(self, channel: Channel) -> bool:
        return channel in self._of_peer.get(channel.contact.id, ())

    def __iter__(self) -> Iterator[Channel]:
        return chain.from_iterable(self._of_peer.values())

    def links_from(self, peer: bytes) -> Collection[Channel]:
        """The links by which a peer feeds us."""
        return self._of_peer.get(peer, ())

    def add_feed(self, channel: Channel) -> None:
        """One feed more comes by a link."""
        self._of_peer.setdefault(channel.contact.id, Counter())[channel] += 1

    def remove_feed(self, channel: Channel) -> bool:
        """One feed fewer comes by a link; whether it was the last one."""
        links = self._of_peer[channel.contact.id]
        links[channel] -= 1
        if links[channel]:
            return False
        self.forget_link(channel)
        return True

    def forget_link(self, channel: Channel) -> None:
        """Nothing comes by a link any more."""
        links = self._of_peer.get(channel.contact.id)
        if links is not None:
            links.pop(channel, None)
            if not links:
                del self._of_peer[channel.contact.id]


class BrokenFeeds:
    """The feeds of links that broke of late: the next one of a memory from there names them, and brings what they had not."""

    def __init__(self) -> None:
        self._of: dict[Channel, dict[AlphaMemory, list[int]]] = {}
        """Limit: LINKS; beyond, the link that broke first is forgotten."""

    def __contains__(self, channel: Channel) -> bool:
        return channel in self._of

    def add_feed(self, channel: Channel, memory: AlphaMemory, number: int) -> None:
        """The link of a feed broke, or of what stood by."""
        if channel not in self._of and len(self._of) >= LINKS:
            del self._of[next(iter(self._of))]
        self._of.setdefault(channel, {}).setdefault(memory, []).append(number)

    def numbers_at(self, memory: AlphaMemory, peer: bytes) -> list[int]:
        """The numbers of the broken feeds of a memory from a peer, the last AGAIN of them."""
        of_peer = [feeds for channel, feeds in self._of.items() if channel.contact.id == peer]
        return [number for feeds in of_peer for number in feeds.get(memory, ())][-AGAIN:]

    def forget_link(self, channel: Channel) -> None:
        """Nobody keeps anything for the link any more."""
        self._of.pop(channel, None)
