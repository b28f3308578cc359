"""What is written to one socket in one turn of the event loop, given to it at once: each write is a call of the system, and wakes
whoever reads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

WRITE_BYTES = 64 * 1024
"""What waits for the end of the turn, at most; with more it is written at once."""


class GatheredWrites:
    """A transport in front of another one, which it is but for its writes. What waits when that one is aborted is lost, as is
    what that one itself still has."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._waiting: list[bytes] = []
        """Limit: WRITE_BYTES, in turns that last until they have been written."""
        self._size_bytes = 0

    def __getattr__(self, name: str) -> Any:  # Any: whatever a transport has
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Write in this turn."""
        if not data:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write_all)
        self._waiting.append(data)
        self._size_bytes += len(data)
        if self._size_bytes > WRITE_BYTES:
            self._write_all()

    def writelines(self, parts: Iterable[bytes]) -> None:
        """The same of several parts."""
        self.write(b"".join(parts))

    def get_write_buffer_size(self) -> int:
        """Bytes that the system has not taken yet."""
        return self._size_bytes + self._transport.get_write_buffer_size()

    def close(self) -> None:
        """Close when everything is written."""
        self._write_all()
        self._transport.close()

    def _write_all(self) -> None:
        waiting, self._waiting, self._size_bytes = self._waiting, [], 0
        if waiting and not self._transport.is_closing():
            self._transport.write(b"".join(waiting))
