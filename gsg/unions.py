"""What several peers hold together, for a template without constants: each fact lies at several, and the latest word counts.

Every holder of a fact's home feeds it, each in its own time: one may be late, have died unnoticed, or be back with what it held
before. So their words are compared by the stamps of the changes (:mod:`gsg.versions`), as holders do among themselves:

    true = some feed has the fact by a stamp that is later than the latest retraction that any feed has told

A retraction is seen with the first word of it, and a holder that has not heard of it brings nothing back. A feed that has a fact no
more without saying that it went, because its peer died or handed it over, takes away nothing that another feed has; and what no
other has is left over until those were asked (:mod:`gsg.everywhere`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import inf

from .feeds import Differences
from .model import Tuple

GONE = 10_000
"""Retractions that are remembered; beyond, the one that was told first is forgotten: a holder that is later than so many may bring
its fact back until it has heard of it."""


class Union:
    """The facts of one template."""

    __slots__ = ("_gone", "_left", "_true")

    def __init__(self) -> None:
        self._true: dict[Tuple, None] = {}
        self._gone: dict[Tuple, int] = {}
        """Limit: GONE."""
        self._left: dict[Tuple, tuple[int, int]] = {}
        """What is left over, each with the stamp by which a feed had it and the number of the time after which it is given up.
        Bounded by the facts that are true, whose part it is."""

    def went(self, fact: Tuple, stamp: int) -> None:
        """A feed says that a fact was retracted; with stamp 0, that its peer alone does not have it any more."""
        if stamp and stamp > self._gone.get(fact, 0):
            self._gone.pop(fact, None)
            self._gone[fact] = stamp
            if len(self._gone) > GONE:
                del self._gone[next(iter(self._gone))]

    def settle(self, facts: Iterable[Tuple], feeds: Collection[Mapping[Tuple, int]]) -> Differences:
        """Some facts have come or gone in these feeds, each a mapping from fact to stamp: what that changes."""
        true, gone, left = self._true, self._gone, self._left
        differences: Differences = []
        for fact in facts:
            went = gone.get(fact, -1)
            is_true = any(feed.get(fact, -1) > went for feed in feeds) or (fact in left and left[fact][0] > went)
            if is_true and fact not in true:
                true[fact] = None
                differences.append((fact, 1))
            elif not is_true and fact in true:
                del true[fact]
                left.pop(fact, None)
                differences.append((fact, -1))
        return differences

    def left_over(self, had: Mapping[Tuple, int], feeds: Collection[Mapping[Tuple, int]], time: int) -> bool:
        """A feed has these facts no more, whose stamps it had: those that none of the others has either are left over until the
        so many-eth time that everybody is heard out. Whether there are such."""
        true, gone, left = self._true, self._gone, self._left
        found = False
        for fact, stamp in had.items():
            went = gone.get(fact, -1)
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
    def leaves(self) -> bool:
        """Whether anything is left over."""
        return bool(self._left)

    def __iter__(self) -> Iterator[Tuple]:
        return iter(self._true)

    def __len__(self) -> int:
        return len(self._true)
