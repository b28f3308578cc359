"""Who has heard an event, and for how long that is remembered."""

from __future__ import annotations

import pytest

import gsg.feeds.seen_events
import rete
from gsg.feeds.alpha_memories import Memory
from gsg.feeds.seen_events import Heard

FIRST, SECOND, THIRD = (Memory(rete.AlphaSpec(rete.Template((number,))), number) for number in range(1, 4))


def test_a_listener_hears_an_event_once_and_others_still_do() -> None:
    heard = Heard()

    assert list(heard.anew(b"publisher", 1, [FIRST, SECOND])) == [FIRST, SECOND]
    assert list(heard.anew(b"publisher", 1, [SECOND, THIRD])) == [THIRD]
    assert list(heard.anew(b"publisher", 1, [FIRST, SECOND, THIRD])) == []


def test_events_are_told_apart_by_publisher_and_number() -> None:
    heard = Heard()
    heard.anew(b"publisher", 1, [FIRST])

    assert list(heard.anew(b"publisher", 2, [FIRST])) == [FIRST]
    assert list(heard.anew(b"another", 1, [FIRST])) == [FIRST]


@pytest.mark.parametrize(("limit", "listeners"), [("EVENTS", [FIRST]), ("LISTENERS", [FIRST, SECOND, THIRD])])
def test_the_last_events_are_remembered_and_not_more_than_twice_the_limit(
    monkeypatch: pytest.MonkeyPatch, limit: str, listeners: list[Memory]
) -> None:
    monkeypatch.setattr(gsg.feeds.seen_events, limit, 10 * len(listeners))
    heard = Heard()
    for number in range(100):
        heard.anew(b"publisher", number, listeners)

    assert [list(heard.anew(b"publisher", number, listeners)) for number in range(91, 100)] == [[]] * 9
    assert list(heard.anew(b"publisher", 79, listeners)) == listeners
