"""A peer that says to a client what a test wants, one connection after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from gsg.http.protocol import AskDoors, Doors, Reply, Request

Answer = Callable[[int, Request], list[Reply]]
"""What is said to a request on the connection with this number, from 0."""


class ScriptedPeer:
    """Answers each request as its script says, and keeps the requests, but for those for doors, with their connection's number."""

    def __init__(self, script: Answer) -> None:
        self.script = script
        self.url = ""
        self.requests: asyncio.Queue[tuple[int, Request]] = asyncio.Queue()
        self.sockets: list[ServerConnection] = []
        self.doors: list[str] = []

    async def talk(self, socket: ServerConnection) -> None:
        number = len(self.sockets)
        self.sockets.append(socket)
        with suppress(ConnectionClosed):
            async for data in socket:
                request: Request = msgspec.msgpack.decode(data, type=Request)  # type: ignore[arg-type]  # binary frames only
                if isinstance(request, AskDoors):
                    await self.say(number, Doors(request.request, self.doors))
                    continue
                self.requests.put_nowait((number, request))
                for reply in self.script(number, request):
                    await self.say(number, reply)

    async def say(self, number: int, reply: Reply) -> None:
        """Send on the connection with this number."""
        await self.sockets[number].send(msgspec.msgpack.encode(reply))

    def cut(self, number: int) -> None:
        """End that connection without a word."""
        self.sockets[number].transport.abort()


@asynccontextmanager
async def scripted(script: Answer) -> AsyncIterator[ScriptedPeer]:
    """One, at a free port."""
    peer = ScriptedPeer(script)
    async with serve(peer.talk, "127.0.0.1", 0, compression=None) as server:
        peer.url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}"
        yield peer
