"""The changes of a piece of a history, line by line or row by row; what is none is counted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gsg.tuples import terms as model

from ..errors import BadWorkload
from ..workload.lines import Fields
from ..workload.pieces import Lines, Piece, Terms, Triples, failing, lines_of, made_of, rows_of_parquet
from .history import ORDER, TRACE, TRACED, Change, Seen

_SIGNS: dict[object, int] = {"+": 1, "-": -1, 1: 1, -1: -1, "insert": 1, "retract": -1, "!": 0, "event": 0}


def read_piece(piece: Piece, seen: Seen) -> Iterator[list[Change]]:
    """The changes of a piece; what else there is goes to ``seen``, a failure too."""
    base, unit = piece.number * ORDER, "row" if piece.format in ("parquet", TRACED) else "line"

    def complain(number: int, problem: str) -> None:
        seen.complain(f"{Path(piece.path).name} {unit} {number}", problem)

    def inserted(parsed: Triples) -> list[Change | None] | None:
        numbers = [number for number, _ in parsed.full_lines()]
        if len(numbers) != len(parsed.rows):
            return None
        return [Change(base + number, float(number), 1, row) for number, row in zip(numbers, parsed.rows, strict=True)]

    try:
        with failing(piece.path):
            if piece.format == TRACED:
                lines = Lines(_fields_of_trace, _published(piece))
            else:
                lines = lines_of(piece, or_else=", and time and sign, or the columns of a peer's trace")
            for made in made_of(lines, _making(piece, seen), complain, together=inserted):
                changes = [change for change in made if change is not None]
                seen.changes += len(changes)
                yield changes
    except BadWorkload as error:
        seen.failure = str(error)


def _making(piece: Piece, seen: Seen) -> Callable[[int, Fields], Change | None]:
    """What makes changes of fields, and counts events."""
    base, terms = piece.number * ORDER, Terms()

    def change(number: int, fields: Fields) -> Change | None:
        sign = 1 if fields.sign is None else _sign_of(fields.sign)
        time = float(number) if fields.time is None else seconds_of(fields.time)
        fact = model.fact(terms.of(fields))
        if sign:
            return Change(base + number, time, sign, fact)
        seen.events += 1
        return None

    return change


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


def _published(piece: Piece) -> Iterator[list[tuple[int, dict[str, object]]]]:
    """The rows of a trace that, of all peers' rows, tell of a change."""
    from gsg.monitoring.trace import Role, What

    told = (What.INSERT, What.RETRACT, What.EVENT)
    for batch in rows_of_parquet(piece, lambda _: sorted(TRACE)):
        yield [(number, row) for number, row in batch if row["role"] == Role.PUBLISHER and row["what"] in told]


def _fields_of_trace(row: dict[str, object]) -> Fields:
    from gsg.monitoring.trace import tuple_of

    at_us = row["at_us"]
    if not isinstance(at_us, int) or not isinstance(row["terms"], str):
        raise ValueError("a row without a time, or without a tuple")
    try:
        items = tuple_of(row["terms"])
    except msgspec.MsgspecError as error:
        raise ValueError(str(error)) from None
    return Fields(items, at_us / 1e6, row["what"], are_terms=True)
