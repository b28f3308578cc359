"""A door of a peer of its own, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

import gsg
from gsg import (
    AsyncClient,
    Peer,
)
from gsg.http.door import HttpDoor


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    """The door of a peer of its own."""
    async with Peer() as peer, HttpDoor(peer, port=0) as made:
        yield made


@pytest.fixture
async def client(door: HttpDoor) -> AsyncIterator[AsyncClient]:
    async with gsg.connect(door.url) as made:
        yield made
