"""Tuples of rows: columns of Arrow in, signed tuples out; a row of which none can be made is named. Pure.

The columns of a row are the terms of its tuple, in their order, or a column ``tuple`` is an array of them; a column ``sign`` says
whether it comes (1) or goes (-1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

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
    if len(schema.fields) > len(columns) + 1:
        raise BadParameter("several columns sign; expected one, or none where all rows come")
    if not 0 < len(columns) <= MAX_COLUMNS:
        raise BadParameter(f"{len(columns)} columns for a tuple; expected 1 to {MAX_COLUMNS}")
    if TUPLE in types and types[TUPLE].typeName() == "array":
        if columns != (TUPLE,):
            others = ", ".join(name for name in columns if name != TUPLE)
            raise BadParameter(f"the columns {others:.200} beside tuple; expected tuple alone, and perhaps sign")
        _check_type(TUPLE, types[TUPLE].elementType)  # type: ignore[attr-defined]  # an array has one
        return RowShape(columns, has_array=True, has_sign=has_sign)
    for field in schema.fields:
        if field.name != SIGN:
            _check_type(field.name, field.dataType)
    return RowShape(columns, has_sign=has_sign)


def _check_type(name: str, kind: DataType) -> None:
    if kind.typeName() not in _TAKEN:
        said = kind.simpleString()
        step = f'; take its fields as columns: select("{name}.*")' if kind.typeName() == "struct" else ""
        raise BadParameter(f"the column {name} has the type {said:.80}, of which no term is made; {_EXPECTED}{step}")


class RowReader:
    """Reads the rows of one partition, in their order. ``terms`` says what texts are: SYMBOLS or STRINGS."""

    def __init__(self, shape: RowShape, terms: str, partition: int) -> None:
        self._shape = shape
        self._terms = terms
        self._partition = partition
        self._number = 0

    def signed_tuples(self, batch: pa.RecordBatch) -> Iterator[tuple[int, Tuple]]:
        """The sign and the tuple of each row of the next batch. Raises BadRow at the first that has none."""
        make = self._maker()
        shape = self._shape
        # By place: several columns may have one name.
        names = batch.schema.names
        columns = [column.to_pylist() for name, column in zip(names, batch.columns, strict=True) if name != SIGN]
        rows = columns[0] if shape.has_array else zip(*columns, strict=True)
        signs = batch.column(SIGN).to_pylist() if shape.has_sign else [1] * len(batch)
        for sign, row in zip(signs, rows, strict=True):
            self._number += 1
            if sign != 1 and sign != -1:
                raise self._bad(SIGN, f"the sign is {'empty' if sign is None else sign}; expected 1, or -1 for what goes")
            yield sign, self._tuple(row, make)

    def _maker(self) -> Callable[[object], Term]:
        """What makes a term of a value. It knows the texts of one batch, so that it stays as small as that."""
        from gsg.tuples.terms import term

        if self._terms == STRINGS:
            return term
        from ...workload.lines import Fields
        from ...workload.pieces import Terms

        known: dict[str, Term] = {}
        terms = Terms()

        def make(value: object) -> Term:
            if type(value) is not str:
                return term(value)
            found = known.get(value)
            if found is None:
                [found] = terms.of(Fields((value,)))
                known[value] = found
            return found

        return make

    def _tuple(self, row: object, make: Callable[[object], Term]) -> Tuple:
        from gsg.errors import GsgError
        from gsg.tuples.sizes import size_bytes

        shape = self._shape
        if not row:
            raise self._bad(TUPLE, f"the array is empty; expected 1 to {MAX_COLUMNS} terms")
        items: list[Term] = []
        values: Sequence[object] = row  # type: ignore[assignment]  # a tuple or a list
        for at, value in enumerate(values):
            try:
                if value is None:
                    raise BadParameter(
                        "it is empty, and a tuple has a term at each place; leave such rows out, as df.na.drop() does"
                    )
                # Whatever the time zone of the session: the same moment is the same term.
                is_moment = type(value) is datetime and value.tzinfo is not None
                items.append(make(value.astimezone(UTC) if is_moment else value))  # type: ignore[attr-defined]  # as just seen
            except (GsgError, ValueError, BadParameter) as error:
                name = f"{TUPLE}[{at}]" if shape.has_array else shape.columns[at]
                raise self._bad(name, str(error)) from None
        made = tuple(items)
        if len(made) > MAX_COLUMNS:
            raise self._bad(TUPLE, f"{len(made)} terms; expected 1 to {MAX_COLUMNS}")
        try:
            size_bytes(made)
        except GsgError as error:
            raise self._bad(", ".join(shape.columns)[:80], str(error)) from None
        return made

    def _bad(self, column: str, problem: str) -> BadRow:
        return BadRow(f"row {self._number} of partition {self._partition}, column {column}: {problem}")
