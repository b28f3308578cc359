"""What is made of a query's rows for who asks once: their order, and the form of the result (SPARQL 1.1, sections 15.1 and 16).

A standing query tells what comes and goes, which has no order. So a query that is asked once has, behind the names of its rows, a
hidden one for each thing to sort by; their values go when the rows are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter
from typing import TypeAlias

from ..tuples.terms import Term

Solution: TypeAlias = "tuple[Term | None, ...]"
"""The values of a row, in the order of the names; None for one that is unbound."""


@dataclass(frozen=True, slots=True)
class ResultForm:
    """``kind`` is SELECT, ASK (there is a row, or none), CONSTRUCT or DESCRIBE (rows are triples). ``names`` are those of a row;
    ``descending`` says it of each thing to sort by.

    With ``distinct``, ``offset`` and ``limit`` are applied here, when a row's first place in the order is known; otherwise the
    query has applied them.
    """

    kind: str
    names: tuple[str, ...]
    descending: tuple[bool, ...] = ()
    distinct: bool = False
    offset: int = 0
    limit: int | None = None

    def ordered(self, solutions: Iterable[Solution]) -> list[Solution]:
        """The solutions in order, without what is hidden."""
        if not self.descending:
            return list(solutions)
        from .expressions.comparing import rank

        width = len(self.names)
        keyed = [(tuple(map(rank, solution[width:])), solution[:width]) for solution in solutions]
        # The last key first, as sorting is stable.
        for at, descends in reversed(list(enumerate(self.descending))):
            place = itemgetter(at)
            keyed.sort(key=lambda one, place=place: place(one[0]), reverse=descends)  # type: ignore[misc]  # a default
        found = [solution for _, solution in keyed]
        if not self.distinct:
            return found
        return list(dict.fromkeys(found))[self.offset : None if self.limit is None else self.offset + self.limit]
