"""Subscriptions to several events, at a channel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

import pytest

from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.events import Event
from gsg.channels.languages.predicate import parse
from gsg.channels.ticket import State, Ticket
from gsg.errors import BadText

PAPERS = """
(event (time ?t1) (userid ?u1))
(event (time ?t2) (userid ?u2))
(event (time ?t3) (userid ?u3))
(test (< ?t1 ?t2 ?t3))
(test (= ?u1 ?u2 ?u3))
"""
"""The subscription of the paper."""
PAIRS = "(event (a ?n)) (event (b ?m))"
ABSENT = "(event (a ?n)) (absent 5s (event (b ?m)))"


class Clock:
    """Says what time it was set to."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def channel_and_found(text: str, **options: object) -> tuple[Channel, list[dict[str, object]]]:
    channel, found = Channel(clock=lambda: 0.0), list[dict[str, object]]()
    channel.subscribe(lambda event: found.append(event.fields), text, "temporal", **options)  # type: ignore[arg-type]  # of a test
    return channel, found


def test_three_events_of_one_user_in_order_are_one_match() -> None:
    channel, found = channel_and_found(PAPERS, report="((who u1) t1 t3)")

    for time, user in enumerate(["Fred", "Joe", "Fred", "Joe", "Fred"]):
        channel.publish({"time": time, "userid": user})

    assert found == [{"who": "Fred", "t1": 0, "t3": 4}]


@pytest.mark.parametrize(("deliver", "expected"), [("each", [0, 1, 2]), ("first", [0]), ("last", [2]), ("once", [0])])
def test_of_the_matches_of_one_event_those_are_delivered_that_were_asked_for(deliver: str, expected: list[int]) -> None:
    channel, found = channel_and_found("(event (type 'a) (n ?n)) (event (type 'b))", deliver=deliver, report="(n)")
    for number in range(3):
        channel.publish({"type": "a", "n": number})

    channel.publish({"type": "b"})

    assert [each["n"] for each in found] == expected


def test_a_subscription_that_is_resumed_is_told_nothing_old_and_goes_on() -> None:
    channel = Channel(clock=lambda: 0.0)
    found: list[object] = []
    ticket = channel.subscribe(lambda event: found.append((event.fields["n"], event.fields["m"])), PAIRS, "temporal")
    channel.publish({"a": 1})
    channel.publish({"b": 1})
    ticket.suspend()
    channel.publish({"a": 2})
    ticket.resume()
    channel.publish({"b": 2})

    assert found == [(1, 1), (1, 2), (2, 2)]


def test_a_subscription_that_is_resumed_is_not_told_of_an_absence_that_is_over() -> None:
    clock = Clock()
    channel, found = Channel(clock=clock), list[object]()
    ticket = channel.subscribe(lambda event: found.append(event.fields["n"]), ABSENT, "temporal")
    ticket.suspend()
    channel.publish({"a": 1})
    clock.now_s = 3.0
    channel.publish({"a": 2})
    clock.now_s = 6.0

    ticket.resume()
    clock.now_s = 8.0
    channel.advance()

    assert found == [2]


def test_what_happened_before_the_first_temporal_subscription_is_recognised() -> None:
    channel, found = Channel(clock=lambda: 0.0), list[object]()
    channel.publish({"a": 1})

    channel.subscribe(lambda event: found.append(event.fields["n"]), "(event (a ?n))", "temporal")
    channel.publish({"a": 2})

    assert found == [1, 2]


def test_what_happened_while_no_subscription_was_there_is_recognised() -> None:
    channel, found = channel_and_found("(event (a ?n))")
    channel.publish({"a": 1})
    channel.tickets()[0].cancel()
    channel.publish({"a": 2})

    channel.subscribe(lambda event: found.append(event.fields), "(event (a ?n))", "temporal")

    assert [each["n"] for each in found] == [1, 1, 2]


@pytest.mark.parametrize("stranger", ["", "(event (kind 'nothing))"], ids=["alone", "beside another"])
def test_a_subscription_made_by_who_is_told_of_an_event_recognises_the_event_once(stranger: str) -> None:
    channel, found = Channel(clock=lambda: 0.0), list[object]()

    def subscribe(event: Event) -> None:
        channel.subscribe(lambda match: found.append(match.fields["n"]), "(event (a ?n))", "temporal")

    channel.subscribe(subscribe, "(= a 2)", deliver="once")
    if stranger:
        channel.subscribe(print, stranger, "temporal")
    for number in (1, 2, 3):
        channel.publish({"a": number})

    assert found == [1, 2, 3]


def test_remembered_events_are_bounded_by_their_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.remembered.CHARACTERS", 1_000)
    channel, found = channel_and_found("(event (a ?n) (text ?x)) (event (b true))", report="(n)")
    for number in range(40):
        channel.publish({"a": number, "text": "x" * 400})

    channel.publish({"b": True})

    assert [each["n"] for each in found] == list(range(32, 40))


def test_a_new_subscription_recognises_old_events_once() -> None:
    channel = Channel(clock=lambda: 0.0)
    channel.subscribe(print, "(event (kind 'nothing))", "temporal")
    channel.publish({"a": 1})
    found: list[object] = []

    ticket = channel.subscribe(lambda event: found.append(event.fields["n"]), "(event (a ?n))", "temporal")
    ticket.modify("(event (a ?n) (where (> a 0)))")
    channel.publish({"a": 2})

    assert found == [1, 2]


async def test_an_absence_that_is_asked_for_by_a_change_is_told() -> None:
    now_s = 0.0
    channel, stream = Channel(clock=lambda: now_s), Stream()
    ticket = channel.subscribe(stream, "(event (a ?n)) (test (= ?n 5))", "temporal")
    channel.publish({"a": 1})

    ticket.modify("(event (a ?n)) (absent 0.01s (event (b ?m)))")
    now_s = 0.01  # an absence that is over when it is asked for is not told

    async with asyncio.timeout(30):
        assert (await anext(stream)).fields["n"] == 1


def test_a_change_to_too_much_cancels_at_once() -> None:
    channel, _ = channel_and_found("(event (a ?n)) (test (= ?n -1))")
    [ticket] = channel.tickets()
    for number in range(200):
        channel.publish({"a": number})

    ticket.modify("(event (a ?n)) (event (a ?m)) (absent 100s (event (b ?l)))")

    assert (ticket.state, "limit old_matches" in ticket.stopped) == (State.CANCELLED, True)


def test_a_change_undoes_that_the_subscription_before_was_too_much() -> None:
    channel, found = channel_and_found("(event (x ?x)) (event (y ?y)) (event (z ?z))")
    [ticket] = channel.tickets()
    for number in range(60):
        channel.publish({"x": number, "y": number})
    channel.subscribe(lambda match: ticket.modify("(event (w ?w))"), "(event (z ?z))", "temporal")

    channel.publish({"z": 1})
    channel.publish({"w": 1})

    assert [each["w"] for each in found] == [1]


@pytest.mark.parametrize("late", [False, True], ids=["on time", "late"])
@pytest.mark.parametrize("subscriptions", [1, 2])
@pytest.mark.parametrize(("deliver", "expected"), [("first", [0, 2]), ("last", [1, 3])])
def test_the_first_of_absences_that_are_over_is_that_of_one_time_however_late_it_is_told(
    deliver: str, expected: list[int], subscriptions: int, late: bool
) -> None:
    clock = Clock()
    channel, found = Channel(clock=clock), [list[int]() for _ in range(subscriptions)]
    for into in found:
        channel.subscribe(lambda match, into=into: into.append(match.fields["n"]), ABSENT, "temporal", deliver=deliver)
    for number in range(4):
        clock.now_s = float(number // 2)
        channel.publish({"a": number})

    for clock.now_s in [6.0] if late else [5.0, 6.0]:
        channel.advance()

    assert found == [expected] * subscriptions


def test_of_old_matches_the_first_is_that_of_one_event() -> None:
    channel, found = Channel(clock=lambda: 0.0), list[object]()
    for event in ({"a": 1}, {"a": 2}, {"b": 1}, {"b": 2}):
        channel.publish(event)

    channel.subscribe(lambda match: found.append((match.fields["n"], match.fields["m"])), PAIRS, "temporal", deliver="first")

    assert found == [(1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("deliver", "expected"), [("each", [[0, 1, 2], [3, 4, 5], [6]]), ("first", [[0], [], []]), ("last", [[], [], [6]])]
)
def test_of_many_absences_that_are_over_some_are_told_by_each_call(
    deliver: str, expected: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gsg.channels.temporal.matcher.MAX_DUE", 3)
    clock = Clock()
    channel, found = Channel(clock=clock), list[int]()
    channel.subscribe(lambda match: found.append(match.fields["n"]), ABSENT, "temporal", deliver=deliver)  # type: ignore[arg-type]  # numbers
    for number in range(7):
        channel.publish({"a": number})
    clock.now_s = 9.0

    told = []
    for _ in range(3):
        found.clear()
        told.append((channel.advance(), list(found)))

    assert told == list(zip([True, True, False], expected, strict=True))


async def test_where_asyncio_runs_many_absences_are_told_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.temporal.matcher.MAX_DUE", 3)
    channel, stream = Channel(), Stream()
    channel.subscribe(stream, "(event (a ?n)) (absent 1ms (event (b ?m)))", "temporal")
    for number in range(10):
        channel.publish({"a": number})

    async with asyncio.timeout(30):
        assert [(await anext(stream)).fields["n"] for _ in range(10)] == list(range(10))


def _modify(ticket: Ticket) -> None:
    ticket.modify("(event (c ?n))")


def _suspend_and_resume(ticket: Ticket) -> None:
    ticket.suspend()
    ticket.resume()


@pytest.mark.parametrize("change", [_modify, _suspend_and_resume])
def test_who_changes_a_subscription_while_told_of_a_match_is_told_no_more_of_before(change: Callable[[Ticket], None]) -> None:
    channel, found = Channel(clock=lambda: 0.0), list[object]()

    def consume(match: Event) -> None:
        found.append(match.fields["n"])
        change(ticket)

    ticket = channel.subscribe(consume, PAIRS, "temporal")
    for number in range(3):
        channel.publish({"a": number})

    channel.publish({"b": 1})

    assert found == [0]


async def test_absence_is_told_when_its_time_is_over() -> None:
    channel, stream = Channel(), Stream()
    channel.subscribe(stream, "(event (type 'question) (q ?q)) (absent 0.01s (event (type 'answer) (re ?q)))", "temporal")

    channel.publish({"type": "question", "q": 1})
    channel.publish({"type": "question", "q": 2})
    channel.publish({"type": "answer", "re": 1})

    async with asyncio.timeout(30):
        assert (await anext(stream)).fields["q"] == 2


def test_without_asyncio_time_passes_when_it_is_told() -> None:
    now_s = count()
    channel = Channel(clock=lambda: float(next(now_s)))
    found: list[object] = []
    channel.subscribe(lambda event: found.append(event.fields["q"]), "(event (q ?q)) (absent 5s (event (re ?q)))", "temporal")
    channel.publish({"q": 1})

    for _ in range(10):
        channel.advance()

    assert found == [1]


def test_a_match_is_told_to_those_who_may_notice_all_of_its_events() -> None:
    channel = Channel(clock=lambda: 0.0)
    found: dict[str, list[object]] = {"Fred": [], "Joe": []}
    for asker, into in found.items():
        channel.subscribe(
            lambda event, into=into: into.append(event.fields), "(event (a ?a)) (event (b ?b))", "temporal", asker=asker
        )

    channel.publish({"a": 1}, readers=["Fred"])
    channel.publish({"b": 2})

    assert found == {"Fred": [{"a": 1, "b": 2, "events": [{"a": 1}, {"b": 2}]}], "Joe": []}


def test_a_match_goes_on_to_those_alone_who_may_notice_all_of_its_events() -> None:
    channel, other = Channel(clock=lambda: 0.0), Channel("other")
    found: dict[str, list[object]] = {"Fred": [], "Joe": []}
    for asker, into in found.items():
        other.subscribe(lambda event, into=into: into.append(event.fields), "true", asker=asker)
    channel.subscribe(other, "(event (a ?a)) (event (b ?b))", "temporal", asker="Fred")

    channel.publish({"a": 1}, readers=["Fred", "Joe"])
    channel.publish({"b": 2}, readers=["Fred"])

    assert (len(found["Fred"]), found["Joe"]) == (1, [])


def test_a_match_that_comes_back_by_another_channel_is_no_news() -> None:
    channel, other = Channel(clock=lambda: 0.0), Channel("other")
    found: list[object] = []
    channel.subscribe(other, "(event (a ?a))", "temporal")
    other.subscribe(channel, "true")
    channel.subscribe(lambda event: found.append(event.fields), "true")

    channel.publish({"a": 1})

    assert found == [{"a": 1}]


def test_a_closure_has_each_event_that_a_match_may_need() -> None:
    channel, _ = channel_and_found("(event (type 'a)) (absent 5s (event (type 'b)))")

    assert parse(channel.closure()) == parse("(or (= type 'a) (= type 'b))")


def test_a_subscription_that_matches_too_often_is_cancelled_and_told_why() -> None:
    channel, _ = channel_and_found("(event (x ?x)) (event (y ?y)) (event (z ?z))")
    [ticket] = channel.tickets()
    for number in range(60):
        channel.publish({"x": number, "y": number})

    channel.publish({"z": 1})

    assert (ticket.state, "matches" in ticket.stopped) == (State.CANCELLED, True)
    channel.publish({"z": 1})


def test_a_mistake_has_its_place() -> None:
    with pytest.raises(BadText) as refused:
        Channel().subscribe(print, "(event (a ?a))\n(test (< ?a ?b))", "temporal")

    assert refused.value.line == 2
