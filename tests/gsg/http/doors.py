"""What tests of the HTTP door ask again and again."""

from __future__ import annotations

from contextlib import suppress

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

import gsg
from gsg import (
    LiveSubscription,
    Symbol,
)
from gsg.http.door import HttpDoor
from gsg.http.protocol import (
    Reply,
)

ON = Symbol("on")
DECODE = msgspec.msgpack.Decoder(Reply).decode
DECODE_JSON = msgspec.json.Decoder(Reply).decode


def reply(frame: bytes | str) -> Reply:
    """What the peer says in a frame."""
    answer: Reply = DECODE_JSON(frame) if isinstance(frame, str) else DECODE(frame)
    return answer


def endpoint(door: HttpDoor) -> str:
    """Where its WebSocket is."""
    return f"ws://{door.host}:{door.port}/v1"


async def read(subscription: LiveSubscription, count: int) -> list[str]:
    """So many differences, waited for."""
    texts: list[str] = []
    while len(texts) < count:
        texts += [f"{sign}{row}" for sign, row in await subscription.batch(count - len(texts))]
    return texts


async def still_serves(door: HttpDoor) -> None:
    """Another client gets what it asks for."""
    async with gsg.connect(door.url) as other:
        assert await other.insert([("still", "here")]) == 1
        assert await other.retract([("still", "here")]) == 1


async def closed(socket: ClientConnection) -> int | None:
    """Read to the end; the code that the peer closed with."""
    with suppress(ConnectionClosed):
        while True:
            await socket.recv()
    return socket.close_code


async def no_feeds(door: HttpDoor) -> None:
    """Until no subscription stands; each question gives the peer a turn."""
    async with gsg.connect(door.url) as client:
        while (await client.report()).peers[0].feeds:
            pass
