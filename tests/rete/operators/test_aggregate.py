"""GROUP BY: one row a group, right after every change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pytest
from naive_algebra import Bound, Count, Equals, Least
from notation import basic, fact
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


@dataclass(frozen=True)
class Joined:
    """GROUP_CONCAT, which notes how often its text is put together."""

    name: str
    made: list[str] = field(default_factory=list, hash=False, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def start(self) -> _Text:
        return _Text(self.made)


class _Text:
    def __init__(self, made: list[str]) -> None:
        self.made = made
        self.values: Counter[tuple[str, ...]] = Counter()

    def change(self, values: tuple[str, ...], weight: int) -> None:
        self.values[values] += weight

    def result(self) -> str:
        self.made.append(",".join(sorted(value for (value,) in self.values.elements())))
        return self.made[-1]


MANY = [f"a p {number}" for number in range(50)]


def test_a_result_is_made_once_a_transaction_however_many_facts_come_or_go() -> None:
    joined = Joined("y")
    world = World()
    watch = world.watch(a.Filter(a.Grouped(basic("?x p ?y"), ("x",), (("all", joined),)), Bound("all")))

    world.insert(*MANY)
    world.retract(*MANY[:-1])

    assert [len(text.split(",")) for text in joined.made] == [50, 1]
    assert [weight for _, weight in watch.heard] == [1, -1, 1]


def test_a_result_is_made_once_where_the_facts_are_there_already() -> None:
    joined = Joined("y")
    world = World(*MANY)

    world.watch(a.Grouped(basic("?x p ?y"), (), (("all", joined),)))

    assert len(joined.made) <= 2


def test_what_is_joined_with_a_result_is_joined_once_a_transaction() -> None:
    world = World()
    asked = Asked(("y", "all"))
    watch = world.watch(a.Filter(a.Join(basic("?x p ?y"), a.Grouped(basic("?z p ?w"), (), (("all", Joined("w")),))), asked))

    world.insert(*MANY)
    world.retract(*MANY[:25])

    assert len(watch.production.rows()) == 25
    assert asked.times <= 5 * len(MANY)


def test_a_group_of_groups_is_told_once() -> None:
    inner, outer = Joined("y"), Joined("all")
    world = World()
    tree = a.Grouped(a.Grouped(basic("?x p ?y"), ("x",), (("all", inner),)), (), (("most", outer),))
    watch = world.watch(tree)
    outer.made.clear()

    world.insert(*(f"{one} p {number}" for one in "bcd" for number in range(20)))

    assert (len(inner.made), len(outer.made)) == (3, 1)
    assert [weight for _, weight in watch.heard] == [-1, 1]


def test_events_that_leave_a_window_together_make_one_result() -> None:
    joined = Joined("y")
    network = rete.Network(lambda _: ())
    window = rete.Condition((rete.Variable("x"), "p", rete.Variable("y")), rete.Window(seconds=10.0))
    network.subscribe_algebra(a.Grouped(a.Basic((window,)), (), (("all", joined),)), ("all",), lambda _: None)
    for number in range(30):
        network.notify(("a", "p", str(number)), 0.0)
    joined.made.clear()

    network.expire(11.0)

    assert joined.made == [""]


def test_queries_that_share_a_network_make_each_result_once() -> None:
    joined = Joined("y")
    tree = a.Grouped(a.Basic((rete.Condition((rete.Parameter(0), "p", rete.Variable("y"))),)), (), (("all", joined),))
    network = rete.Network(lambda _: ())
    heard: dict[str, list[tuple[rete.production.Row, int]]] = {"a": [], "b": []}
    for name, rows in heard.items():
        network.subscribe_template(tree, (name,), ("all",), rows.extend)
    joined.made.clear()

    network.change([(fact(text), 1) for text in MANY])

    assert len(joined.made) == 1
    assert [weight for _, weight in heard["a"]] == [-1, 1]
    assert heard["b"] == []


def test_a_group_below_an_exists_answers_while_it_is_asked() -> None:
    # Facts that come and go in one transaction ask, and ask no more, before any group would be told by itself.
    world = World("a p 1", "a p 2")
    larger = a.Filter(a.Grouped(basic("?x p ?y"), ("x",), (("n", Count()),)), Equals("n", "n2"))
    watch = world.watch(a.Exists(basic("?x q ?z"), larger))

    world.change([(fact("a q 1"), 1), (fact("a q 1"), -1), (fact("a q 2"), 1), (fact("b q 1"), 1)])
    assert watch.news() == ["+a 2"]
    world.change([(fact("a q 2"), -1), (fact("a p 2"), -1), (fact("a q 2"), 1)])
    assert watch.news() == ["-a 2"]
    world.change([(fact("b p 1"), 1), (fact("b p 2"), 1), (fact("a q 2"), -1), (fact("a p 2"), 1), (fact("a q 2"), 1)])
    assert sorted(watch.news()) == ["+a 2", "+b 1"]


class Asked:
    """A test that holds always, and counts how often it was asked."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.times = 0

    def __call__(self, values: tuple[str, ...]) -> bool:
        self.times += 1
        return True
