"""Joins: every pair once, whatever the order."""

from __future__ import annotations

import pytest
from notation import group
from world import World

import rete


def test_two_conditions_join_on_their_shared_variable() -> None:
    world = World("B1 on B2", "B2 left B3", "B9 left B3")

    rows = world.watch(group("?x on ?y", "?y left ?z")).rows

    assert rows == {"B1 B2 B3": 1}


@pytest.mark.parametrize("order", [("a p b", "b q c"), ("b q c", "a p b")], ids=["left first", "right first"])
def test_facts_may_come_in_any_order(order: tuple[str, str]) -> None:
    world = World()
    watch = world.watch(group("?x p ?y", "?y q ?z"))

    world.insert(order[0])
    assert watch.news() == []
    world.insert(order[1])
    assert watch.news() == ["+a b c"]
    world.retract(order[0])
    assert watch.news() == ["-a b c"]


def test_a_fact_that_hits_two_conditions_of_one_query_makes_each_pair_once() -> None:
    world = World("a p b")
    watch = world.watch(group("?x p ?y", "?y p ?z"))

    world.insert("b p b")
    assert sorted(watch.news()) == ["+a b b", "+b b b"]
    world.retract("b p b")
    assert sorted(watch.news()) == ["-a b b", "-b b b"]


def test_a_fact_that_hits_three_conditions_makes_each_combination_once() -> None:
    world = World("a p")
    watch = world.watch(group("?x p", "?y p", "?z p"))

    world.insert("b p")

    assert sorted(watch.news()) == ["+a a b", "+a b a", "+a b b", "+b a a", "+b a b", "+b b a", "+b b b"]
    assert watch.rows == {f"{x} {y} {z}": 1 for x in "ab" for y in "ab" for z in "ab"}


def test_a_variable_repeated_in_one_condition_wants_equal_terms() -> None:
    world = World("a likes a", "a likes b", "b likes b")

    assert world.watch(group("?x likes ?x")).rows == {"a": 1, "b": 1}


def test_a_variable_shared_at_two_positions_joins_on_both() -> None:
    world = World("a p b", "b q a", "a q b")

    assert world.watch(group("?x p ?y", "?y q ?x")).rows == {"a b": 1}


def test_a_duplicate_condition_changes_nothing() -> None:
    world = World("a p b", "a p c")

    assert world.watch(group("?x p ?y", "?x p ?y")).rows == {"a b": 1, "a c": 1}


def test_conditions_without_a_shared_variable_make_all_pairs() -> None:
    world = World("a p", "b p", "c q")

    assert world.watch(group("?x p", "?y q")).rows == {"a c": 1, "b c": 1}


def test_a_condition_without_variables_lets_rows_pass_while_it_holds() -> None:
    world = World("a p")
    watch = world.watch(group("?x p", "switch on"))

    world.insert("switch on")
    assert watch.news() == ["+a"]
    world.retract("switch on")
    assert watch.news() == ["-a"]


def test_wildcards_count_how_many_facts_stand_behind_a_row() -> None:
    world = World("a likes b", "a likes c", "d likes b")
    watch = world.watch(group("?x likes *", "* likes b"))

    assert watch.rows == {"a": 4, "d": 2}
    world.retract("d likes b")
    assert sorted(watch.news()) == ["-a", "-a", "-d", "-d"]
    assert watch.rows == {"a": 2}


def test_tuples_of_another_arity_are_other_tuples() -> None:
    world = World("a p", "a p b")

    assert world.watch(group("?x p")).rows == {"a": 1}


def test_a_longest_chain_stays_inside_the_stack() -> None:
    world = World()
    watch = world.watch(group(*(f"?x c{number}" for number in range(rete.MAX_CONDITIONS))))

    world.insert(*(f"a c{number}" for number in reversed(range(rete.MAX_CONDITIONS))))

    assert watch.news() == ["+a"]
