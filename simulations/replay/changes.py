"""The changes of a piece of a history, line by line or row by row; what is none is counted."""

from __future__ import annotations

import gzip
import io
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import msgspec

from gsg.errors import GsgError
from gsg.languages.files.encoding import MARK_BYTES
from gsg.tuples import terms as model

from ..errors import BadWorkload
from ..workload.files import LINES, Terms, opened, parsed_lines
from ..workload.lines import TOO_DEEP, Fields, columns_of, of_csv, of_json, of_names, of_tabs, rows_of_csv
from ..workload.sources import partition_of
from .history import ORDER, TRACE, Change, Piece, Seen, failing

if TYPE_CHECKING:
    import pyarrow

_SIGNS: dict[object, int] = {"+": 1, "-": -1, 1: 1, -1: -1, "insert": 1, "retract": -1, "!": 0, "event": 0}


def read_piece(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
    """The changes of a piece; what else there is goes to ``seen``, a failure too."""
    try:
        with failing(Path(piece.path)):
            for changes in _READERS[piece.format](piece, seen):
                seen.changes += len(changes)
                yield changes
    except BadWorkload as error:
        seen.failure = str(error)


def _batches(piece: Piece) -> Iterator[tuple[int, list[bytes]]]:
    """The number of the first line, and the lines; they end at ``\\n`` only."""
    with Path(piece.path).open("rb") as raw:
        stream: IO[bytes]
        if piece.size:
            raw.seek(piece.begin)
            part = raw.read(piece.size)
            stream = io.BytesIO(part if piece.begin else part.removeprefix(MARK_BYTES))
        else:
            stream = gzip.GzipFile(fileobj=raw)  # type: ignore[assignment]  # reads bytes
        first = piece.first
        while lines := list(islice(stream, LINES)):
            yield first, lines
            first += len(lines)


def _n_triples(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
    made = _Making(piece, seen)
    for first, lines in _batches(piece):
        full = [number for number, line in enumerate(lines, first) if line.strip() and not line.lstrip().startswith(b"#")]
        rows, mistake = parsed_lines(lines)
        if mistake is None and len(rows) == len(full):
            yield [Change(made.base + number, float(number), 1, row) for number, row in zip(full, rows, strict=True)]
            continue
        # Which line is wrong is known by looking at each alone.
        yield list(made.of(_triple, ((number, lines[number - first]) for number in full), read=False))


def _triple(line: bytes) -> Fields:
    rows, mistake = parsed_lines([line])
    if mistake is not None or len(rows) != 1:
        raise ValueError(mistake or f"{len(rows)} triples in a line; expected one")
    return Fields(rows[0])


def _by_line(parse: Callable[[bytes], Fields]) -> Callable[[Piece, Seen], Iterator[list[Change]]]:
    def reader(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
        made = _Making(piece, seen)
        for first, lines in _batches(piece):
            yield list(made.of(parse, ((number, line) for number, line in enumerate(lines, first) if line.strip())))

    return reader


def _json_lines(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
    beside = partition_of(Path(piece.path))
    return _by_line(lambda line: of_json(line, beside))(piece, seen)


def _csv(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
    made, beside = _Making(piece, seen), partition_of(Path(piece.path))
    with opened(Path(piece.path)) as stream:
        rows = rows_of_csv(stream, beside)
        while some := list(islice(rows, LINES)):
            yield list(made.of(lambda row: of_csv(row, beside), some))


class _Making:
    """Makes changes of what stands in the lines of a piece."""

    def __init__(self, piece: Piece, seen: Seen) -> None:
        self.base = piece.number * ORDER
        self._name = Path(piece.path).name
        self._unit = "row" if piece.format == "parquet" else "line"
        self._seen = seen
        self._terms = Terms()

    def of(
        self, parse: Callable[[Any], Fields], lines: Iterable[tuple[int, Any]], *, read: bool = True
    ) -> Iterator[Change]:  # Any: a line, or a row of Parquet
        """The changes of numbered lines; terms are still to be ``read`` from fields, or are terms already."""
        for number, line in lines:
            try:
                fields = parse(line)
                sign = 1 if fields.sign is None else _sign_of(fields.sign)
                time = float(number) if fields.time is None else seconds_of(fields.time)
                fact = model.fact(self._terms.of(fields.items) if read else fields.items)
            except (ValueError, GsgError, RecursionError) as error:
                problem = TOO_DEEP if isinstance(error, RecursionError) else str(error)
                self._seen.complain(f"{self._name} {self._unit} {number}", problem)
                continue
            if sign:
                yield Change(self.base + number, time, sign, fact)
            else:
                self._seen.events += 1


def _sign_of(value: object) -> int:
    # A list or object of JSON has no hash.
    found = _SIGNS.get(value) if isinstance(value, str | int) and not isinstance(value, bool) else None
    if found is None:
        raise ValueError(f"sign {value!r:.60}; expected + or - (or ! for an event)")
    return found


def seconds_of(value: object) -> float:
    """A time as seconds: a number as it is, a date and time as seconds since 1970 (UTC where it does not say).

    Raises ValueError.
    """
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"time {value!r:.60}; expected seconds, or a date and time in ISO 8601") from None
    if isinstance(value, datetime):
        return (value if value.tzinfo is not None else value.replace(tzinfo=UTC)).timestamp()
    try:
        seconds = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
    except OverflowError:
        # A whole number of JSON may have more digits than a float has room for.
        seconds = math.inf
    if not math.isfinite(seconds):
        raise ValueError(f"time {value!r:.60}; expected seconds, or a date and time in ISO 8601")
    return seconds


def _parquet(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
    from pyarrow import parquet

    with Path(piece.path).open("rb") as raw:
        file = parquet.ParquetFile(raw)
        columns = file.schema_arrow.names
        is_trace = set(columns) >= TRACE
        beside = partition_of(Path(piece.path))
        wanted = sorted(TRACE) if is_trace else [name for name in _wanted(piece, [*columns, *beside]) if name in columns]
        made, number = _Making(piece, seen), piece.first
        for batch in file.iter_batches(LINES, row_groups=[piece.begin], columns=wanted):
            rows: Iterable[tuple[int, dict[str, object]]] = enumerate(_rows_of(batch), number)
            number += len(batch)
            if is_trace:
                yield list(made.of(_traced, ((at, row) for at, row in rows if _is_published(row)), read=False))
            else:
                yield list(made.of(lambda row: of_names({**beside, **row}), rows))


def _rows_of(batch: pyarrow.RecordBatch) -> Iterator[dict[str, object]]:
    # In full, because texts that are no UTF-8 pass until they are read.
    batch.validate(full=True)
    columns = [column.to_pylist() for column in batch.columns]
    for values in zip(*columns, strict=True):
        yield dict(zip(batch.schema.names, values, strict=True))


def _wanted(piece: Piece, columns: list[str]) -> list[str]:
    try:
        return columns_of(columns)
    except ValueError as error:
        raise BadWorkload(f"cannot read {piece.path}: {error}, and time and sign, or the columns of a peer's trace") from None


def _is_published(row: dict[str, object]) -> bool:
    """Whether a row of a trace is the one, of all peers', that tells of a change."""
    from gsg.monitoring.trace import Role, What

    return row["role"] == Role.PUBLISHER and row["what"] in (What.INSERT, What.RETRACT, What.EVENT)


def _traced(row: dict[str, object]) -> Fields:
    from gsg.monitoring.trace import tuple_of

    at_us = row["at_us"]
    if not isinstance(at_us, int) or not isinstance(row["terms"], str):
        raise ValueError("a row without a time, or without a tuple")
    try:
        items = tuple_of(row["terms"])
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    return Fields(items, at_us / 1e6, row["what"])


_READERS: dict[str, Callable[[Piece, Seen], Iterator[list[Change]]]] = {
    "nt": _n_triples,
    "tsv": _by_line(of_tabs),
    "csv": _csv,
    "jsonl": _json_lines,
    "parquet": _parquet,
}
