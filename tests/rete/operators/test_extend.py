"""BIND and VALUES: columns that no fact gives."""

from __future__ import annotations

import pytest
from naive_algebra import Copy, Glue
from notation import basic
from world import World

import rete
from rete import algebra as a


def test_an_error_leaves_the_name_unbound() -> None:
    world = World("a p b")
    child = a.LeftJoin(basic("?x p ?y"), basic("?x q ?z"))
    watch = world.watch(a.Extend(child, "w", Glue(("x", "z"))), ("x", "w"))

    assert watch.rows == {"a _": 1}

    world.insert("a q c")
    assert sorted(watch.news()) == ["+a ac", "-a _"]


def test_a_computed_name_joins() -> None:
    world = World("a p b", "b q c")
    watch = world.watch(a.Join(a.Extend(basic("?x p ?y"), "z", Copy(("y",))), basic("?z q ?w")), ("x", "w"))

    assert watch.rows == {"a c": 1}

    world.retract("b q c")
    assert watch.rows == {}


def test_a_name_that_is_bound_already_is_refused() -> None:
    world = World()

    with pytest.raises(rete.BadQuery, match=r"\?y is bound already where a value is given to it; expected another name"):
        world.watch(a.Extend(basic("?x p ?y"), "y", Copy(("x",))))

    assert world.network.is_empty


def test_inline_rows_join_and_an_unbound_place_agrees_with_anything() -> None:
    world = World("a p 1", "b p 2")
    rows = a.Values(("x", "w"), (("a", "one"), (None, "any"), ("c", "none")))
    watch = world.watch(a.Join(basic("?x p ?y"), rows), ("x", "y", "w"))

    assert watch.rows == {"a 1 one": 1, "a 1 any": 1, "b 2 any": 1}

    world.insert("c p 3")
    assert sorted(watch.news()) == ["+c 3 any", "+c 3 none"]


def test_equal_inline_rows_count_each() -> None:
    world = World()

    watch = world.watch(a.Values(("x",), (("a",), ("a",), (None,))))

    assert watch.rows == {"a": 2, "_": 1}


def test_a_row_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(rete.BadQuery, match="a row of 1 values for 2 names; expected as many"):
        World().watch(a.Values(("x", "y"), (("a",),)))
