"""The sums of signed rows, against Counters of Python."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest

from simulations.streams.columns import moment
from simulations.streams.held_rows import add_up, difference, no_rows
from simulations.streams.row_schema import segment_schema

AT = moment(datetime(2026, 11, 29, tzinfo=UTC))
SHAPES = {
    "two variables": [("x", "string"), ("n", "double")],
    "one": [("n", "bigint")],
    "none": [],
}
VALUES: dict[str, list[object]] = {"string": ["a", "b", "", None], "double": [0.5, -2.0, None], "bigint": [1, 2, None]}


def changes(columns: list[tuple[str, str]], rows: list[tuple[object, ...]], signs: list[int | None]) -> pa.Table:
    schema = segment_schema(columns)
    made = [pa.array([row[at] for row in rows], schema.types[at]) for at in range(len(columns))]
    return pa.table([*made, pa.array(signs, pa.int8()), pa.repeat(AT, len(rows))], schema=schema)


def counted(answer: pa.Table) -> Counter[tuple[object, ...]]:
    columns = [column.to_pylist() for column in answer.columns]
    return Counter({row: count for *values, count in zip(*columns, strict=True) if (row := tuple(values)) is not None})


def some_changes(rng: Random, columns: list[tuple[str, str]], number: int) -> tuple[pa.Table, Counter[tuple[object, ...]]]:
    rows = [tuple(rng.choice(VALUES[kind]) for _, kind in columns) for _ in range(number)]
    signs = [rng.choice([1, 1, -1, 0, None]) for _ in rows]
    sums: Counter[tuple[object, ...]] = Counter()
    for row, sign in zip(rows, signs, strict=True):
        sums[row] += sign or 0
    return changes(columns, rows, signs), Counter({row: count for row, count in sums.items() if count})


@pytest.mark.parametrize("columns", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_signs_add_up_as_counters_do_and_events_and_gaps_count_nothing(columns: list[tuple[str, str]], seed: int) -> None:
    rng = Random(seed)
    first, first_sums = some_changes(rng, columns, 60)
    second, second_sums = some_changes(rng, columns, 40)

    held = add_up(add_up(no_rows(segment_schema(columns)), [first]), [second])

    first_sums.update(second_sums)
    assert counted(held) == Counter({row: count for row, count in first_sums.items() if count})


@pytest.mark.parametrize("columns", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_a_difference_leads_from_one_answer_to_the_other_and_what_goes_comes_first(
    columns: list[tuple[str, str]], seed: int
) -> None:
    rng, schema = Random(seed), segment_schema(columns)
    nothing = no_rows(schema)
    before = add_up(nothing, [some_changes(rng, columns, 50)[0]])
    after = add_up(nothing, [some_changes(rng, columns, 50)[0]])

    told = difference(before, after, AT, schema)

    assert counted(add_up(before, [told])) == counted(after)
    assert told["sign"].to_pylist() == sorted(told["sign"].to_pylist())
    assert set(told["at"].to_pylist()) <= {AT.as_py()}


def test_equal_answers_have_no_difference() -> None:
    schema = segment_schema(SHAPES["one"])
    held = add_up(no_rows(schema), [changes(SHAPES["one"], [(1,), (1,), (2,)], [1, 1, 1])])

    assert difference(held, held, AT, schema).num_rows == 0


def test_a_row_that_holds_twice_is_told_twice() -> None:
    schema = segment_schema(SHAPES["one"])
    held = add_up(no_rows(schema), [changes(SHAPES["one"], [(7,), (7,)], [1, 1])])

    assert difference(no_rows(schema), held, AT, schema)["v0"].to_pylist() == [7, 7]
