"""Strangers who never become clients: each is refused by name, and others are answered (how soon: benchmarks/door_beside.py)."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack

import pytest
from doors import still_serves
from plain_http import request

from gsg.http.door import HttpDoor

SOCKETS = 1_000


def head(*lines: bytes) -> bytes:
    """The head of a request."""
    return b"\r\n".join([b"POST /facts HTTP/1.1", b"Host: localhost", b"Connection: close", *lines, b"", b""])


async def answered(door: HttpDoor, said: bytes) -> str:
    """What the door says to these bytes until it closes."""
    reader, writer = await asyncio.open_connection(door.host, door.port)
    try:
        writer.write(said)
        async with asyncio.timeout(30):
            return (await reader.read()).decode()
    finally:
        writer.transport.abort()


def body(content: bytes, media_type: bytes = b"application/json", *, length: int | None = None) -> bytes:
    """A request with a body, which may be said to be longer than it is."""
    size = len(content) if length is None else length
    return head(b"Content-Type: " + media_type, b"Content-Length: %d" % size) + content


TOO_LONG = "no HTTP request: its head is longer than 65,536 bytes; expected fewer or shorter headers"
DEEP = b'[["a",' + b'{"list":[' * 20_000 + b'"a"' + b"]}" * 20_000 + b"]]"


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        (head(b"X: " + b"x" * 100_000)[:-4], "431 Request Header Fields Too Large", TOO_LONG),
        (head(*(b"X-%d: 1" % number for number in range(10_000)))[:-4], "431 Request Header Fields Too Large", TOO_LONG),
        (b"GET /" + b"x" * 100_000, "431 Request Header Fields Too Large", TOO_LONG),
        (
            body(b"", length=999_999_999_999),
            "413 Request Entity Too Large",
            "a body of 999999999999 bytes or more; expected at most 16,777,216",
        ),
        (body(b"[" * 100_000), "400 Bad Request", "no tuples: "),
        (body(DEEP), "400 Bad Request", "deep in each other"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500), "400 Bad Request", "no HTTP request: illegal request line"),
    ],
    ids=["a long header", "many headers", "a long path", "a body that is too long", "brackets", "deep terms", "a hello of TLS"],
)
async def test_what_is_too_much_is_refused_by_name_and_others_are_served(
    door: HttpDoor, said: bytes, status: str, reason: str
) -> None:
    told = await answered(door, said)

    assert told.startswith(f"HTTP/1.1 {status}\r\n")
    assert reason in told
    await still_serves(door)


async def test_1000_sockets_that_ask_for_nothing_keep_nobody_from_being_served(door: HttpDoor) -> None:
    async with AsyncExitStack() as stack:
        for number in range(SOCKETS):
            _, writer = await asyncio.open_connection(door.host, door.port)
            stack.callback(writer.transport.abort)
            # Half of them have begun to say something, and go on as slowly as they like.
            writer.write(b"GET /status HTTP/1.1\r\nX: " if number % 2 else b"")

        await still_serves(door)
        assert (await request(door, "GET", "/readyz")).status == 200
        assert len(door._connections) >= SOCKETS


async def test_whoever_says_its_head_too_slowly_is_told_so_and_ended(door: HttpDoor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    reader, writer = await asyncio.open_connection(door.host, door.port)
    for line in (b"GET /status HTTP/1.1", b"Host: localhost", b"X: 1"):
        writer.write(line + b"\r\n")
        await still_serves(door)  # by when it has come

    for _ in range(21):
        door._connections.sweep()

    told = await reader.read()
    writer.close()
    assert told.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"no request has come within 20 s; ask again" in told
