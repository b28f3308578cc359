"""A real peer with a door on loopback, in a thread of this process, that can be lost and come back at its port."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType
from typing import Self

import gsg
from gsg.http.door import HttpDoor


class LoopbackPeer:
    """Serves from entering to leaving the block, and between :meth:`start` and :meth:`lose`."""

    def __init__(self) -> None:
        self.url = ""
        self._port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, without any facts, at the port that it had before."""
        ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        self._thread.start()
        assert ready.wait(60)

    def lose(self) -> None:
        """It is gone, and its facts with it."""
        assert self._loop is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with gsg.Peer() as peer, HttpDoor(peer, port=self._port) as door:
            self.url = door.url
            self._port = int(door.url.rpartition(":")[2])
            ready.set()
            await self._stop.wait()

    def insert(self, *tuples: tuple[object, ...]) -> None:
        """Make facts true."""
        with gsg.Client(self.url) as client:
            client.insert(tuples)

    def retract(self, *tuples: tuple[object, ...]) -> None:
        """Make facts untrue."""
        with gsg.Client(self.url) as client:
            client.retract(tuples)

    def notify(self, *tuples: tuple[object, ...]) -> None:
        """Say events."""
        with gsg.Client(self.url) as client:
            client.notify(tuples)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.lose()
