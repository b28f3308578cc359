"""Reads the splits that a task gets, one after the other, and hands over rows of blocks (blocks.py). Nothing here knows Spark.

What a task gets are lines, rows or whole files, each with its file and the place there at which its split begins; splits come one
after the other, and each is in order.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote, urlsplit

import numpy as np

from gsg.languages.files.encoding import MARK_BYTES

from ...errors import BadWorkload
from ..lines import SNIFFED_BYTES, names_of
from ..pieces import EXAMPLES, failing
from ..sources import partition_of
from .blocks import Counts, SplitSeen, read_batch, row_of_block, row_of_seen, rows_of_parts
from .columns import BATCH, DOCUMENTS, ROWS_OF_LINES, Beside, Rows, rows_of_csv, rows_of_document, rows_of_table
from .encoding import Dictionaries, encode, new_dictionaries

if TYPE_CHECKING:
    import pyarrow

    Batches: TypeAlias = Iterator[pyarrow.RecordBatch]

FILE, START, CONTENT = "file", "start", "content"
"""Columns of what a task gets: where a line or row is from, and what it is where it is no row of a table."""
TABLE = "table"
"""The format of rows that have the columns of a tuple, and no place in a file that anybody could look up."""

MAX_KEPT = 1 << 22
"""Texts of one position that a worker of Spark's knows again, with their keys: 240 MiB at most, and 60 for a million. At the limit
all are forgotten."""
MAX_HELD_BYTES = 32 << 20
"""Bytes of lines that are read together at most, if each is shorter."""


@lru_cache(maxsize=1)
def _kept_dictionaries() -> Dictionaries:
    """Those of this process: a worker of Spark's reads one split after the other, and most texts come again."""
    return new_dictionaries()


def read_splits(batches: Batches, format: str) -> Batches:
    """Rows of READ_SCHEMA for what a task gets."""
    known = _kept_dictionaries()
    counts = Counts(known)
    for (file, start), slices in groupby(_slices(batches), key=lambda found: (found[0], found[1])):
        seen = SplitSeen(file, start)
        try:
            with failing(file):
                for rows in _rows_of(_counted((batch for _, _, batch in slices), seen), format, file):
                    found = encode(known, rows)
                    seen.malformed += found.malformed
                    # Rows of a table have no number that anybody could look up.
                    examples = [(0 if format == TABLE else line, problem) for line, problem in found.examples]
                    seen.examples = [*seen.examples, *examples][:EXAMPLES]
                    seen.graphs += found.graphs
                    if len(found):
                        counts.count(found.columns)
                        yield read_batch([row_of_block(seen, seen.tuples, found.columns, [each.keys for each in known])])
                        seen.tuples += len(found)
                    if max(each.size for each in known) >= MAX_KEPT:
                        yield read_batch(rows_of_parts(counts.parts()))
                        for each in known:
                            each.clear()
        except BadWorkload as error:
            seen.failure = str(error)
        yield read_batch([row_of_seen(seen)])
    yield read_batch(rows_of_parts(counts.parts()))


def _slices(batches: Batches) -> Iterator[tuple[str, int, pyarrow.RecordBatch]]:
    """Batches cut where another split begins."""
    for batch in batches:
        if not len(batch):
            continue
        files, starts = batch.column(FILE), batch.column(START).to_numpy()
        edges = [0, len(batch)]
        # Splits do not come back, so where both ends are of one, all of it is.
        if starts[0] != starts[-1] or files[0] != files[-1]:
            index = files.dictionary_encode().indices.to_numpy()
            inner = np.flatnonzero((index[1:] != index[:-1]) | (starts[1:] != starts[:-1])) + 1
            edges = [0, *inner.tolist(), len(batch)]
        for begin, end in pairwise(edges):
            yield files[begin].as_py(), int(starts[begin]), batch.slice(begin, end - begin).drop_columns([FILE, START])


def _counted(slices: Batches, seen: SplitSeen) -> Batches:
    for batch in slices:
        seen.lines += len(batch)
        yield batch


def _rows_of(slices: Batches, format: str, file: str) -> Iterator[Rows]:
    path = path_of_uri(file)
    beside = {} if format == TABLE else partition_of(path)
    base = path.as_uri() if urlsplit(file).scheme in ("", "file") else file
    if format in ROWS_OF_LINES:
        return _rows_of_lines(slices, format, beside, base)
    if format == "csv":
        return rows_of_csv(io.BufferedReader(_Joined(_contents(slices)), SNIFFED_BYTES), beside)
    if format in DOCUMENTS:
        return _rows_of_documents(slices, format, path.name, base)
    return _rows_of_tables(slices, beside)


def _contents(slices: Batches) -> Iterator[bytes]:
    for batch in slices:
        yield from batch.column(CONTENT).to_pylist()


def _rows_of_lines(slices: Batches, format: str, beside: Beside, base: str) -> Iterator[Rows]:
    held: list[bytes] = []
    size, first = 0, 1
    for batch in slices:
        content = batch.column(CONTENT)
        held += content.to_numpy(zero_copy_only=False).tolist()
        size += content.nbytes
        if first == 1 and held:
            held[0] = held[0].removeprefix(MARK_BYTES)
        while len(held) >= BATCH or size >= MAX_HELD_BYTES:
            yield ROWS_OF_LINES[format](held[:BATCH], first, beside, base)
            first += len(held[:BATCH])
            held = held[BATCH:]
            size = sum(map(len, held))
    if held:
        yield ROWS_OF_LINES[format](held, first, beside, base)


def _rows_of_tables(slices: Batches, beside: Beside) -> Iterator[Rows]:
    import pyarrow

    held: list[pyarrow.RecordBatch] = []
    first = 1

    def rows() -> Rows:
        try:
            return rows_of_table(_own_columns(pyarrow.concat_batches(held), beside), first, beside)
        except ValueError as error:
            raise BadWorkload(str(error)) from None

    for batch in slices:
        held.append(batch)
        if sum(map(len, held)) + len(batch) > BATCH:
            yield rows()
            first += sum(map(len, held))
            held = []
    if held:
        yield rows()


def _own_columns(batch: pyarrow.RecordBatch, beside: Beside) -> pyarrow.RecordBatch:
    """The columns of a tuple that a file has: those of other files come along, without a value."""
    names = batch.schema.names
    empty = [name for name in names if batch.column(name).null_count == len(batch)]
    left = [name for name in names if name not in empty]
    return batch.drop_columns(empty) if empty and names_of([*left, *beside]) is not None else batch


def _rows_of_documents(slices: Batches, format: str, name: str, base: str) -> Iterator[Rows]:
    for content in _contents(slices):
        stream: Any = io.BytesIO(content)  # Any: as bytes, or as what gzip makes of them
        if name.endswith(".gz"):
            stream = gzip.GzipFile(fileobj=stream)
        yield from rows_of_document(stream, format, name=name, base=base)


class _Joined(io.RawIOBase):
    """Lines as one stream again, each with its end."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        self._lines = lines
        self._rest = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:  # Any: what a BufferedReader brings
        """Fill a buffer, as far as there is anything."""
        parts, size = [self._rest], len(self._rest)
        while size < len(buffer):
            line = next(self._lines, None)
            if line is None:
                break
            parts += [line, b"\n"]
            size += len(line) + 1
        data = b"".join(parts)
        buffer[: len(data)] = data[: len(buffer)]
        self._rest = data[len(buffer) :]
        return min(len(data), len(buffer))


def path_of_uri(file: str) -> Path:
    """The path within its file system of a file as Spark names it, percent signs and all."""
    return Path(unquote(urlsplit(file).path))
