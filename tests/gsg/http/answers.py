"""What the HTTP door answers to a plain request."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from typing import NamedTuple

from gsg.http.door import HttpDoor


class Answer(NamedTuple):
    status: int
    media_type: str
    body: str


def get(url: str, **headers: str) -> Answer:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return Answer(answer.status, answer.headers["content-type"], answer.read().decode())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.headers["content-type"], error.read().decode())


async def asked(door: HttpDoor, target: str, **headers: str) -> Answer:
    return await asyncio.to_thread(get, door.url + target, **headers)
