"""The end of a chain: net differences of a transaction, for the selected variables."""

from __future__ import annotations

from notation import group
from world import World


def test_a_transaction_is_heard_of_as_its_net_difference() -> None:
    world = World("a p", "b p")
    watch = world.watch(group("?x p"))
    transactions: list[list[str]] = []
    watch.on_change = lambda: transactions.append(sorted(watch.news()))

    world.change([(("c", "p"), 1), (("a", "p"), -1), (("d", "p"), 1), (("d", "p"), -1)])

    assert transactions == [["+c", "-a"]]


def test_a_transaction_that_cancels_is_not_heard_of() -> None:
    world = World()
    watch = world.watch(group("?x p"))
    calls: list[None] = []
    watch.on_change = lambda: calls.append(None)

    world.change([(("a", "p"), 1), (("a", "p"), -1)])

    assert calls == []
    world.insert("a p")
    assert calls == [None]


def test_rows_that_become_equal_by_selection_are_counted() -> None:
    world = World("a p 1", "a p 2")
    watch = world.watch(group("?x p ?y"), select=("x",))

    assert watch.rows == {"a": 2}
    world.retract("a p 1")
    assert watch.news() == ["-a"]


def test_variables_are_selected_in_the_order_wanted() -> None:
    world = World("a p b")

    assert world.watch(group("?x p ?y"), select=("y", "x", "y")).rows == {"b a b": 1}


def test_nothing_selected_counts_the_solutions() -> None:
    world = World("a p", "b p")

    assert world.watch(group("?x p"), select=()).rows == {"": 2}
