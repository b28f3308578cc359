"""Digests of the keys that a peer holds with others, kept up to date by what changes; :mod:`gsg.repair` compares them. Pure.

For each other holder there is one digest for each of RANGES ranges of keys, a sum over the keys of the range that it holds with us:
so a key that changes costs one subtraction and one addition for each holder, however many keys there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import dht

from .entries import Entries
from .features import Key, key
from .placement import point_of, scattered

RANGES = 256
"""Into so many ranges the keys are cut, by the first byte."""

Ranges: TypeAlias = list[int]

_MASK = (1 << 64) - 1


class Digests:
    """What one peer has, beside each of the others; ``holders_of(key)`` is empty where that is not known yet.

    Who holds which key must not change: where it does, there are to be new digests.
    """

    def __init__(self, own: bytes, held: Entries, holders_of: Callable[[Key], Sequence[dht.Contact]]) -> None:
        self.ranges: dict[bytes, Ranges] = {}
        """By the id of each peer that holds keys with us. Bounded by the peers there are, as are ``contacts``."""
        self.contacts: dict[bytes, dht.Contact] = {}
        self.strays: dict[Key, None] = {}
        """Keys that are here and whose holders we are not."""
        self.unplaced: dict[Key, None] = {}
        """Keys whose holders are not known yet."""
        self._own = own
        self._held = held
        self._holders_of = holders_of
        self._known: dict[Key, tuple[int, int]] = {}
        """The point of each key that we hold with others, and its digest. Bounded by what is held, as is the next."""
        self._by_range: list[dict[Key, None]] = [{} for _ in range(RANGES)]

    def look(self, keys: Iterable[Key]) -> None:
        """Take in what is under these keys now."""
        for each in keys:
            known = self._known.get(each)
            if known is None and not self._held.knows(each):
                self.strays.pop(each, None)
                self.unplaced.pop(each, None)
                continue
            holders = self._holders_of(each)
            if not any(holder.id == self._own for holder in holders):
                (self.strays if holders else self.unplaced)[each] = None
                continue
            self.unplaced.pop(each, None)
            point, before = known or (point_of(key(*each)), 0)
            digest = self._held.digest(each)
            if digest != before or known is None:
                self._add(holders, point, _share(point, digest) - _share(point, before))
            if self._held.knows(each):
                self._known[each] = point, digest
                self._by_range[point >> 56][each] = None
            elif known is not None:
                del self._known[each]
                del self._by_range[point >> 56][each]

    def _add(self, holders: Iterable[dht.Contact], point: int, difference: int) -> None:
        for holder in holders:
            if holder.id != self._own:
                ranges = self.ranges.get(holder.id)
                if ranges is None:
                    ranges = self.ranges[holder.id] = [0] * RANGES
                    self.contacts[holder.id] = holder
                ranges[point >> 56] = (ranges[point >> 56] + difference) & _MASK

    def of(self, key: Key) -> int:
        """The digest of a key as of the last look; 0 where there was nothing."""
        return self._known.get(key, _NOTHING)[1]

    def keys(self, ranges: Iterable[int]) -> list[Key]:
        """The keys of some ranges that we hold with others, as of the last look."""
        return [each for number in sorted(ranges) for each in self._by_range[number]]


def _share(point: int, digest: int) -> int:
    """What a key adds to its range: nothing where there is nothing, as the other side may not know the key at all."""
    return scattered(point ^ digest, 0) if digest else 0


_NOTHING = (0, 0)
