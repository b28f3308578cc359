"""What an expression may make of a text, and look at, is bounded, whatever it is nested in."""

from __future__ import annotations

import pytest

from gsg.languages.expressions import evaluating, strings
from gsg.languages.expressions.aggregates import Aggregated
from gsg.languages.expressions.dates import _parse, moment_of
from gsg.languages.expressions.errors import ExpressionError
from gsg.languages.expressions.evaluating import evaluator
from gsg.languages.expressions.functions import CASTS, FUNCTIONS
from gsg.languages.expressions.tree import Call, Constant, Expression, Name
from gsg.tuples.numbers import _of_literal, number_of
from gsg.tuples.terms import XSD, Literal, Term

TEXT = Name("text")


def value(expression: Expression, text: Term) -> Term | None:
    try:
        return evaluator(expression, ("text",))((text,))
    except ExpressionError:
        return None


@pytest.mark.parametrize(
    ("grown", "text"),
    [
        (lambda inner: Call("CONCAT", (inner, inner)), "ab"),
        (lambda inner: Call("REPLACE", (inner, Constant("a"), Constant("aaaa"))), "ab"),
        (lambda inner: Call("REPLACE", (inner, Constant("(.+)"), Constant("$1$1"))), "ab"),
        (lambda inner: Call("ENCODE_FOR_URI", (inner,)), "é" * 200),
        (lambda inner: Call("UCASE", (inner,)), "ΐ" * 200),
        (lambda inner: Call("*", (inner, inner)), 12345),
        (lambda inner: Call("*", (inner, inner)), Literal("0.125", XSD + "decimal")),
    ],
    ids=["concat", "replace", "groups", "encode", "upper case", "integer", "decimal"],
)
def test_a_value_grows_up_to_a_bound(grown, text: Term, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strings, "MAX_TEXT", 500)
    kept = text
    lengths = []

    for _ in range(60):
        made = value(grown(TEXT), kept)
        if made is None or made == kept:
            break
        kept = made
        lengths.append(len(str(kept)))

    assert len(lengths) < 60
    assert max(lengths, default=0) <= 10_000


def test_the_calls_of_an_expression_share_what_it_may_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluating, "MAX_CHARACTERS", 1_000)
    many = Call("&&", tuple(Call("CONTAINS", (TEXT, Constant("a"))) for _ in range(20)))
    few = Call("&&", many.arguments[:5])

    assert value(many, "a" * 50) is not None
    assert value(many, "a" * 51) is None
    assert value(few, "a" * 5_000) is not None


def test_a_concatenation_is_counted_before_it_is_made() -> None:
    empty = Aggregated("GROUP_CONCAT", TEXT, separator="").start()
    long = Aggregated("GROUP_CONCAT", TEXT, separator="|").start()
    empty.change(("",), 10**12)
    long.change(("ab",), 10**12)

    assert empty.result() == ""
    assert long.result() is None


def test_a_concatenation_has_each_value_as_often_as_it_is_there() -> None:
    some = Aggregated("GROUP_CONCAT", TEXT, separator=", ").start()
    for text, weight in [("b", 2), ("a", 1), ("c", 1), ("c", -1)]:
        some.change((text,), weight)

    assert some.result() == "a, b, b"


def test_texts_that_are_too_long_to_be_dates_or_usual_numbers_are_not_kept() -> None:
    _parse.cache_clear()
    _of_literal.cache_clear()

    assert moment_of(Literal(" " * 1_000 + "2020-01-01", XSD + "date")) is None
    assert number_of(Literal("1" + "0" * 200, XSD + "integer")) == (0, 10**200)
    assert _parse.cache_info().currsize == 0
    assert _of_literal.cache_info().currsize == 0


@pytest.mark.parametrize("datatype", ["integer", "decimal", "double", "float"])
def test_a_cast_of_more_digits_than_anybody_counts_is_an_error(datatype: str) -> None:
    with pytest.raises(ExpressionError):
        CASTS[XSD + datatype]("9" * 5_000)


def test_an_integer_beyond_what_is_written_is_an_error_where_it_is_computed_with() -> None:
    with pytest.raises(ExpressionError):
        FUNCTIONS["*"](10**3_000, 10**3_000)
