"""Strangers on the socket of links: shown out with a reason that is counted, while others are served."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from linked_peers import Peer

from dht import frame
from dht.links.handshake import make_claim

GOOD_HELLO = make_claim(bytes(20), 7400, 1)
STRANGERS = {
    "a web browser": (b"GET / HTTP/1.1\r\n\r\n", "hello: the other side does not speak this protocol"),
    "a frame claiming 4 GB": (b"\xff\xff\xff\xff", "hello: the other side does not speak this protocol"),
    "another version": (GOOD_HELLO.replace(b"GSG1", b"GSG9"), "hello: the other side does not speak this protocol"),
    "a hello without a port": (make_claim(bytes(20), 0, 1), "hello: the other side names no port in its hello"),
    "4 GB after a good hello": (
        GOOD_HELLO + b"\xff\xff\xff\xff",
        "a frame header claims 4294967295 bytes; expected at most 16777216",
    ),
    "half a hello": (GOOD_HELLO[:10], "hello: none in time"),
    "nothing": (b"", "hello: none in time"),
}


@pytest.mark.parametrize(("said", "reason"), STRANGERS.values(), ids=STRANGERS.keys())
async def test_a_stranger_is_shown_out_with_a_counted_reason_and_others_are_served(said: bytes, reason: str) -> None:
    rng = Random(1)
    server = Peer("127.0.0.1", rng, port=0, handshake_s=0.05)
    client = Peer("127.0.0.1", rng, port=0)
    async with asyncio.timeout(10), server.links, client.links:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.links.port)
        writer.write(said)
        # The end of the stream, or its reset: either way it is over.
        await until_over(reader)
        writer.close()
        assert server.links.counts == {reason: 1}

        (await client.links.connect(server.contact)).send(b"business as usual")
        assert await server.frames.get() == b"business as usual"


async def test_a_frame_in_many_pieces_arrives_whole() -> None:
    server = Peer("127.0.0.1", Random(1), port=0)
    async with asyncio.timeout(10), server.links:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.links.port)
        for byte in GOOD_HELLO + frame(b"piecemeal"):
            writer.write(bytes([byte]))
            await writer.drain()
        assert await server.frames.get() == b"piecemeal"
        assert (await reader.readexactly(len(GOOD_HELLO)))[4:28] == b"GSG1" + server.links.id
        writer.close()
        assert await server.lost.get() == "the other side closed it"


async def test_a_peer_that_ends_in_the_middle_of_a_frame_is_reported_so() -> None:
    server = Peer("127.0.0.1", Random(1), port=0)
    async with asyncio.timeout(10), server.links:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.links.port)
        writer.write(GOOD_HELLO + frame(b"whole") + frame(b"half")[:6])
        assert await server.frames.get() == b"whole"
        assert (await reader.readexactly(len(GOOD_HELLO)))[4:28] == b"GSG1" + server.links.id
        writer.close()
        assert await server.lost.get() == "the other side closed it in the middle of a frame"


async def until_over(reader: asyncio.StreamReader) -> None:
    try:
        while await reader.read(1000):
            pass
    except ConnectionResetError:
        pass
