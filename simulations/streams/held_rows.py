"""How often each row holds, by the signs of a stream, and what leads from one answer to another: Arrow in, Arrow out.

An answer is a table with a column for each variable, v0, v1, ..., and ``count``. Events count nothing, and neither does the row
that tells of a gap: its sign is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from .row_schema import AT, SIGN

COUNT = "count"

ROWS_AT_ONCE = 1_000_000
"""Rows of a stream that are added up at once: of an answer that is larger, as many as it has."""


def no_rows(schema: pa.Schema) -> pa.Table:
    """The empty answer; ``schema`` is that of a segment."""
    return pa.table({field.name: pa.array([], field.type) for field in _variables(schema)} | {COUNT: pa.array([], pa.int64())})


def add_up(held: pa.Table, changes: Iterable[pa.Table]) -> pa.Table:
    """The answer after some changes, which are tables as segments hold them."""
    waiting: list[pa.Table] = []
    rows = 0
    for table in changes:
        waiting.append(_counted(table))
        rows += table.num_rows
        if rows >= max(ROWS_AT_ONCE, held.num_rows):
            held, waiting, rows = _sum_counts([held, *waiting]), [], 0
    return _sum_counts([held, *waiting]) if waiting else held


def difference(held: pa.Table, answer: pa.Table, at: pa.TimestampScalar, schema: pa.Schema) -> pa.Table:
    """The changes that lead from one answer to another, received at one moment, as segments hold them; rows that go come first."""
    less = held.set_column(held.num_columns - 1, COUNT, pc.negate(held[COUNT]))
    changed = _sum_counts([answer, less])
    changed = changed.take(pc.sort_indices(pc.sign(changed[COUNT])))
    times = pc.abs(changed[COUNT]).to_numpy()
    import numpy as np

    repeated = changed.take(pa.array(np.repeat(np.arange(len(times)), times)))
    columns = [repeated.column(number) for number in range(repeated.num_columns - 1)]
    columns += [pc.sign(repeated[COUNT]).cast(pa.int8()), pa.repeat(at, repeated.num_rows)]
    return pa.table(columns, schema=schema)


def _variables(schema: pa.Schema) -> Sequence[pa.Field]:
    return [field for field in schema if field.name not in (SIGN, AT)]


def _counted(table: pa.Table) -> pa.Table:
    kept = table.filter(pc.not_equal(table[SIGN], 0))  # null is left out as well
    columns = {field.name: kept[field.name] for field in _variables(table.schema)}
    return pa.table(columns | {COUNT: kept[SIGN].cast(pa.int64())})


def _sum_counts(tables: Sequence[pa.Table]) -> pa.Table:
    """Answers added up, without the rows that hold no longer."""
    joined = pa.concat_tables(tables)
    names = joined.column_names[:-1]
    if joined.num_rows == 0:
        return joined
    summed = joined.group_by(names).aggregate([(COUNT, "sum")])
    summed = summed.select([*names, f"{COUNT}_sum"]).rename_columns([*names, COUNT])
    return summed.filter(pc.not_equal(summed[COUNT], 0))
