"""Clients of the HTTP door that read slowly or not at all: what they are told they have missed, and when they are cut off."""

from __future__ import annotations

import asyncio
import socket as so
from contextlib import suppress

import msgspec
import pytest
from doors import DECODE, endpoint, still_serves
from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as websocket

from gsg import AsyncClient, LiveSubscription, Overrun, Peer
from gsg.http.door import HttpDoor
from gsg.http.protocol import AskReport, Dropped, Ended, Rows, Subscribe, Subscribed, UpToDate

pytestmark = pytest.mark.waits


async def test_events_that_a_slow_client_has_missed_are_counted_and_what_follows_comes(door: HttpDoor) -> None:
    encode = msgspec.msgpack.encode
    async with websocket(endpoint(door)) as socket:
        await socket.send(encode(Subscribe(1, "(?x)", limit=2)))
        assert [type(DECODE(await socket.recv())) for _ in range(2)] == [Subscribed, UpToDate]
        # They come together, before anything can be sent.
        await door._peer.notify([(number,) for number in range(10)])
        dropped, rows = DECODE(await socket.recv()), DECODE(await socket.recv())

    assert isinstance(dropped, Dropped)
    assert isinstance(rows, Rows)
    assert (dropped.request, dropped.why.kind) == (1, "Overrun")
    assert 0 < dropped.why.lost < 10
    assert rows.values == [(number,) for number in range(dropped.why.lost, 10)]


async def test_a_slow_client_that_asks_for_an_error_gets_what_came_before_and_then_the_end(door: HttpDoor) -> None:
    encode = msgspec.msgpack.encode
    async with websocket(endpoint(door)) as socket:
        await socket.send(encode(Subscribe(1, "(?x)", limit=2, overflow="error")))
        assert [type(DECODE(await socket.recv())) for _ in range(2)] == [Subscribed, UpToDate]
        # They come together, before anything can be sent.
        await door._peer.notify([(number,) for number in range(10)])
        rows, ended = DECODE(await socket.recv()), DECODE(await socket.recv())

    assert isinstance(rows, Rows)
    assert isinstance(ended, Ended)
    assert rows.values == [(0,), (1,)]
    assert (ended.why.kind, ended.why.lost) == ("Overrun", 8)


async def read_until(subscription: LiveSubscription, word: str) -> None:
    """Read differences, whatever was lost before them, up to the row of this word."""
    last = ""
    while last != word:
        with suppress(Overrun):
            last = str((await subscription.batch(9))[-1][1]["x"])


async def test_rows_are_the_answer_where_the_oldest_differences_went_unread(client: AsyncClient, door: HttpDoor) -> None:
    subscription = await client.subscribe("(?x)", overflow="drop_oldest", limit=2)
    # They come together, before anything can be sent.
    await door._peer.insert([(number,) for number in range(10)])
    await door._peer.insert([("last",)])
    await read_until(subscription, "last")

    assert subscription.lost > 0
    assert len(subscription.rows()) == 11

    await door._peer.retract([(number,) for number in range(10)])
    await door._peer.insert([("end",)])
    await read_until(subscription, "end")

    assert sorted(str(row["x"]) for row in subscription.rows()) == ["end", "last"]


async def gone(socket: ClientConnection) -> None:
    """Close a connection that was not read."""
    socket.transport.abort()
    await socket.wait_closed()


async def test_a_client_that_stops_reading_is_cut_off_and_counted_and_its_place_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.http.door.PING_S", 0.1)
    monkeypatch.setattr("gsg.http.serving.connections.CLOSE_SWEEPS", 0)
    async with Peer() as peer, HttpDoor(peer, port=0) as door:
        socket = await websocket(endpoint(door), ping_interval=None)
        await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x, ?y)")))
        assert [type(DECODE(await socket.recv())) for _ in range(2)] == [Subscribed, UpToDate]
        socket.transport.pause_reading()
        (connection,) = door._connections._open
        while not connection.transport.get_write_buffer_size():
            await peer.notify([(number, "x" * 10_000) for number in range(100)])

        async with asyncio.timeout(30):
            while not door._lost:
                door._connections.sweep()
                await asyncio.sleep(0)

        assert (door._lost, door._services.clients.count, len(door._connections), door._services.unread.held_bytes) == (1, 0, 0, 0)
        await still_serves(door)
        await gone(socket)


async def test_a_client_that_says_goodbye_and_does_not_read_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.http.serving.connections.CLOSE_SWEEPS", 0)
    async with Peer() as peer, HttpDoor(peer, port=0) as door:
        socket = await websocket(endpoint(door), ping_interval=None, close_timeout=0.01)
        await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x, ?y)")))
        assert [type(DECODE(await socket.recv())) for _ in range(2)] == [Subscribed, UpToDate]
        (connection,) = door._connections._open
        socket.transport.pause_reading()
        while not connection.transport.get_write_buffer_size():
            await peer.notify([(number, "x" * 10_000) for number in range(100)])
        socket.protocol.send_close(1000)
        socket.transport.write(b"".join(socket.protocol.data_to_send()))

        async with asyncio.timeout(30):
            while len(door._connections) or door._services.clients.count:
                door._connections.sweep()
                await asyncio.sleep(0)

        await gone(socket)


async def test_pings_of_a_client_that_does_not_read_are_not_answered(door: HttpDoor) -> None:
    socket = await websocket(endpoint(door), ping_interval=None)
    await socket.send(msgspec.msgpack.encode(AskReport(1)))
    await socket.recv()
    (connection,) = door._connections._open
    socket.transport.pause_reading()
    for end, buffer in ((socket.transport, so.SO_RCVBUF), (connection.transport, so.SO_SNDBUF)):
        end.get_extra_info("socket").setsockopt(so.SOL_SOCKET, buffer, 4_096)
    ping = b"\x89\xfd" + bytes(4) + bytes(125)

    async def flood() -> int:
        socket.transport.write(ping * 10_000)
        while socket.transport.get_write_buffer_size():  # noqa: ASYNC110  # the transport has no event for it
            await asyncio.sleep(0)
        return connection.transport.get_write_buffer_size()

    held = 0
    while held < 64 * 1024:
        held = await flood()
    assert await flood() == held
    await gone(socket)


async def test_a_door_that_closes_does_not_wait_for_clients_that_do_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.http.door.CLOSE_S", 0)
    async with Peer() as peer:
        async with HttpDoor(peer, port=0) as door:
            socket = await websocket(endpoint(door), ping_interval=None)
            await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x, ?y)")))
            assert [type(DECODE(await socket.recv())) for _ in range(2)] == [Subscribed, UpToDate]
            (connection,) = door._connections._open
            socket.transport.pause_reading()
            while not connection.transport.get_write_buffer_size():
                await peer.notify([(number, "x" * 10_000) for number in range(100)])
        await gone(socket)

        while len(door._connections):  # noqa: ASYNC110  # a transport tells in the loop's next turn that it is gone
            await asyncio.sleep(0)
        assert (await peer.status())[0].feeds == 0
