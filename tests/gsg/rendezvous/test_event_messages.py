"""Events on their way to subscribers, in messages."""

from __future__ import annotations

import pytest
from place import ON, Place

import rete
from gsg.rendezvous import matching
from gsg.tuples.terms import Tuple
from gsg.wire.messages import Happened


def sent(place: Place, *events: Tuple) -> dict[str, list[tuple[list[object], list[list[int]]]]]:
    """By subscriber the messages, each as the first items of its events and their feeds."""
    place.flash(*events)
    found: dict[str, list[tuple[list[object], list[list[int]]]]] = {}
    for who, message in place.take():
        assert isinstance(message, Happened)
        found.setdefault(who, []).append(([event.items[0] for event in message.events], message.feeds))
    return found


def test_a_batch_is_one_message_for_each_subscriber_with_the_events_in_order() -> None:
    place = Place()
    place.follow("s", 1)
    place.follow("t", 2)

    assert sent(place, *[(number, ON, "x") for number in range(3)]) == {
        "s": [([0, 1, 2], [[1]] * 3)],
        "t": [([0, 1, 2], [[2]] * 3)],
    }


def test_runs_for_the_same_and_events_for_others_between_them_stay_in_order() -> None:
    place = Place()
    place.follow("s", 1)
    place.follow("s", 5, rete.Template((None, "off", None)), 1)

    assert sent(place, (0, ON, "x"), (1, "off", "x"), (2, ON, "x"), (3, ON, "x")) == {"s": [([0, 1, 2, 3], [[1], [5], [1], [1]])]}


@pytest.mark.parametrize(("limit", "sizes"), [(1, [1] * 5), (4, [2, 2, 1]), (6, [3, 2])])
def test_a_message_is_cut_at_so_many_feeds(monkeypatch: pytest.MonkeyPatch, limit: int, sizes: list[int]) -> None:
    monkeypatch.setattr(matching, "HAPPENED_FEEDS", limit)
    place = Place()
    place.follow("s", 1)
    place.follow("s", 2)

    [messages] = sent(place, *[(number, ON, "x") for number in range(5)]).values()

    assert [len(events) for events, _ in messages] == sizes
    assert [item for events, _ in messages for item in events] == [0, 1, 2, 3, 4]
