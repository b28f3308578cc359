"""From trees to nodes: what is shared, what is refused, and what is left."""

from __future__ import annotations

from typing import Any, cast

import pytest
from naive_algebra import Equals
from notation import basic, group, none_of
from world import World

import rete
from rete import algebra as a


def test_a_tree_and_a_group_share_the_joins_that_are_equal() -> None:
    world = World("a p b", "b q c")

    one = world.watch(basic("?x p ?y", "?y q ?z"))
    other = world.watch(group("?u p ?v", "?v q ?w"))

    assert one.production.node is other.production.node


def test_equal_trees_share_every_node_and_the_last_one_takes_them_away() -> None:
    tree = a.Distinct(a.Union(a.LeftJoin(basic("?x p ?y"), basic("?x q ?z")), a.Minus(basic("?x r ?y"), basic("?x s ?v"))))
    world = World("a p b", "c r d")
    one, other = world.watch(tree), world.watch(tree)

    assert one.production.node is other.production.node

    world.unwatch(one)
    world.insert("a q e")
    assert sorted(other.news()) == ["+a b e", "-a b _"]
    world.unwatch(other)
    assert world.network.is_empty


def test_the_tree_of_a_group_has_the_rows_of_the_group() -> None:
    query = group("?x on ?y", none_of("?z on ?x", none_of("?z is ?y")))
    world = World("1 on 2", "2 on 3", "1 is 3")
    one, other = world.watch(query), world.watch(a.of_group(query))

    world.retract("1 is 3")

    assert one.rows == other.rows == {"1 2": 1}


def test_a_tree_that_is_too_deep_is_refused() -> None:
    tree: a.Algebra = basic("?x p ?y")
    for _ in range(rete.MAX_CONDITIONS):
        tree = a.Filter(tree, Equals("x", "a"))

    with pytest.raises(
        rete.BadQuery, match="a query 129 conditions and operators deep; expected at most 128: split it into several"
    ):
        World().watch(tree)


def test_what_is_no_operator_is_refused_by_name() -> None:
    world = World()
    tree = a.Join(basic("?x p ?y"), a.Slice(cast(Any, "text"), None, 1))

    with pytest.raises(rete.BadQuery, match="str is no operator of the algebra"):
        world.watch(tree, ("x",))

    assert world.network.is_empty


def test_a_join_of_parts_that_cannot_be_asked_by_demand() -> None:
    world = World("a p 1", "b p 2", "a q 1")
    left = a.Slice(a.LeftJoin(basic("?x p ?y"), basic("?x q ?z")), None, 0, 9)
    right = a.Slice(a.Values(("z", "w"), (("1", "one"), ("2", "two"), (None, "any"))), None, 0, 9)
    watch = world.watch(a.Join(left, right), ("x", "z", "w"))

    assert watch.rows == {"a 1 one": 1, "a 1 any": 1, "b 1 one": 1, "b 2 two": 1, "b _ any": 1}

    world.retract("a q 1")
    assert watch.rows == {"a 1 one": 1, "a 2 two": 1, "a _ any": 1, "b 1 one": 1, "b 2 two": 1, "b _ any": 1}
