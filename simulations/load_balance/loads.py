"""How evenly a load is spread over peers: the numbers and curves that papers on such systems show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter

Load: TypeAlias = NDArray[np.int64] | NDArray[np.float64]
"""What each peer carries, shape (peers,)."""

CURVE_POINTS = 200
"""Points of a curve at most; peers between them are left out, the first and the last never."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How a load is spread.

    ``gini`` is 0 where all carry the same and nearly 1 where one carries all; ``entropy`` is 1 and 0 then: the entropy of the
    shares divided by its greatest value, the logarithm of the number of peers.
    """

    total: float
    mean: float
    largest: float
    max_over_mean: float
    p99_over_mean: float
    gini: float
    entropy: float
    idle: float
    """The share of peers that carry nothing."""


def spread_of(load: Load) -> Spread:
    """The numbers of a load. Where nobody carries anything all are alike."""
    count = len(load)
    if not count:
        raise BadParameter("a load of no peers; expected one at least")
    total = float(load.sum())
    if not total:
        return Spread(0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0)
    mean = total / count
    ordered = np.sort(load).astype(np.float64)
    ranks = np.arange(1, count + 1)
    gini = float((2 * ranks - count - 1) @ ordered / (count * total))
    shares = ordered[ordered > 0] / total
    entropy = float(-(shares * np.log(shares)).sum() / np.log(count)) if count > 1 else 1.0
    return Spread(
        total=total,
        mean=mean,
        largest=float(ordered[-1]),
        max_over_mean=float(ordered[-1] / mean),
        p99_over_mean=float(np.quantile(ordered, 0.99, method="higher") / mean),
        gini=gini,
        entropy=entropy,
        idle=float(np.searchsorted(ordered, 0, side="right") / count),
    )


def ccdf(load: Load) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of peers (second) that carry at least so much (first), for loads above 0."""
    ordered = np.sort(load)[::-1].astype(np.float64)
    values, first = np.unique(ordered[::-1], return_index=True)
    at_least = (len(load) - first) / len(load)
    seen = values > 0
    return _thinned(values[seen], at_least[seen])


def lorenz(load: Load) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of all load (second) that the least loaded share of peers (first) carries."""
    ordered = np.sort(load).astype(np.float64)
    total = ordered.sum()
    carried = np.concatenate(([0.0], np.cumsum(ordered) / total if total else np.arange(1, len(load) + 1) / len(load)))
    return _thinned(np.linspace(0, 1, len(load) + 1), carried)


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(x) <= CURVE_POINTS:
        return x, y
    # More of the end than of the beginning: there the busiest peers are.
    places = np.unique(((1 - np.geomspace(1, 1 / len(x), CURVE_POINTS)) * (len(x) - 1)).round().astype(int))
    places = np.unique(np.concatenate((places, np.linspace(0, len(x) - 1, CURVE_POINTS // 4).astype(int))))
    return x[places], y[places]
