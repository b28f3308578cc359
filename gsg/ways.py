"""The ways in which others feed a peer: by whom, by which links, and how many feeds come by each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain

from .exchange import Channel


class Ways:
    """Those of one kind of feeds. Bounded by the links."""

    def __init__(self) -> None:
        self._of_peer: dict[bytes, Counter[Channel]] = {}

    def __bool__(self) -> bool:
        return bool(self._of_peer)

    def __contains__(self, channel: Channel) -> bool:
        return channel in self._of_peer.get(channel.contact.id, ())

    def __iter__(self) -> Iterator[Channel]:
        return chain.from_iterable(self._of_peer.values())

    def of(self, peer: bytes) -> Collection[Channel]:
        """The links by which a peer feeds us."""
        return self._of_peer.get(peer, ())

    def add(self, channel: Channel) -> None:
        """One feed more comes by a link."""
        self._of_peer.setdefault(channel.contact.id, Counter())[channel] += 1

    def remove(self, channel: Channel) -> bool:
        """One fewer; whether it was the last one."""
        ways = self._of_peer[channel.contact.id]
        ways[channel] -= 1
        if ways[channel]:
            return False
        self.drop(channel)
        return True

    def drop(self, channel: Channel) -> None:
        """Nothing comes by a link any more."""
        ways = self._of_peer.get(channel.contact.id)
        if ways is not None:
            ways.pop(channel, None)
            if not ways:
                del self._of_peer[channel.contact.id]
