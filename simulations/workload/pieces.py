"""Pieces of files, line by line or row by row: of each its number, and the fields that stand in it (lines.py).

A piece can be read by itself, on any machine that sees its file. What is made of fields is the reader's: a change of a history
(replay), or a tuple (load-balance). A line that holds no fields, or of which nothing can be made, is counted and left out.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from gsg.errors import GsgError
from gsg.languages.files import base_of
from gsg.languages.files.encoding import MARK_BYTES
from gsg.tuples.terms import Term, term

from ..errors import BadWorkload
from .lines import SNIFFED_BYTES, TOO_DEEP, Fields, columns_of, of_csv, of_json, of_names, of_tabs, rows_of_csv
from .sources import partition_of
from .term_texts import parsed_lines, term_of_text

EXAMPLES = 5
"""Malformed lines that are told in full; the others are counted."""
LINES = 10_000
"""Lines that are parsed at once; a mistake of N-Triples costs that they are parsed one by one."""

MadeT = TypeVar("MadeT")


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a file, all of it where ``begin`` is None: ``size`` bytes from ``begin``, or of Parquet the row group ``begin``."""

    path: str
    format: str
    number: int = 0
    """Which of the files this is, in order of names."""
    first: int = 1
    """The number of its first line, or row."""
    begin: int | None = None
    size: int = 0


class Malformed(msgspec.Struct):
    """Lines or rows of which nothing could be made."""

    malformed: int = 0
    examples: list[str] = msgspec.field(default_factory=list)
    """The first of them, EXAMPLES at most."""

    def complain(self, where: str, problem: str) -> None:
        """Count one more."""
        self.malformed += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{where}: {problem}")


class Triples(NamedTuple):
    """Lines of N-Triples that were parsed together, without a mistake."""

    first: int
    lines: list[bytes]
    rows: list[tuple[Term, ...]]

    def full_lines(self) -> list[tuple[int, bytes]]:
        """Those with a triple, by their numbers."""
        return [(number, line) for number, line in enumerate(self.lines, self.first) if line.lstrip()[:1] not in b"#"]


class Lines(NamedTuple):
    """What stands in a piece: numbered lines or rows, in batches, and what makes fields of one."""

    parse: Callable[[Any], Fields]  # Any: bytes of a line, or the row of a table
    batches: Iterable[Iterable[tuple[int, Any]] | Triples]  # Any: as above


@contextmanager
def failing(file: object) -> Iterator[None]:
    """A block that reads a file. Raises BadWorkload, one line, where that cannot be read."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadWorkload(f"cannot read {file}: damaged, or not gzip at all") from None
    except OSError as error:
        raise BadWorkload(f"cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    except csv.Error as error:
        raise BadWorkload(f"cannot read {file}: {error}") from None
    except UnicodeDecodeError:
        raise BadWorkload(f"cannot read {file}: a text in it is no UTF-8") from None
    except Exception as error:
        # pyarrow is imported where Parquet is read, and nowhere else.
        if type(error).__module__.partition(".")[0] != "pyarrow":
            raise
        raise BadWorkload(f"cannot read {file}: {str(error).splitlines()[0].rstrip('.')}") from None


def made_of(
    lines: Lines,
    make: Callable[[int, Fields], MadeT],
    complain: Callable[[int, str], None],
    *,
    together: Callable[[Triples], list[MadeT] | None],
) -> Iterator[list[MadeT]]:
    """What is made of each number and its fields, batch by batch; ``complain`` is told the number of a line that holds nothing.

    ``together`` makes the same of lines of N-Triples at once, or None where each is to be looked at alone.
    """
    for batch in lines.batches:
        whole = together(batch) if isinstance(batch, Triples) else None
        if whole is not None:
            yield whole
            continue
        made = []
        for number, line in batch.full_lines() if isinstance(batch, Triples) else batch:
            try:
                made.append(make(number, lines.parse(line)))
            except (ValueError, GsgError) as error:
                complain(number, str(error))
            except RecursionError:
                complain(number, TOO_DEEP)
            if len(made) == LINES:
                yield made
                made = []
        yield made


def lines_of(piece: Piece, *, or_else: str = "") -> Lines:
    """The lines or rows of a piece. ``or_else`` says what else Parquet without the columns of a tuple may hold."""
    beside = partition_of(Path(piece.path))

    def wanted(columns: list[str]) -> list[str]:
        try:
            return [name for name in columns_of([*columns, *beside]) if name in columns]
        except ValueError as error:
            raise BadWorkload(f"cannot read {piece.path}: {error}{or_else}") from None

    match piece.format:
        case "nt":
            base = base_of(Path(piece.path))
            return Lines(lambda line: _of_triple(line, base), _triples(piece, base))
        case "tsv":
            return Lines(of_tabs, _full_lines(piece))
        case "jsonl":
            return Lines(lambda line: of_json(line, beside), _full_lines(piece))
        case "csv":
            return Lines(lambda row: of_csv(row, beside), _rows_of_csv(piece, beside))
        case _:
            return Lines(lambda row: of_names({**beside, **row}), rows_of_parquet(piece, wanted))


@contextmanager
def opened(piece: Piece) -> Iterator[io.BufferedReader[Any]]:  # Any: as below
    """The bytes of a piece, without what gzip makes of them and without a mark of byte order."""
    with io.BufferedReader(io.FileIO(piece.path), SNIFFED_BYTES) as file:
        stream: io.BufferedReader[Any] = file  # Any: what is buffered
        if piece.path.endswith(".gz"):
            stream = io.BufferedReader(gzip.GzipFile(fileobj=file), SNIFFED_BYTES)
        elif piece.size:
            file.seek(piece.begin or 0)
            stream = io.BufferedReader(io.BytesIO(file.read(piece.size)))
        if not piece.begin and stream.peek(len(MARK_BYTES)).startswith(MARK_BYTES):
            stream.read(len(MARK_BYTES))
        yield stream


def _batches(piece: Piece) -> Iterator[tuple[int, list[bytes]]]:
    """The number of the first line, and the lines; they end at ``\\n`` only."""
    with opened(piece) as stream:
        first = piece.first
        while lines := list(islice(stream, LINES)):
            yield first, lines
            first += len(lines)


def _full_lines(piece: Piece) -> Iterator[list[tuple[int, bytes]]]:
    for first, lines in _batches(piece):
        yield [(number, line) for number, line in enumerate(lines, first) if line.strip()]


def _triples(piece: Piece, base: str) -> Iterator[list[tuple[int, bytes]] | Triples]:
    for first, lines in _batches(piece):
        rows, mistake = parsed_lines(lines, base=base)
        parsed = Triples(first, lines, rows)
        # The mistake names a line, but one that does not end is noticed in the next; so each is looked at by itself.
        yield parsed if mistake is None else parsed.full_lines()


def _of_triple(line: bytes, base: str) -> Fields:
    rows, mistake = parsed_lines([line], base=base)
    if mistake is not None or len(rows) != 1:
        raise ValueError(mistake or f"{len(rows)} triples in a line; expected one")
    return Fields(rows[0], are_terms=True)


def _rows_of_csv(piece: Piece, beside: Mapping[str, object]) -> Iterator[Iterator[tuple[int, Any]]]:  # Any: a row by names, or bare
    with opened(piece) as stream:
        yield rows_of_csv(stream, beside)


def rows_of_parquet(piece: Piece, wanted: Callable[[list[str]], list[str]]) -> Iterator[list[tuple[int, dict[str, object]]]]:
    """Rows of those columns of a file's that are wanted."""
    from pyarrow import parquet

    with Path(piece.path).open("rb") as raw:
        file = parquet.ParquetFile(raw)
        columns, groups = wanted(file.schema_arrow.names), None if piece.begin is None else [piece.begin]
        first = piece.first
        for batch in file.iter_batches(LINES, row_groups=groups, columns=columns):
            # In full, because texts that are no UTF-8 pass until they are read.
            batch.validate(full=True)
            yield list(enumerate(batch.to_pylist(), first))
            first += len(batch)


class Terms:
    """Terms from what stands in fields; each text is looked at once."""

    def __init__(self) -> None:
        self._texts: dict[str, Term] = {}

    def of(self, fields: Fields) -> tuple[Term, ...]:
        """The tuple of these fields. Raises ValueError or GsgError for one that is no term."""
        return tuple(fields.items) if fields.are_terms else tuple(map(self._term, fields.items))  # type: ignore[arg-type]  # they are

    def _term(self, value: object) -> Term:
        if not isinstance(value, str):
            if value is None:
                raise ValueError("a field is empty")
            return term(value)
        found = self._texts.get(value)
        if found is None:
            found = self._texts[value] = term_of_text(value)
        return found
