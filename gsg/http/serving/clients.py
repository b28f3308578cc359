"""The clients that a door serves for long: its WebSockets, and those who are sent a stream or send one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ...errors import DoorClosed, RemoteError

Found = TypeVar("Found")


class Clients:
    """How many there are, and may be; and whether the door is about to close, which ends the streams."""

    def __init__(self, most: int) -> None:
        self.count = 0
        self.closing = asyncio.Event()
        """Set when the door begins to close."""
        self._most = most

    @property
    def refusal(self) -> str:
        """Why one more is not served; empty where it is."""
        return f"{self._most} clients are served already; try again later" if self.count >= self._most else ""

    def check(self) -> None:
        """Raises RemoteError where one more is not served."""
        if self.refusal:
            raise RemoteError(self.refusal)

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """As long as one is served."""
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1

    async def unless_closing(self, waiting: Coroutine[Any, Any, Found]) -> Found:  # Any: what a coroutine yields to the loop
        """What is waited for. Raises DoorClosed, and ends the waiting, when the door begins to close."""
        asked, closing = asyncio.ensure_future(waiting), asyncio.ensure_future(self.closing.wait())
        try:
            await asyncio.wait((asked, closing), return_when=asyncio.FIRST_COMPLETED)
            if asked.done():
                return asked.result()
            raise DoorClosed("this peer is being stopped; go on at another one, or here when it is back")
        finally:
            await ended(asked, closing)


async def ended(*tasks: asyncio.Future[Any]) -> None:  # Any: whatever they return
    """Cancel these and wait until they are over."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
