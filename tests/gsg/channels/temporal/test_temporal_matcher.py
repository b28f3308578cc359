"""The matcher of temporal subscriptions: hazards one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from gsg.channels.events import Event
from gsg.channels.languages.relations import Relations
from gsg.channels.temporal import Limits, TemporalMatcher, parse
from gsg.channels.values import Reference

IN_ORDER = "(event (time ?t1) (user ?u)) (event (time ?t2) (user ?u)) (test (< ?t1 ?t2))"
ONE = parse("(event)")
NAN = float("nan")


class World:
    """A matcher with one subscription, and events that arrive one second after another unless told otherwise."""

    def __init__(self, text: str = "", **options: Any) -> None:
        self.matcher = TemporalMatcher(Relations(), **options)
        self.now_s = 0.0
        self.old = self.matcher.insert(1, parse(text), 0.0) if text else []

    def happen(self, *, after_s: float = 1.0, **fields: Any) -> list[tuple[int, ...]]:
        """The arrivals of all that is told of an event."""
        self.now_s += after_s
        return [match.arrivals for match in self.matcher.happened(Event(fields), self.now_s)]

    def advance(self, now_s: float) -> list[tuple[int, ...]]:
        self.now_s = now_s
        return [match.arrivals for match in self.matcher.advance(now_s)]


def test_a_match_has_its_events_and_bindings() -> None:
    matcher = TemporalMatcher(Relations())
    matcher.insert(7, parse("(event (n ?a)) (event (n ?b) (type 'end)) (test (= ?a ?b))"), 0.0)
    one, other = Event({"n": 1}), Event({"n": 1.0, "type": "end"})

    first, second = matcher.happened(one, 1.0), matcher.happened(other, 2.0)

    assert first == []
    assert [(match.number, match.events, match.arrivals) for match in second] == [
        (7, (one, other), (1, 2)),
        (7, (other, other), (2, 2)),
    ]
    assert repr(second[0].bindings) == "{'a': 1, 'b': 1.0}"


def test_events_may_arrive_out_of_order() -> None:
    world = World(IN_ORDER)

    told = [world.happen(time=time, user="ann") for time in (3, 1, 2)]

    assert told == [[], [(2, 1)], [(2, 3), (3, 1)]]


def test_equal_times_are_in_no_order() -> None:
    world = World(IN_ORDER)

    assert [world.happen(time=1, user="ann") for _ in range(3)] == [[], [], []]


def test_arrival_tells_equal_times_apart() -> None:
    world = World("(event (time ?t) (arrival ?n1)) (event (time ?t) (arrival ?n2)) (test (< ?n1 ?n2))")

    assert [world.happen(time=1) for _ in range(3)] == [[], [(1, 2)], [(1, 3), (2, 3)]]


def test_one_event_may_stand_for_several_patterns() -> None:
    world = World("(event (a ?x)) (event (b ?x)) (event (a ?x))")

    assert world.happen(a=1, b=1) == [(1, 1, 1)]


def test_equal_events_are_two_events() -> None:
    world = World("(event (a 1)) (event (b 1))")

    assert [world.happen(a=1), world.happen(a=1), world.happen(b=1)] == [[], [], [(1, 3), (2, 3)]]


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        ((1, 1.0), [(1, 1), (1, 2), (2, 1), (2, 2)]),
        ((1, True), [(1, 1), (2, 2)]),
        ((1, "1"), [(1, 1), (2, 2)]),
        ((float("nan"), float("nan")), []),
        (([1, {"n": 2}], [1.0, {"n": 2.0}]), [(1, 1), (1, 2), (2, 1), (2, 2)]),
        (([1], [True]), [(1, 1), (2, 2)]),
        (([NAN], [NAN]), []),
        (({"n": [NAN]}, {"n": [NAN]}), []),
        ((None, False), [(1, 1), (2, 2)]),
        ((Reference("gsg://a"), Reference("gsg://a")), [(1, 1), (1, 2), (2, 1), (2, 2)]),
    ],
    ids=repr,
)
def test_a_common_variable_is_bound_to_equal_values(values: tuple[Any, Any], pairs: list[tuple[int, int]]) -> None:
    world = World("(event (a ?x)) (event (a ?x))")

    told = [pair for value in values for pair in world.happen(a=value)]

    assert sorted(told) == pairs


@pytest.mark.parametrize(
    ("values", "pairs"),
    [
        (("10", "9"), [(1, 2)]),
        ((10, "9"), [(2, 1)]),
        ((10, 9.5), [(2, 1)]),
        (("a", 1), []),
        ((True, 2), []),
        ((None, 2), []),
        ((float("nan"), 2), []),
        (([1], 2), []),
        ((Reference("gsg://a"), "a"), []),
        (("1" * 401, 10), []),
        (("nine", "ten"), [(1, 2)]),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_order_is_that_of_values(values: tuple[Any, Any], pairs: list[tuple[int, int]]) -> None:
    world = World("(event (a ?x)) (event (a ?y)) (test (< ?x ?y))")

    told = [pair for value in values for pair in world.happen(a=value)]

    assert sorted(told) == pairs


def test_events_may_be_in_two_orders() -> None:
    world = World("(event (a ?a) (b ?b)) (event (a ?c) (b ?d)) (test (< ?a ?c) (> ?b ?d))")

    told = [world.happen(a=a, b=b) for a, b in ((1, 5), (2, 6), (3, 4), (0, 9), (4, 4))]

    assert told == [[], [], [(1, 3), (2, 3)], [(4, 1), (4, 2), (4, 3)], [(1, 5), (2, 5), (4, 5)]]


BETWEEN = "(event (low ?a)) (event (x ?x)) (event (high ?b)) (test (< ?a ?x) (< ?x ?b))"


@pytest.mark.parametrize(
    ("low", "high", "between"),
    [
        (5, "7", [6, "6", "6.5", "10", "65"]),
        ("5", 7, [6, "6", "6.5"]),
        (5, 7, [6, "6", "6.5"]),
        ("5", "7", [6, "6", "6.5", "65", "6x"]),
    ],
    ids=["number and text", "text and number", "numbers", "texts"],
)
def test_between_texts_and_numbers(low: Any, high: Any, between: list[Any]) -> None:
    values = [6, "6", "6.5", "10", 8, "65", "6x", True, None]
    world = World(BETWEEN)
    for value in values:
        world.happen(x=value)
    world.happen(low=low)

    told = world.happen(high=high)

    assert [values[arrivals[1] - 1] for arrivals in told] == between


# --- windows --------------------------------------------------------------------------------------------------------------------


def test_the_last_events_are_those_of_the_channel() -> None:
    world = World("(event (a 1)) (event (b 1)) (last 3)")
    world.happen(a=1)
    world.happen(c=1)

    assert world.happen(b=1) == [(1, 3)]
    assert world.happen(b=1) == []


def test_within_a_time_ends_with_it() -> None:
    world = World("(event (a 1)) (event (b 1)) (within 2s)")
    world.happen(a=1)

    assert world.happen(b=1, after_s=1.5) == [(1, 2)]
    assert world.happen(b=1, after_s=0.5) == []


def test_without_a_window_it_is_what_is_remembered() -> None:
    world = World("(event (a 1)) (event (b 1))", max_events=2)
    world.happen(a=1)

    assert world.happen(b=1) == [(1, 2)]
    assert world.happen(b=1) == []


# --- old events -----------------------------------------------------------------------------------------------------------------


def test_a_subscription_recognises_old_events_once() -> None:
    world = World()
    for time in (1, 3, 2):
        world.happen(time=time, user="ann")

    told = [match.arrivals for match in world.matcher.insert(1, parse(IN_ORDER), world.now_s)]
    world.matcher.modify(1, parse(IN_ORDER), world.now_s)

    assert told == [(1, 2), (1, 3), (3, 2)]
    assert world.happen(time=9, user="ann") == [(1, 4), (2, 4), (3, 4)]


def test_old_events_are_those_of_the_window_by_now() -> None:
    world = World()
    for _ in range(4):
        world.happen(a=1)

    by_number = world.matcher.insert(1, parse("(event (a 1)) (last 2)"), world.now_s)
    by_time = world.matcher.insert(2, parse("(event (a 1)) (within 1500ms)"), world.now_s + 0.5)

    assert [match.arrivals for match in by_number] == [(3,), (4,)]
    assert [match.arrivals for match in by_time] == [(4,)]


def test_what_waits_goes_on_after_a_change() -> None:
    text = "(event (a 1)) (absent 5s (event (b 1)))"
    world = World()
    world.happen(a=1)
    world.happen(a=1, after_s=3.0)
    world.matcher.insert(1, parse(text), world.now_s)

    world.matcher.modify(1, parse(text), 7.0)

    assert world.matcher.next_s == 9.0
    assert world.advance(9.0) == [(2,)]


# --- absence --------------------------------------------------------------------------------------------------------------------

ABSENT = "(event (type 'ask) (id ?i)) (absent 5s (event (type 'answer) (id ?i)))"


def test_absence_is_told_when_its_time_is_over() -> None:
    world = World(ABSENT)

    assert world.happen(type="ask", id=1) == []
    assert world.matcher.next_s == 6.0
    assert world.advance(5.9) == []
    assert world.advance(6.0) == [(1,)]
    assert world.matcher.next_s is None


def test_an_event_is_in_the_way_of_what_it_joins() -> None:
    world = World(ABSENT)
    world.happen(type="ask", id=1)
    world.happen(type="ask", id=2)
    world.happen(type="answer", id=1)

    assert world.advance(100.0) == [(2,)]


def test_an_event_at_the_end_is_too_late() -> None:
    world = World(ABSENT)
    world.happen(type="ask", id=1)

    assert world.happen(type="answer", id=1, after_s=5.0) == [(1,)]


def test_an_event_before_is_not_in_the_way() -> None:
    world = World(ABSENT)
    world.happen(type="answer", id=1)
    world.happen(type="ask", id=1, after_s=0.0)

    assert world.advance(10.0) == [(2,)]


def test_what_is_told_late_is_the_same() -> None:
    world = World(ABSENT)
    world.happen(type="ask", id=1)
    world.happen(type="ask", id=2)

    assert world.happen(type="answer", id=1, after_s=60.0) == [(1,), (2,)]


def test_absence_after_an_event_that_is_not_the_last() -> None:
    world = World("(event (a ?x)) (absent 2s (event (b ?x))) (event (c ?x))")
    world.happen(a=1)

    assert world.happen(c=1) == []
    assert world.advance(3.0) == [(1, 2)]
    assert world.happen(c=1) == [(1, 3)]
    assert world.happen(b=1) == []


def test_two_absences_wait_for_the_later() -> None:
    world = World("(event (a 1)) (absent 2s (event (b 1))) (absent 4s (event (c 1)))")
    world.happen(a=1)
    assert world.happen(b=1, after_s=2.0) == []

    assert world.matcher.next_s == 5.0
    assert world.advance(5.0) == [(1,)]


def test_tests_of_an_absence_see_both_events() -> None:
    world = World("(event (a ?a)) (absent 5s (event (b ?b)) (test (> ?b ?a)))")
    world.happen(a=3)
    world.happen(b=3)
    world.happen(a=4)
    world.happen(b=4)

    assert world.advance(100.0) == [(3,)]


def test_what_is_absent_may_be_any_number_that_is_not_equal() -> None:
    world = World("(event (a ?x)) (absent 5s (event (b ?x)))")
    world.happen(a=float("nan"))
    world.happen(b=float("nan"))

    assert world.advance(10.0) == [(1,)]


def test_many_that_are_in_the_way_leave_no_timers() -> None:
    world = World(ABSENT)
    for number in range(300):
        world.happen(type="ask", id=number, after_s=0.001)
    for number in range(299):
        world.happen(type="answer", id=number, after_s=0.001)

    assert world.matcher.next_s == pytest.approx(5.3)
    assert world.advance(10.0) == [(300,)]


# --- ends -----------------------------------------------------------------------------------------------------------------------


def test_a_cancelled_subscription_is_told_nothing() -> None:
    world = World(ABSENT)
    world.happen(type="ask", id=1)

    world.matcher.remove(1)
    world.matcher.remove(1)

    assert world.matcher.next_s is None
    assert world.happen(type="ask", id=1) == []
    assert len(world.matcher) == 0


def test_subscriptions_that_ask_for_the_same_come_and_go() -> None:
    world = World(IN_ORDER)
    world.happen(time=1, user="ann")
    world.matcher.insert(2, parse(IN_ORDER), world.now_s)

    world.matcher.remove(1)

    assert world.happen(time=2, user="ann") == [(1, 2)]
    with pytest.raises(ValueError, match="a second subscription of number 2; expected another number, or modify"):
        world.matcher.insert(2, ONE, 0.0)


def test_time_does_not_go_back() -> None:
    world = World(ABSENT)
    world.advance(10.0)

    world.matcher.happened(Event({"type": "ask", "id": 1}), 3.0)

    assert world.matcher.next_s == 15.0


PAIRS = "(event (a ?x)) (event (a ?y))"
NEVER = "(event (a ?x)) (absent 99s (event (b ?y)) (test (> ?x ?y)))"
LATER = "(event (a ?x)) (absent 99s (event (b ?y)) (test (> ?x ?y))) (event (c ?x))"
LATE = "(event (a ?x)) (absent 99s (event (b ?x)))"


@pytest.mark.parametrize(
    ("text", "limits", "names", "said"),
    [
        (PAIRS, Limits(matches=8), "aaaaa", "more than 8 matches by one event (limit matches); expected fewer"),
        (f"{PAIRS} (event (b 1))", Limits(matches=8), "aaab", "more than 8 matches by one event (limit matches)"),
        (f"{PAIRS} (test (> (+ ?x ?y) 99))", Limits(steps=30), "aaaaa", "more than 30 events looked at and tested for one event"),
        (NEVER, Limits(steps=16), "aaaaaaaaab", "more than 16 events looked at and tested for one event (limit steps)"),
        (LATER, Limits(steps=18), "abbbbbbbbbc", "more than 18 events looked at and tested for one event"),
        (LATE, Limits(waiting=4), "aaaaa", "more than 4 matches that wait for an absence (limit waiting)"),
    ],
    ids=["matches", "matches of three", "steps", "steps to what waits", "steps to what is absent", "waiting"],
)
def test_a_subscription_of_too_much_is_stopped_and_told_so(text: str, limits: Limits, names: str, said: str) -> None:
    world = World(text, limits=limits)
    world.matcher.insert(2, parse("(event (arrival ?n))"), 0.0)
    for name in names[:-1]:
        world.happen(**{name: 1})
    assert world.matcher.take_stopped() == []

    told = world.happen(**{names[-1]: 1})

    [stopped] = world.matcher.take_stopped()
    assert (stopped.number, told) == (1, [(len(names),)])
    assert stopped.problem.startswith(f"subscription 1 was stopped: {said}")
    assert world.matcher.take_stopped() == []
    assert len(world.matcher) == 1


FORTY = " ".join(f"(!= (+ ?x ?y {number}) -1)" for number in range(40))
LONG = "a" * 1_249
LISTS = [0] * 5_000


@pytest.mark.parametrize(
    ("test", "value", "other"),
    [
        (f"{FORTY} (= (+ ?x ?y) -5)", 1, 2),
        (f'(or (contains ?x "{LONG}b") (= ?x ?y))', 2 * LONG, LONG),
        ("(or (any ?x (= it 1)) (= ?x ?y))", LISTS, 1),
        ("(not (= ?x ?y))", LISTS, LISTS),
        ('(any ?x (or (contains ?y "b") (= it 1)))', LISTS[:50], 2 * LONG),
        ('(any ?x (or (any it (contains ?y "b")) (= ?x 1)))', [LISTS[:50]], 2 * LONG),
    ],
    ids=["many tests", "long texts", "long lists", "equal lists", "texts for lists", "lists of lists"],
)
def test_what_is_tested_counts_as_steps(test: str, value: Any, other: Any) -> None:
    world = World(f"(event (a ?x)) (event (b ?y)) (test {test})")
    for _ in range(500):
        world.happen(a=value)

    world.happen(b=other)

    assert [stopped.limit for stopped in world.matcher.take_stopped()] == ["steps"]


def test_tests_that_are_not_made_are_no_steps() -> None:
    world = World(f"(event (a ?x)) (event (b ?y)) (test (= (+ ?x ?y) -5) {FORTY})")
    for _ in range(500):
        world.happen(a=1)

    world.happen(b=2)

    assert world.matcher.take_stopped() == []


def test_indexes_are_bounded() -> None:
    others = [[other for other in range(8) if other != one] for one in range(8)]
    fields = [
        " ".join(f"(f{min(one, other)}{max(one, other)} ?v{min(one, other)}{max(one, other)})" for other in others[one])
        for one in range(8)
    ]
    world = World(" ".join(f"(event (type {one}) {fields[one]})" for one in range(8)))
    random = Random(2)
    for _ in range(400):
        one = random.randrange(8)
        world.happen(type=one, **{f"f{min(one, other)}{max(one, other)}": random.randrange(6) for other in others[one]})

    assert sum(len(memory._indexes) for memory in world.matcher._sweep) <= 72


@pytest.mark.parametrize(
    ("text", "limits", "name"),
    [
        (PAIRS, Limits(old_matches=8), "old_matches"),
        (f"{PAIRS} (test (> (+ ?x ?y) 99))", Limits(old_steps=8), "old_steps"),
        (LATE, Limits(waiting=2), "waiting"),
    ],
)
def test_a_subscription_of_too_many_old_events_is_stopped(text: str, limits: Limits, name: str) -> None:
    world = World(limits=limits)
    for _ in range(3):
        world.happen(a=1)

    assert world.matcher.insert(1, parse(text), world.now_s) == []

    assert [(one.number, one.limit) for one in world.matcher.take_stopped()] == [(1, name)]
    assert len(world.matcher) == 0
