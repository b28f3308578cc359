"""Tuples of rows: what each type becomes, signs, and rows of which no tuple can be made."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    IntegerType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from gsg import IRI, BlankNode, Literal, Symbol
from gsg.tuples.terms import Tuple, term
from simulations.errors import BadParameter, BadRow
from simulations.streams.sink.row_tuples import RowShape, TupleReader, row_shape

WHOLE, TEXT = IntegerType(), StringType()
PLACE = StructType([StructField("x", WHOLE)])


def shape(mode: str = "facts", /, **columns: DataType) -> RowShape:
    return row_shape(StructType([StructField(name, kind) for name, kind in columns.items()]), mode)


def tuples(batch: pa.RecordBatch, terms: str = "symbols", *, has_sign: bool = False) -> list[Tuple]:
    columns = tuple(name for name in batch.schema.names if name != "sign")
    return TupleReader(RowShape(columns, has_sign=has_sign), terms, 0).read_tuples(batch)[0]


def test_columns_are_terms_in_their_order() -> None:
    assert shape(s=TEXT, p=TEXT, o=WHOLE) == RowShape(("s", "p", "o"))
    assert shape(s=TEXT, sign=WHOLE, o=TEXT) == RowShape(("s", "o"), has_sign=True)
    assert shape(tuple=ArrayType(TEXT), sign=ByteType()) == RowShape(("tuple",), has_array=True, has_sign=True)
    assert shape(tuple=TEXT, other=TEXT) == RowShape(("tuple", "other"))


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"s": TEXT, "place": PLACE}, r"the column place has the type struct<x:int>, of which no term is made; expected strings"),
        ({"place": PLACE}, r'take its fields as columns: select\("place.\*"\)'),
        ({"m": MapType(TEXT, WHOLE)}, "the column m has the type map<string,int>"),
        ({"a": ArrayType(TEXT)}, "the column a has the type array<string>"),
        ({"tuple": ArrayType(ArrayType(WHOLE))}, "the column tuple has the type array<int>"),
        ({"tuple": ArrayType(TEXT), "other": TEXT}, "the columns other beside tuple; expected tuple alone, and perhaps sign"),
        ({"s": TEXT, "sign": TEXT}, "the column sign has the type string; expected a whole number, 1 or -1"),
        ({"sign": WHOLE}, "0 columns for a tuple; expected 1 to 255"),
        ({"s": NullType()}, "the column s has the type void"),
        ({f"c{number}": WHOLE for number in range(256)}, "256 columns for a tuple; expected 1 to 255"),
    ],
)
def test_columns_that_make_no_tuple_are_refused_by_name(columns: dict[str, DataType], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        shape(**columns)


def test_events_have_no_sign() -> None:
    with pytest.raises(BadParameter, match="a column sign for events, which come and never go; expected none: drop it"):
        shape("events", s=TEXT, sign=WHOLE)


def test_columns_of_the_same_name_are_refused() -> None:
    with pytest.raises(BadParameter, match="columns of the same name: s, s; expected each once"):
        row_shape(StructType([StructField("s", TEXT), StructField("s", TEXT)]), "facts")


def test_each_type_is_the_term_that_a_client_makes_of_its_value() -> None:
    values = [7, 2.5, True, date(2026, 11, 29), Decimal("1.50"), b"\x00\xff", datetime(2026, 11, 29, 8, 30)]
    batch = pa.RecordBatch.from_pydict({f"c{number}": [value] for number, value in enumerate(values)})

    assert tuples(batch) == [tuple(map(term, values))]


def test_a_moment_is_one_term_whatever_the_time_zone_of_the_session() -> None:
    moment = datetime(2026, 11, 29, 8, 30, 0, 250_000, tzinfo=UTC)
    zones = ("UTC", "America/New_York", "+05:30")

    found = {tuples(pa.RecordBatch.from_arrays([pa.array([moment], pa.timestamp("us", zone))], names=["t"]))[0] for zone in zones}

    assert found == {(term(moment),)}
    assert term(moment.astimezone(timezone(timedelta(hours=1)))) not in {items[0] for items in found}


def test_texts_are_symbols_or_what_n_triples_says_or_strings() -> None:
    texts = ["kitchen", "<http://example.org/a>", "_:b1", '"Haus"@de', '"text"']
    batch = pa.RecordBatch.from_pydict({"s": texts})

    named = [Symbol("kitchen"), IRI("http://example.org/a"), BlankNode("b1"), Literal("Haus", language="de"), "text"]
    assert tuples(batch) == [(name,) for name in named]
    assert tuples(batch, "strings") == [(text,) for text in texts]


def test_signs_say_what_comes_and_what_goes() -> None:
    batch = pa.RecordBatch.from_pydict({"s": ["a", "b"], "sign": [1, -1]})

    assert TupleReader(RowShape(("s",), has_sign=True), "strings", 0).read_tuples(batch) == ([("a",), ("b",)], [1, -1])


def test_a_column_tuple_has_tuples_of_different_lengths() -> None:
    batch = pa.RecordBatch.from_pydict({"tuple": [["a"], ["b", "c"]]})

    assert TupleReader(RowShape(("tuple",), has_array=True), "strings", 0).read_tuples(batch) == ([("a",), ("b", "c")], None)


@pytest.mark.parametrize(("zone", "micros"), [("UTC", 2**62), ("America/New_York", -62_135_596_800_000_000)])
def test_a_moment_beyond_the_calendar_is_named_with_its_row(zone: str, micros: int) -> None:
    batch = pa.RecordBatch.from_pydict({"s": ["a", "b"], "t": pa.array([0, micros], pa.timestamp("us", zone))})

    with pytest.raises(
        BadRow, match=r"^row 2 of partition 0, column t: date value out of range; expected a moment of the years 1 to"
    ):
        TupleReader(RowShape(("s", "t")), "symbols", 0).read_tuples(batch)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (
            {"s": ["a", None]},
            "^row 4 of partition 3, column s: it is empty, and a tuple has a term at each place; leave such rows out",
        ),
        ({"s": ["a", ""]}, "^row 4 of partition 3, column s: a field is empty"),
        ({"s": ["a", "<a b>"]}, "^row 4 of partition 3, column s: '<a b>' is no term of N-Triples"),
        ({"s": ["a", "b"], "sign": [1, 2]}, "^row 4 of partition 3, column sign: the sign is 2; expected 1, or -1 for what goes"),
        ({"s": ["a", "b"], "sign": [1, None]}, "^row 4 of partition 3, column sign: the sign is empty"),
        ({"tuple": [["a"], []]}, "^row 4 of partition 3, column tuple: an array of 0 terms; expected 1 to 255"),
        ({"tuple": [["a"], None]}, "^row 4 of partition 3, column tuple: an array of 0 terms"),
        ({"tuple": [["a"], ["b", None]]}, r"^row 4 of partition 3, column tuple\[1\]: it is empty"),
        ({"tuple": [["a"], ["b"] * 256]}, "^row 4 of partition 3, column tuple: an array of 256 terms; expected 1 to 255"),
        ({"s": ["a", "x" * 1_100_000]}, "^row 4 of partition 3, column s: tuple .* has 1100.* bytes; expected at most 1048576"),
    ],
)
def test_a_row_that_makes_no_tuple_is_named_with_its_column(columns: dict[str, list[object]], problem: str) -> None:
    batch = pa.RecordBatch.from_pydict(columns)
    names = tuple(name for name in columns if name != "sign")
    reader = TupleReader(RowShape(names, has_array="tuple" in columns, has_sign="sign" in columns), "symbols", 3)
    first = pa.RecordBatch.from_pydict({name: values[:1] * 2 for name, values in columns.items()})
    reader.read_tuples(first)

    with pytest.raises(BadRow, match=problem):
        reader.read_tuples(batch)
