"""Ordered attributes: whatever number lies between two bounds lies under one of the keys between them."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gsg.errors import LocalError
from gsg.tuples.features import Interval, Key, key_of_short, short_key
from gsg.tuples.ordered_attributes import OrderedAttribute, OrderedAttributes, attribute_from, float_of
from gsg.tuples.terms import XSD, Literal, Symbol, Term

VALUES = OrderedAttribute(3, 2, -10, 40, 25)
ORDERED = OrderedAttributes([VALUES])
NUMBERS: st.SearchStrategy[Term] = st.one_of(
    st.integers(-100, 100),
    st.integers(-(10**300), 10**300).map(lambda number: Literal(str(number), XSD + "integer")),
    st.decimals(-100, 100, allow_nan=False, places=5).map(lambda number: Literal(f"{number:f}", XSD + "decimal")),
    st.floats(allow_nan=False).map(lambda number: Literal(repr(number).replace("inf", "INF"), XSD + "double")),
    st.floats(-100, 100).map(lambda number: Literal(repr(number), XSD + "float")),
)


def key_of(term: Term) -> Key:
    return short_key((3, 2, term))


@given(NUMBERS, st.floats(-60, 60), st.floats(-60, 60))
def test_a_number_between_two_bounds_lies_under_a_key_between_them(term: Term, one: float, other: float) -> None:
    low, high = sorted((one, other))
    number = float_of(term)
    assert number is not None

    interval = ORDERED.interval_key(key_of(term))

    assert interval is not None
    assert not low <= number <= high or interval in [(3, 2, Interval(each)) for each in VALUES.all_between(low, high)]
    assert ORDERED.place_of(key_of(term)) == ORDERED.place_of(interval)


@given(st.lists(st.floats(allow_nan=False), min_size=2))
def test_a_higher_number_is_in_no_lower_interval(numbers: list[float]) -> None:
    found = [VALUES.interval_of(number) for number in sorted(numbers)]

    assert found == sorted(found)
    assert 0 <= found[0] <= found[-1] <= VALUES.intervals + 1


def test_the_outer_intervals_are_what_is_below_and_above() -> None:
    assert [VALUES.interval_of(number) for number in (-math.inf, -10.001, -10, -8.001, -8, 39.999, 40, math.inf)] == [
        *(0, 0, 1, 1, 2, 25, 26, 26),
    ]
    assert VALUES.all_between(39, math.inf) == [25, 26, 27]


@pytest.mark.parametrize("term", [Symbol("warm"), "21", Literal("NaN", XSD + "double"), Literal("x", XSD + "integer")])
def test_what_is_no_number_and_what_lies_elsewhere_has_its_own_key(term: Term) -> None:
    assert ORDERED.interval_key((3, 2, term)) is None
    assert ORDERED.place_of((3, 2, term)) == key_of_short((3, 2, term))
    assert ORDERED.interval_key((3, 1, 21)) is None
    assert ORDERED.place_of((2, 1, 21)) == key_of_short((2, 1, 21))


def test_a_long_constant_lies_where_all_long_ones_lie_as_nobody_knows_it_by_its_hash() -> None:
    long = Literal("1" * 300, XSD + "decimal")

    assert ORDERED.interval_key(key_of(long)) == ORDERED.interval_key(key_of("x" * 300)) == (3, 2, Interval(VALUES.of_long))


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.integers(1, 1_000))
def test_an_attribute_is_read_as_it_is_written(one: float, other: float, intervals: int) -> None:
    low, high = sorted((one, other))
    assume(high - low > 1e-300)

    attribute = OrderedAttribute(3, 1, low, high, intervals)

    assert attribute_from(str(attribute)) == attribute


@pytest.mark.parametrize(
    ("text", "written"), [("1.5e3..2e4/5", "1500..20000/5"), ("-0..+2/3", "0..2/3"), ("_,0.50..1/3", "_,0.5..1/3")]
)
def test_it_is_written_in_one_way(text: str, written: str) -> None:
    assert str(attribute_from(text)) == written


def test_it_may_be_written_as_in_scripts() -> None:
    assert attribute_from("?, *, -10..40/25") == VALUES
    assert str(VALUES) == "_,_,-10..40/25"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("_,1..2", "such as _,_,0..100/50"),
        ("_,_", "such as _,_,0..100/50"),
        ("1..2/3,1..2/3", "such as _,_,0..100/50"),
        ("_,2..1/3", "the lower one first"),
        ("_,1..inf/3", "such as _,_,0..100/50"),
        ("_,1_0..20/3", "such as _,_,0..100/50"),
        ("_,0...100/20", "such as _,_,0..100/50"),
        ("_,0..1/0", "expected 1 to 65,536"),
        ("_,0..1/999999", "expected 1 to 65,536"),
        ("_," * 300 + "0..1/3", "expected one below the arity"),
    ],
)
def test_what_is_no_attribute_is_refused_and_says_what_would_be(text: str, said: str) -> None:
    with pytest.raises(LocalError, match=said):
        attribute_from(text)


def test_two_at_one_position_are_refused() -> None:
    with pytest.raises(LocalError, match="expected one at a position"):
        OrderedAttributes([VALUES, OrderedAttribute(3, 2, 0, 1, 1)])
