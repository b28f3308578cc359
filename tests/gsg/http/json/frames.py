"""The exchanges of docs/protocol/*.jsonl, and whether what a peer answers is what they say."""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Any

from doors import endpoint
from websockets.asyncio.client import connect

from gsg.http.door import HttpDoor
from gsg.http.json.form import SUBPROTOCOL

PROTOCOL = Path(__file__).resolve().parents[4] / "docs" / "protocol"

_PLACES = {
    "<time>": re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
    "<number>": re.compile(r"-?\d+(?:\.\d+)?"),
    "<peer>": re.compile(r"[0-9a-f]{40}"),
    "<text>": re.compile(r"(?s).+"),
}
PATIENCE_S = 10
"""After this, what should have come by then is missing."""
MORE = "..."
"""A name by which an object says that it may have others besides."""


def exchanges(name: str) -> list[Any]:
    """Those of a file, in order."""
    return [json.loads(line) for line in (PROTOCOL / name).read_text("utf-8").splitlines()]


def fits(expected: Any, found: Any) -> bool:
    """Whether what was answered is what was expected, with whatever stands in the places of placeholders."""
    if isinstance(expected, str) and expected in _PLACES:
        text = found if isinstance(found, str) else json.dumps(found)
        return _PLACES[expected].fullmatch(text) is not None and isinstance(found, str) is (expected != "<number>")
    if isinstance(expected, dict) and isinstance(found, dict):
        names = expected.keys() - {MORE}
        return (MORE in expected or names == found.keys()) and all(
            name in found and fits(expected[name], found[name]) for name in names
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(fits, expected, found))
    return type(expected) is type(found) and expected == found


def by_id(messages: list[Any]) -> dict[int, list[Any]]:
    """Messages of each request or subscription, in order: that of different ones is not promised."""
    found: dict[int, list[Any]] = defaultdict(list)
    for message in messages:
        found[message["id"]].append(message)
    return found


async def replay(door: HttpDoor, name: str) -> list[tuple[Any, list[Any]]]:
    """Each exchange of a file, and what a peer answers to it, as far as it does."""
    replayed = []
    async with connect(endpoint(door), subprotocols=[SUBPROTOCOL]) as socket:  # type: ignore[list-item]  # a name is a str
        for exchange in exchanges(name):
            await socket.send(exchange.get("send_text") or json.dumps(exchange["send"]))
            found: list[Any] = []
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    while len(found) < len(exchange["receive"]):
                        found.append(json.loads(await socket.recv()))
            replayed.append((exchange, found))
    return replayed
