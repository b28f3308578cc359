"""Who has heard an event, and for how long that is remembered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gsg.feeds.seen_events
import rete
from gsg.feeds.alpha_memory import AlphaMemory
from gsg.feeds.seen_events import SeenEvents

FIRST, SECOND, THIRD = (AlphaMemory(rete.AlphaSpec(rete.Template((number,))), number) for number in range(1, 4))


def test_a_listener_hears_an_event_once_and_others_still_do() -> None:
    seen = SeenEvents()

    assert list(seen.unheard_by(b"publisher", 1, [FIRST, SECOND])) == [FIRST, SECOND]
    assert list(seen.unheard_by(b"publisher", 1, [SECOND, THIRD])) == [THIRD]
    assert list(seen.unheard_by(b"publisher", 1, [FIRST, SECOND, THIRD])) == []


def test_events_are_told_apart_by_publisher_and_number() -> None:
    seen = SeenEvents()
    seen.unheard_by(b"publisher", 1, [FIRST])

    assert list(seen.unheard_by(b"publisher", 2, [FIRST])) == [FIRST]
    assert list(seen.unheard_by(b"another", 1, [FIRST])) == [FIRST]


@pytest.mark.parametrize(("limit", "listeners"), [("EVENTS", [FIRST]), ("LISTENERS", [FIRST, SECOND, THIRD])])
def test_the_last_events_are_remembered_and_not_more_than_twice_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: str, listeners: list[AlphaMemory]
) -> None:
    monkeypatch.setattr(gsg.feeds.seen_events, limit, 10 * len(listeners))
    seen = SeenEvents()
    for number in range(100):
        seen.unheard_by(b"publisher", number, listeners)

    assert [list(seen.unheard_by(b"publisher", number, listeners)) for number in range(91, 100)] == [[]] * 9
    assert list(seen.unheard_by(b"publisher", 79, listeners)) == listeners


def test_an_event_is_new_once() -> None:
    seen = SeenEvents()

    assert [seen.is_new(b"p", 1), seen.is_new(b"p", 2), seen.is_new(b"q", 1)] == [True, True, True]
    assert [seen.is_new(b"p", 1), seen.is_new(b"p", 2), seen.is_new(b"q", 1)] == [False, False, False]


def test_events_that_come_again_long_after_them_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.seen_events, "RUNS", 2)
    seen = SeenEvents()

    assert all(seen.is_new(b"p", number) for number in range(1_000))
    assert not any(seen.is_new(b"p", number) for number in range(1_000))


@given(st.lists(st.integers(0, 30)))
def test_an_event_is_new_where_its_number_was_not_there_in_whatever_order_they_come(numbers: list[int]) -> None:
    seen = SeenEvents()
    known: set[int] = set()

    for number in numbers:
        assert seen.is_new(b"p", number) == (number not in known)
        known.add(number)


def test_the_least_numbers_of_a_publisher_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.seen_events, "RUNS", 2)
    seen = SeenEvents()

    for number in (1, 3, 5):
        seen.is_new(b"p", number)

    assert [seen.is_new(b"p", 5), seen.is_new(b"p", 3), seen.is_new(b"p", 1)] == [False, False, True]


def test_the_publisher_unheard_of_for_the_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.seen_events, "PUBLISHERS", 2)
    seen = SeenEvents()
    for publisher in (b"p", b"q", b"p", b"r"):
        seen.is_new(publisher, 1)

    assert [seen.is_new(b"p", 1), seen.is_new(b"r", 1), seen.is_new(b"q", 1)] == [False, False, True]


def test_of_all_publishers_together_so_many_runs_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.seen_events, "RUNS_OF_ALL", 5)
    monkeypatch.setattr(gsg.feeds.seen_events, "RUNS", 7)
    seen = SeenEvents()
    for publisher in (b"p", b"q"):
        for number in (1, 3, 5):
            seen.is_new(publisher, number)

    beyond = [seen.is_new(b"q", number) for number in (1, 3, 5)], seen.is_new(b"p", 1)
    for number in range(10, 100, 2):
        seen.is_new(b"q", number)

    assert beyond == ([False] * 3, True), "whoever was unheard of for the longest is forgotten"
    assert not seen.is_new(b"q", 98), "one alone has its own limit"
