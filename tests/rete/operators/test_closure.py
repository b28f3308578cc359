"""Property paths: closures stay right when an edge of a cycle goes."""

from __future__ import annotations

import pytest
from world import World

from rete import Variable
from rete import algebra as a

X, Y = Variable("x"), Variable("y")
P, Q = a.Link("p"), a.Link("q")
PLUS = a.Closure(P, reflexive=False, transitive=True)
STAR = a.Closure(P, reflexive=True, transitive=True)
MAYBE = a.Closure(P, reflexive=True, transitive=False)


def test_an_edge_of_a_cycle_goes_and_what_only_it_carried_goes_with_it() -> None:
    world = World("a p b", "b p c", "c p a")
    watch = world.watch(a.Path(X, PLUS, Y))

    assert len(watch.rows) == 9

    world.retract("c p a")
    assert watch.rows == {"a b": 1, "a c": 1, "b c": 1}


def test_a_second_way_keeps_a_pair_and_a_pair_counts_once() -> None:
    world = World("a p b", "b p d", "a p c", "c p d")
    watch = world.watch(a.Path("a", PLUS, Y))

    assert watch.rows == {"b": 1, "c": 1, "d": 1}

    world.retract("b p d")
    assert watch.news() == []


def test_a_loop_on_one_node() -> None:
    world = World("a p a")
    watch = world.watch(a.Path(X, PLUS, X))

    world.retract("a p a")

    assert watch.news() == ["-a"]


@pytest.mark.parametrize("path", [STAR, MAYBE])
def test_no_step_relates_a_constant_to_itself_and_variables_to_every_node_of_the_graph(path: a.Closure) -> None:
    world = World("a q b")

    assert world.watch(a.Path("nobody", path, Y)).rows == {"nobody": 1}
    assert world.watch(a.Path("nobody", path, "nobody")).rows == {"": 1}
    assert world.watch(a.Path("nobody", path, "a")).rows == {}
    watch = world.watch(a.Path(X, path, Y))
    assert watch.rows == {"a a": 1, "b b": 1}

    world.retract("a q b")
    assert watch.rows == {}


def test_a_walk_backwards_from_the_end_that_is_given() -> None:
    world = World("a p b", "b p c")
    watch = world.watch(a.Path(X, PLUS, "c"))

    world.insert("z p a")

    assert watch.news() == ["+z"]
    assert watch.rows == {"a": 1, "b": 1, "z": 1}


def test_sequences_and_alternatives_count_each_way() -> None:
    world = World("a p b", "a p c", "b q d", "c q d", "a q d", "a p d")

    assert world.watch(a.Path(X, a.Steps(P, Q), Y)).rows == {"a d": 2}
    assert world.watch(a.Path("a", a.Either(P, Q), "d")).rows == {"": 2}


def test_a_negated_set_in_both_directions() -> None:
    world = World("a p b", "c q a", "a r d")

    watch = world.watch(a.Path("a", a.NegatedSet(("p",), ("r",)), Y))

    assert watch.rows == {"d": 1, "c": 1}


def test_a_closure_of_a_sequence_and_of_an_inverse() -> None:
    world = World("a p b", "c q b", "c p d", "e q d")
    step = a.Steps(P, a.Link("q", inverse=True))
    watch = world.watch(a.Path("a", a.Closure(step, reflexive=False, transitive=True), Y))

    assert watch.rows == {"c": 1, "e": 1}

    world.retract("c q b")
    assert watch.rows == {}


def test_within_exists_the_walk_begins_at_the_outer_value() -> None:
    world = World("a q 1", "b q 1", "a p c", "c p b")
    watch = world.watch(a.Exists(a.Basic(()), a.Path("a", PLUS, "b")), ())

    assert watch.rows == {"": 1}

    world.retract("c p b")
    assert watch.rows == {}


@pytest.mark.parametrize("path", [PLUS, STAR, a.Closure(a.Steps(P, a.Link("q", inverse=True)), True, True)])
def test_nothing_is_left_when_it_goes(path: a.PathStep) -> None:
    world = World("a p b", "b p a")
    watches = [world.watch(a.Path(start, path, end)) for start in (X, "a") for end in (X, Y, "b")]

    for watch in watches:
        world.unwatch(watch)

    assert world.network.is_empty
