"""Places of handshakes at a door of TLS: who loses one when all are taken, and what one that fails leaves behind."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from certified import Files

import gsg
from gsg import Peer
from gsg.doors.handshakes import block_of, to_give_up
from gsg.http.door import HttpDoor

A, B, C = (block_of(host) for host in ("192.0.2.1", "192.0.2.2", "2001:db8::1"))


@pytest.mark.parametrize(
    ("under_way", "newcomer", "given_up"),
    [
        ([A], B, 0),
        ([A, B, C], A, 0),
        ([A, B, C], C, 2),
        ([A, B, B, C], C, 1),
        ([A, B, B, C, C], A, 0),
        ([A, C, B, B, C, C], A, 1),
        ([A, B, B, B], A, 1),
    ],
    ids=[
        "one",
        "its own",
        "its own, though the youngest",
        "the most",
        "all as many",
        "the oldest of the most",
        "never a single one",
    ],
)
def test_the_oldest_of_the_block_with_most_handshakes_gives_its_place(
    under_way: Sequence[bytes], newcomer: bytes, given_up: int
) -> None:
    assert to_give_up(under_way, newcomer) == given_up


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("127.0.0.1", "127.0.0.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8::1", "2001:db8:0:0:ffff::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("", "nowhere", True),
    ],
)
def test_places_count_together_by_address_and_in_ipv6_by_network(one: str, other: str, is_same: bool) -> None:
    assert (block_of(one) == block_of(other)) is is_same


@pytest.mark.waits
@pytest.mark.skipif(sys.platform != "linux", reason="127.0.0.2 is an address of Linux alone")
async def test_silent_connections_of_one_host_take_no_place_of_another(files: Files) -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as door:
        door._handshakes._most = 3  # type: ignore[union-attr]  # it has some
        slow, of_slow = await asyncio.open_connection(door.host, door.port, local_addr=("127.0.0.2", 0))
        silent = [await asyncio.open_connection(door.host, door.port) for _ in range(6)]
        for reader, _ in silent[:4]:
            assert await _is_closed(reader)

        await of_slow.start_tls(files.client(), server_hostname="127.0.0.1")
        of_slow.write(f"GET /livez HTTP/1.0\r\nHost: {door.host}:{door.port}\r\n\r\n".encode())
        assert b"200" in await slow.readline()
        for writer in (of_slow, *(writer for _, writer in silent)):
            writer.close()


async def _is_closed(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.waits
async def test_a_handshake_that_fails_in_whichever_way_takes_no_other_with_it(
    files: Files, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    start_tls = loop.start_tls
    begun = 0

    async def failing_once(*given: Any, **options: Any) -> asyncio.Transport | None:  # Any: as in asyncio
        nonlocal begun
        begun += 1
        if begun == 1:
            raise RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed")
        return await start_tls(*given, **options)

    monkeypatch.setattr(loop, "start_tls", failing_once)
    async with Peer() as peer, HttpDoor(peer, port=0, tls=files.server()) as door:
        with pytest.raises((ConnectionError, ssl.SSLError)):
            await asyncio.open_connection(door.host, door.port, ssl=files.client())
        async with gsg.connect(door.url, tls=files.client()) as client:
            assert await client.insert([("still", "here")]) == 1
        counted = {count.name: count.count for count in door._counted()}

    assert counted["http_handshakes_failed"] == 1
    assert "has failed: RuntimeError: unable to perform operation" in caplog.text
