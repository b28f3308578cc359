"""The last events of a channel."""

from __future__ import annotations

import pytest

from gsg.channels.channel import Channel
from gsg.channels.events import Event
from gsg.channels.remembered import Remembered


def remembered(limit: int, count: int, text: str = "") -> Remembered[Event]:
    """With so many events, by number."""
    events: Remembered[Event] = Remembered(limit)
    for number in range(1, count + 1):
        events.append(Event({"number": number, "text": text}), float(number))
    return events


@pytest.mark.parametrize(("limit", "count"), [(3, 2), (3, 30), (20, 19), (20, 20), (20, 21), (20, 100)])
def test_the_last_events_are_remembered_with_their_numbers_and_times(limit: int, count: int) -> None:
    events = remembered(limit, count)

    assert [(number, event.fields["number"], time_s) for number, event, time_s in events.numbered()] == [
        (number, number, float(number)) for number in range(max(1, count - limit + 1), count + 1)
    ]


def test_characters_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.channels.remembered.CHARACTERS", 10_000)

    events = remembered(1_000, 100, "x" * 1_000)

    assert [event.fields["number"] for event in events] == list(range(events.forgotten + 1, 101))
    assert len(list(events)) <= 10_000 // 1_000 + 16


def test_what_is_cleared_keeps_its_numbers() -> None:
    events = remembered(20, 10)

    events.clear()
    events.append(Event({"number": 11}))

    assert [(number, event.fields["number"]) for number, event, _ in events.numbered()] == [(11, 11)]


@pytest.mark.parametrize(
    "fields",
    [{"a": 1}, {"a": "text", "b": True}, {"a": [1, "two", {"b": None}]}, {"ä": "ö", "large": 2**70}, {}],
    ids=repr,
)
def test_what_is_counted_at_publishing_is_the_size_of_an_event(fields: dict[str, object]) -> None:
    event = Channel().publish(fields, environment={"who": "me"})

    assert event.size() == Event(event.fields, environment=event.environment).size()
