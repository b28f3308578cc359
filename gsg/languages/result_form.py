"""What is made of a query's rows for who asks once: their order, and the form of the result (SPARQL 1.1, sections 15.1 and 16).

A standing query tells what comes and goes, which has no order. So a query that is asked once has a hidden name more for each thing
to sort by, and these names go when its rows are sorted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .rows import Row


@dataclass(frozen=True, slots=True)
class ResultForm:
    """``kind`` is SELECT, ASK (there is a row, or none) or CONSTRUCT (rows are triples). ``names`` are those that a row keeps; each
    of ``keys`` is a hidden name to sort by, and whether it descends.

    With ``distinct``, ``offset`` and ``limit`` are applied here, when a row's first place in the order is known; otherwise the
    query has applied them.
    """

    kind: str
    names: tuple[str, ...]
    keys: tuple[tuple[str, bool], ...] = ()
    distinct: bool = False
    offset: int = 0
    limit: int | None = None

    def ordered(self, rows: Iterable[Row]) -> list[Row]:
        """The rows in order, without the hidden names."""
        if not self.keys:
            return list(rows)
        from .expressions.comparing import rank

        hidden = tuple(name for name, _ in self.keys)
        decorated = [(tuple(map(rank, row.aligned(hidden))), row) for row in rows]
        # The last key first, as sorting is stable.
        for at, (_, descends) in reversed(list(enumerate(self.keys))):
            decorated.sort(key=lambda one, at=at: one[0][at], reverse=descends)  # type: ignore[misc]  # a default of a lambda
        found = [Row.of(self.names, row.aligned(self.names)) for _, row in decorated]
        if not self.distinct:
            return found
        return list(dict.fromkeys(found))[self.offset : None if self.limit is None else self.offset + self.limit]
