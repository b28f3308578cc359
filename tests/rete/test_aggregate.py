"""GROUP BY: one row a group, right after every change."""

from __future__ import annotations

import pytest
from naive_algebra import Count, Equals, Least
from notation import basic
from world import World

import rete
from rete import algebra as a


def counted(child: a.Algebra, *keys: str) -> a.Grouped:
    return a.Grouped(child, keys, (("n", Count()), ("least", Least("y"))))


def test_a_group_comes_with_its_first_row_and_goes_with_its_last() -> None:
    world = World()
    watch = world.watch(counted(basic("?x p ?y"), "x"))

    world.insert("a p 2")
    assert watch.news() == ["+a n1 2"]
    world.insert("a p 1")
    assert sorted(watch.news()) == ["+a n2 1", "-a n1 2"]
    world.retract("a p 1", "a p 2")
    assert watch.news() == ["-a n2 1"]


def test_without_keys_there_is_a_row_even_of_nothing() -> None:
    world = World()
    watch = world.watch(counted(basic("?x p ?y")))

    assert watch.rows == {"n0 _": 1}

    world.insert("a p 1")
    assert sorted(watch.news()) == ["+n1 1", "-n0 _"]
    world.retract("a p 1")
    assert sorted(watch.news()) == ["+n0 _", "-n1 1"]


def test_least_is_found_again_when_the_least_goes() -> None:
    world = World("a p 1", "a p 2", "a p 3")
    watch = world.watch(counted(basic("?x p ?y"), "x"))

    world.retract("a p 1")

    assert sorted(watch.news()) == ["+a n2 2", "-a n3 1"]


def test_a_transaction_that_changes_no_result_tells_nothing() -> None:
    world = World("a p 1", "a p 2")
    watch = world.watch(counted(basic("?x p ?y"), "x"))

    world.change([(("a", "p", "2"), -1), (("a", "p", "3"), 1)])

    assert watch.heard == []


def test_having_is_a_filter_above_and_a_sub_select_joins() -> None:
    world = World("a p 1", "a p 2", "b p 1", "a q c", "b q d")
    pairs = a.Filter(counted(basic("?x p ?y"), "x"), Equals("n", "n2"))
    watch = world.watch(a.Join(basic("?x q ?w"), a.Project(pairs, ("x", "n"))), ("x", "w", "n"))

    assert watch.rows == {"a c n2": 1}

    world.change([(("a", "p", "1"), -1), (("b", "p", "2"), 1)])
    assert sorted(watch.news()) == ["+b d n2", "-a c n2"]


def test_unbound_keys_are_a_group_of_their_own() -> None:
    world = World("a p 1", "b p 1", "a q k")

    watch = world.watch(a.Grouped(a.LeftJoin(basic("?x p ?y"), basic("?x q ?z")), ("z",), (("n", Count()),)))

    assert watch.rows == {"k n1": 1, "_ n1": 1}


def test_a_name_for_two_columns_is_refused() -> None:
    with pytest.raises(rete.BadQuery, match=r"\?x names two columns of a group"):
        World().watch(a.Grouped(basic("?x p ?y"), ("x",), (("x", Count()),)))
