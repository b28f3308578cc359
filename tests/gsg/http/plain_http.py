"""HTTP as it goes over the wire: requests and answers, bodies in parts, and streams of events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import urlencode

from gsg.http.door import HttpDoor

Fields = Mapping[str, str] | list[tuple[str, str]]
PATIENCE_S = 30
"""After this, an answer that should have come by then is missing."""


class Answer(NamedTuple):
    """What a peer answers; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def media_type(self) -> str:
        """That of its body, with parameters."""
        return self.headers["content-type"]

    @property
    def text(self) -> str:
        """Its body."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The same."""
        return json.loads(self.body)


class Connection:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of an answer."""
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        fields = (line.partition(": ") for line in lines)
        return int(first.split()[1]), {name.lower(): text for name, _, text in fields}

    async def answer(self) -> Answer:
        """A whole answer, after which the connection is closed."""
        status, headers = await self.head()
        return Answer(status, headers, await self.reader.read())

    async def send_part(self, part: bytes) -> None:
        """A part of a body that is sent in parts; an empty one is its end."""
        self.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
        await self.writer.drain()


@asynccontextmanager
async def connected(door: HttpDoor, method: str, path: str, **headers: str) -> AsyncIterator[Connection]:
    """A connection by which the head of a request was sent: in HTTP/1.0, whose answers end with it, but for a body in parts."""
    reader, writer = await asyncio.open_connection(door.host, door.port, limit=32 * 1024 * 1024)
    said = {"host": f"{door.host}:{door.port}", "connection": "close"} | {
        name.replace("_", "-"): text for name, text in headers.items()
    }
    version = "1.1" if "transfer_encoding" in headers else "1.0"
    head = "".join(f"{name}: {text}\r\n" for name, text in said.items())
    writer.write(f"{method} {path} HTTP/{version}\r\n{head}\r\n".encode())
    try:
        yield Connection(reader, writer)
    finally:
        writer.transport.abort()


def url_with(path: str, fields: Fields) -> str:
    """A path with parameters."""
    return f"{path}?{urlencode(fields)}"


async def request(
    door: HttpDoor, method: str, path: str, body: bytes | str | Any = None, headers: Mapping[str, str] | None = None
) -> Answer:
    """What the peer answers to a whole request, on a connection of its own; what is neither bytes nor a text is sent as JSON."""
    said = {name.lower().replace("-", "_"): text for name, text in (headers or {}).items()}
    if isinstance(body, str):
        body = body.encode()
    elif body is not None and not isinstance(body, bytes):
        body, said = json.dumps(body).encode(), {"content_type": "application/json", **said}
    if body is not None or method in ("POST", "PUT"):
        said["content_length"] = str(len(body or b""))
    async with asyncio.timeout(PATIENCE_S), connected(door, method, path, **said) as connection:
        connection.writer.write(body or b"")
        return await connection.answer()


class Event(NamedTuple):
    """A server-sent event."""

    name: str
    id: str
    data: Any

    def __str__(self) -> str:
        return f"{self.data['sign']}{self.data['row']['x']}" if self.name == "row" else self.name


class Events:
    """A stream of them."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.comments = 0

    async def next(self) -> Event | None:
        """The next one; None at the end."""
        fields: dict[str, str] = {}
        while line := (await self.connection.reader.readline()).decode():
            name, _, text = line.rstrip("\n").partition(":")
            if name:
                fields[name] = text.strip()
            elif "data" in fields:
                return Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            elif text == "" and line != "\n":
                self.comments += 1
        return None

    async def some(self, count: int) -> list[Event]:
        """The next so many."""
        found = [await self.next() for _ in range(count)]
        return [each for each in found if each is not None]

    async def texts(self, count: int) -> list[str]:
        """The same, each in a word."""
        return [str(each) for each in await self.some(count)]


@asynccontextmanager
async def watching(
    door: HttpDoor, query: str = "(?x)", last: str = "", *, headers: Mapping[str, str] | None = None, **parameters: str
) -> AsyncIterator[Events]:
    """The events of a query."""
    path = url_with("/watch", {"query": query, **parameters})
    headers = {**(headers or {}), **({"last_event_id": last} if last else {})}
    async with connected(door, "GET", path, **headers) as connection:
        status, said = await connection.head()
        assert (status, said["content-type"]) == (200, "text/event-stream; charset=utf-8")
        yield Events(connection)
