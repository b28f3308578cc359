"""What tasks hand over: blocks of tuples as packed bytes, the constants in them with their counts, and how far each split went.

One row stands for up to BATCH tuples, since three columns of Java's per tuple are ten times slower. A block that was read has the
keys of its own constants and which of them each field is; once all constants are known, it has a code for each field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...engine.kernels import Whole
from ...engine.randomness import Words
from ..workload import ARITY, CHUNK, POSITIONS, Chunk
from .columns import Complaint
from .dictionary import Encoded
from .encoding import Dictionaries, summed

if TYPE_CHECKING:
    import pyarrow

READ_SCHEMA = (
    "file string, start long, first long, tuples long, subject binary, predicate binary, object binary, part int, counted binary, "
    "seen binary"
)
"""A row is a block, the counts of the constants of a part, or what was seen of a split; the columns of the others are null."""
BLOCK_SCHEMA = "begin long, tuples long, subject binary, predicate binary, object binary"
"""Blocks of codes: ``begin`` is the number of the first tuple."""
PART_SCHEMA = "part int, counted binary"

PART_BITS = 5
"""Constants of a position are added up in so many parts, by the leading bits of their keys: 32."""


class SplitSeen(msgspec.Struct):
    """What there was in a split: a part of a file that one task read from ``start`` on, or all of it."""

    file: str
    start: int
    lines: int = 0
    tuples: int = 0
    malformed: int = 0
    examples: list[Complaint] = msgspec.field(default_factory=list)
    """The first of them; lines are counted from 1 in each split."""
    graphs: int = 0
    failure: str = ""
    """Why it could not be read."""


def packed(column: Encoded, keys: Words) -> bytes:
    """A column of a block by the keys of its own constants: how many they are, the keys, and which of them each field has."""
    used = np.bincount(column.which, minlength=len(column.distinct)) > 0
    which = column.which
    if not used.all():
        which = (np.cumsum(used) - 1)[which]
    distinct = column.distinct[used]
    narrow = np.min_scalar_type(max(0, len(distinct) - 1))
    return len(distinct).to_bytes(_WORD, "little") + keys[distinct].tobytes() + which.astype(narrow).tobytes()


def unpacked(data: bytes, tuples: int) -> tuple[Words, NDArray[np.integer]]:
    """The keys of a block's own constants, and which of them each field has."""
    distinct = int.from_bytes(data[:_WORD], "little")
    end = _WORD * (1 + distinct)
    return np.frombuffer(data, np.uint64, distinct, _WORD), np.frombuffer(data, f"u{(len(data) - end) // tuples}", tuples, end)


_WORD = 8


class CodeTable:
    """The codes of keys: their places among all keys of a position, which are in order.

    Keys are hashes, so their leading bits say nearly where they are: a table says where those of equal bits begin.
    """

    def __init__(self, keys: Words) -> None:
        self._keys = keys
        bits = max(1, min(_MOST_BITS, len(keys).bit_length()))
        self._shift = np.uint64(64 - bits)
        self._begins = np.searchsorted(keys >> self._shift, np.arange(1 << bits, dtype=np.uint64))
        self._narrow = np.min_scalar_type(max(0, len(keys) - 1))

    def places(self, keys: Words) -> NDArray[np.int64]:
        """The place of each key, all of which must be there."""
        found: NDArray[np.int64] = self._begins[keys >> self._shift]
        left = np.flatnonzero(self._keys[found] != keys)
        while len(left):
            found[left] += 1
            left = left[self._keys[found[left]] != keys[left]]
        return found

    def coded(self, data: bytes, tuples: int) -> bytes:
        """A column of a block that was packed by its own keys, by codes: in the fewest bytes that hold all of those."""
        known, which = unpacked(data, tuples)
        return self.places(known).astype(self._narrow).take(which, mode="clip").tobytes()


_MOST_BITS = 22
"""Leading bits by which keys are looked up: 32 MiB of table at most, for each position of a task."""


def codes_of(data: bytes, tuples: int) -> NDArray[np.int32]:
    """The codes of a column of a block."""
    return np.frombuffer(data, f"u{len(data) // tuples}").astype(np.int32)


class Counts:
    """How often each constant came in the blocks of a task, by its place in dictionaries."""

    def __init__(self, dictionaries: Dictionaries) -> None:
        self._dictionaries = dictionaries
        self._counts = [np.zeros(0, dtype=np.int64) for _ in dictionaries]

    def count(self, columns: Iterable[Encoded]) -> None:
        """One block more."""
        for position, column in enumerate(columns):
            counts, known = self._counts[position], len(self._dictionaries[position])
            if len(counts) < known:
                counts = self._counts[position] = np.concatenate([counts, np.zeros(max(known, len(counts)), dtype=np.int64)])
            of_distinct = np.bincount(column.which, minlength=len(column.distinct))
            # Two distinct values may be one term, and those that are none have no field left.
            there = of_distinct > 0
            np.add.at(counts, column.distinct[there], of_distinct[there])

    def parts(self) -> dict[int, bytes]:
        """All of them by part, and begin anew."""
        found: dict[int, bytes] = {}
        for position, known in enumerate(self._dictionaries):
            counts = self._counts[position][: len(known)]
            used = np.flatnonzero(counts)
            found |= parts_of(position, *summed(known.keys[used], counts[used]))
            self._counts[position] = np.zeros(0, dtype=np.int64)
        return found


def parts_of(position: int, keys: Words, counts: Whole) -> dict[int, bytes]:
    """The constants of a position, keys in order, by their part: its keys and then its counts."""
    edges = np.searchsorted(keys >> np.uint64(64 - PART_BITS), np.arange((1 << PART_BITS) + 1, dtype=np.uint64))
    return {
        position << PART_BITS | part: keys[begin:end].tobytes() + counts[begin:end].tobytes()
        for part, (begin, end) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
        if begin < end
    }


def counted(data: bytes) -> tuple[Words, Whole]:
    """The keys and the counts of a part."""
    middle = len(data) // 2
    return np.frombuffer(data[:middle], np.uint64), np.frombuffer(data[middle:], np.int64)


def sums_of_parts(rows: Iterable[tuple[int, bytes]]) -> dict[int, bytes]:
    """All rows of each part added up."""
    found: dict[int, list[bytes]] = {}
    for part, data in rows:
        found.setdefault(part, []).append(data)
    sums: dict[int, bytes] = {}
    for part, several in found.items():
        columns = [counted(data) for data in several]
        keys, counts = summed(np.concatenate([keys for keys, _ in columns]), np.concatenate([counts for _, counts in columns]))
        sums[part] = keys.tobytes() + counts.tobytes()
    return sums


def position_of(part: int) -> int:
    """The position of the constants of a part."""
    return part >> PART_BITS


class Block(NamedTuple):
    """Tuples by their codes, and the number of the first."""

    begin: int
    codes: tuple[NDArray[np.int32], ...]

    def __len__(self) -> int:
        """How many tuples."""
        return len(self.codes[0])


def blocks_of(batch: pyarrow.RecordBatch) -> Iterator[Block]:
    """The blocks of rows of BLOCK_SCHEMA."""
    columns = (batch.column(name).to_pylist() for name in ("begin", "tuples", *POSITIONS))
    for begin, tuples, *data in zip(*columns, strict=True):
        yield Block(begin, tuple(codes_of(column, tuples) for column in data))


def chunks_of_blocks(batch: pyarrow.RecordBatch, spacing_s: float) -> Iterator[Chunk]:
    """The tuples of rows of BLOCK_SCHEMA, CHUNK together at most, published so many seconds one after the other."""
    blocks: list[Block] = []
    for block in blocks_of(batch):
        if blocks and sum(map(len, blocks)) + len(block) > CHUNK:
            yield _joined(blocks, spacing_s)
            blocks = []
        blocks.append(block)
    if blocks:
        yield _joined(blocks, spacing_s)


def _joined(blocks: list[Block], spacing_s: float) -> Chunk:
    codes = tuple(np.concatenate([block.codes[position] for block in blocks]) for position in range(ARITY))
    return Chunk(codes, lambda: np.concatenate([np.arange(block.begin, block.begin + len(block)) for block in blocks]) * spacing_s)


def chosen_of(block: Block, wanted: Whole) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Of numbers in order, the places of those that are in a block, and their codes, shape (positions, found)."""
    first, end = np.searchsorted(wanted, [block.begin, block.begin + len(block)])
    rows = wanted[first:end] - block.begin
    return np.arange(first, end), np.array([column[rows] for column in block.codes])


def row_of_block(seen: SplitSeen, first: int, columns: tuple[Encoded, ...], keys: Iterable[Words]) -> Mapping[str, object]:
    """A row of READ_SCHEMA with a block of a split; ``first`` is the number of its first tuple within the split."""
    data = [packed(column, known) for column, known in zip(columns, keys, strict=True)]
    tuples = len(columns[0].which)
    return {"file": seen.file, "start": seen.start, "first": first, "tuples": tuples, **dict(zip(POSITIONS, data, strict=True))}


def rows_of_parts(parts: Mapping[int, bytes]) -> list[Mapping[str, object]]:
    """Rows of READ_SCHEMA or PART_SCHEMA with counts."""
    return [{"part": part, "counted": data} for part, data in parts.items()]


def row_of_seen(seen: SplitSeen) -> Mapping[str, object]:
    """A row of READ_SCHEMA with what was seen of a split."""
    return {"seen": msgspec.msgpack.encode(seen)}


def read_batch(rows: list[Mapping[str, object]]) -> pyarrow.RecordBatch:
    """Rows of READ_SCHEMA."""
    import pyarrow

    binary = pyarrow.binary()
    kinds = {"file": pyarrow.string(), "start": pyarrow.int64(), "first": pyarrow.int64(), "tuples": pyarrow.int64()}
    kinds |= {**dict.fromkeys(POSITIONS, binary), "part": pyarrow.int32(), "counted": binary, "seen": binary}
    return pyarrow.RecordBatch.from_arrays(
        [pyarrow.array([row.get(name) for row in rows], kind) for name, kind in kinds.items()], names=list(kinds)
    )
