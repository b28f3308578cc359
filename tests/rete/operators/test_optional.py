"""OPTIONAL: a left row is there once, alone or with its partners, however they come and go."""

from __future__ import annotations

import pytest
from naive_algebra import Compare
from notation import basic
from world import World

from rete import algebra as a

BOTH = pytest.mark.parametrize(
    "right",
    [
        pytest.param(basic("?x q ?z"), id="by demand"),
        pytest.param(a.Slice(basic("?x q ?z"), None, 0, 9), id="from a memory"),
    ],
)


@BOTH
def test_first_partner_replaces_the_lone_row_and_the_last_one_brings_it_back(right: a.Algebra) -> None:
    world = World("a p b")
    watch = world.watch(a.LeftJoin(basic("?x p ?y"), right), ("x", "y", "z"))

    world.insert("a q 1")
    assert sorted(watch.news()) == ["+a b 1", "-a b _"]
    world.insert("a q 2")
    assert watch.news() == ["+a b 2"]
    world.retract("a q 1", "a q 2")
    assert sorted(watch.news()) == ["+a b _", "-a b 1", "-a b 2"]


@BOTH
def test_late_subscription_and_late_left_rows_meet_partners_that_are_there(right: a.Algebra) -> None:
    world = World("a q 1", "a p b")
    watch = world.watch(a.LeftJoin(basic("?x p ?y"), right), ("x", "y", "z"))

    world.insert("a p c")

    assert watch.rows == {"a b 1": 1, "a c 1": 1}


def test_one_fact_on_both_sides_is_its_own_partner_once() -> None:
    world = World()
    watch = world.watch(a.LeftJoin(basic("?x p ?y"), basic("?y p ?z")), ("x", "y", "z"))

    world.insert("a p a")
    assert watch.news() == ["+a a a"]
    world.retract("a p a")
    assert watch.news() == ["-a a a"]


def test_a_test_of_the_optional_sees_both_sides_and_refuses_partners_not_rows() -> None:
    world = World("a p 5", "a q 3", "a q 7")
    watch = world.watch(a.LeftJoin(basic("?x p ?y"), basic("?x q ?z"), Compare("y", "<", "z")), ("y", "z"))

    world.retract("a q 7")

    assert sorted(watch.news()) == ["+5 _", "-5 7"]
    assert watch.rows == {"5 _": 1}


def test_second_optional_may_bind_what_the_first_left_unbound() -> None:
    world = World("a p 1", "b p 2", "a q x", "a r x", "a r y", "b r z")
    first = a.LeftJoin(basic("?n p ?i"), basic("?n q ?v"))
    watch = world.watch(a.LeftJoin(first, basic("?n r ?v")), ("n", "v"))

    assert watch.rows == {"a x": 1, "b z": 1}

    world.retract("a q x", "b r z")
    assert watch.rows == {"a x": 1, "a y": 1, "b _": 1}


def test_a_filter_inside_sees_nothing_that_only_the_outside_binds() -> None:
    world = World("a p 1", "a q 2")
    inside = a.Filter(basic("?x q ?z"), Compare("y", "<", "z"))

    watch = world.watch(a.LeftJoin(basic("?x p ?y"), inside), ("x", "y", "z"))

    assert watch.rows == {"a 1 _": 1}


def test_nothing_is_left_when_it_goes() -> None:
    world = World("a p b", "a q 1")
    watch = world.watch(a.LeftJoin(basic("?x p ?y"), basic("?x q ?z")))

    world.unwatch(watch)

    assert world.network.is_empty
