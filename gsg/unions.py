"""What several peers hold together, for a template without constants: each fact lies at several, and the latest word counts.

Every holder of a fact's home feeds it, each in its own time: one may be late, have died unnoticed, or be back with what it held
before. So their words are compared by the stamps of the changes (:mod:`gsg.versions`), as holders do among themselves:

    true = some feed has the fact by a stamp that is later than the latest retraction that any feed has told

A retraction is seen with the first word of it, and a holder that has not heard of it brings nothing back. A feed that has a fact no
more without saying that it went, because its peer died or handed it over, takes away nothing that another feed has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from .feeds import Differences
from .model import Tuple

GONE = 10_000
"""Retractions that are remembered; beyond, the one that was told first is forgotten: a holder that is later than so many may bring
its fact back until it has heard of it."""


class Union:
    """The facts of one template."""

    __slots__ = ("_gone", "_true")

    def __init__(self) -> None:
        self._true: dict[Tuple, None] = {}
        self._gone: dict[Tuple, int] = {}
        """Limit: GONE."""

    def went(self, fact: Tuple, stamp: int) -> None:
        """A feed says that a fact was retracted; with stamp 0, that its peer alone does not have it any more."""
        if stamp and stamp > self._gone.get(fact, 0):
            self._gone.pop(fact, None)
            self._gone[fact] = stamp
            if len(self._gone) > GONE:
                del self._gone[next(iter(self._gone))]

    def settle(self, facts: Iterable[Tuple], feeds: Sequence[Mapping[Tuple, int]]) -> Differences:
        """Some facts have come or gone in these feeds, each a mapping from fact to stamp: what that changes."""
        true, gone = self._true, self._gone
        differences: Differences = []
        for fact in facts:
            went = gone.get(fact, -1)
            is_true = any(feed.get(fact, -1) > went for feed in feeds)
            if is_true and fact not in true:
                true[fact] = None
                differences.append((fact, 1))
            elif not is_true and fact in true:
                del true[fact]
                differences.append((fact, -1))
        return differences

    def __iter__(self) -> Iterator[Tuple]:
        return iter(self._true)

    def __len__(self) -> int:
        return len(self._true)
