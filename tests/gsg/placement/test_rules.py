"""Who meets where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg.placement.rules import (
    NOWHERE,
    choose_anchor,
    drawn,
    predicate_anchor,
    random_anchor,
    scattered,
)
from gsg.tuples.features import Load

A_ON_B = rete.Template(("a", None, "on", "b"))


def load(facts: int, templates: int = 0, *, posted: bool = False) -> Load:
    return Load(facts, templates, posted)


@pytest.mark.parametrize(
    ("template", "load_at", "anchor"),
    [
        (A_ON_B, {0: load(5), 2: load(100), 3: load(4)}, 3),
        (A_ON_B, {0: load(5, 2), 2: load(5, 1), 3: load(5, 2)}, 2),
        (A_ON_B, {0: load(5), 2: load(5), 3: load(5)}, 3),
        (A_ON_B, {0: load(5), 2: load(5)}, 2),
        (A_ON_B, {0: load(10**9)}, 0),
        (A_ON_B, {}, 3),
        (rete.Template(("a", "b")), {0: load(3), 1: load(3)}, 0),
        (rete.Template(("a", "b")), {}, 0),
        (rete.Template((None, "b")), {}, 1),
        (rete.Template((None, None)), {}, NOWHERE),
        (rete.Template((None, None), ((0, 1),)), {0: load(1)}, NOWHERE),
        (rete.Template((None, "b")), {0: load(0), 1: load(7)}, 1),
        (A_ON_B, {0: load(10), 2: load(2 * 10 + 64, posted=True), 3: load(11)}, 2),
        (A_ON_B, {0: load(10), 2: load(2 * 10 + 65, posted=True), 3: load(11)}, 0),
        (A_ON_B, {0: load(10, posted=True), 2: load(9, posted=True), 3: load(8)}, 2),
    ],
    ids=[
        "the fewest facts",
        "then the fewest templates",
        "then the rightmost",
        "of those that answered",
        "any answer beats silence",
        "nobody answered",
        "attributes are common",
        "attributes are common, nobody answered",
        "unless there is nothing else",
        "no constant",
        "no constant but a repetition",
        "constants only",
        "where it stands already",
        "unless that is much busier",
        "the rarest where it stands",
    ],
)
def test_a_template_is_posted_at_its_rarest_constant(template: rete.Template[str], load_at: dict[int, Load], anchor: int) -> None:
    assert choose_anchor(template, load_at) == anchor


def test_a_template_may_be_posted_at_its_predicate_or_anywhere_by_draw() -> None:
    assert [predicate_anchor(candidates) for candidates in ((0, 1, 2), (0, 2), (0,))] == [1, 2, 0]
    assert {random_anchor((0, 2), scattered(number, 9)) for number in range(40)} == {0, 2}


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_scattering_is_one_to_one(one: int, other: int, salt: int) -> None:
    assert (scattered(one, salt) == scattered(other, salt)) == (one == other)


def test_what_is_equal_draws_the_same() -> None:
    assert drawn([b"a" * 20, None]) == drawn([b"a" * 20, None]) != drawn([None, b"a" * 20])
