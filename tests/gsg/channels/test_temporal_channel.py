"""Subscriptions to several events, at a channel."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from gsg.channels.channel import Channel
from gsg.channels.consumers import Stream
from gsg.channels.languages.predicate import parse
from gsg.channels.ticket import State
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
    other = channel.subscribe(print, "(event (kind 'nothing))", "temporal")
    ticket.suspend()
    channel.publish({"a": 2})
    ticket.resume()
    channel.publish({"b": 2})
    other.cancel()

    assert found == [(1, 1), (1, 2), (2, 2)]


def test_what_was_remembered_for_subscriptions_that_have_ended_is_not_told_to_later_ones() -> None:
    channel, found = channel_and_found("(event (a ?n))")
    channel.publish({"a": 1})
    channel.tickets()[0].cancel()
    channel.publish({"a": 2})

    channel.subscribe(lambda event: found.append(event.fields), "(event (a ?n))", "temporal")

    assert [each["n"] for each in found] == [1]


def test_remembered_events_are_bounded_by_their_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.remembered.CHARACTERS", 1_000)
    channel, found = channel_and_found("(event (a ?n) (text ?x)) (event (b true))", report="(n)")
    for number in range(5):
        channel.publish({"a": number, "text": "x" * 400})

    channel.publish({"b": True})

    assert [each["n"] for each in found] == [3, 4]


def test_a_new_subscription_recognises_old_events_once() -> None:
    channel = Channel(clock=lambda: 0.0)
    channel.subscribe(print, "(event (kind 'nothing))", "temporal")
    channel.publish({"a": 1})
    found: list[object] = []

    ticket = channel.subscribe(lambda event: found.append(event.fields["n"]), "(event (a ?n))", "temporal")
    ticket.modify("(event (a ?n) (where (> a 0)))")
    channel.publish({"a": 2})

    assert found == [1, 2]


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
