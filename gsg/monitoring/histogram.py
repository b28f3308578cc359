"""How often something took how long, in the form that Prometheus asks for: counts of those that took no longer than a bound."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

BOUNDS_S = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""From what a peer alone takes to what is given up."""


class Histogram:
    """Durations of one kind, in seconds."""

    __slots__ = ("_bounds", "_counts", "sum_s")

    def __init__(self, bounds: Sequence[float] = BOUNDS_S) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self.sum_s = 0.0

    def observe(self, seconds: float) -> None:
        """It took so long, once more."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self.sum_s += seconds

    def buckets(self) -> list[tuple[str, int]]:
        """Each bound as Prometheus writes it, and how many took no longer; the last one is +Inf."""
        names = [*map(repr, self._bounds), "+Inf"]
        return list(zip(names, accumulate(self._counts), strict=True))
