"""Which peer owns a key, for millions of keys at once: XOR ownership over 160-bit ids, exactly (DESIGN section 6).

Ids and keys are taken by their first 64 bits. That is exact while no two peers share those: then distances of one key to different
peers differ within them. Peers that do are refused; among a million random ids the chance is one in thirty million.

The space is cut into buckets by leading bits, about one for two peers. XOR compares leading bits first, so whoever is in the bucket
that is nearest to a key is nearer than all others: a table names the nearest bucket that is not empty, and the few peers in it are
compared. The nearest neighbour in the order of the ids would be wrong: 0111 is next to 1000, and farthest from it.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import BadParameter

Prefixes: TypeAlias = NDArray[np.uint64]
"""Ids or keys by their first 64 bits, shape (n,)."""
Numbers: TypeAlias = NDArray[np.int64]
"""Peers by their number, from 0, shape (n,)."""

MAX_PEERS = 1 << 26
"""Peers that a simulation takes at most: their table has four bytes for each of twice as many buckets."""
CHUNK = 1 << 16
"""Keys that are looked up together: what a chunk needs stays in the processor's cache."""


def prefixes_of(ids: list[bytes]) -> Prefixes:
    """The first 64 bits of ids or keys of 20 bytes."""
    return np.frombuffer(b"".join(point[:8] for point in ids), dtype=">u8").astype(np.uint64)


class Ownership:
    """The owners of keys among peers, by the first 64 bits of the peers' ids; peer ``i`` is number ``i`` of ``prefixes``.

    Raises BadParameter for no peers, more than MAX_PEERS, or two that share 64 bits.
    """

    def __init__(self, prefixes: Prefixes) -> None:
        count = len(prefixes)
        if not 0 < count <= MAX_PEERS:
            raise BadParameter(f"{count} peers; expected 1 to {MAX_PEERS}")
        self._order = np.argsort(prefixes, kind="stable")
        self._sorted = prefixes[self._order]
        twins = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        if len(twins):
            raise BadParameter(f"two peers share the 64 leading bits {int(self._sorted[twins[0]]):016x}; give one another id")
        self._bits = max(1, (2 * count - 1).bit_length())
        buckets = np.arange((1 << self._bits) + 1, dtype=np.uint64)
        starts = np.searchsorted(self._sorted, buckets[:-1] << np.uint64(64 - self._bits)).astype(np.uint32)
        ends = np.append(starts[1:], np.uint32(count)).astype(np.uint32)
        nearest = _nearest_filled(ends > starts, self._bits)
        self._start = starts[nearest]
        size = (ends - starts)[nearest]
        self._size: NDArray[np.uint32] | NDArray[np.uint8] = size.astype(np.uint8) if count < 256 else size

    def __len__(self) -> int:
        """How many peers there are."""
        return len(self._order)

    def owners(self, keys: Prefixes) -> Numbers:
        """The number of each key's owner: the peer whose id is closest by XOR."""
        found = np.empty(len(keys), dtype=np.int64)
        for begin in range(0, len(keys), CHUNK):
            part = slice(begin, begin + CHUNK)
            found[part] = self._order[self._closest(keys[part])]
        return found

    def _closest(self, keys: Prefixes) -> NDArray[np.int64]:
        """Places in the sorted ids."""
        bucket = (keys >> np.uint64(64 - self._bits)).astype(np.int64)
        place = self._start[bucket].astype(np.int64)
        size = self._size[bucket]
        best = place.copy()
        distance = self._sorted[place] ^ keys
        asked = np.flatnonzero(size > 1)
        step = 1
        while len(asked):
            other = place[asked] + step
            far = self._sorted[other] ^ keys[asked]
            nearer = far < distance[asked]
            distance[asked[nearer]] = far[nearer]
            best[asked[nearer]] = other[nearer]
            step += 1
            asked = asked[size[asked] > step]
        return best

    def holders(self, keys: Prefixes, replicas: int) -> NDArray[np.int64]:
        """The ``replicas`` peers closest to each key, the closest first, shape (keys, replicas).

        Raises BadParameter for more replicas than peers.
        """
        if not 0 < replicas <= len(self):
            raise BadParameter(f"{replicas} holders of a key among {len(self)} peers; expected 1 to as many as there are peers")
        found = np.empty((len(keys), replicas), dtype=np.int64)
        chunk = max(1, CHUNK // replicas)
        for begin in range(0, len(keys), chunk):
            part = slice(begin, begin + chunk)
            found[part] = self._order[self._closest_several(keys[part], replicas)]
        return found

    def _closest_several(self, keys: Prefixes, replicas: int) -> NDArray[np.int64]:
        # The deepest subtree around a key that holds enough peers holds the closest ones: all outside are farther away.
        low = np.zeros(len(keys), dtype=np.int64)
        high = np.full(len(keys), len(self), dtype=np.int64)
        open_ = np.arange(len(keys))
        for depth in range(1, 65):
            shift = np.uint64(64 - depth)
            first = (keys[open_] >> shift) << shift
            last = first | ((np.uint64(1) << shift) - np.uint64(1))
            begins = np.searchsorted(self._sorted, first)
            ends = np.searchsorted(self._sorted, last, side="right")
            enough = ends - begins >= replicas
            open_ = open_[enough]
            if not len(open_):
                break
            low[open_], high[open_] = begins[enough], ends[enough]
        width = int((high - low).max(initial=replicas))
        places = low[:, None] + np.arange(width)
        inside = places < high[:, None]
        distances = self._sorted[np.where(inside, places, low[:, None])] ^ keys[:, None]
        # What is outside sorts last: no distance to a peer inside is as large, except of one key to one peer, which is inside.
        distances[~inside] = np.iinfo(np.uint64).max
        order = np.argsort(distances, axis=1, kind="stable")[:, :replicas]
        return np.take_along_axis(places, order, axis=1)


def _nearest_filled(filled: NDArray[np.bool_], bits: int) -> NDArray[np.int64]:
    """For each bucket the nearest one, by XOR of their numbers, that is not empty."""
    buckets = np.arange(len(filled), dtype=np.int64)
    nearest = np.where(filled, buckets, -1)
    for bit in range(bits):
        # Within the other half of the subtree of 2**(bit + 1) buckets, what is nearest to p is what is nearest to p's sibling.
        missing = np.flatnonzero(nearest < 0)
        if not len(missing):
            break
        nearest[missing] = nearest[missing ^ (1 << bit)]
    return nearest
