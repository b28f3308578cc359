"""Terms of rows as columns of Arrow, by the type that Spark's schema has for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from math import isinf
from typing import TypeAlias

import pyarrow as pa

from gsg.errors import BadTerm
from gsg.tuples.terms import INT_MAX, INT_MIN, IRI, BlankNode, Compound, List, Literal, Symbol, Term, Variable, n3

from .row_schema import ARROW_TYPES

Convert: TypeAlias = Callable[[Term], object]
"""The value of a term in a column, or None where it has none of that type."""

_PLAIN: dict[type, Callable[..., str]] = {
    str: str,
    int: str,
    Symbol: lambda term: term.name,
    IRI: lambda term: term.value,
    Literal: lambda term: term.lexical,
    BlankNode: n3,
    Compound: n3,
    List: n3,
    Variable: n3,
}


def plain_text(term: Term) -> str:
    """A term as people read it: the text of a string or literal, the name of a symbol, an IRI without brackets."""
    return _PLAIN[type(term)](term)


def _value(term: Term) -> object:
    if type(term) is not Literal:
        return term
    try:
        return term.to_python()
    except BadTerm:
        return None


def _integer(term: Term) -> int | None:
    value = term if type(term) is int else _value(term)
    return value if type(value) is int and INT_MIN <= value <= INT_MAX else None


def _double(term: Term) -> float | None:
    value = _value(term)
    if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    # A decimal beyond all doubles becomes infinite, where a whole number raises.
    return None if isinf(number) and not isinstance(value, float) else number


def _boolean(term: Term) -> bool | None:
    value = _value(term)
    return value if isinstance(value, bool) else None


def _moment(term: Term) -> datetime | None:
    value = _value(term)
    if not isinstance(value, datetime):
        return None
    if value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:  # in the first or last hours of the calendar, and beyond it in UTC
        return None


_CONVERT: dict[str, Convert] = {"bigint": _integer, "double": _double, "boolean": _boolean, "timestamp": _moment}
TERM_FORMATS: dict[str, Callable[[Term], str]] = {"plain": plain_text, "n3": n3}
"""How a column of strings has its terms: as people read them, or as GSG script and N-Triples write them."""


class ColumnMaker:
    """Makes the columns of a stream from rows of a query. ``columns`` are names and types as Spark has them.

    A term that is no value of its column's type is null there, and counted in ``unfit``.
    """

    def __init__(self, columns: Sequence[tuple[str, str]], term_format: str, schema: pa.Schema) -> None:
        text = TERM_FORMATS[term_format]
        self.unfit = dict.fromkeys([name for name, _ in columns], 0)
        """How many terms of each variable were no values of the type of its column."""
        self._columns = columns
        self._is_plain = term_format == "plain"
        self._convert = [_CONVERT.get(kind, text) for _, kind in columns]
        self._schema = schema
        self._places: Sequence[int] = ()

    def set_variables(self, variables: tuple[str, ...]) -> None:
        """Rows have their values in this order."""
        self._places = [variables.index(name) for name, _ in self._columns]

    def make_batch(self, signs: Sequence[int], values: Sequence[tuple[Term | None, ...]], at: datetime) -> pa.RecordBatch:
        """Rows received at one moment, as a segment has them."""
        made = []
        if self._places:
            by_place = list(zip(*values, strict=True)) or [()] * (max(self._places) + 1)
            for place, (name, kind), convert in zip(self._places, self._columns, self._convert, strict=True):
                made.append(self._column(name, kind, convert, by_place[place]))
        made.append(pa.array(signs, pa.int8()))
        made.append(pa.repeat(moment(at), len(signs)))
        return pa.RecordBatch.from_arrays(made, schema=self._schema)

    def gap_row(self, at: datetime) -> pa.RecordBatch:
        """The row that says that events may have been missed before it."""
        nothing = [pa.nulls(1, field.type) for field in self._schema]
        return pa.RecordBatch.from_arrays([*nothing[:-1], pa.array([at], self._schema.types[-1])], schema=self._schema)

    def _column(self, name: str, kind: str, convert: Convert, terms: Iterable[Term | None]) -> pa.Array:
        if kind == "string":
            if self._is_plain:
                # Most terms are strings as they are.
                texts = [term if type(term) is str or term is None else convert(term) for term in terms]
            else:
                texts = [None if term is None else convert(term) for term in terms]
            return pa.array(texts, pa.string())
        found = [None if term is None else convert(term) for term in terms]
        self.unfit[name] += sum(value is None and term is not None for value, term in zip(found, terms, strict=True))
        return pa.array(found, ARROW_TYPES[kind])


def moment(at: datetime) -> pa.TimestampScalar:
    """A moment as the column ``at`` has it."""
    return pa.scalar(at, ARROW_TYPES["timestamp"])
