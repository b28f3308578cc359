"""Tuples counted as a plan sends them: what each peer is given, and what it compares that with.

Tuples are counted by the slots of their keys first, and slots are turned into peers at the end: a key that a million tuples have is
looked up once. Only keys of two constants, of which nearly each tuple has new ones, are looked up as they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine import kernels
from ..engine.kernels import Flags, Whole
from ..engine.randomness import BLOCK, Words
from ..workload.workload import OBJECT, Chunk
from .plan import PAIRS, Place, Plan, expanded
from .strategies import Spread

_ROW_BITS = 28
"""Bits of the number of rows of a key in a table; there are at most as many as peers (MAX_PEERS). Slots have the 36 above."""


class Loads(NamedTuple):
    """What peers got, each of shape (peers,)."""

    tuples: Whole
    """Copies of tuples, at all holders of their keys."""
    work: Whole
    """Pairs of a tuple and a template that met under one key, equal templates counted once.

    Of templates with bounds and no constant only those whose bounds hold the tuple's object: a peer finds them by their bounds."""
    first_epoch: Whole
    """Copies of tuples of the first date range: what peers carry at one time where each range has keys of its own."""

    @classmethod
    def zero(cls, peers: int) -> Loads:
        """Nothing yet."""
        return cls(*(np.zeros(peers, dtype=np.int64) for _ in cls._fields))


class LoadCounter:
    """Counts tuples by a plan."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._ownership = plan.ownership()
        self._first = [None if place.rows is None else place.first(place.rows) for place in plan.places]
        self._counts = [
            np.zeros(len(place.keys) if place.rows is None else int(place.rows.sum()), dtype=np.int64) for place in plan.places
        ]
        # Key, first slot and rows of a constant beside each other, so that it costs one miss of the cache.
        self._cells = [
            None
            if place.rows is None or first is None
            else np.stack([place.keys, (first << _ROW_BITS | place.rows).astype(np.uint64)], axis=1)
            for place, first in zip(plan.places, self._first, strict=True)
        ]
        self._met_everywhere = np.zeros_like(self._counts[0])
        """By slot of the first position, where it depends on tuples how many of what is posted everywhere they meet."""
        self._loads = Loads.zero(len(plan.peers))
        self._posted = SortedKeys(plan.pairs[0])

    def count_chunk(self, chunk: Chunk) -> None:
        """Count some tuples."""
        slots = chunk.codes if self._plan.strategy.spread is Spread.NONE else self._slots(chunk)
        for counts, column in zip(self._counts, slots, strict=True):
            self._give(counts, column)
        if self._plan.everywhere_met is not None:
            np.add.at(self._met_everywhere, slots[0], self._plan.everywhere_met[chunk.codes[OBJECT]])
        if self._plan.strategy.composite:
            self._count_pairs(chunk)

    def _slots(self, chunk: Chunk) -> tuple[Whole, ...]:
        """The slot of each tuple's cell for each position."""
        slots = tuple(np.empty(len(chunk), dtype=np.int64) for _ in chunk.codes)
        epochs = None
        if self._plan.strategy.spread is Spread.EPOCHS:
            epochs = kernels.epoch_of(chunk.at_s, self._plan.epoch_s, self._plan.strategy.amount)
        for block in _blocks(chunk):
            # No code is outside the table: "clip" only spares a check.
            cells = [
                table.take(codes[block], axis=0, mode="clip")
                for table, codes in zip(self._cells, chunk.codes, strict=True)
                if table is not None
            ]
            draws = kernels.drawn([cell[:, 0] for cell in cells]) if epochs is None else None
            for column, cell in zip(slots, cells, strict=True):
                found = cell[:, 1].view(np.int64)
                rows = found & ((1 << _ROW_BITS) - 1)
                np.right_shift(found, _ROW_BITS, out=column[block])
                if draws is not None:
                    column[block] += kernels.share_of(draws, rows)
                elif epochs is not None:
                    column[block] += epochs[block]
        return slots

    def _count_pairs(self, chunk: Chunk) -> None:
        owners: list[Whole] = []
        workers: list[Whole] = []
        work: list[Whole] = []
        for block in _blocks(chunk):
            keys = [place.keys.take(codes[block], mode="clip") for place, codes in zip(self._plan.places, chunk.codes, strict=True)]
            for one, other in PAIRS:
                joint = kernels.scattered(keys[one], keys[other])
                found = self._posted.find(joint)
                met = np.flatnonzero(found >= 0)
                if self._plan.strategy.demand:
                    joint, found, met = joint[met], found[met], np.arange(len(met))
                peers, held_by = self._holders(joint)
                owners += held_by
                workers.append(peers[met])
                work.append(self._plan.pairs[1][found[met]])
        self._give(self._loads.tuples, np.concatenate(owners))
        self._give(self._loads.work, np.concatenate(workers), np.concatenate(work))

    def loads(self) -> Loads:
        """What all tuples so far have made of the peers."""
        for position, (place, counts) in enumerate(zip(self._plan.places, self._counts, strict=True)):
            self._turn(position, place, counts)
            counts[:] = 0
        self._met_everywhere[:] = 0
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
            peers, held_by = self._holders(kernels.cell_key(place.keys[codes[some]], rows[some], column))
            tuples = counts[slots[some]]
            now = rows[some] == 0
            for holders in held_by:
                self._give(self._loads.tuples, holders, tuples)
                if self._plan.strategy.spread is Spread.EPOCHS:
                    self._give(self._loads.first_epoch, holders[now], tuples[now])
            work = tuples * place.posted[first_column[codes[some]] + column]
            if everywhere:
                met = tuples * everywhere if self._plan.everywhere_met is None else self._met_everywhere[slots[some]]
                work += met * (column == 0)
            self._give(self._loads.work, peers, work)

    def _holders(self, keys: Words) -> tuple[Whole, list[Whole]]:
        """Where tuples meet what is posted under each key, and all peers that have a copy: a column for each holder."""
        replicas = self._plan.strategy.replicas
        if replicas == 1:
            closest = self._ownership.owners(keys)
            return closest, [closest]
        holders = list(self._ownership.holders(keys, replicas).T)
        return holders[0], holders

    def _sent(self, place: Place, codes: Whole, first_column: Whole, home: bool) -> Flags:
        """Which codes tuples are sent to at all."""
        sent = np.ones(len(codes), dtype=bool) if place.refused is None else ~place.refused[codes]
        if self._plan.strategy.demand and not home:
            sent &= np.add.reduceat(place.posted, first_column)[codes] > 0
        return sent

    def _give(self, load: Whole, places: NDArray[np.integer], amounts: Whole | None = None) -> None:
        if amounts is None and len(load) <= 2 * len(places):
            load += np.bincount(places, minlength=len(load))
        else:  # bincount would make a column of doubles for amounts, and walks through all there is
            np.add.at(load, places, 1 if amounts is None else amounts)


def _blocks(chunk: Chunk) -> Iterator[slice]:
    """Parts of a chunk whose columns stay in a core's second cache from one step to the next."""
    for begin in range(0, len(chunk), BLOCK):
        yield slice(begin, begin + BLOCK)


class SortedKeys:
    """Keys to be found by millions: cut by their leading bits, so that few have to be compared."""

    def __init__(self, keys: Words) -> None:
        self._keys = keys
        self._bits = max(1, (4 * len(keys)).bit_length())
        sizes = np.bincount(self._bucket(keys), minlength=1 << self._bits)
        self._end = np.cumsum(sizes)
        # A byte a bucket says whether there is anything to compare; for most of the keys asked there is not.
        self._filled = sizes > 0

    def find(self, keys: Words) -> NDArray[np.int64]:
        """The place of each key among the sorted ones, -1 where it is not there."""
        found = np.full(len(keys), -1, dtype=np.int64)
        bucket = self._bucket(keys)
        asked = np.flatnonzero(self._filled.take(bucket, mode="clip"))
        # From the last of a bucket back to the first; before that comes one of another bucket, which is not the key asked either.
        place, wanted = self._end[bucket[asked]] - 1, keys[asked]
        while len(asked):
            here = self._keys[place]
            equal = here == wanted
            found[asked[equal]] = place[equal]
            more = np.flatnonzero((here > wanted) & (place > 0))
            asked, place, wanted = asked[more], place[more] - 1, wanted[more]
        return found

    def _bucket(self, keys: Words) -> NDArray[np.int64]:
        return (keys >> np.uint64(64 - self._bits)).view(np.int64)
