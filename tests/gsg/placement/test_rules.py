"""Who meets where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg.placement.rules import (
    NOWHERE,
    Grid,
    cell_key,
    choose_anchor,
    derived_key,
    drawn,
    epoch_of,
    grid_for,
    pair_key,
    parts_for,
    predicate_anchor,
    random_anchor,
    scattered,
    share_of,
    split_for,
    template_cells,
    tuple_cells,
    two_rarest,
    unpopular,
    virtual_ids,
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


def test_a_template_may_be_posted_under_its_two_rarest_constants() -> None:
    assert two_rarest(A_ON_B, {0: load(1), 2: load(9), 3: load(2)}) == (0, 3)
    with pytest.raises(ValueError, match="fewer than two constants"):
        two_rarest(rete.Template((None, "b")), {1: load(1)})


def test_popular_constants_are_no_keys() -> None:
    assert unpopular({0: load(10), 1: load(11)}, 10) == {0: load(10)}


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_scattering_is_one_to_one(one: int, other: int, salt: int) -> None:
    assert (scattered(one, salt) == scattered(other, salt)) == (one == other)


KEYS = st.binary(min_size=20, max_size=20)


@given(KEYS, st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_tuple_and_a_template_meet_in_one_cell_of_a_grid(key: bytes, rows: int, columns: int, one: int, other: int) -> None:
    grid = Grid(rows, columns)

    of_tuple = tuple_cells(key, grid, share_of(one, rows))
    of_template = template_cells(key, grid, other)

    assert (len(of_tuple), len(of_template)) == (columns, rows)
    assert len(set(of_tuple) & set(of_template)) == 1


@given(KEYS, KEYS)
def test_derived_keys_are_keys(key: bytes, other: bytes) -> None:
    assert cell_key(key, 0, 0) == key
    assert {len(made) for made in (cell_key(key, 1, 2), derived_key(key, 3), pair_key(key, other))} == {20}
    assert len({key, *virtual_ids(key, 5)}) == 5


def test_a_load_is_cut_so_that_each_part_can_be_borne() -> None:
    assert [parts_for(facts, 10, 4) for facts in (0, 10, 11, 40, 1000)] == [1, 1, 2, 4, 4]
    assert split_for(25, 10, 9) == (3, 1)
    assert grid_for(load(25, 7), 10, 4, 9) == (3, 2)


def test_date_ranges_follow_each_other_and_begin_again() -> None:
    assert [epoch_of(at_s, 10.0, 3) for at_s in (0.0, 9.9, 10.0, 29.0, 30.0)] == [0, 0, 1, 2, 0]


def test_what_is_equal_draws_the_same() -> None:
    assert drawn([b"a" * 20, None]) == drawn([b"a" * 20, None]) != drawn([None, b"a" * 20])
