"""Tuples counted as a plan sends them: how many have each key.

They are counted by the slots of their keys, which peer_loads.py turns into peers: a key that a million tuples have is looked up
once. Only keys of two constants, of which nearly each tuple has new ones, are looked up as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engine import kernels
from ..engine.kernels import Whole
from ..engine.ownership import Ownership
from ..engine.randomness import BLOCK, Words
from ..workload.workload import OBJECT, Chunk
from .peers import Peers
from .plan import PAIRS, Plan
from .strategies import Spread

if TYPE_CHECKING:
    import pyarrow

BLOCK_SLOTS = 1 << 14
"""Counts that travel as one row."""
BLOCK_SCHEMA = "block long, counts binary"
_ROW_BITS = 28
"""Bits of the number of rows of a key in a table; there are at most as many as peers (MAX_PEERS). Slots have the 36 above."""


class Counts(NamedTuple):
    """What tuples come to before it is known who owns which key."""

    slots: tuple[Whole, ...]
    """Tuples by slot, for each place of the plan."""
    met_everywhere: Whole
    """By slot of the first place, how many of what is posted everywhere its tuples meet, where that depends on them; else empty."""
    pair_tuples: Whole
    """By peer, copies of tuples under keys of two constants; empty where there are no such keys."""
    pair_work: Whole
    """By peer, pairs of a tuple and a template that met under them."""

    @classmethod
    def zero(cls, plan: Plan) -> Counts:
        """Nothing yet."""
        met = plan.places[0].slots() if plan.everywhere_met is not None else 0
        pairs = plan.peers if plan.strategy.composite else 0
        sizes = [*(place.slots() for place in plan.places), met, pairs, pairs]
        return cls.of([np.zeros(size, dtype=np.int64) for size in sizes])

    @classmethod
    def of(cls, columns: Sequence[Whole]) -> Counts:
        """From what :attr:`columns` gives."""
        *slots, met_everywhere, pair_tuples, pair_work = columns
        return cls(tuple(slots), met_everywhere, pair_tuples, pair_work)

    @property
    def columns(self) -> list[Whole]:
        """All of it, column by column."""
        return [*self.slots, self.met_everywhere, self.pair_tuples, self.pair_work]


class TupleCounter:
    """Counts tuples by a plan; peers are looked at only for keys of two constants."""

    def __init__(self, plan: Plan, peers: Peers) -> None:
        self._plan = plan
        self.counts = Counts.zero(plan)
        self._ownership = peers.ownership(plan.strategy.virtual) if plan.strategy.composite else None
        # Key, first slot and rows of a constant beside each other, so that it costs one miss of the cache.
        self._cells = [
            None
            if place.rows is None
            else np.stack([place.keys, (place.first(place.rows) << _ROW_BITS | place.rows).astype(np.uint64)], axis=1)
            for place in plan.places
        ]
        self._posted = SortedKeys(plan.pairs.keys)

    def count_chunk(self, chunk: Chunk) -> None:
        """Count some tuples."""
        slots = chunk.codes if self._plan.strategy.spread is Spread.NONE else self._slots(chunk)
        for counts, column in zip(self.counts.slots, slots, strict=True):
            _add(counts, column)
        if self._plan.everywhere_met is not None:
            np.add.at(self.counts.met_everywhere, slots[0], self._plan.everywhere_met[chunk.codes[OBJECT]])
        if self._ownership is not None:
            self._count_pairs(chunk, self._ownership)

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

    def _count_pairs(self, chunk: Chunk, ownership: Ownership) -> None:
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
                closest, held_by = holders(ownership, joint, self._plan.strategy.replicas)
                owners += held_by
                workers.append(closest[met])
                work.append(self._plan.pairs.templates[found[met]])
        _add(self.counts.pair_tuples, np.concatenate(owners))
        np.add.at(self.counts.pair_work, np.concatenate(workers), np.concatenate(work))


def blocks_of(counts: Counts) -> dict[int, Whole]:
    """The counts of all columns one after the other, in blocks; blocks of nothing are left out."""
    found: dict[int, Whole] = {}
    block = 0
    for column in counts.columns:
        for begin in range(0, len(column), BLOCK_SLOTS):
            part = column[begin : begin + BLOCK_SLOTS]
            if part.any():
                found[block] = part
            block += 1
    return found


def counts_of_blocks(blocks: dict[int, Whole], plan: Plan) -> Counts:
    """The counts whose blocks these are."""
    counts = Counts.zero(plan)
    block = 0
    for column in counts.columns:
        for begin in range(0, len(column), BLOCK_SLOTS):
            if block in blocks:
                column[begin : begin + BLOCK_SLOTS] = blocks[block]
            block += 1
    return counts


def rows_of_blocks(blocks: dict[int, Whole]) -> pyarrow.RecordBatch:
    """A row for each block, with its bytes. Spark copies bytes, and counts rows."""
    import pyarrow

    columns = [pyarrow.array(list(blocks), pyarrow.int64()), pyarrow.array(map(packed, blocks.values()), pyarrow.binary())]
    return pyarrow.RecordBatch.from_arrays(columns, names=["block", "counts"])


def packed(load: Whole) -> bytes:
    """The numbers of a block in the fewest bytes that hold the largest, after how many that are; nothing where all are 0.

    What travels is serialised, written to disk and read again, which costs more than all else that Spark adds to counting.
    """
    most = int(load.max(initial=0))
    if not most:
        return b""
    narrow = np.min_scalar_type(most)
    return bytes([narrow.itemsize]) + load.astype(narrow).tobytes()


def unpacked(part: bytes) -> Whole:
    """The numbers of a block; a single 0 where all are, which can be added to any block."""
    if not part:
        return np.zeros(1, dtype=np.int64)
    return np.frombuffer(part, dtype=f"u{part[0]}", offset=1).astype(np.int64)


def sums_of_blocks(batches: Iterable[pyarrow.RecordBatch]) -> dict[int, Whole]:
    """All rows of each block added up."""
    sums: dict[int, Whole] = {}
    for batch in batches:
        for block, part in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            sums[block] = sums[block] + unpacked(part) if block in sums else unpacked(part)
    return sums


def holders(ownership: Ownership, keys: Words, replicas: int) -> tuple[Whole, list[Whole]]:
    """Where tuples meet what is posted under each key, and all peers that have a copy: a column for each holder."""
    if replicas == 1:
        closest = ownership.owners(keys)
        return closest, [closest]
    columns = list(ownership.holders(keys, replicas).T)
    return columns[0], columns


def _add(counts: Whole, places: NDArray[np.integer]) -> None:
    """One more for each of these places."""
    if len(counts) <= 2 * len(places):
        counts += np.bincount(places, minlength=len(counts))
    else:  # bincount would walk through all there is
        np.add.at(counts, places, 1)


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
