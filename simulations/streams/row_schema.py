"""The columns of a stream of rows: one for each variable of the query, and three that say what each row is.

Spark does not tell names apart that differ in case, so the variables must not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import StructType

from ..errors import BadParameter

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

SIGN, POSITION, AT = "sign", "position", "at"
"""1 where a row has become true, -1 where it has stopped being true, 0 where it was true for the moment of an event, and null where
events may have been missed; the number of the row in its stream, from 1; and when it was received."""

ARROW_TYPES = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
"""Spark's name of each type that a variable's column may have, and its type in Arrow."""
_FIXED = {SIGN: ("int", pa.int32()), POSITION: ("bigint", pa.int64()), AT: ("timestamp", ARROW_TYPES["timestamp"])}

TYPES_OF_SEGMENT = [pa.field(SIGN, pa.int8()), pa.field(AT, ARROW_TYPES["timestamp"])]
"""What a segment of the spool has after the variables, which are named v0, v1, ... there."""


def usual_schema(variables: Sequence[str]) -> str:
    """The schema, as Spark's DDL, of a query with these variables where nobody says another. Raises BadParameter."""
    check_names(variables)
    columns = [f"`{name}` STRING" for name in variables] + [f"`{name}` {kind.upper()}" for name, (kind, _) in _FIXED.items()]
    return ", ".join(columns)


def check_names(variables: Sequence[str]) -> None:
    """Raises BadParameter where two columns would have one name to Spark."""
    taken = {name: f'the column "{name}", that each row has' for name in _FIXED}
    for variable in variables:
        other = taken.setdefault(variable.lower(), f"?{variable}")
        if other != f"?{variable}":
            raise BadParameter(
                f"?{variable} of the query and {other}, have one name to Spark, which does not look at case; rename the variable"
            )


def variables_of(schema: StructType) -> list[tuple[str, str]]:
    """The names and types of the columns that are variables. Raises BadParameter for a type that a column cannot have."""
    found = []
    for field in schema.fields:
        kind = field.dataType.simpleString()
        if field.name in _FIXED:
            _check_fixed(field, kind)
        elif kind not in ARROW_TYPES:
            raise BadParameter(
                f"the column {field.name} is of type {kind}; expected {', '.join(ARROW_TYPES)}: read it as string, and cast"
            )
        else:
            found.append((field.name, kind))
    check_names([name for name, _ in found])
    return found


def _check_fixed(field: StructField, kind: str) -> None:
    expected, _ = _FIXED[field.name]
    if kind != expected:
        raise BadParameter(f"the column {field.name} is of type {kind}; expected {expected}, as the source fills it")


def check_variables(columns: Sequence[tuple[str, str]], variables: Sequence[str]) -> None:
    """Raises BadParameter where a schema that somebody has said has a column that the query does not."""
    for name, _ in columns:
        if name not in variables:
            known = ", ".join([*variables, *_FIXED])
            raise BadParameter(f"the schema has a column {name}, which is no variable of the query; expected some of {known}")


def segment_schema(columns: Sequence[tuple[str, str]]) -> pa.Schema:
    """What a segment of the spool holds."""
    return pa.schema([*(pa.field(f"v{at}", ARROW_TYPES[kind]) for at, (_, kind) in enumerate(columns)), *TYPES_OF_SEGMENT])


def to_spark(batch: pa.RecordBatch, first: int, schema: StructType) -> pa.RecordBatch:
    """Rows of a segment in the columns that Spark asked for; ``first`` is the position of the first of them."""
    made: list[pa.Array] = []
    fields: list[pa.Field] = []
    variable = 0
    for field in schema.fields:
        if field.name == SIGN:
            made.append(batch.column(batch.num_columns - 2).cast(pa.int32()))
        elif field.name == AT:
            made.append(batch.column(batch.num_columns - 1))
        elif field.name == POSITION:
            made.append(pa.array(range(first, first + batch.num_rows), pa.int64()))
        else:
            made.append(batch.column(variable))
            variable += 1
        fields.append(pa.field(field.name, made[-1].type, field.nullable))
    return pa.RecordBatch.from_arrays(made, schema=pa.schema(fields))
