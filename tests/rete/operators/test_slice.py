"""A maintained slice: only rows that enter or leave it are told."""

from __future__ import annotations

import pytest
from naive_algebra import By
from notation import basic
from world import World

import rete
from rete import algebra as a


def top(offset: int, limit: int | None) -> a.Slice:
    return a.Slice(a.Project(basic("?x p ?y"), ("x",)), By(("x",)), offset, limit)


def test_a_row_before_the_slice_shifts_one_in_and_one_out() -> None:
    world = World("b p 1", "c p 1", "d p 1", "e p 1")
    watch = world.watch(top(1, 2))

    assert watch.rows == {"c": 1, "d": 1}

    world.insert("a p 1")
    assert sorted(watch.news()) == ["+b", "-d"]
    world.retract("a p 1")
    assert sorted(watch.news()) == ["+d", "-b"]


def test_a_row_behind_the_slice_is_not_told() -> None:
    world = World("a p 1", "b p 1")
    watch = world.watch(top(0, 2))

    world.insert("c p 1")
    world.retract("c p 1")

    assert watch.heard == []


def test_equal_rows_take_a_place_each() -> None:
    world = World("a p 1", "a p 2", "b p 1")
    watch = world.watch(top(0, 2))

    assert watch.rows == {"a": 2}

    world.retract("a p 2")
    assert sorted(watch.news()) == ["+b", "-a"]


def test_ties_are_broken_alike_whatever_the_history() -> None:
    tree = a.Slice(basic("?x p ?y"), None, 0, 1)
    one, other = World("a p 1", "b p 1"), World("b p 1", "a p 1")

    assert one.watch(tree).rows == other.watch(tree).rows == {"a 1": 1}


def test_an_offset_without_limit() -> None:
    world = World("a p 1", "b p 1")
    watch = world.watch(top(1, None))

    world.retract("a p 1")

    assert watch.news() == ["-b"]
    assert watch.rows == {}


def test_in_an_exists_each_demand_has_its_own_slice() -> None:
    world = World("a q 1", "b q 1", "a p 1", "b p 1", "b p 2")

    watch = world.watch(a.Exists(basic("?x q ?z"), a.Slice(basic("?x p ?y"), None, 1, 1)))

    assert watch.rows == {"b 1": 1}


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(rete.BadQuery, match="a slice from -1 of None solutions; expected no negative number"):
        World().watch(top(-1, None))
