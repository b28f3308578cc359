"""What a link has brought waits behind something, in order, within bounds, and goes on as it came."""

from __future__ import annotations

import pytest
from line import Line

import gsg.wire.waiting
from gsg.errors import PeerMisbehaved, Refused
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Arrived, Event, Flash, Message
from gsg.wire.waiting import MESSAGE_BYTES, BoundedQueue, Room, WaitingLines


class Ended(Line):
    """A line that says why it was ended."""

    reason = ""

    def abort(self, reason: str) -> None:
        self.reason = reason


class Served:
    """A peer's lines, and what was delivered, each with its length; ``blocks_at`` is a message that blocks its link again."""

    def __init__(self) -> None:
        self.now_s = 10.0
        self.delivered: list[tuple[Message, int]] = []
        self.blocks_at: Message | None = None
        self.lines = WaitingLines(self.deliver, lambda: self.now_s)

    def deliver(self, link: PeerLink, message: Message) -> None:
        if message == Arrived(-1):
            raise PeerMisbehaved(f"{message} cannot be")
        self.delivered.append((message, link.frame_bytes))
        if message == self.blocks_at:
            self.lines.block(link, "what is slow again")

    def waiting(self, link: Line, *sizes_bytes: int) -> Line:
        """The link is blocked, and has brought messages of these lengths, numbered from 0."""
        self.lines.block(link, "what is slow")
        for number, link.frame_bytes in enumerate(sizes_bytes):
            assert self.lines.hold_back(link, Arrived(number))
        return link


def test_what_waits_is_delivered_in_order_and_each_with_its_own_length() -> None:
    served = Served()
    link = served.waiting(Line("from"), 10, 20)

    served.lines.unblock(link)

    assert served.delivered == [(Arrived(0), 10), (Arrived(1), 20)]
    assert not served.lines.hold_back(link, Arrived(2))


def test_nothing_is_delivered_while_the_link_is_blocked_again() -> None:
    served = Served()
    link = served.waiting(Line("from"), 1, 1, 1)
    served.blocks_at = Arrived(1)

    served.lines.unblock(link)

    assert served.delivered == [(Arrived(0), 1), (Arrived(1), 1)]
    assert served.lines.hold_back(link, Arrived(3))
    served.lines.unblock(link)
    assert [message for message, _ in served.delivered] == [Arrived(number) for number in range(4)]


@pytest.mark.parametrize(("waited_s", "late_s"), [(0.9, [0, 3]), (4.2, [5, 7])], ids=["for less than a second", "for four seconds"])
def test_events_say_how_long_they_have_waited(waited_s: float, late_s: list[int]) -> None:
    served = Served()
    link = served.waiting(Line("from"))
    flash = Flash(1, b"publisher", [Event(1, ("rang",)), Event(2, ("rang",), late_s=3)], [b"\0", b"\0"])
    served.lines.hold_back(link, flash)
    served.now_s += waited_s

    message = served.lines.take_next(link)

    assert isinstance(message, Flash)
    assert [event.late_s for event in message.events] == late_s


def test_what_is_too_much_is_refused_with_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.waiting, "WAITING_BYTES", 2 * (MESSAGE_BYTES + 10))
    served = Served()
    link = served.waiting(Line("from"), 10, 10)

    with pytest.raises(Refused, match="2 messages wait for what is slow; wait for answers before you send more"):
        served.lines.hold_back(link, Arrived(2))
    served.lines.take_next(link)
    served.lines.hold_back(link, Arrived(3))

    assert [served.lines.take_next(link) for _ in range(3)] == [Arrived(1), Arrived(3), None]


def test_a_message_that_breaks_the_protocol_ends_the_link_and_the_rest_goes() -> None:
    served, link = Served(), Ended("from")
    served.lines.block(link, "what is slow")
    for number in (-1, 1):
        served.lines.hold_back(link, Arrived(number))

    served.lines.unblock(link)

    assert link.reason == "Arrived(messages=-1) cannot be"
    assert (served.delivered, served.lines.take_next(link)) == ([], None)


def test_what_waits_on_all_links_is_bounded_together_and_goes_with_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.waiting, "ALL_BYTES", 3 * MESSAGE_BYTES)
    served = Served()
    first, second = served.waiting(Line("from"), 1, 1), served.waiting(Line("from"))
    second.frame_bytes = 1

    with pytest.raises(Refused, match="0 messages wait for what is slow"):
        served.lines.hold_back(second, Arrived(1))
    served.lines.drop_link(first)

    assert served.lines.hold_back(second, Arrived(2))


# --- room ------------------------------------------------------------------------------------------------------------------------


def test_there_is_room_until_the_limit_is_reached_and_what_has_left_makes_some() -> None:
    room = Room(2 * MESSAGE_BYTES + 100)

    room.take(40)

    assert room.taken_bytes == MESSAGE_BYTES + 40
    assert (room.has(60), room.has(61)) == (True, False)
    room.leave(40)
    assert room.taken_bytes == 0


def test_what_this_peer_says_itself_takes_none() -> None:
    room = Room(MESSAGE_BYTES)
    room.take(MESSAGE_BYTES)

    room.take(0)
    room.leave(0)

    assert room.has(0)
    assert room.taken_bytes == 2 * MESSAGE_BYTES


def test_several_rooms_are_within_one_that_bounds_them_together() -> None:
    all_lines = Room(150, each_bytes=0)
    first, second = (Room(100, all_lines, each_bytes=0) for _ in range(2))
    first.take(90)

    assert (second.has(60), second.has(61), first.has(11)) == (True, False, False)
    second.take(60)
    first.empty()

    assert (first.taken_bytes, all_lines.taken_bytes) == (0, 60)
    assert first.has(90)


def test_a_queue_is_bounded_by_bytes_and_by_count_and_keeps_what_is_too_large_alone() -> None:
    queue: BoundedQueue[str] = BoundedQueue(Room(100, each_bytes=0), 5)

    assert queue.fits(1_000, 50)
    queue.append("first", 90, 3)
    assert (queue.fits(10, 2), queue.fits(11, 2), queue.fits(10, 3)) == (True, False, False)
    queue.append("second", 10, 2)
    assert (list(queue), queue.popleft(), len(queue), queue.fits(90, 3)) == (["first", "second"], "first", 1, True)
    queue.clear()

    assert (len(queue), queue.fits(1_000, 50)) == (0, True)
