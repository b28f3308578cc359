"""How evenly a load is spread over peers: the numbers and curves that papers on such systems show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.kernels import Whole

_LITTLE = 1 << 16
"""Loads below this are counted by their value."""
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


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many peers carry how much: ``values`` in order, none twice, and the ``peers`` that carry each, both of shape (values,).

    It is all that is known of a load where peers are too many for a column of them."""

    values: Whole
    peers: Whole

    @classmethod
    def of(cls, load: Whole) -> Histogram:
        """That of a column of loads."""
        if len(load) and not load.any():
            return cls(np.zeros(1, dtype=np.int64), np.array([len(load)]))
        # Nearly all peers carry little: those are counted without being put in order.
        little = load < _LITTLE
        counted = np.bincount(load[little], minlength=_LITTLE)
        small = np.flatnonzero(counted)
        large, times = np.unique(load[~little], return_counts=True)
        return cls(np.concatenate((small, large)), np.concatenate((counted[small], times)))

    @classmethod
    def sum(cls, parts: Sequence[Histogram]) -> Histogram:
        """That of all peers, of parts that have no peer in common."""
        values, places = np.unique(np.concatenate([part.values for part in parts]), return_inverse=True)
        peers = np.zeros(len(values), dtype=np.int64)
        np.add.at(peers, places.reshape(-1), np.concatenate([part.peers for part in parts]))
        return cls(values, peers)

    @property
    def count(self) -> int:
        """How many peers there are."""
        return int(self.peers.sum())

    @property
    def total(self) -> int:
        """What all peers carry."""
        return int(self.values @ self.peers)

    @property
    def largest(self) -> int:
        """What the busiest peer carries."""
        return int(self.values[-1])


def spread_of(load: Histogram) -> Spread:
    """The numbers of a load. Where nobody carries anything all are alike."""
    count, total = load.count, load.total
    if not total:
        return Spread(0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0)
    mean = total / count
    values, peers = load.values.astype(np.float64), load.peers.astype(np.float64)
    below = np.cumsum(peers) - peers
    # The ranks of those that carry the same, from below + 1 to below + peers, added up.
    gini = float(((2 * below + peers - count) * peers) @ values / (count * total))
    shares = values[values > 0] / total
    entropy = float(-(peers[values > 0] * shares * np.log(shares)).sum() / np.log(count)) if count > 1 else 1.0
    p99 = values[np.searchsorted(below + peers, np.ceil(0.99 * (count - 1)), side="right")]
    return Spread(
        total=float(total),
        mean=mean,
        largest=float(load.largest),
        max_over_mean=load.largest / mean,
        p99_over_mean=float(p99 / mean),
        gini=gini,
        entropy=entropy,
        idle=float(peers[values == 0].sum() / count),
    )


def ccdf(load: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of peers (second) that carry at least so much (first), for loads above 0."""
    at_least = np.cumsum(load.peers[::-1])[::-1] / load.count
    seen = load.values > 0
    return _thinned(load.values[seen].astype(np.float64), at_least[seen])


def lorenz(load: Histogram) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of all load (second) that the least loaded share of peers (first) carries: between points it is a straight line."""
    counted, carried = np.cumsum(load.peers), np.cumsum(load.values * load.peers)
    if not carried[-1]:
        carried = counted
    return _thinned(np.append(0.0, counted / counted[-1]), np.append(0.0, carried / carried[-1]))


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(x) <= CURVE_POINTS:
        return x, y
    # More of the end than of the beginning: there the busiest peers are.
    places = np.unique(((1 - np.geomspace(1, 1 / len(x), CURVE_POINTS)) * (len(x) - 1)).round().astype(int))
    places = np.unique(np.concatenate((places, np.linspace(0, len(x) - 1, CURVE_POINTS // 4).astype(int))))
    return x[places], y[places]
