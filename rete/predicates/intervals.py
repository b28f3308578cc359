"""Tests that a value lies above or below a bound: sorted bounds, found by bisection, with the unions of runs of them.

The bounds that a value passes are a run at one end of the sorted list. Their sets are united in blocks of about the square root of
their number, so a value costs one bisection and the union of at most two blocks' worth of sets, not of all that it passes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

from ..errors import ReteError

BLOCK = 32
"""Bounds whose sets are united; unions of several blocks are remembered until a bound changes."""


class Intervals:
    """Sets of bits by a bound and the side of it on which a value is to lie. All bounds are to be comparable with all values."""

    def __init__(self) -> None:
        self._sides = {operator: _Side(operator) for operator in ("<", "<=", ">", ">=")}

    def insert(self, operator: str, bound: Any, bits: int) -> None:  # Any: whatever the values are
        """Let these wait for values v with ``v operator bound``. Raises ReteError for an operator other than < <= > >=."""
        if operator not in self._sides:
            raise ReteError(f"an interval by {operator!r}; expected <, <=, > or >=")
        self._sides[operator].insert(bound, bits)

    def remove(self, operator: str, bound: Any, bits: int) -> None:
        """Let these wait no more. Raises KeyError for a bound that nobody asks for."""
        self._sides[operator].remove(bound, bits)

    def passed(self, value: Any) -> int:
        """Those on whose side the value lies."""
        found = 0
        for side in self._sides.values():
            if side.bounds:
                found |= side.passed(value)
        return found

    def __len__(self) -> int:
        return sum(len(side.bounds) for side in self._sides.values())


class _Side:
    def __init__(self, operator: str) -> None:
        self.bounds: list[Any] = []
        """Sorted, each once."""
        self._bits: dict[Any, int] = {}
        self._is_upper = operator[0] == "<"
        self._find = bisect_right if operator in ("<", ">=") else bisect_left
        self._unions: list[int] | None = None
        """By number of whole blocks: what is united of those passed from the far end; None until a value is asked for."""

    def insert(self, bound: Any, bits: int) -> None:
        if bound not in self._bits:
            insort(self.bounds, bound)
            self._bits[bound] = 0
        self._bits[bound] |= bits
        self._unions = None

    def remove(self, bound: Any, bits: int) -> None:
        self._bits[bound] &= ~bits
        if not self._bits[bound]:
            del self._bits[bound]
            del self.bounds[bisect_left(self.bounds, bound)]
        self._unions = None

    def passed(self, value: Any) -> int:
        unions = self._unite() if self._unions is None else self._unions
        at = self._find(self.bounds, value)
        # An upper bound is passed by what is below it: those from ``at`` on; a lower one by what is above: those before ``at``.
        if self._is_upper:
            whole, loose = divmod(len(self.bounds) - at, BLOCK)
            rest = self.bounds[at : at + loose]
        else:
            whole, loose = divmod(at, BLOCK)
            rest = self.bounds[at - loose : at]
        found, bits = unions[whole], self._bits
        for bound in rest:
            found |= bits[bound]
        return found

    def _unite(self) -> list[int]:
        unions, found = [0], 0
        bounds = self.bounds[::-1] if self._is_upper else self.bounds
        for begin in range(0, len(bounds) - BLOCK + 1, BLOCK):
            for bound in bounds[begin : begin + BLOCK]:
                found |= self._bits[bound]
            unions.append(found)
        self._unions = unions
        return unions
