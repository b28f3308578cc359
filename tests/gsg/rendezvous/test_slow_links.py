"""The events that are kept for a link that takes no more."""

from __future__ import annotations

import pytest

from gsg.rendezvous import slow_links as kept
from gsg.rendezvous.slow_links import HeldEvents
from gsg.wire.messages import Event, Happened, Message, Missed
from gsg.wire.waiting import Room


def happened(first: int, count: int, *feeds: int, text: str = "") -> Happened:
    """Events from this number on, each for these feeds."""
    numbers = range(first, first + count)
    return Happened(b"p", [Event(number, (text,)) for number in numbers], [list(feeds) for _ in numbers])


def together(count: int, *feeds: int) -> Happened:
    """Events that have one list of feeds, as those of one template have."""
    return Happened(b"p", [Event(number, ("",)) for number in range(count)], [list(feeds)] * count)


def holders_of(some: HeldEvents) -> list[Message]:
    """What is sent in the end."""
    return list(iter(some.take_next, None))


def test_what_is_kept_leaves_in_order() -> None:
    some = HeldEvents()
    some.add(happened(1, 2, 7))
    some.add(happened(3, 1, 8))

    assert holders_of(some) == [happened(1, 2, 7), happened(3, 1, 8)]
    assert some.missed == 0


def test_what_is_beyond_is_counted_for_each_feed_and_told_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "KEPT_EVENTS", 2)
    some = HeldEvents()

    for message in (happened(1, 2, 7), happened(3, 2, 7, 8), happened(5, 1, 8), together(10, 8, 9)):
        some.add(message)

    first, *rest = holders_of(some)
    assert first == happened(1, 2, 7)
    assert sorted(rest, key=repr) == [Missed(7, 2), Missed(8, 13), Missed(9, 10)]
    assert some.missed == 13


def test_long_events_fill_it_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "KEPT_BYTES", 1_000)
    some = HeldEvents()

    for number in range(10):
        some.add(happened(number, 1, 7, text="x" * 600))

    assert some.missed == 9


def test_what_comes_while_some_is_still_to_be_told_as_missed_is_missed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "KEPT_EVENTS", 1)
    some = HeldEvents()
    some.add(happened(1, 1, 7))
    some.add(happened(2, 1, 7))

    assert some.take_next() == happened(1, 1, 7)
    some.add(happened(3, 1, 7))

    assert holders_of(some) == [Missed(7, 2)]


def test_what_is_kept_for_all_links_is_bounded_together_and_what_has_left_makes_room() -> None:
    all_links = Room(2_000, each_bytes=0)
    first, second = HeldEvents(all_links), HeldEvents(all_links)
    for number in range(10):
        first.add(happened(number, 1, 7, text="x" * 600))
    second.add(happened(1, 1, 7, text="x" * 600))

    assert (first.missed, second.missed) == (7, 1)
    assert len([message for message in holders_of(first) if isinstance(message, Happened)]) == 3
    assert all_links.taken_bytes == 0
    assert holders_of(second) == [Missed(7, 1)]
