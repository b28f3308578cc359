"""How far a lookup goes: hops and success against the size of buckets and the share of dead peers, for millions of peers.

A peer knows, for each number of leading bits that another may share with it, up to k peers of that subtree: its bucket (Maymounkov
and Mazières 2002, "Kademlia", section 2.4). Here a bucket's contacts are drawn by counter from the subtree, so no table is stored
and every run finds the same one. A lookup goes from peer to peer, each time to the living contact that is closest to where it goes;
a dead contact costs a timeout, and a bucket without a living contact ends the lookup. Nothing is repaired on the way: what is
measured is a network in which that many have died at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.ownership import MAX_PEERS, Prefixes
from ..engine.randomness import Stream, Words
from ..errors import BadParameter, check_range

MAX_HOPS = 64
"""Each hop shares one more of 64 bits at least."""


@dataclass(frozen=True, slots=True)
class Lookups:
    """How lookups went, one entry each."""

    hops: NDArray[np.int64]
    """Peers asked, the one that begins not counted."""
    timeouts: NDArray[np.int64]
    """Dead contacts that were tried before a living one, over all hops."""
    found: NDArray[np.bool_]
    """Whether the lookup came to the living peer closest to its target."""


def check(peers: int, *, k: int, dead: float) -> None:
    """Raises BadParameter for what no overlay can have."""
    check_range(peers, 2, MAX_PEERS, "peers")
    if not 0 < k <= 1024:
        raise BadParameter(f"buckets of {k}; expected 1 to 1024 contacts")
    if not 0 <= dead < 1:
        raise BadParameter(f"a share of {dead:g} dead peers; expected 0 or more, and less than 1")


class Overlay:
    """Peers with buckets of ``k`` contacts; a share of ``dead`` of them has died since the buckets were filled."""

    def __init__(self, peers: int, *, k: int, dead: float = 0.0, seed: int = 0) -> None:
        check(peers, k=k, dead=dead)
        self.k = k
        self._ids: Prefixes = np.sort(Stream(seed, "peers").words(0, peers))
        self._alive = Stream(seed, "dead").uniform(0, peers) >= dead
        self._contacts = Stream(seed, "contacts", k)
        self._living = np.flatnonzero(self._alive)
        if not len(self._living):
            raise BadParameter(f"a share of {dead:g} dead among {peers} peers leaves nobody")

    def lookups(self, targets: Prefixes, starts: NDArray[np.int64]) -> Lookups:
        """Look each target up, beginning at living peers (numbers from 0 that are taken by their rank among the living)."""
        here = self._living[starts % len(self._living)]
        goal = self._living[_closest(self._ids[self._living], targets)]
        hops = np.zeros(len(targets), dtype=np.int64)
        timeouts = np.zeros(len(targets), dtype=np.int64)
        found = here == goal
        going = np.flatnonzero(~found)
        for _ in range(MAX_HOPS):
            if not len(going):
                break
            there, tried, alive = self._next(here[going], goal[going])
            timeouts[going] += tried
            hops[going] += alive
            here[going] = there
            found[going] = there == goal[going]
            going = going[alive & (there != goal[going])]
        return Lookups(hops, timeouts, found)

    def _next(
        self, here: NDArray[np.int64], goal: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """The closest living contact on the way, how many dead ones were closer, and whether there is a living one."""
        ids = self._ids
        wanted = ids[goal]
        shared = _leading_zeros(ids[here] ^ wanted)
        # The bucket for the goal: all who share one bit more with it than this peer does.
        shift = (63 - shared).astype(np.uint64)
        first = (wanted >> shift) << shift
        low = np.searchsorted(ids, first)
        high = np.searchsorted(ids, first | ((np.uint64(1) << shift) - np.uint64(1)), side="right")
        size = high - low
        counters = (here.astype(np.uint64) << np.uint64(6) | shared.astype(np.uint64)) * np.uint64(self.k)
        places, there = self._bucket(counters, size)
        contact = low[:, None] + places
        distance = ids[contact] ^ wanted[:, None]
        alive = self._alive[contact] & there
        nearest_alive = np.where(alive, distance, np.iinfo(np.uint64).max)
        chosen = nearest_alive.argmin(axis=1)
        rows = np.arange(len(here))
        reached = alive[rows, chosen]
        best = nearest_alive[rows, chosen]
        closer = ~alive & there & (distance < best[:, None])
        return np.where(reached, contact[rows, chosen], here), closer.sum(axis=1), reached

    def _bucket(self, counters: Words, size: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The places of a bucket's contacts in its subtree of so many peers, and which of its slots are filled at all.

        No contact is in a bucket twice: they are drawn by Floyd's method (Bentley and Floyd 1987, "A Sample of Brilliance"), which
        takes the last place of those that may be drawn by now where it draws one that it has. A subtree that fits is known whole.
        """
        places = np.empty((len(size), self.k), dtype=np.int64)
        for slot in range(self.k):
            drawn = self._contacts.at(counters + np.uint64(slot))
            last = np.maximum(size - self.k + slot, 0)
            place = ((drawn >> np.uint64(32)) * (last + 1).astype(np.uint64) >> np.uint64(32)).astype(np.int64)
            again = (places[:, :slot] == place[:, None]).any(axis=1)
            places[:, slot] = np.where(again, last, place)
        slots = np.arange(self.k)
        small = size[:, None] <= self.k
        return np.where(small, np.minimum(slots, size[:, None] - 1), places), slots < size[:, None]


def _leading_zeros(words: Prefixes) -> NDArray[np.int64]:
    """Leading zero bits of words that are not 0."""
    # frexp is exact on 32 bits: the exponent of the half that is not 0 says where its first one is.
    high = (words >> np.uint64(32)).astype(np.float64)
    low = (words & np.uint64(0xFFFFFFFF)).astype(np.float64)
    _, of_high = np.frexp(high)
    _, of_low = np.frexp(low)
    return np.where(high > 0, 32 - of_high, 64 - of_low).astype(np.int64)


def _closest(ids: Prefixes, targets: Prefixes) -> NDArray[np.int64]:
    """The place in sorted ids of the closest by XOR."""
    from ..engine.ownership import Ownership

    return Ownership(ids).owners(targets)
