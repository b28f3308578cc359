"""Projection and DISTINCT."""

from __future__ import annotations

from notation import basic
from world import World

from rete import algebra as a


def test_a_projection_keeps_the_bag_and_says_none_for_what_is_never_bound() -> None:
    world = World("a p 1", "a p 2")

    watch = world.watch(a.Project(basic("?x p ?y"), ("x", "nothing")))

    assert watch.rows == {"a _": 2}


def test_distinct_tells_only_the_first_and_the_last() -> None:
    world = World()
    watch = world.watch(a.Distinct(a.Project(basic("?x p ?y"), ("x",))))

    world.insert("a p 1")
    world.insert("a p 2")
    world.retract("a p 1")
    assert watch.news() == ["+a"]
    world.retract("a p 2")
    assert watch.news() == ["-a"]


def test_within_one_transaction_one_goes_and_another_comes_and_nothing_is_told() -> None:
    world = World("a p 1")
    watch = world.watch(a.Distinct(a.Project(basic("?x p ?y"), ("x",))))

    world.change([(("a", "p", "1"), -1), (("a", "p", "2"), 1)])

    assert watch.heard == []


def test_an_event_flashes_through_distinct_only_if_its_row_is_not_there() -> None:
    world = World("a p 1")
    watch = world.watch(a.Distinct(a.Project(basic("?x p ?y"), ("x",))))

    assert world.flash("a p 2") == {}
    assert world.flash("b p 2") == {watch.production: {("b",): 1}}
    assert watch.rows == {"a": 1}


def test_the_empty_tree_has_one_empty_row() -> None:
    world = World()

    watch = world.watch(a.Basic(), ("x",))

    assert watch.rows == {"_": 1}
    world.unwatch(watch)
    assert world.network.is_empty
