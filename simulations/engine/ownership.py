"""Which peer owns a key, for millions of keys at once: XOR ownership over 160-bit ids, exactly.

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

from ..errors import BadParameter, check_range

Prefixes: TypeAlias = NDArray[np.uint64]
"""Ids or keys by their first 64 bits, shape (n,)."""
Numbers: TypeAlias = NDArray[np.int64]
"""Peers by their number, from 0, shape (n,)."""

MAX_PEERS = 1 << 26
"""Peers that a simulation takes at most: their table has four bytes for each of up to four times as many buckets."""
CHUNK = 1 << 14
"""Keys that are looked up together: what a chunk needs stays in a core's second cache."""
_NARROW = 6
"""Bits that a bucket's size has in a table of four bytes a bucket; ids that are drawn at random never crowd more than that."""
_WIDE = 32
"""Bits that it has in one of eight, for ids that were chosen."""


def prefixes_of(ids: list[bytes]) -> Prefixes:
    """The first 64 bits of ids or keys of 20 bytes."""
    return np.frombuffer(b"".join(point[:8] for point in ids), dtype=">u8").astype(np.uint64)


class Ownership:
    """The owners of keys among peers, by the first 64 bits of the peers' ids; peer ``i`` is number ``i`` of ``prefixes``.

    Where peers take part under several ids, ``peers`` is how many there are: number ``i`` is an id of peer ``i % peers``; or
    ``peer_of`` says whose each id is. Raises BadParameter for no peers, more than MAX_PEERS, or two that share 64 bits.
    """

    def __init__(self, prefixes: Prefixes, *, peers: int | None = None, peer_of: Numbers | None = None) -> None:
        count = len(prefixes)
        check_range(count, 1, MAX_PEERS, "peers")
        self._order = np.argsort(prefixes)
        self._sorted = prefixes[self._order]
        if peers is not None and peers < count:
            self._order %= peers
        if peer_of is not None:
            self._order = peer_of[self._order]
        twins = np.flatnonzero(self._sorted[1:] == self._sorted[:-1])
        if len(twins):
            raise BadParameter(f"two peers share the 64 leading bits {int(self._sorted[twins[0]]):016x}; give one another id")
        self._bits = max(1, (2 * count - 1).bit_length())
        sizes = np.bincount(self._bucket(self._sorted), minlength=1 << self._bits)
        nearest = _nearest_filled(sizes > 0, self._bits)
        self._size_bits = _NARROW if sizes.max() < 1 << _NARROW else _WIDE
        # A bucket of one says which peer that is, any other where it begins, with its size in one word: most keys cost one miss of
        # the cache.
        begins = np.cumsum(sizes) - sizes
        table = np.where(sizes == 1, self._order[np.minimum(begins, count - 1)], begins) << self._size_bits | sizes
        self._table: NDArray[np.uint32] | NDArray[np.int64] = table[nearest]
        if self._size_bits == _NARROW:
            self._table = self._table.astype(np.uint32)

    def __len__(self) -> int:
        """How many peers there are."""
        return len(self._order)

    def owners(self, keys: Prefixes) -> Numbers:
        """The number of each key's owner: the peer whose id is closest by XOR."""
        found = np.empty(len(keys), dtype=np.int64)
        for begin in range(0, len(keys), CHUNK):
            part = slice(begin, begin + CHUNK)
            found[part] = self._closest(keys[part])
        return found

    def _bucket(self, keys: Prefixes) -> NDArray[np.int64]:
        return (keys >> np.uint64(64 - self._bits)).view(np.int64)

    def _closest(self, keys: Prefixes) -> NDArray[np.int64]:
        """Numbers of peers."""
        # No bucket is outside the table: "clip" only spares a check.
        found = self._table.take(self._bucket(keys), mode="clip").astype(np.int64)
        best = found >> self._size_bits
        found &= (1 << self._size_bits) - 1
        # Most keys meet one peer, which needs no comparing; few meet more than two.
        several = asked = np.flatnonzero(found > 1)
        place, left, key = best[asked], found[asked] - 1, keys[asked]
        distance = self._sorted[place] ^ key
        while len(asked):
            place += 1
            far = self._sorted[place] ^ key
            nearer = far < distance
            best[asked[nearer]] = place[nearer]
            distance = np.minimum(distance, far)
            left -= 1
            more = np.flatnonzero(left)
            asked, place, left, key, distance = asked[more], place[more], left[more], key[more], distance[more]
        best[several] = self._order[best[several]]
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
    missing = np.flatnonzero(~filled)
    for bit in range(bits):
        # Within the other half of the subtree of 2**(bit + 1) buckets, what is nearest to p is what is nearest to p's sibling.
        found = nearest[missing ^ (1 << bit)]
        nearest[missing] = found
        missing = missing[found < 0]
    return nearest
