"""Plain HTTP requests to a door, as any program makes them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import NamedTuple
from urllib.parse import urlencode

from gsg.http.door import HttpDoor

Fields = Mapping[str, str] | list[tuple[str, str]]


class Answered(NamedTuple):
    """What came back; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def url_with(path: str, fields: Fields) -> str:
    """A path with parameters."""
    return f"{path}?{urlencode(fields)}"


async def request(
    door: HttpDoor, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
) -> Answered:
    """One request on a connection of its own."""

    def ask() -> Answered:
        connection = HTTPConnection(door.host, door.port, timeout=30)
        try:
            connection.request(method, path, body.encode() if isinstance(body, str) else body, dict(headers or {}))
            response = connection.getresponse()
            return Answered(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()

    return await asyncio.to_thread(ask)
