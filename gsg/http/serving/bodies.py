"""Bodies of requests: whole ones, bounded by bytes and time, all of them together by bytes; and line by line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import Request

from ...errors import RemoteError, TooLarge

BODY_S: Final = 60.0
"""How long a whole body may take to come; of one that takes longer, TimeoutError is raised."""
ALL_BODIES_BYTES: Final = 256 * 1024 * 1024
"""What the bodies of all requests that are being read or carried out may have together; one more is told to try again."""
MAX_LINE_BYTES: Final = 1024 * 1024
"""The longest line of a body that comes line by line."""


class Bodies:
    """Those of one door."""

    def __init__(self, limit_bytes: int = ALL_BODIES_BYTES) -> None:
        self.held_bytes = 0
        self._limit_bytes = limit_bytes

    @asynccontextmanager
    async def whole(self, request: Request, most_bytes: int) -> AsyncIterator[bytes]:
        """The whole body, which counts until it is left.

        Raises TooLarge, TimeoutError, RemoteError where the bodies of others take too much, and starlette's ClientDisconnect.
        """
        declared = request.headers.get("content-length", "")
        if declared.isdigit() and int(declared) > most_bytes:
            raise _too_large(declared, most_bytes)
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(BODY_S):
                async for part in request.stream():
                    size += len(part)
                    self.held_bytes += len(part)
                    if size > most_bytes:
                        raise _too_large(str(size), most_bytes)
                    if self.held_bytes > self._limit_bytes:
                        raise RemoteError("requests of others fill what this peer has for their bodies; try again in a moment")
                    parts.append(part)
            yield b"".join(parts)
        finally:
            self.held_bytes -= size


class Lines:
    """The lines of bytes that come in parts. Pure."""

    def __init__(self, most_bytes: int = MAX_LINE_BYTES) -> None:
        self._most_bytes = most_bytes
        self._begun: list[bytes] = []
        """Of a line whose end has not come. Limit: ``most_bytes``."""
        self._begun_bytes = 0

    def feed(self, part: bytes) -> list[bytes]:
        """The lines that end in this part, without their ends. Raises TooLarge for a line that is too long."""
        *whole, rest = part.split(b"\n")
        if not whole:
            self._keep(rest)
            return []
        whole[0] = b"".join([*self._begun, whole[0]])
        self._begun, self._begun_bytes = [], 0
        self._keep(rest)
        return whole

    def end(self) -> list[bytes]:
        """The last line, where it has no end."""
        rest, self._begun, self._begun_bytes = b"".join(self._begun), [], 0
        return [rest] if rest else []

    def _keep(self, rest: bytes) -> None:
        self._begun_bytes += len(rest)
        if self._begun_bytes > self._most_bytes:
            raise TooLarge(f"a line of {self._begun_bytes:,} bytes or more; expected at most {self._most_bytes:,}: one tuple each")
        if rest:
            self._begun.append(rest)


def _too_large(size: str, most_bytes: int) -> TooLarge:
    return TooLarge(
        f"a body of {size:.30} bytes or more; expected at most {most_bytes:,}: cut it into several, or send it line by line as "
        "application/x-ndjson"
    )
