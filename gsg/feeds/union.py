"""What several peers hold together, for a template without constants: each fact lies at several, and the latest word counts.

Every holder of a fact's home feeds it, each in its own time: one may be late, have died unnoticed, or be back with what it held
before. So their words are compared by the stamps of the changes (:mod:`gsg.storage.clock`), as holders do among themselves:

    true = some feed has the fact by a stamp that is later than the latest retraction that any feed has told

A retraction is seen with the first word of it, and a holder that has not heard of it brings nothing back. A feed that has a fact no
more without saying that it went, because its peer died or handed it over, takes away nothing that another feed has; and what no
other has is left over until those were asked (:mod:`gsg.feeds.unanchored`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import inf

from ..tuples.long_constants import Remains, remains_of, size_of
from ..tuples.terms import Tuple
from .feed import Differences

GONE = 10_000
"""Retractions that are remembered; beyond, the one that was told first is forgotten: a holder that is later than so many may bring
its fact back until it has heard of it."""
GONE_BYTES = 16 * 1024 * 1024
"""What remains of their facts, as encoded; beyond, likewise."""


class Union:
    """The facts of one template."""

    __slots__ = ("_gone", "_gone_bytes", "_left", "_long", "_true")

    def __init__(self) -> None:
        self._true: dict[Tuple, None] = {}
        self._long: dict[Remains, Tuple] = {}
        """Those of them that have long constants, by what would remain of each (:mod:`gsg.tuples.long_constants`)."""
        self._gone: dict[Remains, int] = {}
        """Limits: GONE and GONE_BYTES."""
        self._gone_bytes = 0
        self._left: dict[Tuple, tuple[int, int]] = {}
        """What is left over, each with the stamp by which a feed had it and the number of the time after which it is given up.
        Bounded by the facts that are true, whose part it is."""

    def note_retraction(self, fact: Remains, stamp: int) -> None:
        """A feed says that a fact was retracted, or what remains of it; with stamp 0, that its peer alone does not have it any
        more."""
        remains = remains_of(fact)
        known = self._gone.get(remains, 0)
        if stamp and stamp > known:
            if known:
                del self._gone[remains]
            else:
                self._gone_bytes += size_of(remains)
            self._gone[remains] = stamp
            while len(self._gone) > GONE or self._gone_bytes > GONE_BYTES:
                oldest = next(iter(self._gone))
                self._gone_bytes -= size_of(oldest)
                del self._gone[oldest]

    def facts_of(self, remains: Iterable[Remains]) -> list[Tuple]:
        """The true facts of which there would be these remains."""
        return [fact for each in remains if (fact := self._long.get(each, each)) in self._true]  # type: ignore[misc]  # those are facts

    def settle(self, facts: Iterable[Tuple], feeds: Collection[Mapping[Tuple, int]]) -> Differences:
        """Some facts have come or gone in these feeds, each a mapping from fact to stamp: what that changes."""
        true, gone, left = self._true, self._gone, self._left
        differences: Differences = []
        for fact in facts:
            remains = remains_of(fact)
            went = gone.get(remains, -1)
            is_true = any(feed.get(fact, -1) > went for feed in feeds) or (fact in left and left[fact][0] > went)
            if is_true and fact not in true:
                true[fact] = None
                if remains is not fact:
                    self._long[remains] = fact
                differences.append((fact, 1))
            elif not is_true and fact in true:
                del true[fact]
                self._long.pop(remains, None)
                left.pop(fact, None)
                differences.append((fact, -1))
        return differences

    def keep_left_over(self, had: Mapping[Tuple, int], feeds: Collection[Mapping[Tuple, int]], time: int) -> bool:
        """A feed has these facts no more, whose stamps it had: those that none of the others has either are left over until the
        so many-eth time that everybody is heard out. Whether there are such."""
        true, gone, left = self._true, self._gone, self._left
        found = False
        for fact, stamp in had.items():
            went = gone.get(remains_of(fact), -1)
            if fact in true and stamp > went and not any(feed.get(fact, -1) > went for feed in feeds):
                left[fact] = max(stamp, left[fact][0] if fact in left else stamp), time
                found = True
        return found

    def give_up(self, time: float = inf) -> list[Tuple]:
        """Everybody has been heard out for this time: what is left over since then, and is to be settled."""
        given_up = [fact for fact, (_, until) in self._left.items() if until <= time]
        for fact in given_up:
            del self._left[fact]
        return given_up

    @property
    def has_left_over(self) -> bool:
        """Whether any fact is left over."""
        return bool(self._left)

    def __iter__(self) -> Iterator[Tuple]:
        return iter(self._true)

    def __len__(self) -> int:
        return len(self._true)
