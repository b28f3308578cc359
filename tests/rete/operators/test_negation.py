"""NOT of a group: hazards that engines stumble over, each by its name."""

from __future__ import annotations

import pytest
from notation import group, none_of
from world import World


def test_a_negated_group_flips_only_when_its_solutions_cross_zero() -> None:
    world = World("a p")
    watch = world.watch(group("?x p", none_of("?x q ?c")))
    assert watch.rows == {"a": 1}

    world.insert("a q 1")
    assert watch.news() == ["-a"]
    world.insert("a q 2")
    assert watch.news() == []
    world.retract("a q 1")
    assert watch.news() == []
    world.retract("a q 2")
    assert watch.news() == ["+a"]


def test_a_negated_group_of_several_conditions_refuses_only_when_all_hold() -> None:
    world = World("a p", "a q", "b p", "b q", "b r")

    assert world.watch(group("?x p", none_of("?x q", "?x r"))).rows == {"a": 1}


def test_a_negated_join_needs_one_solution_for_all_of_it() -> None:
    world = World("a p", "a q 1", "2 r")
    watch = world.watch(group("?x p", none_of("?x q ?c", "?c r")))
    assert watch.rows == {"a": 1}

    world.insert("1 r")

    assert watch.news() == ["-a"]


def test_a_variable_that_stands_in_a_negated_group_alone_is_anything() -> None:
    world = World("a p", "b p", "b owns c")

    assert world.watch(group("?x p", none_of("?x owns ?anything"))).rows == {"a": 1}


def test_variables_of_two_negated_groups_are_two_variables() -> None:
    world = World("a p", "a q 1", "a r 2")

    assert world.watch(group("?x p", none_of("?x q ?c", "?x r ?c"))).rows == {"a": 1}
    assert world.watch(group("?x p", none_of("?x q ?c"), none_of("?x s ?c"))).rows == {}


def test_a_negated_group_without_outer_variables_switches_all_rows() -> None:
    world = World("a p", "b p")
    watch = world.watch(group("?x p", none_of("alarm ?where")))

    world.insert("alarm here")
    assert sorted(watch.news()) == ["-a", "-b"]
    world.insert("c p")
    assert watch.news() == []
    world.retract("alarm here")
    assert sorted(watch.news()) == ["+a", "+b", "+c"]


def test_a_nested_negation_asks_for_all() -> None:
    world = World("a course", "b course", "ann passed a", "ann student", "bob student", "bob passed a", "bob passed b")
    watch = world.watch(group("?s student", none_of("?c course", none_of("?s passed ?c"))))
    assert watch.rows == {"bob": 1}

    world.insert("ann passed b")
    assert watch.news() == ["+ann"]
    world.insert("d course")
    assert sorted(watch.news()) == ["-ann", "-bob"]
    world.retract("d course")
    assert sorted(watch.news()) == ["+ann", "+bob"]


def test_a_negation_of_a_negation_is_a_wish_without_a_count() -> None:
    world = World("a p", "a q 1", "a q 2")
    watch = world.watch(group("?x p", none_of(none_of("?x q *"))))

    assert watch.rows == {"a": 1}
    world.retract("a q 1")
    assert watch.news() == []
    world.retract("a q 2")
    assert watch.news() == ["-a"]


@pytest.mark.parametrize("depth", [3, 8, 40])
def test_negations_may_be_nested_deep(depth: int) -> None:
    query = group("?x b")
    for _ in range(depth):
        query = none_of("?x a", query)
    world = World("1 a", "2 a", "2 b")
    watch = world.watch(query)

    assert watch.rows == ({"1": 1} if depth % 2 else {"2": 1})
    world.insert("1 b")
    assert watch.news() == (["-1"] if depth % 2 else ["+1"])


def test_a_fact_that_hits_a_condition_and_its_negation_makes_no_row() -> None:
    world = World()
    watch = world.watch(group("?x p ?y", none_of("?y p ?x")))

    world.insert("a p a")
    assert watch.news() == []
    world.insert("a p b")
    assert watch.news() == ["+a b"]
    world.insert("b p a")
    assert watch.news() == ["-a b"]
    world.retract("a p b")
    assert watch.news() == ["+b a"]
    world.retract("a p a", "b p a")
    assert watch.news() == ["-b a"]


def test_equal_demands_of_several_rows_are_all_refused_together() -> None:
    world = World("a on t", "b on t", "c on u")
    watch = world.watch(group("?x on ?y", none_of("?y broken")))

    world.insert("t broken")
    assert sorted(watch.news()) == ["-a t", "-b t"]
    world.retract("a on t")
    assert watch.news() == []
    world.retract("t broken")
    assert watch.news() == ["+b t"]


def test_rows_counted_by_wildcards_go_and_come_with_their_count() -> None:
    world = World("a p 1", "a p 2")
    watch = world.watch(group("?x p *", none_of("?x q")))

    world.insert("a q")
    assert watch.news() == ["-a", "-a"]
    world.retract("a q")
    assert watch.news() == ["+a", "+a"]


def test_a_row_that_comes_with_what_refuses_it_is_not_heard_of() -> None:
    world = World()
    watch = world.watch(group("?x p", none_of("?x q")))

    world.insert("a p", "a q")
    assert watch.news() == []
    world.retract("a q", "a p")
    assert watch.news() == []


def test_joins_after_a_shared_negation_wait_in_it() -> None:
    world = World("a p", "a r", "b p", "b q", "b r")
    watch = world.watch(group("?x p", none_of("?x q", none_of("?x r", "?x s"))))

    world.insert("b s")
    assert watch.news() == ["+b"]
    world.retract("b r")
    assert watch.news() == ["-b"]


def test_a_negation_counts_each_way_to_hold_once() -> None:
    world = World("a p", "1 r", "2 r", "a q 1", "a q 2")
    watch = world.watch(group("?x p", none_of("?x q ?c", "?c r", "?x q *")))

    world.retract("1 r")
    assert watch.news() == []
    world.retract("2 r")
    assert watch.news() == ["+a"]


def test_equal_negated_groups_are_evaluated_once() -> None:
    world = World("a p")
    one = world.watch(group("?x p", none_of("?x q")))
    other = world.watch(group("?name p", none_of("?name q")))

    assert one.production.node is other.production.node
    world.unwatch(one)
    world.insert("a q")
    assert other.news() == ["-a"]
    world.unwatch(other)
    assert world.network.is_empty


def test_a_group_with_a_negation_of_many_variables_keeps_them_apart() -> None:
    world = World("a b c", "b c d")
    watch = world.watch(group("?x ?y ?z", none_of("?z ?y ?x")))

    world.insert("c b a")
    assert watch.news() == ["-a b c"]
    assert watch.rows == {"b c d": 1}


def test_an_empty_world_has_no_row_that_a_negation_alone_would_make() -> None:
    assert World().watch(group("?x p", none_of("?x q"))).rows == {}


def test_negations_that_differ_in_names_alone_are_one_node() -> None:
    world = World("a p 1")
    one = world.watch(group("?x p ?y", none_of("?y q ?c", none_of("?x r ?c"))))
    other = world.watch(group("?a p ?b", none_of("?b q ?x", none_of("?a r ?x"))))
    third = world.watch(group("?a p ?b", none_of("?b q ?x", none_of("?b r ?x"))))

    assert one.production.node is other.production.node
    assert one.production.node is not third.production.node


def test_a_negated_group_may_hold_nothing_but_a_negated_group() -> None:
    world = World("a p", "b p", "b q")

    assert world.watch(group("?x p", none_of(none_of("?x q")))).rows == {"b": 1}
