"""Checksums over the facts under keys and their stamps, in which as good as surely any difference shows. Pure.

A fact counts as its own odd number, times its stamp: what is lost in one place does not weigh the same as what is lost in another,
though both came by one message and have one stamp. The number is made of the encoded fact, so that it is the same in every process.

    few facts    summed anew whenever somebody asks
    LARGE        what was summed is remembered, and only what came since is added: a dict has that at its end
                 what is taken out (:meth:`Checksums.subtract`), or gets another stamp (:meth:`Checksums.restamp`), is told before
                 it is; what came costs nothing
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Generic, TypeVar
from zlib import crc32

import msgspec

from ..tuples.audiences import Restricted
from ..tuples.features import Key
from ..tuples.long_constants import Remains

LARGE = 100
"""Facts under one key from which on it is remembered what they sum up to."""

_MASK = (1 << 64) - 1
Fact = TypeVar("Fact", bound=Remains)
"""Facts, or what remains of some."""

_encode = msgspec.msgpack.Encoder().encode


class _Sum:
    """What the first ``count`` facts of a dict sum up to, by their periods."""

    __slots__ = ("count", "totals")

    def __init__(self) -> None:
        self.count = 0
        self.totals: dict[int, int] = {}

    def add(self, facts: int, totals: dict[int, int]) -> None:
        self.count += facts
        for period, total in totals.items():
            left = (self.totals.get(period, 0) + total) & _MASK
            if left:
                self.totals[period] = left
            else:
                self.totals.pop(period, None)


class Checksums(Generic[Fact]):
    """The sums of dicts of facts and stamps, each under one key; with ``period_us``, one for each such period of stamps."""

    __slots__ = ("_period_us", "large")

    def __init__(self, period_us: int = 0) -> None:
        self._period_us = period_us
        self.large: dict[Key, _Sum] = {}
        """The sums that are remembered. Bounded by the facts held: one for each LARGE of them."""

    def digest(self, key: Key, stamps: dict[Fact, int]) -> int:
        """The 64 bits of a key's facts; 0 where there are none. Without periods."""
        if len(stamps) == 1:
            # As under most keys.
            [(fact, stamp)] = stamps.items()
            return _number(fact) * (stamp + 1) & _MASK
        return self.digest_by_period(key, stamps).get(0, 0)

    def digest_by_period(self, key: Key, stamps: dict[Fact, int]) -> dict[int, int]:
        """The 64 bits of a key's facts for each period by its number, where there are any."""
        if len(stamps) < LARGE:
            if self.large:
                self.large.pop(key, None)
            return self._totals(stamps.items())
        self.sum_up_some(key, stamps, len(stamps))
        return dict(self.large[key].totals)

    def digest_before(self, key: Key, stamps: dict[Fact, int], until: int) -> dict[int, int]:
        """As :meth:`digest_by_period`, without the facts of this stamp or a later one."""
        there = _Sum()
        there.add(0, self.digest_by_period(key, stamps))
        there.add(0, self._minus(self._totals([item for item in stamps.items() if item[1] >= until])))
        return there.totals

    def sum_up_some(self, key: Key, stamps: dict[Fact, int], facts: int) -> bool:
        """Sum up so many more, where they are LARGE; whether those were all. So that others may have their turn."""
        if len(stamps) < LARGE:
            return True
        known = self.large.get(key)
        if known is None:
            known = self.large[key] = _Sum()
        rest = len(stamps) - known.count
        if facts < rest:
            known.add(facts, self._totals(islice(stamps.items(), known.count, known.count + facts)))
            return False
        known.add(rest, self._totals(islice(reversed(stamps.items()), rest)))
        return True

    def subtract(self, key: Key, stamps: dict[Fact, int], fact: Fact) -> None:
        """A fact is about to be taken out."""
        if key in self.large:
            self._all_of(key, stamps).add(-1, self._minus(self._totals([(fact, stamps[fact])])))

    def restamp(self, key: Key, stamps: dict[Fact, int], fact: Fact, stamp: int) -> None:
        """A fact is about to get another stamp."""
        if key in self.large:
            known = self._all_of(key, stamps)
            known.add(0, self._minus(self._totals([(fact, stamps[fact])])))
            known.add(0, self._totals([(fact, stamp)]))

    def _all_of(self, key: Key, stamps: dict[Fact, int]) -> _Sum:
        """With all facts there are: whether one of them was summed up already cannot be told, except where all were."""
        known = self.large[key]
        rest = len(stamps) - known.count
        if rest:
            known.add(rest, self._totals(islice(reversed(stamps.items()), rest)))
        return known

    def _totals(self, items: Iterable[tuple[Fact, int]]) -> dict[int, int]:
        if not self._period_us:
            return {0: sum([_number(fact) * (stamp + 1) for fact, stamp in items]) & _MASK}
        totals: dict[int, int] = {}
        for fact, stamp in items:
            period = stamp // self._period_us
            totals[period] = (totals.get(period, 0) + _number(fact) * (stamp + 1)) & _MASK
        return totals

    def _minus(self, totals: dict[int, int]) -> dict[int, int]:
        return {period: -total for period, total in totals.items()}

    def forget_key(self, key: Key) -> None:
        """The dict under a key is no more."""
        self.large.pop(key, None)


def _number(fact: Remains) -> int:
    number = crc32(_encode(fact if type(fact) is tuple else _with_audience(fact))) << 1 | 1
    # Squared, as the sums of checksums of facts that differ alike are the same more often than chance has it.
    return number * number


def _with_audience(fact: Remains) -> tuple[Remains, list[bytes]]:
    assert isinstance(fact, Restricted), "there are plain facts, and restricted ones"
    return fact, sorted(fact.audience)
