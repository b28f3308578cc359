"""What waits is bounded by its length, and by its number where it is short."""

from __future__ import annotations

from gsg.wire.room import MESSAGE_BYTES, Room


def test_there_is_room_until_the_limit_is_reached() -> None:
    room = Room(2 * MESSAGE_BYTES + 100)

    room.take(40)

    assert room.taken_bytes == MESSAGE_BYTES + 40
    assert (room.has(60), room.has(61)) == (True, False)


def test_what_has_left_makes_room() -> None:
    room = Room(MESSAGE_BYTES + 10)
    room.take(10)

    room.leave(10)

    assert room.taken_bytes == 0
    assert room.has(10)


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
