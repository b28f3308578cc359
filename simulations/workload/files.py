"""Real tuples from files: N-Triples, tab or comma separated values, JSON lines (each also gzipped) and Parquet (sources.py).

A line that holds no tuple is counted and the first few are kept with what is wrong; a file that cannot be read at all is refused.
In N-Triples a term is a term. In the other formats a text that begins as a term of N-Triples does (``<``, ``_:`` or ``"``) is that
term, any other is a symbol, and a number of JSON is a number. The key of a constant is the one that peers use
(gsg.tuples.features.key).
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from gsg.errors import BadText, GsgError
from gsg.languages.files import read_tuples
from gsg.languages.files.encoding import MARK_BYTES
from gsg.tuples.features import Template, key
from gsg.tuples.terms import Symbol, Term, term

from ..engine.kernels import Whole
from ..engine.ownership import prefixes_of
from ..errors import BadWorkload
from .lines import SNIFFED_BYTES, TOO_DEEP, Fields, columns_of, of_csv, of_json, of_names, of_tabs, rows_of_csv
from .sources import partition_of, sources_of
from .workload import ARITY, DAY_S, Constants, Recorded, Subscriptions

EXAMPLES = 5
"""Malformed lines that are told in full; the others are counted."""
LINES = 10_000
"""Lines that are parsed at once; a mistake costs that the rest of them are parsed one by one."""

Row: TypeAlias = Sequence[object]


@dataclass
class Source:
    """Files of tuples, being read one by one: what was wrong with them so far."""

    path: Path
    malformed: int = 0
    examples: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Files of a folder that are none by name."""

    def complain(self, line: int, problem: str) -> None:
        """Count a line that holds no tuple."""
        self.malformed += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(f"{self.path.name} line {line}: {problem}")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file holds: the tuples, the terms that stand behind the codes of each position, and what was not understood."""

    recorded: Recorded
    terms: tuple[dict[Term, int], ...]
    malformed: int
    examples: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    """Files of a folder that are none of tuples by name."""


def read(path: str | Path, *, format: str | None = None, seconds: float = DAY_S) -> Reading:
    """All tuples of a file, a folder or a pattern, encoded. Raises BadWorkload when they cannot be read or there are none."""
    source = Source(Path(path))
    known = Codes()
    try:
        found = sources_of(path, holding="tuples", format=format)
        source.ignored = found.ignored
        for source.path, kind in found.files:
            for rows in _READERS[kind](source):
                known.add(rows)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadWorkload(f"cannot read {source.path}: damaged, or not gzip at all") from None
    except UnicodeDecodeError:
        raise BadWorkload(f"cannot read {source.path}: a text in it is no UTF-8") from None
    except OSError as error:
        raise BadWorkload(f"cannot read {source.path}: {(error.strerror or str(error)).lower()}") from None
    if not len(known):
        raise BadWorkload(f"{path} holds no tuples{_first_complaint(source)}")
    return Reading(known.recorded(seconds), known.terms, source.malformed, tuple(source.examples), tuple(source.ignored))


def encode(reading: Reading, templates: Sequence[Template]) -> tuple[Recorded, Subscriptions]:
    """Templates as columns, and the tuples with the constants that only templates have. Raises BadWorkload for another arity."""
    terms = tuple(dict(known) for known in reading.terms)
    codes = np.full((ARITY, len(templates)), -1, dtype=np.int64)
    for number, template in enumerate(templates):
        if len(template.pattern) != ARITY or template.same:
            raise BadWorkload(
                f"{template} is no template of {ARITY} positions without repeated variables, which alone are simulated"
            )
        for position, wanted in enumerate(template.pattern):
            if wanted is not None:
                codes[position, number] = terms[position].setdefault(wanted, len(terms[position]))
    constants = tuple(_constants(position, terms[position], column) for position, column in enumerate(reading.recorded.codes))
    return Recorded(reading.recorded.codes, constants, reading.recorded.seconds), Subscriptions(codes)


class Codes:
    """Terms by the order in which they come, in each position."""

    def __init__(self) -> None:
        self.terms: tuple[dict[Term, int], ...] = tuple({} for _ in range(ARITY))
        self._columns: tuple[list[np.ndarray[tuple[int], np.dtype[np.int32]]], ...] = tuple([] for _ in range(ARITY))

    def add(self, rows: list[tuple[Term, ...]]) -> None:
        """Take tuples in."""
        for position, (terms, columns) in enumerate(zip(self.terms, self._columns, strict=True)):
            codes = [terms.setdefault(row[position], len(terms)) for row in rows]
            columns.append(np.array(codes, dtype=np.int32))

    def of_templates(self, templates: Sequence[Template]) -> Whole:
        """Templates of as many positions as columns of codes, -1 where anything may stand; their constants are taken in too."""
        codes = np.full((ARITY, len(templates)), -1, dtype=np.int64)
        for number, template in enumerate(templates):
            for position, wanted in enumerate(template.pattern):
                if wanted is not None:
                    codes[position, number] = self.terms[position].setdefault(wanted, len(self.terms[position]))
        return codes

    def __len__(self) -> int:
        """How many tuples there are."""
        return sum(map(len, self._columns[0]))

    def recorded(self, seconds: float) -> Recorded:
        """All of them as columns."""
        columns = tuple(np.concatenate(parts) for parts in self._columns)
        constants = tuple(_constants(position, self.terms[position], column) for position, column in enumerate(columns))
        return Recorded(columns, constants, seconds)


def _constants(position: int, terms: dict[Term, int], column: np.ndarray[tuple[int], np.dtype[np.int32]]) -> Constants:
    keys = prefixes_of([key(ARITY, position, constant) for constant in terms])
    return Constants(keys, np.bincount(column, minlength=len(terms)).astype(np.int64))


def _first_complaint(source: Source) -> str:
    return f" ({source.malformed} malformed lines, the first: {source.examples[0]})" if source.malformed else ""


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader[io.RawIOBase]]:
    """The bytes of a file, without what gzip makes of them and without a mark of byte order."""
    with path.open("rb", buffering=0) as raw:
        whole: io.RawIOBase = gzip.GzipFile(fileobj=raw) if path.suffix == ".gz" else raw  # type: ignore[assignment]  # reads into
        stream = io.BufferedReader(whole, SNIFFED_BYTES)
        if stream.peek(len(MARK_BYTES)).startswith(MARK_BYTES):
            stream.read(len(MARK_BYTES))
        yield stream


def _batches(source: Source) -> Iterator[tuple[int, list[bytes]]]:
    """The number of the first line, and the lines; they end at ``\\n`` only."""
    with opened(source.path) as stream:
        first = 1
        while lines := list(islice(stream, LINES)):
            yield first, lines
            first += len(lines)


def _n_triples(source: Source) -> Iterator[list[tuple[Term, ...]]]:
    for first, lines in _batches(source):
        rows, mistake = parsed_lines(lines)
        if mistake is not None:
            # The mistake names a line, but one that does not end is noticed in the next; so each is looked at by itself.
            rows = []
            for number, line in enumerate(lines, first):
                found, mistake = parsed_lines([line])
                rows += found
                if mistake is not None:
                    source.complain(number, mistake)
        yield rows


def parsed_lines(lines: list[bytes]) -> tuple[list[tuple[Term, ...]], str | None]:
    """The tuples of lines of N-Triples, up to a mistake, and what that is."""
    rows: list[tuple[Term, ...]] = []
    try:
        rows.extend(read_tuples(io.BytesIO(b"".join(lines)), "nt", name="line"))
    except BadText as error:
        return rows, error.problem
    except GsgError as error:
        return rows, str(error)
    return rows, None


def _triple(fields: Fields) -> Row:
    """The tuple; when it came, and whether it came or went, are nothing to a workload, in which each line is a publication."""
    if len(fields.items) != ARITY:
        raise ValueError(f"a tuple of {len(fields.items)}; expected {ARITY}, which alone are simulated")
    return fields.items


def _lines_by(parse: Callable[[bytes], Fields]) -> Callable[[Source], Iterator[list[tuple[Term, ...]]]]:
    def reader(source: Source) -> Iterator[list[tuple[Term, ...]]]:
        terms = Terms()
        for first, lines in _batches(source):
            rows = []
            for number, line in enumerate(lines, first):
                if not line.strip():
                    continue
                try:
                    rows.append(terms.of(_triple(parse(line))))
                except (ValueError, GsgError) as error:
                    source.complain(number, str(error))
                except RecursionError:
                    source.complain(number, TOO_DEEP)
            yield rows

    return reader


def _csv(source: Source) -> Iterator[list[tuple[Term, ...]]]:
    terms, beside = Terms(), partition_of(source.path)
    with opened(source.path) as stream:
        rows: list[tuple[Term, ...]] = []
        try:
            for number, row in rows_of_csv(stream, beside):
                try:
                    rows.append(terms.of(_triple(of_csv(row, beside))))
                except (ValueError, GsgError) as error:
                    source.complain(number, str(error))
                if len(rows) == LINES:
                    yield rows
                    rows = []
        except csv.Error as error:
            raise BadWorkload(f"cannot read {source.path}: {error}") from None
        yield rows


def _json_lines(source: Source) -> Iterator[list[tuple[Term, ...]]]:
    beside = partition_of(source.path)
    return _lines_by(lambda line: of_json(line, beside))(source)


def _parquet(source: Source) -> Iterator[list[tuple[Term, ...]]]:
    from pyarrow import ArrowException, parquet

    beside = partition_of(source.path)
    try:
        with source.path.open("rb") as raw:
            file = parquet.ParquetFile(raw)
            try:
                wanted = [name for name in columns_of([*file.schema_arrow.names, *beside]) if name in file.schema_arrow.names]
            except ValueError as error:
                raise BadWorkload(f"cannot read {source.path}: {error}") from None
            terms, number = Terms(), 0
            for batch in file.iter_batches(LINES, columns=wanted):
                # In full, because texts that are no UTF-8 pass until they are read.
                batch.validate(full=True)
                rows = []
                for row in batch.to_pylist():
                    number += 1
                    try:
                        rows.append(terms.of(_triple(of_names({**beside, **row}))))
                    except (ValueError, GsgError) as error:
                        source.complain(number, str(error))
                yield rows
    except ArrowException as error:
        raise BadWorkload(f"cannot read {source.path}: {str(error).splitlines()[0].rstrip('.')}") from None


class Terms:
    """Terms from what stands in fields; each text is looked at once."""

    def __init__(self) -> None:
        self._texts: dict[str, Term] = {}

    def of(self, row: Row) -> tuple[Term, ...]:
        """The tuple of these fields. Raises ValueError or GsgError for one that is no term."""
        return tuple(map(self._term, row))

    def _term(self, value: object) -> Term:
        if not isinstance(value, str):
            if value is None:
                raise ValueError("a field is empty")
            return term(value)
        found = self._texts.get(value)
        if found is None:
            found = self._texts[value] = _term_of(value)
        return found


def _term_of(text: str) -> Term:
    if not text:
        raise ValueError("a field is empty")
    if not text.startswith(("<", '"', "_:")):
        return Symbol(text)
    rows, mistake = parsed_lines([f"_:it <x:is> {text} .\n".encode()])
    if mistake is not None or len(rows) != 1 or "\n" in text:
        raise ValueError(f"{text!r} is no term of N-Triples: {mistake or 'more than one line'}")
    return rows[0][2]


_READERS: dict[str, Callable[[Source], Iterator[list[tuple[Term, ...]]]]] = {
    "nt": _n_triples,
    "tsv": _lines_by(of_tabs),
    "csv": _csv,
    "jsonl": _json_lines,
    "parquet": _parquet,
}
