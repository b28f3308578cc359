"""The links by which other peers feed this one, how many feeds come by each, and which feeds broke with their link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain

from ..rendezvous.broken_links import AGAIN, LINKS
from ..wire.exchange import PeerLink
from .alpha_memory import AlphaMemory


class FeedingLinks:
    """The links of one kind of feeds. Bounded by the links there are."""

    def __init__(self) -> None:
        self._of_peer: dict[bytes, Counter[PeerLink]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_peer)

    def __contains__(self, link: PeerLink) -> bool:
        return link in self._of_peer.get(link.contact.id, ())

    def __iter__(self) -> Iterator[PeerLink]:
        return chain.from_iterable(self._of_peer.values())

    def links_from(self, peer: bytes) -> Collection[PeerLink]:
        """The links by which a peer feeds us."""
        return self._of_peer.get(peer, ())

    def add_feed(self, link: PeerLink) -> None:
        """One feed more comes by a link."""
        self._of_peer.setdefault(link.contact.id, Counter())[link] += 1

    def remove_feed(self, link: PeerLink) -> bool:
        """One feed fewer comes by a link; whether it was the last one."""
        links = self._of_peer[link.contact.id]
        links[link] -= 1
        if links[link]:
            return False
        self.forget_link(link)
        return True

    def forget_link(self, link: PeerLink) -> None:
        """Nothing comes by a link any more."""
        links = self._of_peer.get(link.contact.id)
        if links is not None:
            links.pop(link, None)
            if not links:
                del self._of_peer[link.contact.id]


class BrokenFeeds:
    """The feeds of links that broke of late: the next one of a memory from there names them, and brings what they had not."""

    def __init__(self) -> None:
        self._of: dict[PeerLink, dict[AlphaMemory, list[int]]] = {}
        """Limit: LINKS; beyond, the link that broke first is forgotten."""

    def __contains__(self, link: PeerLink) -> bool:
        return link in self._of

    def add_feed(self, link: PeerLink, memory: AlphaMemory, number: int) -> None:
        """The link of a feed broke, or of what stood by."""
        if link not in self._of and len(self._of) >= LINKS:
            del self._of[next(iter(self._of))]
        self._of.setdefault(link, {}).setdefault(memory, []).append(number)

    def numbers_at(self, memory: AlphaMemory, peer: bytes) -> list[int]:
        """The numbers of the broken feeds of a memory from a peer, the last AGAIN of them."""
        of_peer = [feeds for link, feeds in self._of.items() if link.contact.id == peer]
        return [number for feeds in of_peer for number in feeds.get(memory, ())][-AGAIN:]

    def forget_link(self, link: PeerLink) -> None:
        """Nobody keeps anything for the link any more."""
        self._of.pop(link, None)
