"""Sums over the facts under keys and their stamps, in which as good as surely any difference shows. Pure.

A fact counts as its own odd number, times its stamp: what is lost in one place does not weigh the same as what is lost in another,
though both came by one message and have one stamp. The number is made of the encoded fact, so that it is the same in every process.

    few facts    summed anew whenever somebody asks
    LARGE        what was summed is remembered, and only what came since is added: a dict has that at its end
                 what is taken out, or gets another stamp, is told before (Sums.goes, Sums.changes), and what came costs nothing
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from zlib import crc32

import msgspec

from .audiences import Restricted
from .features import Key
from .model import Tuple

LARGE = 100
"""Facts under one key from which on it is remembered what they sum up to."""

_MASK = (1 << 64) - 1
_encode = msgspec.msgpack.Encoder().encode


class _Sum:
    """What the first ``count`` facts of a dict sum up to."""

    __slots__ = ("count", "total")

    def __init__(self) -> None:
        self.count = self.total = 0

    def add(self, facts: int, total: int) -> None:
        self.count += facts
        self.total = (self.total + total) & _MASK


class Sums:
    """The sums of dicts of facts and stamps, each under one key."""

    __slots__ = ("large",)

    def __init__(self) -> None:
        self.large: dict[Key, _Sum] = {}
        """The sums that are remembered. Bounded by the facts held: one for each LARGE of them."""

    def of(self, key: Key, stamps: dict[Tuple, int]) -> int:
        """The 64 bits of a key's facts; 0 where there are none."""
        if len(stamps) < LARGE:
            if self.large:
                self.large.pop(key, None)
            if len(stamps) == 1:
                # As under most keys.
                [(fact, stamp)] = stamps.items()
                return _number(fact) * (stamp + 1) & _MASK
            return _total(stamps.items())
        self.advance(key, stamps, len(stamps))
        return self.large[key].total

    def before(self, key: Key, stamps: dict[Tuple, int], until: int) -> int:
        """As :meth:`of`, without the facts of this stamp or a later one."""
        later = [item for item in stamps.items() if item[1] >= until]
        return (self.of(key, stamps) - _total(later)) & _MASK

    def advance(self, key: Key, stamps: dict[Tuple, int], facts: int) -> bool:
        """Sum up so many more, where they are LARGE; whether those were all. So that others may have their turn."""
        if len(stamps) < LARGE:
            return True
        known = self.large.get(key)
        if known is None:
            known = self.large[key] = _Sum()
        rest = len(stamps) - known.count
        if facts < rest:
            known.add(facts, _total(islice(stamps.items(), known.count, known.count + facts)))
            return False
        known.add(rest, _total(islice(reversed(stamps.items()), rest)))
        return True

    def goes(self, key: Key, stamps: dict[Tuple, int], fact: Tuple) -> None:
        """A fact is about to be taken out."""
        if key in self.large:
            self._all_of(key, stamps).add(-1, -weight(fact, stamps[fact]))

    def changes(self, key: Key, stamps: dict[Tuple, int], fact: Tuple, stamp: int) -> None:
        """A fact is about to get another stamp."""
        if key in self.large:
            self._all_of(key, stamps).add(0, weight(fact, stamp) - weight(fact, stamps[fact]))

    def _all_of(self, key: Key, stamps: dict[Tuple, int]) -> _Sum:
        """With all facts there are: whether one of them was summed up already cannot be told, except where all were."""
        known = self.large[key]
        rest = len(stamps) - known.count
        known.add(rest, _total(islice(reversed(stamps.items()), rest)))
        return known

    def drop(self, key: Key) -> None:
        """The dict under a key is no more."""
        self.large.pop(key, None)


def weight(fact: Tuple, stamp: int) -> int:
    """What a fact of this stamp adds."""
    return _number(fact) * (stamp + 1)


def _number(fact: Tuple) -> int:
    number = crc32(_encode(fact if type(fact) is tuple else _with_audience(fact))) << 1 | 1
    # Squared, as the sums of checksums of facts that differ alike are the same more often than chance has it.
    return number * number


def _with_audience(fact: Tuple) -> tuple[Tuple, list[bytes]]:
    assert isinstance(fact, Restricted), "there are plain facts, and restricted ones"
    return fact, sorted(fact.audience)


def _total(items: Iterable[tuple[Tuple, int]]) -> int:
    return sum([_number(fact) * (stamp + 1) for fact, stamp in items]) & _MASK
