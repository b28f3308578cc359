"""Real tuples from files, read here: N-Triples and N-Quads, Turtle and TriG, tab or comma separated values, JSON lines and Parquet.

A line that holds no tuple is counted and the first few are kept with what is wrong; a file that cannot be read at all is refused.
In what is of RDF a term is a term. In the other formats a text that begins as a term of N-Triples does (``<``, ``_:`` or ``"``) is
that term, any other is a symbol, and a number of JSON is a number. The key of a constant is the one that peers use
(gsg.tuples.features.key). What is read and how it is told is the same as where tasks of Spark do it (reading/).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from gsg.languages.files import base_of
from gsg.tuples.terms import Term

from ..errors import BadWorkload
from .pieces import Piece, failing, opened
from .reading.columns import BATCH, DOCUMENTS, ROWS_OF_LINES, Rows, rows_of_csv, rows_of_document, rows_of_table
from .reading.dictionary import Places
from .reading.encoding import Dictionaries, Tuples, encode, new_dictionaries, ranked
from .reading.seen import Seen
from .sources import OF_TUPLES, partition_of, sources_of
from .workload import ARITY, DAY_S, POSITIONS, Constants, Recorded

MAX_READ_TUPLES = 1 << 25
"""Tuples that this process reads and holds, 12 bytes of each, 400 MB: twice that while all are put together, and once more in each
process that they are sent to (subscribers)."""
MAX_READ_CONSTANTS = 1 << 24
"""Distinct constants of one position that it holds, by their keys and the hashes of their texts: some 60 bytes of each, 1 GB."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: the tuples, and what was not understood."""

    recorded: Recorded
    seen: Seen
    dictionaries: Dictionaries
    """Texts by place, not by code."""

    def terms(self) -> tuple[list[Term], ...]:
        """The term of each code of each position, where they are kept."""
        found = []
        for known, constants in zip(self.dictionaries, self.recorded.constants, strict=True):
            by_key = dict(zip(known.keys.tolist(), known.terms(), strict=True))
            found.append([by_key[one] for one in constants.keys.tolist()])
        return tuple(found)


def read(path: str | Path, *, format: str | None = None, seconds: float = DAY_S, keeps_terms: bool = False) -> Reading:
    """All tuples of a file, a folder or a pattern, encoded; with ``keeps_terms`` the terms of codes too, 300 bytes of each.

    Raises BadWorkload when they cannot be read, there are none, or more than this process holds.
    """
    known, tuples = new_dictionaries(keeps_terms=keeps_terms), _Columns()
    with failing(path):
        found = sources_of(path, holding="tuples", format=format, formats=OF_TUPLES)
    seen = Seen(ignored=tuple(found.ignored))
    for file, kind in found.files:
        with failing(file):
            for rows in _rows_of(file, kind):
                encoded = encode(known, rows)
                seen.count(file.name, encoded.malformed, encoded.examples, encoded.graphs)
                tuples.add(encoded)
                _check_size(path, tuples, known)
    if not len(tuples):
        raise BadWorkload(f"{path} holds no tuples{seen.first()}")
    return Reading(tuples.recorded(known, seconds), seen, known)


def _check_size(path: str | Path, tuples: _Columns, known: Dictionaries) -> None:
    """Raises BadWorkload for more than this process holds."""
    constants = {name: each.size for name, each in zip(POSITIONS, known, strict=True)}
    most = max(constants, key=constants.__getitem__)
    if len(tuples) > MAX_READ_TUPLES:
        problem = f"more than {MAX_READ_TUPLES:,} tuples"
    elif constants[most] > MAX_READ_CONSTANTS:
        problem = f"more than {MAX_READ_CONSTANTS:,} distinct constants in the place of the {most}"
    else:
        return
    raise BadWorkload(
        f"{path} has {problem}, and one process reads all of it here; take a part of it, or use load-balance, where Spark reads it"
    )


def _rows_of(file: Path, format: str) -> Iterator[Rows]:
    """A file in batches."""
    beside = partition_of(file)
    if format == "parquet":
        yield from _rows_of_parquet(file, beside)
        return
    with opened(Piece(str(file), format)) as stream:
        if format in DOCUMENTS:
            yield from rows_of_document(stream, format, name=file.name, base=base_of(file))
        elif format == "csv":
            yield from rows_of_csv(stream, beside)
        else:
            first = 1
            while lines := list(islice(stream, BATCH)):
                # They end at \n only.
                yield ROWS_OF_LINES[format]([line.removesuffix(b"\n") for line in lines], first, beside, base_of(file))
                first += len(lines)


def _rows_of_parquet(file: Path, beside: dict[str, object]) -> Iterator[Rows]:
    from pyarrow import parquet

    from .lines import columns_of

    with file.open("rb") as raw:
        opened = parquet.ParquetFile(raw)
        try:
            columns = [name for name in columns_of([*opened.schema_arrow.names, *beside]) if name in opened.schema_arrow.names]
        except ValueError as error:
            raise BadWorkload(f"cannot read {file}: {error}") from None
        first = 1
        for batch in opened.iter_batches(BATCH, columns=columns):
            yield rows_of_table(batch, first, beside)
            first += len(batch)


class _Columns:
    """Tuples by their places in dictionaries."""

    def __init__(self) -> None:
        self._columns: tuple[list[Places], ...] = tuple([] for _ in range(ARITY))
        self._count = 0

    def __len__(self) -> int:
        """How many there are."""
        return self._count

    def add(self, tuples: Tuples) -> None:
        """Take a batch in."""
        self._count += len(tuples)
        for parts, column in zip(self._columns, tuples.columns, strict=True):
            parts.append(column.places)

    def recorded(self, known: Dictionaries, seconds: float) -> Recorded:
        """All of them by codes; they are there once, and not to be asked for again."""
        columns, constants = [], []
        for parts, dictionary in zip(self._columns, known, strict=True):
            places = np.concatenate(parts)
            # Given up as it goes: all are held twice else.
            parts.clear()
            # What stands in malformed lines alone is no constant.
            used = np.bincount(places, minlength=len(dictionary)) > 0
            keys, codes = ranked(dictionary.keys[used])
            code_of = np.zeros(len(dictionary), dtype=np.int32)
            code_of[used] = codes
            columns.append(code_of[places])
            constants.append(Constants(keys, np.bincount(columns[-1], minlength=len(keys)).astype(np.int64)))
        return Recorded(tuple(columns), tuple(constants), seconds)
