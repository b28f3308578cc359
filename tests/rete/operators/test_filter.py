"""FILTER: a test holds or not for ever; where it stands in the network is not seen in the rows."""

from __future__ import annotations

from naive_algebra import Bound, Compare, Equals
from notation import basic
from world import World

from rete import algebra as a


def test_inside_a_chain_a_test_stands_before_the_joins_that_it_does_not_need() -> None:
    world = World("a p b", "b q c", "c r d")
    watch = world.watch(a.Filter(basic("?x p ?y", "?y q ?z", "?z r ?w"), Equals("x", "nobody")), ("x",))

    # Three joins and the test; the second join is never asked for a key.
    memory = next(memory for memory in world.network._memories if memory.spec.template.pattern[1] == "q")
    assert all(not buckets for index in memory.indexes.values() for _, buckets, _ in index.waiting)
    assert watch.rows == {}


def test_a_name_that_a_projection_hides_is_unbound_outside() -> None:
    world = World("a p a")

    watch = world.watch(a.Filter(a.Project(basic("?x p ?y"), ("x",)), Equals("y", "a")))

    assert watch.rows == {}


def test_over_an_optional_it_sees_what_is_unbound() -> None:
    world = World("a p b")
    watch = world.watch(a.Filter(a.LeftJoin(basic("?x p ?y"), basic("?x q ?z")), Bound("z", negated=True)), ("x",))

    assert watch.rows == {"a": 1}

    world.insert("a q c")
    assert watch.news() == ["-a"]


def test_equal_tests_share_a_node() -> None:
    world = World("a p b")
    tree = a.Filter(basic("?x p ?y"), Compare("x", "!=", "y"))

    one, other = world.watch(tree), world.watch(tree)

    assert one.production.node is other.production.node
