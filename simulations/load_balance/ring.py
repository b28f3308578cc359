"""Keys in the order of numbers around the ring of ids, as MAAN has them: a key is its successor's, and a range all peers' between.

Cai, Frank, Chen and Szekely, "MAAN: A Multi-Attribute Addressable Network for Grid Information Services" (2004), section 3: numbers
are hashed so that their order is kept, each to its place between the least and the greatest; a range is posted at the successor of
its lower bound and at all peers from there to the successor of its upper one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine.kernels import Flags, Whole
from ..engine.randomness import Words

_LAST = np.iinfo(np.uint64).max
_BELOW_ONE = np.nextafter(1.0, 0.0)


class Ranges(NamedTuple):
    """Subscriptions that are posted between two points of the ring, both included; ``is_first`` of equal ones."""

    low: Words
    high: Words
    is_first: Flags


def points_of(values: NDArray[np.float64]) -> Words:
    """Where numbers from 0 up to and not 1 are on the ring of 64 bits: in their order. Others are at its ends."""
    inner = (np.clip(values, 0.0, _BELOW_ONE) * 2.0**64).astype(np.uint64)
    return np.where(values >= 1, np.uint64(_LAST), inner)


class Ring:
    """Some peers on the ring, of which each has the points from behind the one before it up to its own id.

    ``ids`` are those of all peers, and ``numbers`` says which of them these are; whatever is said of peers counts within those.
    """

    def __init__(self, ids: Words, numbers: Whole) -> None:
        mine = ids[numbers]
        self._order = np.argsort(mine)
        self._ids = mine[self._order]
        before = ids[ids < self._ids[0]]
        self._has_first = not len(before)
        # The first peer of the ring has what is behind the last one, too; its points begin with 0.
        self._ends_before = self._ids[:-1] if self._has_first else np.append(before.max(), self._ids[:-1])
        self._last = ids.max()

    def successors(self, points: Words) -> Whole:
        """The peer of each point, -1 where it is another's."""
        place = np.searchsorted(self._ids, points)
        if self._has_first:
            place[points > self._last] = 0
            is_here = place < len(self._ids)
        else:
            is_here = (place < len(self._ids)) & (points > self._ends_before[0])
        return np.where(is_here, self._order[np.minimum(place, len(self._ids) - 1)], -1)

    def covered(self, low: Words, high: Words) -> Whole:
        """By how many ranges each peer is met, shape (peers,)."""
        begin = np.searchsorted(self._ids, low)
        end = np.searchsorted(self._ends_before, high) + self._has_first
        steps = np.zeros(len(self._ids) + 1, dtype=np.int64)
        is_met = begin < end
        np.add.at(steps, begin[is_met], 1)
        np.add.at(steps, end[is_met], -1)
        in_order = np.cumsum(steps[:-1])
        if self._has_first:
            in_order[0] += np.count_nonzero((high > self._last) & (begin > 0))
        found = np.empty_like(in_order)
        found[self._order] = in_order
        return found
