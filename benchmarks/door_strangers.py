"""What strangers do at the HTTP door who never become clients, for door_beside.py: each says in the end what it was answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import TypeAlias
from urllib.parse import urlsplit

Stranger: TypeAlias = Callable[[str], Awaitable[str]]
Answering: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]

SOCKETS = 1_000
FLOOD_S = 3.0


async def idle_sockets(url: str) -> str:
    """As many connections that ask for nothing, until the door ends them or for FLOOD_S."""
    async with AsyncExitStack() as stack:
        for _ in range(SOCKETS):
            await _open(url, stack)
        await asyncio.sleep(FLOOD_S)
        return f"{SOCKETS} opened"


async def slow_heads(url: str) -> str:
    """As many that say a header every tenth of a second, and never their last (slowloris)."""
    async with AsyncExitStack() as stack:
        opened = [await _open(url, stack) for _ in range(SOCKETS)]
        for _, writer in opened:
            writer.write(b"GET /status HTTP/1.1\r\nHost: localhost\r\n")
        for number in range(int(FLOOD_S * 10)):
            for _, writer in opened:
                with suppress(OSError):
                    writer.write(b"X-%d: 1\r\n" % number)
            await asyncio.sleep(0.1)
        return f"{SOCKETS} said their heads slowly"


async def header_flood(url: str) -> str:
    """A megabyte of headers a request, again and again."""
    return await _repeat(url, b"GET /status HTTP/1.1\r\nHost: localhost\r\n" + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n")


async def deep_json(url: str) -> str:
    """Bodies of brackets."""
    return await _repeat(url, _post("/facts", b"[" * 1_000_000, "application/json"))


async def large_bodies(url: str) -> str:
    """Bodies of which a door takes none, said to be 100 MB."""
    return await _repeat(url, _post("/sparql", b"x" * 100_000, "application/sparql-query", length=100_000_000))


STRANGERS: dict[str, Stranger] = {
    "1,000 sockets that ask nothing": idle_sockets,
    "1,000 heads that never end": slow_heads,
    "headers of a megabyte": header_flood,
    "deep JSON": deep_json,
    "bodies said to be 100 MB": large_bodies,
}


def _post(path: str, body: bytes, media_type: str, *, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {media_type}\r\n"
    return f"{head}Content-Length: {size}\r\n\r\n".encode() + body


async def _open(url: str, stack: AsyncExitStack) -> Answering:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    stack.callback(writer.transport.abort)
    return reader, writer


async def _repeat(url: str, request: bytes) -> str:
    """Ask for the same by new connections for FLOOD_S; how often which status was answered."""
    told: Counter[str] = Counter()
    until_s = asyncio.get_running_loop().time() + FLOOD_S
    while asyncio.get_running_loop().time() < until_s:
        async with AsyncExitStack() as stack:
            reader, writer = await _open(url, stack)
            writer.write(request)
            try:
                told[(await reader.readline()).decode().strip()[9:12] or "closed"] += 1
            except OSError:
                told["closed"] += 1
    return ", ".join(f"{count:,} times {status}" for status, count in told.most_common())
