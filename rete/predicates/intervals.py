"""Tests that a value lies above or below a bound: sorted bounds, found by bisection.

Between two neighbouring bounds all values pass the same tests, and so do those that equal one bound; what passes in such a segment
is united once and remembered until a bound changes. To unite it, the bounds of each operator that are passed are a run at one end
of their sorted list, whose sets are united in blocks of BLOCK: at most one block's worth of sets, and the union of those before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

from ..errors import ReteError

BLOCK = 32
"""Bounds whose sets are united; unions of several blocks are remembered until a bound changes."""
MAX_SEGMENTS = 256
"""Segments whose sets are remembered; where bounds make more of them, values seldom meet again in one, and none is remembered."""


class Intervals:
    """Sets of bits by a bound and the side of it on which a value is to lie. All bounds are to be comparable with all values."""

    def __init__(self) -> None:
        self._sides = {operator: _Side(operator) for operator in ("<", "<=", ">", ">=")}
        self._uses: dict[Any, int] = {}  # Any: whatever the values are
        """At how many sides a bound is."""
        self._bounds: list[Any] = []
        """Those of all sides, sorted, each once."""
        self._segments: dict[int, int] = {}
        """By number of the segment: what passes in it. Limit: MAX_SEGMENTS; beyond, none is remembered."""

    def insert(self, operator: str, bound: Any, bits: int) -> None:
        """Let these wait for values v with ``v operator bound``. Raises ReteError for an operator other than < <= > >=."""
        if operator not in self._sides:
            raise ReteError(f"an interval by {operator!r}; expected <, <=, > or >=")
        if self._sides[operator].insert(bound, bits):
            if bound not in self._uses:
                insort(self._bounds, bound)
            self._uses[bound] = self._uses.get(bound, 0) + 1
        self._segments.clear()

    def remove(self, operator: str, bound: Any, bits: int) -> None:
        """Let these wait no more. Raises KeyError for a bound that nobody asks for."""
        if self._sides[operator].remove(bound, bits):
            self._uses[bound] -= 1
            if not self._uses[bound]:
                del self._uses[bound], self._bounds[bisect_left(self._bounds, bound)]
        self._segments.clear()

    def passed(self, value: Any) -> int:
        """Those on whose side the value lies."""
        bounds = self._bounds
        # Even numbers are segments between bounds, odd ones are bounds themselves.
        segment = bisect_left(bounds, value) + bisect_right(bounds, value)
        found = self._segments.get(segment)
        if found is None:
            found = 0
            for side in self._sides.values():
                if side.bounds:
                    found |= side.passed(value)
            if 2 * len(bounds) < MAX_SEGMENTS:
                self._segments[segment] = found
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

    def insert(self, bound: Any, bits: int) -> bool:
        """Whether the bound is a new one."""
        is_new = bound not in self._bits
        if is_new:
            insort(self.bounds, bound)
            self._bits[bound] = 0
        self._bits[bound] |= bits
        self._unions = None
        return is_new

    def remove(self, bound: Any, bits: int) -> bool:
        """Whether nobody asks for the bound any more."""
        self._bits[bound] &= ~bits
        is_last = not self._bits[bound]
        if is_last:
            del self._bits[bound]
            del self.bounds[bisect_left(self.bounds, bound)]
        self._unions = None
        return is_last

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
