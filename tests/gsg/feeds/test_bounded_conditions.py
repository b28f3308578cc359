"""Where conditions with bounds alone are posted."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rete
from gsg.feeds.intervals import Intervals, intervals_of
from gsg.languages import parse_query
from gsg.languages.query import alphas
from gsg.tuples.features import Interval
from gsg.tuples.ordered_attributes import POSTED_INTERVALS, OrderedAttribute, OrderedAttributes
from gsg.tuples.terms import XSD, Literal, Term

VALUES = OrderedAttribute(3, 2, 0, 100, 20)
"""Intervals of 5; 0 below, 21 above, 22 of long constants."""
ORDERED = OrderedAttributes([VALUES])
MANY = 1_000
NUMBERS: st.SearchStrategy[Term] = st.one_of(
    st.integers(-20, 120),
    st.decimals(-20, 120, places=3).map(lambda number: Literal(f"{number:f}", XSD + "decimal")),
    st.floats(-20, 120).map(lambda number: Literal(repr(number), XSD + "double")),
    st.floats(-20, 120).map(lambda number: Literal(repr(number), XSD + "float")),
)


def alpha_of(text: str) -> rete.AlphaSpec:
    [alpha] = alphas(parse_query(text, "gsg"))
    return alpha


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(?s, ?p, ?v) FILTER(?v > 90)", [19, 20, 21, 22]),
        ("(?s, ?p, ?v) FILTER(?v > 92 && ?v <= 94)", [19, 22]),
        ("(?s, ?p, ?v) FILTER(12 <= ?v) FILTER(?v < 13.5)", [3, 22]),
        ("(?s, ?p, ?v) FILTER(?v = 7)", [2, 22]),
        ("(?s, ?p, ?v) FILTER(?v IN (7, 11, 12))", [2, 3, 22]),
        ("(?s, ?p, ?v) FILTER(?v < 0 && ?v > 100)", [22]),
        ("(?s, ?p, ?v) FILTER(?v > 90 && ?s != ?p)", [19, 20, 21, 22]),
    ],
)
def test_a_condition_with_bounds_alone_is_posted_under_the_intervals_between_them(text: str, numbers: list[int]) -> None:
    assert intervals_of(alpha_of(text), ORDERED, MANY) == Intervals(2, numbers)


@pytest.mark.parametrize(
    "text",
    [
        "(?s, ?p, ?v)",
        "(?s, temp, ?v) FILTER(?v > 90)",
        "(?s, ?v) FILTER(?v > 90)",
        "(?s, ?p, ?v) FILTER(?s > 90)",
        "(?s, ?p, ?v) FILTER(?v != 90)",
        "(?s, ?p, ?v) FILTER(?v + 1 > 90)",
        '(?s, ?p, ?v) FILTER(?v > "m")',
        '(?s, ?p, ?v) FILTER(?v IN (7, "m"))',
        "(?s, ?p, ?v) FILTER(?v > 90 || ?s = ?p)",
    ],
    ids=["no bounds", "a constant", "another arity", "another position", "no order", "computed", "a text", "a text too", "or else"],
)
def test_all_others_are_posted_as_ever(text: str) -> None:
    assert intervals_of(alpha_of(text), ORDERED, MANY) is None


def test_it_is_posted_everywhere_where_that_is_no_more() -> None:
    alpha = alpha_of("(?s, ?p, ?v) FILTER(?v > 90)")

    assert intervals_of(alpha, ORDERED, 4) is None
    assert intervals_of(alpha, ORDERED, 5) is not None
    wide = OrderedAttributes([OrderedAttribute(3, 2, 0, 100, 10 * POSTED_INTERVALS)])
    assert intervals_of(alpha, wide, MANY) is None


def test_of_two_positions_with_bounds_the_one_with_fewer_intervals_is_taken() -> None:
    ordered = OrderedAttributes([VALUES, OrderedAttribute(3, 0, 0, 10, 2)])

    assert intervals_of(alpha_of("(?v, ?p, ?w) FILTER(?w > 3 && ?v > 3)"), ordered, MANY) == Intervals(0, [1, 2, 3, 4])


FINE = OrderedAttribute(3, 2, 16_777_210, 16_777_220, 10)
"""Where an ``xsd:float`` has every second number."""


@st.composite
def pairs(draw: st.DrawFn) -> tuple[OrderedAttribute, Term, Term]:
    """Two numbers that are mostly close to the edge of an interval, and to each other."""
    attribute = draw(st.sampled_from((VALUES, FINE)))
    width = (attribute.high - attribute.low) / attribute.intervals
    edge = attribute.low + draw(st.integers(0, attribute.intervals)) * width
    near = st.one_of(st.just(edge), st.sampled_from((-width, -1, -(2**-20), 2**-20, 1, width)).map(lambda off: edge + off))
    number = st.one_of(
        near, near.map(lambda value: math.nextafter(value, math.inf)), near.map(lambda value: math.nextafter(value, 0))
    )
    written = number.flatmap(
        lambda value: st.sampled_from(
            (
                Literal(repr(value), XSD + "double"),
                Literal(repr(value), XSD + "float"),
                Literal(f"{Decimal(value):f}", XSD + "decimal"),
                int(value),
            )
        )
    )
    return attribute, draw(written), draw(written)


@settings(max_examples=300)
@given(st.one_of(pairs(), st.tuples(st.just(VALUES), NUMBERS, NUMBERS)), st.sampled_from(("<", "<=", ">", ">=", "=")))
def test_they_meet(drawn: tuple[OrderedAttribute, Term, Term], operator: str) -> None:
    """What passes the tests of a condition lies under one of the keys that it is posted under."""
    attribute, value, bound = drawn
    ordered = OrderedAttributes([attribute])
    written = bound if isinstance(bound, int) else f'"{bound.lexical}"^^<{bound.datatype}>'  # type: ignore[union-attr]  # a literal
    alpha = alpha_of(f"(?s, ?p, ?v) FILTER(?v {operator} {written})")

    at = intervals_of(alpha, ordered, MANY)

    if at is not None and alpha.admits((1, 1, value)):
        assert ordered.interval_key((3, 2, value)) in [(3, 2, Interval(number)) for number in at.numbers]
