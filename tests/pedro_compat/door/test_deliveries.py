"""Deliveries: gathered, written together, and never waited for."""

from __future__ import annotations

import asyncio

import pytest

import pedro_compat.door.deliveries
from pedro_compat.door.deliveries import SLOW_BYTES, UNREAD_BYTES, WRITE_BYTES, Deliveries, DoorDeliveries


class Socket:
    """A transport whose other side reads when told to."""

    def __init__(self):
        self.writes = []
        self.unread = 0
        self.closing = False

    def get_extra_info(self, name):
        return {"peername": ("192.0.2.7", 1234)}[name]

    def is_closing(self):
        return self.closing

    def write(self, data):
        self.writes.append(data)
        self.unread += len(data)

    def get_write_buffer_size(self):
        return self.unread


class Client:
    def __init__(self, of_door):
        self.socket = Socket()
        self.cut_off = 0
        self.deliveries = Deliveries(self.socket, of_door, self._cut)

    def _cut(self):
        self.cut_off += 1
        self.socket.closing = True


@pytest.fixture(autouse=True)
def _quickly(monkeypatch):
    monkeypatch.setattr(pedro_compat.door.deliveries, "SLOW_S", 0.01)


async def test_deliveries_of_a_turn_are_one_write():
    of_door = DoorDeliveries()
    one, other = Client(of_door), Client(of_door)

    for number in range(3):
        one.deliveries.deliver(b"%d\n" % number)
    other.deliveries.deliver(b"x\n")
    assert (one.socket.writes, other.socket.writes) == ([], [])
    await asyncio.sleep(0)

    assert (one.socket.writes, other.socket.writes, of_door.delivered) == ([b"0\n1\n2\n"], [b"x\n"], 4)


async def test_flush_writes_before_the_turn_ends_and_nothing_twice():
    of_door = DoorDeliveries()
    client = Client(of_door)
    client.deliveries.deliver(b"a\n")

    of_door.write_all()
    client.deliveries.deliver(b"b\n")
    await asyncio.sleep(0)

    assert client.socket.writes == [b"a\n", b"b\n"]


async def test_whoever_has_the_turn_writes_what_it_delivered_and_after_it_the_loop_does_again():
    of_door = DoorDeliveries()
    client = Client(of_door)
    of_door.hold_writes()
    client.deliveries.deliver(b"a\n")
    await asyncio.sleep(0)
    before = list(client.socket.writes)

    of_door.write_all()
    client.deliveries.deliver(b"b\n")
    await asyncio.sleep(0)

    assert (before, client.socket.writes) == ([], [b"a\n", b"b\n"])


async def test_much_is_written_at_once():
    client = Client(DoorDeliveries())

    client.deliveries.deliver(bytes(WRITE_BYTES + 1))

    assert len(client.socket.writes) == 1


async def test_client_that_reads_nothing_is_cut_off_after_its_time():
    client = Client(DoorDeliveries())
    client.deliveries.deliver(bytes(SLOW_BYTES + 1))
    await asyncio.sleep(0)
    assert not client.cut_off

    async with asyncio.timeout(5):
        while not client.cut_off:  # noqa: ASYNC110  # a timer of the outbox ends it
            await asyncio.sleep(0)

    assert client.cut_off == 1


async def test_client_that_reads_slowly_but_reads_is_kept():
    client = Client(DoorDeliveries())
    for _ in range(5):
        client.deliveries.deliver(bytes(2 * SLOW_BYTES))
        client.socket.unread -= SLOW_BYTES + SLOW_BYTES // 2
        await asyncio.sleep(pedro_compat.door.deliveries.SLOW_S)

    assert not client.cut_off
    client.deliveries.close()


async def test_client_that_has_caught_up_is_slow_no_more():
    client = Client(DoorDeliveries())
    client.deliveries.deliver(bytes(SLOW_BYTES + 1))
    client.socket.unread = 0

    await asyncio.sleep(3 * pedro_compat.door.deliveries.SLOW_S)

    assert not client.cut_off


async def test_client_is_cut_off_at_once_where_very_much_is_unread():
    client = Client(DoorDeliveries())
    client.socket.unread = UNREAD_BYTES

    client.deliveries.deliver(bytes(WRITE_BYTES + 1))

    assert client.cut_off == 1


async def test_nothing_is_written_to_who_has_left():
    of_door = DoorDeliveries()
    client = Client(of_door)
    client.deliveries.deliver(b"a\n")
    client.deliveries.close()
    client.socket.closing = True
    client.deliveries.deliver(b"b\n")
    await asyncio.sleep(0)

    assert client.socket.writes == []


async def test_log_names_the_client_that_is_cut_off(caplog):
    client = Client(DoorDeliveries())

    client.deliveries.deliver(b"x" * (UNREAD_BYTES + 1))

    assert (client.cut_off, "a pedro client at ('192.0.2.7', 1234) has left" in caplog.text) == (1, True)


async def test_where_all_have_too_much_unread_the_one_with_the_most_is_cut_off(monkeypatch):
    monkeypatch.setattr(pedro_compat.door.deliveries, "ALL_UNREAD_BYTES", 9 * SLOW_BYTES)
    monkeypatch.setattr(pedro_compat.door.deliveries, "SLOW_S", 60)
    of_door = DoorDeliveries()
    small, large, reading = (Client(of_door) for _ in range(3))
    for client, times in ((small, 2), (large, 3), (reading, 3)):
        client.deliveries.deliver(b"x" * times * SLOW_BYTES)
        client.deliveries.deliver(b"\n" * 10)
        client.deliveries.write()
    reading.socket.unread = 0  # it has read meanwhile
    of_door.hold_writes()

    small.deliveries.deliver(b"y" * SLOW_BYTES)
    small.deliveries.write()
    assert [client.cut_off for client in (small, large, reading)] == [0, 0, 0]
    small.deliveries.deliver(b"y" * 4 * SLOW_BYTES)
    small.deliveries.write()

    assert [client.cut_off for client in (small, large, reading)] == [1, 0, 0]
    assert of_door.cut_off == 1
    large.deliveries.close()
