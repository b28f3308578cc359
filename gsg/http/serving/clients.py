"""The clients that a door serves for long: its WebSockets, and those who are sent a stream or send one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


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

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """As long as one is served."""
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
