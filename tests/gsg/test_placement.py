"""Who meets where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg.messages import Load
from gsg.placement import NOWHERE, choose_anchor, places_by_holder

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


def test_an_owner_of_several_positions_is_told_of_all() -> None:
    assert places_by_holder((0, 1, 3), (b"p", b"q", b"p")) == {b"p": b"\x00\x03", b"q": b"\x01"}


@given(st.lists(st.tuples(st.integers(0, 254), st.sampled_from([b"p", b"q", b"r"])), unique_by=lambda pair: pair[0]))
def test_each_position_goes_to_its_owner_once(pairs: list[tuple[int, bytes]]) -> None:
    places = places_by_holder([position for position, _ in pairs], [holder for _, holder in pairs])

    assert sorted((position, holder) for holder, there in places.items() for position in there) == sorted(pairs)
