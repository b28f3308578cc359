"""Terms as columns: what each type of a column takes, and that nothing else becomes a value."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

import gsg
from gsg.tuples.terms import XSD, Compound, Literal, term
from simulations.streams.columns import ColumnMaker
from simulations.streams.row_schema import segment_schema

DATE_TIME = XSD + "dateTime"
AT = datetime(2026, 11, 29, 8, 30, tzinfo=UTC)


def column(kind: str, *values: object, term_format: str = "plain") -> list[object]:
    columns = [("x", kind)]
    maker = ColumnMaker(columns, term_format, segment_schema(columns))
    maker.set_variables(("y", "x"))
    rows = [(1, None if value is None else term(value)) for value in values]
    batch = maker.make_batch([1] * len(rows), rows, AT)
    assert maker.unfit["x"] == sum(
        made is None and value is not None for made, value in zip(batch[0].to_pylist(), values, strict=True)
    )
    made: list[object] = batch.column(0).to_pylist()
    return made


TERMS = [
    ("text", "text", '"text"'),
    (7, "7", "7"),
    (21.5, "21.5", "21.5"),
    (gsg.Symbol("red"), "red", "red"),
    (gsg.IRI("http://example.org/a"), "http://example.org/a", "<http://example.org/a>"),
    (gsg.BlankNode("b1"), "_:b1", "_:b1"),
    (Literal("chat", "", "fr"), "chat", '"chat"@fr'),
    (Compound((gsg.Symbol("lot"), 123)), "lot(123)", "lot(123)"),
    (None, None, None),
]


@pytest.mark.parametrize(("value", "plain", "n3"), TERMS, ids=str)
def test_a_column_of_strings_has_terms_as_people_read_them_or_as_scripts_write_them(
    value: object, plain: str | None, n3: str | None
) -> None:
    assert column("string", value) == [plain]
    assert column("string", value, term_format="n3") == [n3]


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("bigint", [7, Literal("8", XSD + "unsignedByte"), 2**70, 1.5, "7", True, None], [7, 8, None, None, None, None, None]),
        ("double", [7, 21.5, Decimal("1.5"), "7", True, Literal("x", XSD + "double")], [7.0, 21.5, 1.5, None, None, None]),
        ("double", [10**4000, Literal("1" + "0" * 400, XSD + "decimal")], [None, None]),
        ("boolean", [True, False, 1, "true"], [True, False, None, None]),
        ("timestamp", [AT, AT.replace(tzinfo=None), "2026-11-29T08:30:00Z", 7], [AT, AT, None, None]),
        (
            "timestamp",
            [Literal("0001-01-01T00:00:00+01:00", DATE_TIME), Literal("9999-12-31T23:59:59-01:00", DATE_TIME)],
            [None] * 2,
        ),
    ],
    ids=["bigint", "double", "beyond a double", "boolean", "timestamp", "beyond the calendar"],
)
def test_a_typed_column_has_values_of_its_type_and_null_for_all_else(
    kind: str, values: list[object], expected: list[object]
) -> None:
    assert column(kind, *values) == expected


def test_rows_without_variables_have_a_sign_and_a_moment() -> None:
    maker = ColumnMaker([], "plain", segment_schema([]))
    maker.set_variables(())

    batch = maker.make_batch([1, -1], [(), ()], AT)

    assert batch.to_pydict() == {"sign": [1, -1], "at": [AT, AT]}


def test_the_row_of_a_gap_has_a_moment_alone() -> None:
    columns = [("x", "string"), ("n", "bigint")]

    assert ColumnMaker(columns, "plain", segment_schema(columns)).gap_row(AT).to_pylist() == [
        {"v0": None, "v1": None, "sign": None, "at": AT}
    ]
