"""What a rendezvous that is gone may not have told, as its publisher remembers."""

from __future__ import annotations

import pytest

import gsg.publisher.resending
from gsg.publisher.resending import KEPT_S, NOTICED_S, RecentlyAcknowledged, Said
from gsg.wire.messages import Event
from gsg.wire.waiting import late, later

GONE, OTHER = b"gone", b"other"


def said(number: int, at_s: float) -> Said:
    return Said([Event(number, ("a", number))], [b"\0"], at_s)


def numbers(found: list[Said]) -> list[int]:
    return [event.number for one in found for event in one.events]


def test_what_a_rendezvous_acknowledged_in_its_last_moments_is_found_in_order_and_once() -> None:
    recent = RecentlyAcknowledged()
    for number, at_s in enumerate((1.0, 9.0, 9.5, 10.0)):
        recent.keep_events(GONE, said(number, at_s), at_s, 10)
        recent.keep_events(OTHER, said(100 + number, at_s), at_s, 10)

    assert numbers(recent.take_last_of(GONE, 12.0)) == [1, 2, 3]
    assert numbers(recent.take_last_of(GONE, 12.0)) == []
    assert numbers(recent.take_last_of(OTHER, 12.0)) == [101, 102, 103]


def test_what_was_sent_again_is_no_sign_of_life_and_is_found_as_well() -> None:
    recent = RecentlyAcknowledged()
    recent.keep_events(GONE, said(1, 1.0), 1.0, 10)
    recent.keep_events(GONE, said(2, 0.5), 8.0, 10, acknowledged=False)

    assert numbers(recent.take_last_of(GONE, 9.0)) == [1, 2]


def test_what_is_too_old_to_be_news_is_forgotten() -> None:
    recent = RecentlyAcknowledged()
    recent.keep_events(GONE, said(1, 0.0), 0.0, 10)

    assert numbers(recent.take_last_of(GONE, KEPT_S + NOTICED_S + 1)) == []


@pytest.mark.parametrize(("limit", "value"), [("EVENTS", 5), ("EVENTS_BYTES", 50)])
def test_the_oldest_goes_beyond_the_limits(monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    monkeypatch.setattr(gsg.publisher.resending, limit, value)
    recent = RecentlyAcknowledged()
    for number in range(20):
        recent.keep_events(GONE, said(number, 1.0), 1.0, 10)

    assert len(recent) == 5
    assert numbers(recent.take_last_of(GONE, 1.0)) == [15, 16, 17, 18, 19]
    assert len(recent) == 0


def test_nothing_is_kept_for_longer_than_it_counts() -> None:
    recent = RecentlyAcknowledged()
    recent.keep_events(GONE, said(1, 0.0), 0.0, 10)
    recent.keep_events(OTHER, said(2, 100.0), 100.0, 10)

    assert len(recent) == 1


@pytest.mark.parametrize("all_its_room_is_others", [False, True])
def test_what_had_no_room_is_counted_where_its_rendezvous_dies_in_the_next_moment(
    monkeypatch: pytest.MonkeyPatch, *, all_its_room_is_others: bool
) -> None:
    monkeypatch.setattr(gsg.publisher.resending, "EVENTS", 2)
    recent = RecentlyAcknowledged()
    recent.keep_events(GONE, said(1, 1.0), 1.0, 10)
    for number in range(2, 9):
        recent.keep_events(GONE, said(number, 10.0), 10.0, 10)
    for number in (10, 11) if all_its_room_is_others else (10,):
        recent.keep_events(OTHER, said(number, 10.0), 10.0, 10)

    recent.take_last_of(OTHER, 11.0)
    none_of_the_other = recent.lost
    recent.take_last_of(GONE, 11.0)
    recent.take_last_of(GONE, 11.0)

    assert (none_of_the_other, recent.lost) == (0, 6 + all_its_room_is_others), "the first was acknowledged long before"


def test_what_had_no_room_is_counted_for_so_many_moments_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.publisher.resending, "EVENTS", 1)
    monkeypatch.setattr(gsg.publisher.resending, "BEYOND", 3)
    recent = RecentlyAcknowledged()
    for number in range(6):
        recent.keep_events(GONE, said(number, 10 + number / 5), 10 + number / 5, 10)

    recent.take_last_of(GONE, 11.0)

    assert recent.lost == 3


def test_an_event_says_how_late_it_is_to_a_second() -> None:
    assert [late(Event(1, ("x",), "x", late_s), 2.3) for late_s in (0, 9)] == [Event(1, ("x",), "x", 3)] * 2


@pytest.mark.parametrize(
    ("came", "waited_s", "goes"), [(0, 0.9, 0), (3, 0.9, 3), (0, 2.5, 3), (3, 2.5, 5)], ids=["at once", "late", "waited", "both"]
)
def test_what_waits_is_so_much_later(came: int, waited_s: float, goes: int) -> None:
    [event] = later([Event(1, ("x",), late_s=came)], waited_s)

    assert event == Event(1, ("x",), late_s=goes)
