"""Messages say what happened, the value and what to do, in bounded length whatever the value."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import gsg
from gsg.errors import SHOWN_CHARACTERS, BadText, GsgError, Refused, cut
from gsg.tuples.terms import Compound, Literal, Symbol, Variable

LONG = "z" * 1_000_000


def test_a_short_message_stays_as_it_is() -> None:
    assert str(Refused("no room; try again")) == cut("no room; try again") == "no room; try again"


def test_of_a_long_message_the_beginning_and_the_end_stay() -> None:
    said = str(Refused(f"a term of {LONG}; expected less"))

    assert said.startswith("a term of zzz")
    assert said.endswith("zzz; expected less")
    assert "998525 characters left out" in said
    assert len(said) < SHOWN_CHARACTERS


def test_an_error_without_words_has_none() -> None:
    assert str(GsgError()) == ""


@pytest.mark.parametrize(
    "say",
    [
        lambda space: space.insert([LONG]),
        lambda space: space.insert([("a", Compound((Symbol("f"), Variable(LONG))))]),
        lambda space: space.insert([("a", Literal(LONG, LONG, LONG))]),
        lambda space: space.subscribe(f"(?x, a, ?y) FILTER(?{LONG} > 1)"),
        lambda space: space.subscribe("(?x, a, ?y)", language=LONG),
        lambda space: space.subscribe(f'(?x, "{LONG}" ?y)'),
    ],
)
def test_no_value_makes_a_message_long(say: Callable[[gsg.Space], object]) -> None:
    with pytest.raises(GsgError) as raised:
        say(gsg.Space())

    assert len(str(raised.value)) < 2 * SHOWN_CHARACTERS
    if isinstance(raised.value, BadText):
        assert len(raised.value.problem) < SHOWN_CHARACTERS
