"""Tuples of rows: columns of Arrow in, tuples and their signs out; a row of which none can be made is named. Pure.

The columns of a row are the terms of its tuple, in their order, or a column ``tuple`` is an array of them; a column ``sign`` says
whether it comes (1) or goes (-1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from ...errors import BadParameter, BadRow
from .options import EVENTS, STRINGS

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

    from gsg.tuples.terms import Term, Tuple

SIGN: Final = "sign"
TUPLE: Final = "tuple"
MAX_COLUMNS: Final = 255
"""Terms of a tuple."""
CHECKED_AT_ONCE: Final = 1_000
"""Tuples whose length is looked at together."""
_WHOLE: Final = ("byte", "short", "integer", "long")
_MOMENTS: Final = ("date", "timestamp", "timestamp_ntz")
_TAKEN: Final = (*_WHOLE, *_MOMENTS, "string", "char", "varchar", "float", "double", "boolean", "decimal", "binary")
_EXPECTED: Final = (
    "expected strings, whole numbers, floats, doubles, booleans, dates, timestamps, decimals or binary, or one column tuple, an "
    "array of one of these"
)


class RowShape(NamedTuple):
    """Which columns make a tuple."""

    columns: tuple[str, ...]
    has_array: bool = False
    """Whether the one column is an array of terms."""
    has_sign: bool = False


def row_shape(schema: StructType, mode: str) -> RowShape:
    """The shape of rows. Raises BadParameter for columns that make no tuple, by name."""
    types = {field.name: field.dataType for field in schema.fields}
    columns = tuple(field.name for field in schema.fields if field.name != SIGN)
    has_sign = SIGN in types
    if has_sign and mode == EVENTS:
        raise BadParameter(
            'a column sign for events, which come and never go; expected none: drop it, or write facts by .option("mode", "facts")'
        )
    if has_sign and types[SIGN].typeName() not in _WHOLE:
        raise BadParameter(f"the column sign has the type {types[SIGN].simpleString()}; expected a whole number, 1 or -1")
    if len(types) < len(schema.fields):
        # Arrow's columns have names of their own, as Spark hands them on.
        raise BadParameter(f"columns of the same name: {', '.join(field.name for field in schema.fields):.200}; expected each once")
    if not 0 < len(columns) <= MAX_COLUMNS:
        raise BadParameter(f"{len(columns)} columns for a tuple; expected 1 to {MAX_COLUMNS}")
    if TUPLE in types and types[TUPLE].typeName() == "array":
        if columns != (TUPLE,):
            others = ", ".join(name for name in columns if name != TUPLE)
            raise BadParameter(f"the columns {others:.200} beside tuple; expected tuple alone, and perhaps sign")
        _check_type(TUPLE, types[TUPLE].elementType)  # type: ignore[attr-defined]  # an array has one
        return RowShape(columns, has_array=True, has_sign=has_sign)
    for name in columns:
        _check_type(name, types[name])
    return RowShape(columns, has_sign=has_sign)


def _check_type(name: str, kind: DataType) -> None:
    if kind.typeName() not in _TAKEN:
        said = kind.simpleString()
        step = f'; take its fields as columns: select("{name}.*")' if kind.typeName() == "struct" else ""
        raise BadParameter(f"the column {name} has the type {said:.80}, of which no term is made; {_EXPECTED}{step}")


class TupleReader:
    """Reads the rows of one partition, in their order. ``terms`` says what texts are: SYMBOLS or STRINGS."""

    def __init__(self, shape: RowShape, terms: str, partition: int) -> None:
        self._shape = shape
        self._terms = terms
        self._partition = partition
        self._rows = 0
        """Of the batches before."""

    def read_tuples(self, batch: pa.RecordBatch) -> tuple[list[Tuple], list[int] | None]:
        """The tuples of the next batch, and the sign of each where rows have one. Raises BadRow for the first that makes none."""
        from gsg.errors import GsgError

        shape, make = self._shape, self._term_maker()
        columns = [batch.column(name) for name in shape.columns]
        signs = batch.column(SIGN).to_pylist() if shape.has_sign else None
        try:
            tuples = _tuples_of_arrays(columns[0], make) if shape.has_array else _tuples_of_columns(columns, make)
            is_sound = signs is None or set(signs) <= {1, -1}
        except (GsgError, ValueError, TypeError, OverflowError):
            is_sound, tuples = False, []
        if not is_sound:
            # Rows are looked at one by one where one of them is to be named, and only then.
            self._raise_bad_row(columns, signs, make)
        self._rows += len(batch)
        return tuples, signs

    def _term_maker(self) -> Callable[[object], Term]:
        """What makes a term of a value. It knows the texts of one batch, so that it stays as small as that."""
        from gsg.tuples.terms import term

        known: dict[str, Term] = {}
        if self._terms != STRINGS:
            from ...workload.lines import Fields
            from ...workload.pieces import Terms

            terms = Terms()

        def make(value: object) -> Term:
            if type(value) is str:
                if self._terms == STRINGS:
                    return value
                found = known.get(value)
                if found is None:
                    [found] = terms.of(Fields((value,)))
                    known[value] = found
                return found
            # Whatever the time zone of the session: the same moment is the same term.
            return term(value.astimezone(UTC) if type(value) is datetime and value.tzinfo is not None else value)

        return make

    def _raise_bad_row(self, columns: Sequence[pa.Array], signs: list[object] | None, make: Callable[[object], Term]) -> NoReturn:
        """Raise BadRow for the first row that makes no tuple."""
        has_array = self._shape.has_array
        for at in range(len(columns[0])):
            number = self._rows + at + 1
            values = [self._value(column, at, name) for column, name in zip(columns, self._shape.columns, strict=True)]
            row: Sequence[object] | None = values[0] if has_array else values  # type: ignore[assignment]  # one of an array is one
            if signs is not None and signs[at] not in (1, -1):
                said = "empty" if signs[at] is None else signs[at]
                raise self._bad_row(number, SIGN, f"the sign is {said}; expected 1, or -1 for what goes")
            if not row or len(row) > MAX_COLUMNS:
                raise self._bad_row(number, TUPLE, f"an array of {len(row or ())} terms; expected 1 to {MAX_COLUMNS}")
            for place, value in enumerate(row):
                name = f"{TUPLE}[{place}]" if has_array else self._shape.columns[place]
                if (problem := _problem_of((value,), make)) is not None:
                    raise self._bad_row(number, name, problem)
            if (problem := _problem_of(row, make)) is not None:
                raise self._bad_row(number, ", ".join(self._shape.columns)[:80], problem)
        raise AssertionError("one of them makes none")

    def _value(self, column: pa.Array, at: int, name: str) -> object:
        try:
            return column[at].as_py()
        except (ValueError, OverflowError) as error:
            raise self._bad_row(self._rows + at + 1, name, f"{error}; expected a moment of the years 1 to 9999") from None

    def _bad_row(self, number: int, column: str, problem: str) -> BadRow:
        return BadRow(f"row {number} of partition {self._partition}, column {column}: {problem}")


def _tuples_of_columns(columns: Sequence[pa.Array], make: Callable[[object], Term]) -> list[Tuple]:
    """Raises what making a term raises."""
    from pyarrow.types import is_integer

    made = []
    for column in columns:
        values = column.to_pylist()
        # A whole number of 64 bits is its own term.
        made.append(values if is_integer(column.type) and not column.null_count else list(map(make, values)))
    return _checked(list(zip(*made, strict=True)))


def _tuples_of_arrays(column: pa.Array, make: Callable[[object], Term]) -> list[Tuple]:
    """Raises what making a term raises, TypeError for an array that is null, and ValueError for one that is too short or long."""
    tuples = [tuple(map(make, values)) for values in column.to_pylist()]
    if not all(0 < len(items) <= MAX_COLUMNS for items in tuples):
        raise ValueError("too short or too long")
    return _checked(tuples)


def _checked(tuples: list[Tuple]) -> list[Tuple]:
    """The same. Raises BadTerm where one is too long, or cannot be encoded."""
    from gsg.tuples.sizes import total_bytes

    for begin in range(0, len(tuples), CHECKED_AT_ONCE):
        total_bytes(tuples[begin : begin + CHECKED_AT_ONCE])
    return tuples


def _problem_of(values: Sequence[object], make: Callable[[object], Term]) -> str | None:
    """Why values make no tuple; None where they do."""
    from gsg.errors import GsgError

    if None in values:
        return "it is empty, and a tuple has a term at each place; leave such rows out, as df.na.drop() does"
    try:
        _checked([tuple(map(make, values))])
    except (GsgError, ValueError, OverflowError) as error:
        return str(error)
    return None
