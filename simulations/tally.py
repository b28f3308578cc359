"""Tuples counted as a plan sends them: what each peer is given, and what it compares that with.

Tuples are counted by the slots of their keys first, and slots are turned into peers at the end: a key that a million tuples have is
looked up once. Only keys of two constants, of which nearly each tuple has new ones, are looked up as they come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .kernels import Flags, Whole
from .plan import PAIRS, Place, Plan, expanded
from .randomness import Words
from .strategies import Spread
from .workload import Chunk


@dataclass(frozen=True, slots=True)
class Loads:
    """What peers got, each of shape (peers,)."""

    tuples: Whole
    """Copies of tuples."""
    work: Whole
    """Pairs of a tuple and a template that met under one key, equal templates counted once."""
    first_epoch: Whole
    """Copies of tuples of the first date range: what peers carry at one time where each range has keys of its own."""

    @classmethod
    def none(cls, peers: int) -> Loads:
        """Nothing yet."""
        return cls(*(np.zeros(peers, dtype=np.int64) for _ in range(3)))


class Tally:
    """Counts tuples by a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ownership = plan.ownership()
        self._first = [None if place.rows is None else place.first(place.rows) for place in plan.places]
        self._counts = [
            np.zeros(len(place.keys) if place.rows is None else int(place.rows.sum()), dtype=np.int64) for place in plan.places
        ]
        self._loads = Loads.none(len(plan.peers))
        self._posted = SortedKeys(plan.pairs[0])

    def add(self, chunk: Chunk) -> None:
        """Count some tuples."""
        spread = self._plan.strategy.spread
        draws = None
        if spread not in (Spread.NONE, Spread.EPOCHS):
            draws = kernels.drawn([place.keys[codes] for place, codes in zip(self._plan.places, chunk.codes, strict=True)])
        for place, first, counts, codes in zip(self._plan.places, self._first, self._counts, chunk.codes, strict=True):
            slots = codes
            if place.rows is not None and first is not None:
                slots = first[codes]
                if draws is not None:
                    slots += kernels.share_of(draws, place.rows[codes])
                else:
                    slots += kernels.epoch_of(chunk.at_s, self._plan.epoch_s, self._plan.strategy.amount)
            counts += np.bincount(slots, minlength=len(counts))
        if self._plan.strategy.composite:
            self._add_pairs(chunk)

    def _add_pairs(self, chunk: Chunk) -> None:
        for one, other in PAIRS:
            keys = [self._plan.places[position].keys[chunk.codes[position]] for position in (one, other)]
            joint = kernels.scattered(*keys)
            found = self._posted.find(joint)
            met = found >= 0
            if self._plan.strategy.demand:
                joint, found, met = joint[met], found[met], met[met]
            peers = self._peers(joint)
            self._give(self._loads.tuples, peers)
            self._give(self._loads.work, peers[met], self._plan.pairs[1][found[met]])

    def loads(self) -> Loads:
        """What all tuples so far have made of the peers."""
        for position, (place, counts) in enumerate(zip(self._plan.places, self._counts, strict=True)):
            self._turn(position, place, counts)
            counts[:] = 0
        return self._loads

    def _turn(self, position: int, place: Place, counts: Whole) -> None:
        """Give what was counted for one position to the peers of its cells."""
        slots = np.flatnonzero(counts)
        first = self._first[position]
        codes = slots if first is None else np.searchsorted(first, slots, side="right") - 1
        rows = slots - (slots if first is None else first[codes])
        first_column = place.first(place.columns)
        everywhere = self._plan.everywhere if position == 0 else 0
        sent = self._sent(place, codes, first_column, bool(everywhere))
        slots, codes, rows = slots[sent], codes[sent], rows[sent]
        columns = np.ones(len(codes), dtype=np.int64) if place.columns is None else place.columns[codes]
        for some, column in expanded(columns):
            peers = self._peers(kernels.cell_key(place.keys[codes[some]], rows[some], column))
            tuples = counts[slots[some]]
            self._give(self._loads.tuples, peers, tuples)
            if self._plan.strategy.spread is Spread.EPOCHS:
                now = rows[some] == 0
                self._give(self._loads.first_epoch, peers[now], tuples[now])
            posted = place.posted[first_column[codes[some]] + column] + everywhere * (column == 0)
            self._give(self._loads.work, peers, tuples * posted)

    def _sent(self, place: Place, codes: Whole, first_column: Whole, home: bool) -> Flags:
        """Which codes tuples are sent to at all."""
        sent = np.ones(len(codes), dtype=bool) if place.refused is None else ~place.refused[codes]
        if self._plan.strategy.demand and not home:
            sent &= np.add.reduceat(place.posted, first_column)[codes] > 0
        return sent

    def _peers(self, keys: Words) -> Whole:
        return self._ownership.owners(keys) % len(self._plan.peers)

    def _give(self, load: Whole, peers: Whole, amounts: Whole | None = None) -> None:
        # Sums of doubles are exact up to 2**53, which is more than the pairs of any run (MAX_TUPLES by what peers hold of a key).
        load += np.bincount(peers, weights=amounts, minlength=len(load)).astype(np.int64)


class SortedKeys:
    """Keys to be found by millions: cut by their leading bits, so that few have to be compared."""

    def __init__(self, keys: Words) -> None:
        self._keys = keys
        self._bits = max(1, (2 * len(keys)).bit_length())
        buckets = np.arange((1 << self._bits) + 1, dtype=np.uint64)
        self._start = np.searchsorted(keys, buckets[:-1] << np.uint64(64 - self._bits)).astype(np.int64)
        self._start = np.append(self._start, len(keys))

    def find(self, keys: Words) -> NDArray[np.int64]:
        """The place of each key among the sorted ones, -1 where it is not there."""
        found = np.full(len(keys), -1, dtype=np.int64)
        bucket = (keys >> np.uint64(64 - self._bits)).astype(np.int64)
        place, end = self._start[bucket], self._start[bucket + 1]
        asked = np.flatnonzero(place < end)
        while len(asked):
            here = self._keys[place[asked]] == keys[asked]
            found[asked[here]] = place[asked[here]]
            asked = asked[~here]
            place[asked] += 1
            asked = asked[place[asked] < end[asked]]
        return found
