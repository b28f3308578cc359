"""Events under a window are state until they expire."""

from __future__ import annotations

import gc
import weakref
from collections import Counter

import pytest
from notation import alpha, condition, fact, template
from world import World

import rete
from rete import algebra
from rete.alpha import WindowMemory


class Count:
    """How many solutions a group has."""

    names = ()

    def start(self) -> Count:
        return type(self)()

    def __init__(self) -> None:
        self.total = 0

    def change(self, values: tuple[object, ...], weight: int) -> None:
        self.total += weight

    def result(self) -> str:
        return str(self.total)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count)

    def __hash__(self) -> int:
        return hash(Count)


class Longer:
    """A test: the word is longer than three letters. It may be made by an alpha memory."""

    names = ("t",)
    portable = True

    def __call__(self, values: tuple[str, ...]) -> bool:
        return len(values[0]) > 3

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Longer)

    def __hash__(self) -> int:
        return hash(Longer)


class Term:
    """A constant of which somebody can tell whether it is still there."""


def recent(text: str, **extent: float) -> rete.Condition:
    """A condition with a window."""
    return rete.Condition(condition(text).pattern, rete.Window(**extent))  # type: ignore[arg-type]  # a count is whole where it is used


def group(*conditions: rete.Condition) -> rete.Group:
    return rete.Group(conditions)


def test_an_event_stays_for_the_time_of_its_window() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", seconds=10)))

    world.network.notify(fact("hall temp 20"), 100.0)
    world.network.notify(fact("hall temp 21"), 105.0)
    assert (watch.news(), world.network.next_expiry()) == (["+hall 20", "+hall 21"], 110.0)

    world.network.expire(109.9)
    assert watch.news() == []
    world.network.expire(110.0)
    assert (watch.news(), world.network.next_expiry()) == (["-hall 20"], 115.0)
    world.network.expire(200.0)
    assert (watch.news(), watch.rows, world.network.next_expiry()) == (["-hall 21"], {}, None)


def test_an_event_stays_until_so_many_others_have_come() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", count=2)))

    for number in range(4):
        world.network.notify(fact(f"hall temp {number}"), 0.0)
        world.network.notify(fact("hall other 1"), 0.0)

    assert watch.rows == {"hall 2": 1, "hall 3": 1}
    assert watch.news() == ["+hall 0", "+hall 1", "+hall 2", "-hall 0", "+hall 3", "-hall 1"]


def test_an_event_that_happens_twice_is_there_twice() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", seconds=10)))

    world.network.notify(fact("hall temp 20"), 0.0)
    world.network.notify(fact("hall temp 20"), 5.0)
    assert watch.rows == {"hall 20": 2}
    world.network.expire(10.0)

    assert watch.rows == {"hall 20": 1}


def test_facts_do_not_enter_windows_and_events_join_with_facts() -> None:
    world = World("hall temp 1", "hall in house")
    watch = world.watch(group(recent("?r temp ?t", seconds=10), condition("?r in ?where")))

    flashed = world.network.notify(fact("hall temp 20"), 0.0)
    world.retract("hall in house")
    world.insert("hall in barn")
    world.network.expire(10.0)

    assert watch.news() == ["+hall 20 house", "-hall 20 house", "+hall 20 barn", "-hall 20 barn"]
    assert flashed == []


def test_an_event_meets_itself_and_earlier_ones_under_two_windows() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", count=2), recent("?r temp ?u", count=3)), ("t", "u"))

    for temperature in ("1", "2", "3"):
        world.network.notify(fact(f"hall temp {temperature}"), 0.0)

    assert watch.rows == {f"{one} {other}": 1 for one in "23" for other in "123"}


def test_a_condition_without_window_sees_an_event_for_its_moment_beside_one_that_keeps_it() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", seconds=10), condition("?r temp ?now")))

    world.network.notify(fact("hall temp 1"), 0.0)
    flashed = world.network.notify(fact("hall temp 2"), 1.0)

    assert {production: dict(rows) for production, rows in flashed} == {
        watch.production: {("hall", "1", "2"): 1, ("hall", "2", "2"): 1}
    }
    assert (watch.rows, watch.news()) == ({}, [])


def test_negation_and_aggregates_follow_windows() -> None:
    world = World("hall is room", "barn is room")
    silent = world.watch(rete.Group((condition("?r is room"),), (group(recent("?r temp ?t", seconds=10)),)))
    tree = algebra.Grouped(algebra.Basic((recent("?r temp ?t", count=3),)), ("r",), (("n", Count()),))
    counted = world.watch(tree, ("r", "n"))

    for number in range(4):
        world.network.notify(fact(f"hall temp {number}"), float(number))
    assert (silent.rows, counted.rows) == ({"barn": 1}, {"hall 3": 1})
    world.network.expire(14.0)

    assert silent.rows == {"barn": 1, "hall": 1}


def test_a_late_query_sees_what_is_in_a_window_that_another_one_has() -> None:
    world = World()
    first = world.watch(group(recent("?r temp ?t", seconds=10)))
    world.network.notify(fact("hall temp 20"), 0.0)

    late = world.watch(group(recent("?x temp ?y", seconds=10)))
    other = world.watch(group(recent("?x temp ?y", seconds=11)))

    assert (first.rows, late.rows, other.rows) == ({"hall 20": 1}, {"hall 20": 1}, {})


def test_a_window_that_nobody_asks_for_any_more_is_forgotten() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", seconds=10)))
    world.network.notify(fact("hall temp 20"), 0.0)

    world.unwatch(watch)
    world.network.notify(fact("hall temp 21"), 1.0)
    world.network.expire(20.0)

    assert (world.network.is_empty, world.network.next_expiry()) == (True, None)


def test_the_events_of_a_window_go_with_the_last_query_that_asks_for_it() -> None:
    world = World()
    watch = world.watch(group(recent("?r temp ?t", seconds=1e9)))
    term = Term()
    seen = weakref.ref(term)
    world.network.notify(("hall", "temp", term), 0.0)

    world.unwatch(watch)
    del term, watch
    gc.collect()

    assert seen() is None


def test_the_oldest_leave_early_where_a_window_of_time_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rete.alpha.MAX_WINDOW_EVENTS", 2)
    world = World()
    watch = world.watch(group(recent("?r temp ?t", seconds=10)))

    for number in range(5):
        world.network.notify(fact(f"hall temp {number}"), float(number))
    assert (watch.rows, world.network.cut_short.total()) == ({"hall 3": 1, "hall 4": 1}, 3)
    world.network.expire(13.0)

    assert (watch.rows, world.network.next_expiry()) == ({"hall 4": 1}, 14.0)


@pytest.mark.parametrize("extent", [{"seconds": 10.0}, {"count": 50}], ids=str)
def test_the_oldest_leave_early_where_the_events_of_a_window_are_long(
    extent: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rete.alpha.MAX_WINDOW_BYTES", 3_000)
    world = World()
    watch = world.watch(group(recent("?r temp ?t", **extent)))

    for number in range(40):
        world.network.notify(fact(f"{number}{'z' * 1_000} temp warm"), float(number) / 100)
        assert sum(len(row) for row in watch.rows) < 3_000
    assert (len(watch.rows), world.network.cut_short.total()) == (2, 38)
    for number in range(60):
        world.network.notify(fact(f"{number} temp warm"), 1.0)

    # Short ones have the room of the long ones that have left.
    assert len(watch.rows) == (62 if "seconds" in extent else 50)
    world.network.expire(1_000.0)
    [memory] = [memory for memory in world.network.memories() if isinstance(memory, WindowMemory)]
    assert "count" in extent or memory.size_bytes == 0


@pytest.mark.parametrize(
    ("extent", "problem"),
    [
        ({}, "a window of no extent, or of two"),
        ({"seconds": 1.0, "count": 1}, "a window of no extent, or of two"),
        ({"seconds": 0.0}, "a window of 0 seconds; expected more than 0"),
        ({"seconds": -1.0}, "a window of -1 seconds"),
        ({"seconds": float("inf")}, "a window of inf seconds"),
        ({"seconds": float("nan")}, "a window of nan seconds"),
        ({"count": 0}, "a window of 0 events; expected 1 to 100000"),
        ({"count": rete.MAX_WINDOW_EVENTS + 1}, "a window of 100001 events"),
    ],
    ids=str,
)
def test_windows_without_sense_are_refused(extent: dict[str, float], problem: str) -> None:
    with pytest.raises(rete.BadQuery, match=problem):
        rete.Window(**extent)  # type: ignore[arg-type]  # as above


# --- tests that an alpha memory makes ---------------------------------------------------------------------------------------


def test_a_portable_test_of_one_condition_is_made_by_its_alpha_memory() -> None:
    world = World("a tag red", "b tag blue")
    tree = algebra.Filter(algebra.Basic((condition("?x tag ?t"), condition("?x on ?y"))), Longer())
    watch = world.watch(tree, ("x", "t"))

    world.insert("a on c", "b on c", "d on c", "d tag green")
    world.retract("b tag blue")

    assert set(world.network.alphas()) == {rete.AlphaSpec(template("?x tag ?t"), ((Longer(), (2,)),)), alpha("?x on ?y")}
    assert watch.rows == {"d green": 1}


def test_a_test_at_a_memory_is_made_for_what_is_there_for_events_and_in_windows() -> None:
    world = World("a tag red", "b tag blue")
    late = world.watch(algebra.Filter(algebra.Basic((condition("?x tag ?t"),)), Longer()), ("x", "t"))
    kept = world.watch(algebra.Filter(algebra.Basic((recent("?x tag ?t", count=5),)), Longer()), ("x", "t"))

    flashed = [world.network.notify(fact(text), 0.0) for text in ("c tag red", "c tag green")]

    assert (late.rows, kept.rows) == ({"b blue": 1}, {"c green": 1})
    assert [[(production, Counter(dict(rows))) for production, rows in one] for one in flashed] == [
        [],
        [(late.production, Counter({("c", "green"): 1}))],
    ]


def test_memories_with_tests_go_with_their_queries() -> None:
    world = World("b tag blue")
    plain = world.watch(group(condition("?x tag ?t")))
    tested = world.watch(algebra.Filter(algebra.Basic((condition("?x tag ?t"),)), Longer()), ("x", "t"))

    world.unwatch(plain)
    world.insert("c tag green")
    assert (tested.rows, len(world.network.alphas())) == ({"b blue": 1, "c green": 1}, 1)
    world.unwatch(tested)

    assert world.network.is_empty
