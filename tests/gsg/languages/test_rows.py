"""Rows and the signs of their differences."""

from __future__ import annotations

import pytest

from gsg.errors import BadTerm
from gsg.languages.rows import Row, Sign, changes_of
from gsg.tuples.terms import IRI, Literal, Symbol, term


@pytest.mark.parametrize(
    ("sign", "shown"), [(Sign.PLUS, "+"), (Sign.MINUS, "-"), (Sign.EVENT, "!")], ids=["plus", "minus", "event"]
)
def test_signs_are_shown_as_one_character(sign: Sign, shown: str) -> None:
    assert str(sign) == f"{sign}" == shown


def test_signs_of_a_row_add_up() -> None:
    assert sum([Sign.PLUS, Sign.EVENT, Sign.PLUS, Sign.MINUS]) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": 1}, {"x": 1.0}),
        ({"x": 1}, {"x": "1"}),
        ({"x": 1.0}, {"x": "1.0"}),
        ({"x": 1}, {"x": True}),
        ({"x": Symbol("a")}, {"x": "a"}),
        ({"x": Symbol("a")}, {"x": IRI("a")}),
        ({"x": 0.0}, {"x": -0.0}),
        ({"x": 1}, {"y": 1}),
        ({"x": 1}, {"x": 1, "y": 1}),
        ({"x": 1, "y": 2}, {"x": 2, "y": 1}),
    ],
    ids=str,
)
def test_rows_differ_where_a_name_or_a_term_differs(one: dict[str, object], other: dict[str, object]) -> None:
    assert Row(one) != Row(other)
    assert len({Row(one), Row(other)}) == 2


def test_rows_are_equal_whatever_the_order_of_names() -> None:
    one, other = Row({"x": 1, "y": "a"}), Row({"y": "a", "x": 1})

    assert one == other
    assert hash(one) == hash(other)
    assert list(one) == ["x", "y"]
    assert list(other) == ["y", "x"]


def test_a_row_of_terms_is_the_row_of_their_python_values() -> None:
    made = Row.of(("x", "y"), (term(1.5), 2))

    assert made == Row({"x": 1.5, "y": 2})
    assert dict(made) == {"x": 1.5, "y": 2}
    assert made.terms == (Literal("1.5", "http://www.w3.org/2001/XMLSchema#double"), 2)


def test_a_row_is_a_mapping() -> None:
    row = Row({"x": 1, "y": Symbol("a")})

    assert (row["x"], row["y"], len(row), "x" in row, "z" in row) == (1, Symbol("a"), 2, True, False)
    with pytest.raises(KeyError, match="'z'"):
        row["z"]


def test_a_row_is_no_other_mapping() -> None:
    assert Row({"x": 1}) != {"x": 1}
    assert Row({}) != 1


def test_a_row_holds_terms_only() -> None:
    with pytest.raises(BadTerm, match="is no term"):
        Row({"x": object()})


def test_a_row_is_shown_as_bindings() -> None:
    row = Row({"x": Symbol("B1"), "y": "a b", "z": 1.5})

    assert str(row) == '?x=B1 ?y="a b" ?z=1.5'
    assert repr(Row({"x": 1})) == "Row({'x': 1})"
    assert str(Row({})) == "(true)"


def test_differences_take_away_before_they_add() -> None:
    changes = changes_of(("x",), [((1,), 2), ((2,), -1), ((3,), 1), ((4,), -2)])

    assert [f"{sign}{row['x']}" for sign, row in changes] == ["-4", "-4", "-2", "+3", "+1", "+1"]
