"""UNION: both sides count; columns that a side lacks are unbound."""

from __future__ import annotations

from notation import basic
from world import World

from rete import algebra as a


def test_a_row_of_both_sides_counts_twice_and_goes_one_by_one() -> None:
    world = World("a p b", "a q b")
    watch = world.watch(a.Union(basic("?x p ?y"), basic("?x q ?y")))

    world.retract("a q b")

    assert watch.news() == ["-a b"]
    assert watch.rows == {"a b": 1}


def test_equal_sides_are_one_part_of_the_network_told_twice() -> None:
    world = World()
    watch = world.watch(a.Union(basic("?x p ?y"), basic("?x p ?y")))

    world.insert("a p b")
    assert watch.rows == {"a b": 2}
    world.unwatch(watch)
    assert world.network.is_empty


def test_sides_that_bind_different_names() -> None:
    world = World("a p b", "c q d")

    watch = world.watch(a.Union(basic("?x p ?y"), basic("?x q ?z")), ("x", "y", "z"))

    assert watch.rows == {"a b _": 1, "c _ d": 1}


def test_join_with_a_union_that_may_leave_the_shared_name_unbound() -> None:
    world = World("a p b", "c q d", "d r e")
    union = a.Union(basic("?x p ?y"), basic("?z q ?y"))
    watch = world.watch(a.Join(union, basic("?z r ?w")), ("x", "y", "z", "w"))

    assert watch.rows == {"a b d e": 1}

    world.insert("c r f")
    assert sorted(watch.news()) == ["+_ d c f", "+a b c f"]
