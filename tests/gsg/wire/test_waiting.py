"""What a link has brought waits behind something, in order, within bounds, and goes on as it came."""

from __future__ import annotations

import pytest
from line import Line

import gsg.wire.waiting
from gsg.errors import PeerMisbehaved, Refused
from gsg.wire.exchange import Channel
from gsg.wire.messages import Arrived, Event, Flash, Message
from gsg.wire.room import MESSAGE_BYTES, Room
from gsg.wire.waiting import Behind


class Ended(Line):
    """A line that says why it was ended."""

    reason = ""

    def abort(self, reason: str) -> None:
        self.reason = reason


def waiting(link: Line, *sizes_bytes: int) -> Behind:
    """Messages of these lengths, numbered from 0."""
    behind = Behind(link, "what is slow", lambda: 0.0)
    for number, link.frame_bytes in enumerate(sizes_bytes):
        behind.add(Arrived(number))
    return behind


def test_what_waits_goes_on_in_order_and_each_with_its_own_length() -> None:
    link, delivered = Line("from"), list[tuple[Message, int]]()
    behind = waiting(link, 10, 20)

    behind.go_on(lambda channel, message: delivered.append((message, channel.frame_bytes)))

    assert delivered == [(Arrived(0), 10), (Arrived(1), 20)]
    assert behind.next() is None


def test_nothing_goes_on_while_it_is_held_again() -> None:
    behind, delivered = waiting(Line("from"), 1, 1, 1), list[Message]()

    behind.go_on(lambda _, message: delivered.append(message), holds=lambda: len(delivered) == 2)

    assert delivered == [Arrived(0), Arrived(1)]
    assert behind.next() == Arrived(2)


@pytest.mark.parametrize(("waited_s", "late_s"), [(0.9, [0, 3]), (4.2, [5, 7])], ids=["for less than a second", "for four seconds"])
def test_events_say_how_long_they_have_waited(waited_s: float, late_s: list[int]) -> None:
    now_s = 10.0
    behind = Behind(Line("from"), "what is slow", lambda: now_s)
    behind.add(Flash(1, b"publisher", [Event(1, ("rang",)), Event(2, ("rang",), late_s=3)], [b"\0", b"\0"]))
    now_s += waited_s

    message = behind.next()

    assert isinstance(message, Flash)
    assert [event.late_s for event in message.events] == late_s


def test_what_is_too_much_is_refused_with_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.waiting, "WAITING_BYTES", 2 * (MESSAGE_BYTES + 10))
    link = Line("from")
    behind = waiting(link, 10, 10)

    with pytest.raises(Refused, match="2 messages wait for what is slow; wait for answers before you send more"):
        behind.add(Arrived(2))
    behind.next()
    behind.add(Arrived(3))

    assert [behind.next(), behind.next(), behind.next()] == [Arrived(1), Arrived(3), None]


def test_a_message_that_breaks_the_protocol_ends_the_link_and_the_rest_goes() -> None:
    link = Ended("from")
    behind = waiting(link, 1, 1)

    def misbehaves(channel: Channel, message: Message) -> None:
        raise PeerMisbehaved(f"{message} cannot be")

    behind.go_on(misbehaves)

    assert link.reason == "Arrived(messages=0) cannot be"
    assert behind.next() is None


def test_what_waits_on_all_links_is_bounded_together_and_goes_with_its_link() -> None:
    all_links = Room(3 * MESSAGE_BYTES)
    first, second = (Behind(Line("from"), "what is slow", lambda: 0.0, all_links) for _ in range(2))
    for behind in (first, first, second):
        behind._channel.frame_bytes = 1  # type: ignore[attr-defined]  # a line
        if all_links.has(1):
            behind.add(Arrived(0))

    with pytest.raises(Refused, match="0 messages wait for what is slow"):
        second.add(Arrived(1))
    first.forget()
    second.add(Arrived(2))

    assert all_links.taken_bytes == MESSAGE_BYTES + 1
