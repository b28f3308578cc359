"""The network: late and leaving queries, sharing, events, listeners that call back."""

from __future__ import annotations

import gc
import sys
from dataclasses import dataclass

import pytest
from notation import alpha, basic, group, none_of
from world import World

import rete
from rete import Network
from rete import algebra as a
from rete.compile.parameters import Parameters
from rete.index import Fact

BLOCKS = group("?x on ?y", "?y left ?z", none_of("?z color red"))


def test_a_late_query_sees_what_is_there() -> None:
    world = World("B1 on B2", "B2 left B3", "B2 left B4", "B4 color red")

    watch = world.watch(BLOCKS)

    assert watch.rows == {"B1 B2 B3": 1}
    assert watch.news() == []


def test_a_late_query_that_shares_every_node_sees_the_same() -> None:
    world = World("B1 on B2", "B2 left B3")
    early = world.watch(BLOCKS)

    late = world.watch(group("?a on ?b", "?b left ?c", none_of("?c color red")))

    assert late.production.node is early.production.node
    assert late.rows == early.rows == {"B1 B2 B3": 1}


def test_queries_with_a_common_beginning_share_its_joins() -> None:
    world = World("a on b", "b left c", "c left d")
    longer = world.watch(group("?x on ?y", "?y left ?z"))

    shorter = world.watch(group("?x on ?y"))

    assert longer.production.node.parent is shorter.production.node  # type: ignore[attr-defined]  # a join has one
    assert (shorter.rows, longer.rows) == ({"a b": 1}, {"a b c": 1})


def test_an_alpha_memory_is_shared_across_queries() -> None:
    world = World()
    world.watch(group("?x on ?y", "?y left ?z"))
    world.watch(group("?p left ?q", "?q on table"))

    assert set(world.network.alphas()) == {alpha("* on *"), alpha("* left *"), alpha("* on table")}


def test_a_second_index_of_a_known_memory_is_filled() -> None:
    world = World("a on b", "b on c")
    world.watch(group("?x on ?y"))

    assert world.watch(group("?x on ?y", "?y on ?z")).rows == {"a b c": 1}


def test_removing_a_query_leaves_what_others_share() -> None:
    world = World("a on b")
    leaving, staying = world.watch(BLOCKS), world.watch(group("?x on ?y", "?y left ?z"))

    world.unwatch(leaving)
    world.insert("b left c")

    assert staying.news() == ["+a b c"]
    assert leaving.news() == []
    assert alpha("* color red") not in world.network.alphas()


@pytest.mark.parametrize("first", [0, 1], ids=["the longer first", "the shorter first"])
def test_removing_the_last_query_leaves_nothing(first: int) -> None:
    world = World("a on b", "b left c", "c color blue")
    watches = [world.watch(BLOCKS), world.watch(group("?x on ?y"))]

    world.unwatch(watches.pop(first))
    assert not world.network.is_empty
    world.unwatch(watches.pop())

    assert world.network.is_empty
    assert world.network.alphas() == []


@pytest.mark.parametrize(
    "query",
    [
        group("?x p ?y"),
        group("?x p ?y", "?y p ?z", "?z p ?x"),
        group("?x p *", "* p ?y"),
        group("?x p ?y", none_of("?y p ?z", none_of("?z p ?x"))),
        group("?x p ?y", none_of("a p b"), none_of("?x p ?x")),
        group("?x p ?y", none_of(none_of("?y p ?x"))),
    ],
    ids=["one", "cycle", "wildcards", "nested NOT", "two NOTs", "NOT NOT"],
)
def test_a_removed_query_takes_its_memory_while_another_of_the_same_memories_stays(query: rete.Group) -> None:
    world = World("a p b", "b p a", "b p c", "c p a", "c p c")
    staying = world.watch(group("?q p ?r", "?r p ?q"))
    before = staying.rows
    leaving = world.watch(query)

    world.unwatch(leaving)
    world.insert("d p a", "a p d")
    world.retract("d p a", "a p d")

    assert staying.rows == before
    world.unwatch(staying)
    assert world.network.is_empty


def test_a_selected_variable_must_be_bound_outside_not() -> None:
    with pytest.raises(rete.BadQuery) as caught:
        World().watch(group("?x p ?y", none_of("?x q ?c")), select=("c",))

    assert str(caught.value) == "?c is selected but no condition outside NOT binds it; bound are: ?x, ?y"


def test_a_query_without_variables_has_none_to_select() -> None:
    with pytest.raises(rete.BadQuery, match=r"\?x is selected but no condition outside NOT binds it; bound are: none"):
        World().watch(group("a p"), select=("x",))


def test_a_refused_query_leaves_nothing() -> None:
    world = World()

    with pytest.raises(rete.BadQuery):
        world.watch(group("?x p"), select=("y",))

    assert world.network.is_empty


def test_an_event_joins_with_the_facts_of_its_moment_and_leaves_no_trace() -> None:
    world = World("B1 on B2")
    watch = world.watch(group("?x on ?y", "?y left ?z"))

    flashed = world.flash("B2 left B3")

    assert flashed == {watch.production: {("B1", "B2", "B3"): 1}}
    assert watch.news() == []
    assert watch.rows == {}
    world.insert("B0 on B2")
    assert watch.news() == []


def test_an_event_joins_with_itself() -> None:
    world = World("a p b")
    watch = world.watch(group("?x p ?y", "?y p ?z"))

    assert world.flash("b p b") == {watch.production: {("a", "b", "b"): 1, ("b", "b", "b"): 1}}
    assert watch.rows == {}


def test_an_event_inside_not_makes_no_row_and_takes_none() -> None:
    world = World("a p")
    watch = world.watch(group("?x p", none_of("?x q")))

    assert world.flash("a q") == {}
    assert watch.rows == {"a": 1}
    assert watch.news() == []


def test_an_event_inside_a_nested_not_makes_a_row_for_its_moment() -> None:
    world = World("a p", "a q")
    watch = world.watch(group("?x p", none_of("?x q", none_of("?x r"))))

    assert world.flash("a r") == {watch.production: {("a",): 1}}
    assert watch.rows == {}


def test_an_event_that_nobody_asks_for_is_nothing() -> None:
    world = World("a p")
    world.watch(group("?x p"))

    assert world.flash("a other") == {}
    assert world.flash("a p and more") == {}


def test_an_event_that_matches_and_joins_with_nothing_is_nothing() -> None:
    world = World()
    world.watch(group("?x p", "?x q"))

    assert world.flash("a p") == {}


def test_a_memory_that_lives_elsewhere_is_fed_on_its_own() -> None:
    world = World()
    watch = world.watch(group("?x p ?y", "a p ?z"))

    world.network.change_memory(alpha("* p *"), [(("a", "p", "b"), 1)])
    assert watch.news() == []
    world.network.change_memory(alpha("a p *"), [(("a", "p", "b"), 1)])
    assert watch.news() == ["+a b b"]


def test_changes_of_a_memory_that_nobody_has_are_nothing() -> None:
    world = World()
    watch = world.watch(group("?x p"))

    world.network.change_memory(alpha("* q"), [(("a", "q"), 1)])

    assert watch.news() == []


def test_a_network_needs_no_estimates() -> None:
    network = rete.Network(lambda _: [("a", "p")])

    assert network.subscribe(group("?x p", "?x *"), ("x",), lambda _: None).rows() == {("a",): 1}


def test_a_listener_may_insert() -> None:
    world = World()
    first, second = world.watch(group("?x p")), world.watch(group("?x q"))
    first.on_change = lambda: world.insert("a q")

    world.insert("a p")

    assert (first.news(), second.news()) == (["+a"], ["+a"])


def test_what_a_listener_changes_is_heard_after_what_it_was_told() -> None:
    world = World()
    one, other = world.watch(group("?x p")), world.watch(group("?name p"))
    one.on_change = lambda: world.retract("a p")

    world.insert("a p")

    assert (one.news(), other.news()) == (["+a", "-a"], ["+a", "-a"])
    assert (one.lowest, other.lowest) == (0, 0)


def test_a_listener_may_subscribe() -> None:
    world = World()
    early = world.watch(group("?x p"))
    late = []
    early.on_change = lambda: late.append(world.watch(group("?y p", "?y q")))

    world.insert("a p", "a q")

    assert [watch.rows for watch in late] == [{"a": 1}]
    assert late[0].news() == []


def test_a_listener_may_remove_a_query_that_was_about_to_hear() -> None:
    world = World()
    one, other = world.watch(group("?x p")), world.watch(group("?name p"))
    one.on_change = lambda: world.unwatch(other) if one.news() == ["+a"] else None

    world.insert("a p")
    world.insert("b p")

    assert other.news() == []


def test_a_listener_may_send_an_event_that_others_see() -> None:
    world = World("a q")
    one, other = world.watch(group("?x p")), world.watch(group("?x p", "?x r"))
    seen = []
    one.on_change = lambda: seen.append(world.flash("a r"))

    world.insert("a p")

    assert seen == [{other.production: {("a",): 1}}]


def test_an_event_from_a_listener_reaches_a_query_that_was_about_to_hear() -> None:
    world = World()
    one, other = world.watch(group("?x p")), world.watch(group("?name *"))
    seen = []
    one.on_change = lambda: seen.append(world.flash("e other"))

    world.insert("a p")

    assert seen == [{other.production: {("e",): 1}}]
    assert other.news() == ["+a"]


def test_a_listener_that_fails_keeps_nobody_from_hearing() -> None:
    world = World()
    one, other = world.watch(group("?x p")), world.watch(group("?name p"))
    one.on_change = lambda: 1 // 0

    with pytest.raises(ZeroDivisionError):
        world.insert("a p")
    one.on_change = lambda: None
    world.insert("b p")

    assert (one.news(), other.news()) == (["+a", "+b"], ["+a", "+b"])


def test_what_a_query_held_is_free_when_it_goes_without_waiting_for_the_cyclic_collector() -> None:
    world = World("a on b", "b left c")
    (held, *_) = world.facts
    gc.disable()
    try:
        before = sys.getrefcount(held)
        watch = world.watch(group("?x on ?y", "?y left ?z"))
        during = sys.getrefcount(held)
        world.unwatch(watch)

        assert (before, during > before) == (sys.getrefcount(held), True)
    finally:
        gc.enable()


def test_an_event_of_two_equal_conditions_gives_its_row_once_for_each_query() -> None:
    world = World("a q")
    first, second = world.watch(group("?x p")), world.watch(group("?x p"))
    joined = world.watch(group("?x p", "?x q"))

    assert world.flash("a p") == {watch.production: {("a",): 1} for watch in (first, second, joined)}
    assert world.flash("b p") == {watch.production: {("b",): 1} for watch in (first, second)}
    assert [watch.rows for watch in (first, second, joined)] == [{}, {}, {}]


def test_a_memory_is_fed_while_some_query_looks_at_it() -> None:
    network = rete.Network(lambda _: (), by_feed=True)
    query = network.subscribe(group("?x p ?y"), ("x",), lambda _: None)
    template = rete.Group((rete.Condition((rete.Variable("x"), "q", rete.Parameter(0))),))
    shared, _ = network.subscribe_template(template, ("a",), ("x",), lambda _: None)

    assert [network.is_fed(alpha(text)) for text in ("* p *", "* q a", "* q b", "* r *")] == [True, True, True, False]
    network.unsubscribe(query)
    network.unsubscribe(shared)
    assert [network.is_fed(alpha(text)) for text in ("* p *", "* q a")] == [False, False]


def test_queries_go_on_where_one_of_many_tests_below_a_join_ends_in_the_middle() -> None:
    network = Network(lambda _: [], on_end=lambda production, why: ended.append(production))
    ended: list[object] = []
    rows: dict[int, int] = {}
    conditions = basic("p ?x ?y", "q ?x ?z")

    def subscribe(number: int, max_tokens: int) -> None:
        def hear(changes: list[tuple[Fact, int]]) -> None:
            rows[number] = rows.get(number, 0) + sum(weight for _, weight in changes)

        network.subscribe(a.Filter(conditions, Unequal("y", "z", number)), ("y", "z"), hear, max_tokens=max_tokens)

    for number in range(3):
        subscribe(number, 1_000 if number else 6)
    network.change([(("q", "x1", f"z{n}"), 1) for n in range(10)])

    network.change([(("p", "x1", "y"), 1)])

    assert len(ended) == 1
    assert {number: rows.get(number) for number in (1, 2)} == {1: 10, 2: 10}


@dataclass(frozen=True)
class Unequal:
    """A test that always holds; those of other numbers are others."""

    one: str
    other: str
    number: int

    @property
    def names(self) -> tuple[str, ...]:
        return self.one, self.other

    def __call__(self, values: Fact) -> bool:
        return True


def test_nothing_of_a_template_stays_when_its_last_query_has_gone() -> None:
    gc.collect()
    before = sum(type(each) is Parameters for each in gc.get_objects())
    network = Network(lambda _: [])
    tree = a.Grouped(a.Basic((rete.Condition(("p", rete.Parameter(0), rete.Variable("x"))),)), (), ())
    production, _ = network.subscribe_template(tree, ("a",), (), lambda rows: None)

    network.unsubscribe(production)
    del production, network
    gc.collect()

    assert sum(type(each) is Parameters for each in gc.get_objects()) == before
