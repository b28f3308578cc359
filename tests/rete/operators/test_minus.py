"""MINUS: only a compatible row that shares a bound name removes."""

from __future__ import annotations

from naive_algebra import Bound
from notation import basic
from world import World

from rete import algebra as a


def test_sides_without_a_common_name_remove_nothing() -> None:
    world = World("a p b", "c q d")

    watch = world.watch(a.Minus(basic("?x p ?y"), basic("?v q ?w")))

    assert watch.rows == {"a b": 1}


def test_the_last_of_two_removers_that_goes_brings_the_row_back() -> None:
    world = World("a p b", "a q 1", "a q 2")
    watch = world.watch(a.Minus(basic("?x p ?y"), basic("?x q ?z")))

    world.retract("a q 1")
    assert watch.news() == []
    world.retract("a q 2")
    assert watch.news() == ["+a b"]


def test_a_remover_whose_shared_name_is_unbound_removes_nothing() -> None:
    world = World("a p b", "c r c")
    remover = a.LeftJoin(basic("?v r ?w"), basic("?v q ?x"))
    watch = world.watch(a.Minus(basic("?x p ?y"), remover))

    assert watch.rows == {"a b": 1}

    world.insert("c q a")
    assert watch.news() == ["-a b"]


def test_one_fact_on_both_sides_never_shows() -> None:
    world = World()
    watch = world.watch(a.Minus(basic("?x p ?y"), basic("?y p ?x")))

    world.insert("a p a")
    world.retract("a p a")

    assert watch.heard == []
    assert watch.lowest == 0


def test_a_filter_on_the_removing_side_sees_that_side_alone() -> None:
    world = World("a p b", "a q c")

    watch = world.watch(a.Minus(basic("?x p ?y"), a.Filter(basic("?x q ?z"), Bound("y"))))

    assert watch.rows == {"a b": 1}
