"""DISTINCT rows in the order of what they do not show: each stands where the first of its solutions does (SPARQL 1.1, section 15).

The solutions of one row are a group, whose least key of ORDER BY is kept while solutions come and go; rows are sorted by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .aggregates import SortedBag
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
    """The keys of one group in order."""

    __slots__ = ("_bag", "_order")

    def __init__(self, order: Ordered) -> None:
        self._order = order
        self._bag = SortedBag()

    def change(self, values: tuple[Any, ...], weight: int) -> None:  # Any: terms and None; order keys are opaque, here and below
        key = self._order(values)
        self._bag.change(key, key, weight)

    def result(self) -> Any:
        return self._bag.order[0][0] if self._bag.order else None


@dataclass(frozen=True)
class ByFirst:
    """The order of rows by their least keys (a :class:`rete.algebra.Order`)."""

    names: tuple[str, ...] = (FIRST,)

    def __call__(self, values: tuple[Any, ...]) -> Any:
        return values[0]
