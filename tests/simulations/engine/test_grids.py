"""What is derived from a key, and how a hot key is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rete
from gsg.placement.rules import share_of
from gsg.tuples.features import Load
from simulations.engine.grids import (
    Grid,
    TemplateCells,
    TupleCells,
    cell_key,
    derived_key,
    epoch_of,
    pair_key,
    parts_for,
    two_rarest,
    unpopular,
    virtual_ids,
)

A_ON_B = rete.Template(("a", None, "on", "b"))
KEYS = st.binary(min_size=20, max_size=20)


def load(facts: int, templates: int = 0) -> Load:
    return Load(facts, templates, False)


def test_a_template_may_be_posted_under_its_two_rarest_constants() -> None:
    assert two_rarest(A_ON_B, {0: load(1), 2: load(9), 3: load(2)}) == (0, 3)
    with pytest.raises(ValueError, match="fewer than two constants"):
        two_rarest(rete.Template((None, "b")), {1: load(1)})


def test_popular_constants_are_no_keys() -> None:
    assert unpopular({0: load(10), 1: load(11)}, 10) == {0: load(10)}


@given(KEYS, st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_tuple_and_a_template_meet_in_one_cell_of_a_grid(key: bytes, rows: int, columns: int, one: int, other: int) -> None:
    grid = Grid(rows, columns)

    of_tuple = TupleCells(key, grid, share_of(one, rows))
    of_template = TemplateCells(key, grid, other)

    assert (len(of_tuple.cell_keys()), len(of_template.cell_keys())) == (columns, rows)
    assert set(of_tuple.cell_keys()) & set(of_template.cell_keys()) == {of_template.met_by(of_tuple)}


@given(KEYS, KEYS, st.integers(1, 40))
def test_cells_of_other_keys_and_of_larger_grids_are_not_met(key: bytes, other: bytes, rows: int) -> None:
    posted = TemplateCells(key, Grid(rows), 0)

    assert posted.met_by(TupleCells(other, Grid(rows), 0)) is None or other == key
    assert posted.met_by(TupleCells(key, Grid(rows + 1), rows)) is None


@given(KEYS, KEYS)
def test_derived_keys_are_keys(key: bytes, other: bytes) -> None:
    assert cell_key(key, 0, 0) == key
    assert {len(made) for made in (cell_key(key, 1, 2), derived_key(key, 3), pair_key(key, other))} == {20}
    assert len({key, *virtual_ids(key, 5)}) == 5


def test_a_load_is_cut_so_that_each_part_can_be_borne() -> None:
    assert [parts_for(facts, 10, 4) for facts in (0, 10, 11, 40, 1000)] == [1, 1, 2, 4, 4]


def test_date_ranges_follow_each_other_and_begin_again() -> None:
    assert [epoch_of(at_s, 10.0, 3) for at_s in (0.0, 9.9, 10.0, 29.0, 30.0)] == [0, 0, 1, 2, 0]
