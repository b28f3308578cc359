"""What waits is bounded by its length, and by its number where it is short."""

from __future__ import annotations

from gsg.room import MESSAGE_BYTES, Room


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
