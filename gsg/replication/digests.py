"""Digests of the keys that a peer holds with others, kept up to date by what changes; anti_entropy.py compares them. Pure.

For each other holder there is one digest for each of RANGES ranges of keys, a sum over the keys of the range that it holds with us:
so a key that changes costs one addition for each holder, however many keys there are. In the sum each key's digest is multiplied by
the first 64 bits of the key, modulo 2**64: these are as good as random, so that it is as good as impossible that what differs under
several keys cancels out (Dietzfelbinger 1996, "Universal hashing and k-wise independent random variables via integer arithmetic
without primes").

Tombstones are summed up apart, for each period of their stamps, since peers forget them at different moments: two compare those of
the periods of which neither has forgotten any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import dht

from ..storage.facts_by_key import FactsByKey
from ..storage.tombstones import with_gone
from ..tuples.features import Key

RANGES = 256
"""Into so many ranges the keys are cut, by the first byte."""

Ranges: TypeAlias = list[int]
Holders: TypeAlias = Sequence[dht.Contact]
Place: TypeAlias = tuple[Holders, int]
"""The holders of a key, none where they are not known yet, and its point: the first 64 bits of the key."""

_MASK = (1 << 64) - 1


class Digests:
    """What one peer has, beside each of the others; ``holders_and_point(key)`` says whose a key is.

    Who holds which key must not change: where it does, there are to be new digests.
    """

    def __init__(self, own: bytes, held: FactsByKey, holders_and_point: Callable[[Key], Place]) -> None:
        self.ranges: dict[bytes, Ranges] = {}
        """By the id of each peer that holds keys with us. Bounded by the peers there are, as are ``contacts``."""
        self.gone: dict[bytes, dict[int, Ranges]] = {}
        """The same of the tombstones, for each period; those before :attr:`FactsByKey.since` are of no use any more."""
        self.contacts: dict[bytes, dht.Contact] = {}
        self.strays: dict[Key, None] = {}
        """Keys that are here and whose holders we are not."""
        self.unplaced: dict[Key, None] = {}
        """Keys whose holders are not known yet."""
        self.stirred: set[int] = set()
        """The ranges of the keys that were taken in, until whoever reads this empties it."""
        self._own = own
        self._held = held
        self._place_of = holders_and_point
        self._known: dict[Key, tuple[int, int, dict[int, int]]] = {}
        """The point of each key that we hold with others, its digest, and those of its tombstones by period. Bounded by what is
        held, as is the next."""
        self._by_range: list[dict[Key, None]] = [{} for _ in range(RANGES)]

    def take_in(self, keys: Iterable[Key]) -> None:
        """Take in what is under these keys now."""
        known, held, holders_and_point = self._known, self._held, self._place_of
        # Most keys have one of few sets of holders; kept with them, as another set may get the number of one that is gone.
        theirs: dict[int, tuple[Holders, list[Ranges] | None]] = {}
        for each in keys:
            before = known.get(each)
            digest, gone = held.digest(each), held.buried.digest(each)
            is_here = digest != 0 or held.knows(each)
            if before is None and not is_here:
                self.strays.pop(each, None)
                self.unplaced.pop(each, None)
                continue
            holders, point = holders_and_point(each)
            _, sums = theirs.get(id(holders)) or theirs.setdefault(id(holders), (holders, self._sums(holders)))
            if sums is None:
                (self.strays if holders else self.unplaced)[each] = None
                continue
            if self.unplaced:
                self.unplaced.pop(each, None)
            number = point >> 56
            self.stirred.add(number)
            if before is None:
                self._by_range[number][each] = None
                difference = point * digest
            elif is_here:
                difference = point * (digest - before[1])
            else:
                del known[each]
                del self._by_range[number][each]
                difference = -point * before[1]
            if is_here:
                known[each] = point, digest, gone
            for ranges in sums:
                ranges[number] = (ranges[number] + difference) & _MASK
            went = _NOTHING[2] if before is None else before[2]
            if gone or went:
                self._add_gone(holders, point, gone, went)

    def _add_gone(self, holders: Holders, point: int, now: dict[int, int], before: dict[int, int]) -> None:
        """Tombstones came under a key, or were forgotten."""
        for period in {*now, *before}:
            difference = point * (now.get(period, 0) - before.get(period, 0))
            if period < self._held.buried.since or not difference:
                continue
            for holder in holders:
                if holder.id != self._own:
                    ranges = self.gone.setdefault(holder.id, {}).setdefault(period, [0] * RANGES)
                    ranges[point >> 56] = (ranges[point >> 56] + difference) & _MASK

    def forget_before(self, since: int) -> None:
        """The tombstones before this period are not compared any more."""
        for periods in self.gone.values():
            for period in [period for period in periods if period < since]:
                del periods[period]

    def beside_peer(self, peer: bytes, since: int) -> Ranges:
        """What to compare with a peer: the facts, and the tombstones from this period on."""
        columns = [found for period, found in self.gone.get(peer, {}).items() if period >= since]
        facts = self.ranges.get(peer, _NO_RANGES)
        return [each & _MASK for each in map(sum, zip(facts, *columns, strict=True))] if columns else list(facts)

    def _sums(self, holders: Holders) -> list[Ranges] | None:
        """The sums that a key of these holders counts in; None where we are none of them."""
        if not any(holder.id == self._own for holder in holders):
            return None
        for holder in holders:
            if holder.id != self._own and holder.id not in self.ranges:
                self.ranges[holder.id] = [0] * RANGES
                self.contacts[holder.id] = holder
        return [self.ranges[holder.id] for holder in holders if holder.id != self._own]

    def digest_of(self, key: Key, since: int = 0) -> int:
        """The digest of a key with its tombstones from this period on, as of the last look; 0 where there was nothing."""
        _, digest, gone = self._known.get(key, _NOTHING)
        return with_gone(digest, gone, since)

    def count_keys(self, number: int) -> int:
        """How many keys of a range we hold with others, as of the last look."""
        return len(self._by_range[number])

    def keys_in(self, ranges: Iterable[int]) -> list[Key]:
        """The keys of some ranges that we hold with others, as of the last look."""
        return [each for number in sorted(ranges) for each in self._by_range[number]]


_NOTHING: tuple[int, int, dict[int, int]] = (0, 0, {})
_NO_RANGES: Ranges = [0] * RANGES
