"""Peers with doors, in this process, for tests over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import gsg
from pedro_compat.door.door import PedroDoor


@asynccontextmanager
async def doors(count: int, **options: Any) -> AsyncIterator[list[tuple[gsg.Peer, PedroDoor]]]:
    """Peers that know each other, each with a door; an option that is a list has one value for each door."""
    async with AsyncExitStack() as stack:
        made: list[tuple[gsg.Peer, PedroDoor]] = []
        for number in range(count):
            own = {name: value[number] if isinstance(value, list) else value for name, value in options.items()}
            peer = await stack.enter_async_context(gsg.Peer(join=[made[0][0].contact.address] if made else []))
            made.append((peer, await stack.enter_async_context(PedroDoor(peer, port=0, **own))))
        yield made


async def until_served(door: PedroDoor, clients: int) -> None:
    """Until the door has noticed who left."""
    async with asyncio.timeout(10):
        while door.clients > clients:  # noqa: ASYNC110  # the door has no business telling tests
            await asyncio.sleep(0)
