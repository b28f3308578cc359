"""EXISTS of any pattern, with the outer values substituted into it."""

from __future__ import annotations

import pytest
from naive_algebra import Compare, Count
from notation import basic
from world import World

import rete
from rete import algebra as a


def test_two_tokens_that_ask_the_same_are_answered_by_one_pattern() -> None:
    world = World("a p 1", "a p 2")
    watch = world.watch(a.Exists(basic("?x p ?y"), basic("?x q ?z")))

    world.insert("a q 1", "a q 2")
    assert sorted(watch.news()) == ["+a 1", "+a 2"]
    world.retract("a q 1")
    assert watch.news() == []
    world.retract("a q 2")
    assert sorted(watch.news()) == ["-a 1", "-a 2"]


def test_a_filter_inside_sees_the_outer_value() -> None:
    world = World("a p 5", "a q 3")
    inside = a.Filter(basic("?x q ?z"), Compare("y", "<", "z"))
    watch = world.watch(a.Exists(basic("?x p ?y"), inside))

    assert watch.rows == {}

    world.insert("a q 7")
    assert watch.rows == {"a 5": 1}


def test_a_name_that_is_unbound_outside_is_free_inside() -> None:
    world = World("a p b", "c q d", "e p f", "e r g", "g q h")
    outer = a.LeftJoin(basic("?x p ?y"), basic("?x r ?z"))

    watch = world.watch(a.Exists(outer, basic("?z q ?w")), ("x", "z"))
    assert watch.rows == {"a _": 1, "e g": 1}
    world.retract("c q d", "g q h")
    assert watch.rows == {}


def test_an_optional_union_and_minus_inside() -> None:
    world = World("a p b", "a q c")
    inside = a.Minus(a.Union(basic("?x q ?z"), basic("?x r ?z")), basic("?x s ?z"))
    watch = world.watch(a.Exists(basic("?x p ?y"), inside, negated=True))

    assert watch.rows == {}

    world.insert("a s c")
    assert watch.rows == {"a b": 1}


def test_a_pattern_that_mentions_nothing_of_the_outside_is_one_truth_for_all() -> None:
    world = World("a p b", "c p d")
    watch = world.watch(a.Exists(basic("?x p ?y"), basic("?v q ?w")))

    world.insert("e q f")
    assert sorted(watch.news()) == ["+a b", "+c d"]


def test_a_group_without_keys_inside_always_exists() -> None:
    world = World("a p b")
    inside = a.Grouped(basic("?v q ?w"), (), (("n", Count()),))

    watch = world.watch(a.Exists(basic("?x p ?y"), inside))

    assert watch.rows == {"a b": 1}


def test_one_fact_inside_and_outside() -> None:
    world = World()
    watch = world.watch(a.Exists(basic("?x p ?y"), basic("?y p ?x"), negated=True))

    world.insert("a p a")
    world.insert("a p b")
    world.insert("b p a")

    assert watch.news() == ["+a b", "-a b"]


def test_too_many_names_that_may_be_unbound_are_refused_and_nothing_is_left() -> None:
    world = World()
    tree: a.Algebra = basic("?x p ?y")
    for name in "abcde":
        tree = a.LeftJoin(tree, basic(f"?x {name} ?{name}"))

    with pytest.raises(rete.BadQuery, match=r"5 names that may be unbound \(\?a, \?b, \?c, \?d, \?e\); expected at most 4"):
        world.watch(a.Exists(tree, basic("?a ?b ?c", "?d q ?e")))

    assert world.network.is_empty
