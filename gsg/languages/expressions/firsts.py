"""DISTINCT rows in the order of what they do not show: each stands where the first of its solutions does (SPARQL 1.1, section 15).

The solutions of one row are a group, whose least key of ORDER BY is kept while solutions come and go; rows are sorted by it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Any

from .operators import Ordered

FIRST = ".first"
"""The name of a row's least key: no text can name it."""


@dataclass(frozen=True)
class First:
    """The least key of a group's solutions (a :class:`rete.algebra.Aggregate`)."""

    order: Ordered

    @property
    def names(self) -> tuple[str, ...]:
        return self.order.names

    def start(self) -> _Keys:
        return _Keys(self.order)


class _Keys:
    """The keys of one group in order, each once, with how often it is there."""

    __slots__ = ("_counts", "_order", "_sorted")

    def __init__(self, order: Ordered) -> None:
        self._order = order
        self._counts: dict[Any, int] = {}  # Any: order keys are opaque, here and below
        self._sorted: list[Any] = []

    def change(self, values: tuple[Any, ...], weight: int) -> None:
        key = self._order(values)
        count = self._counts.get(key, 0) + weight
        if key not in self._counts:
            insort(self._sorted, key)
        if count:
            self._counts[key] = count
        else:
            self._counts.pop(key, None)
            del self._sorted[bisect_left(self._sorted, key)]

    def result(self) -> Any:
        return self._sorted[0] if self._sorted else None


@dataclass(frozen=True)
class ByFirst:
    """The order of rows by their least keys (a :class:`rete.algebra.Order`)."""

    names: tuple[str, ...] = (FIRST,)

    def __call__(self, values: tuple[Any, ...]) -> Any:
        return values[0]
