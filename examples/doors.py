"""Peers with Pedro doors for the examples that need some: in this process, on free ports of the loopback."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import gsg
from pedro_compat import AsyncClient, PedroDoor


@asynccontextmanager
async def agents(*names: str) -> AsyncIterator[list[AsyncClient]]:
    """A client for each name, registered, each at the door of a peer of its own."""
    # All clients leave before the first peer does: what they listen to need not be set up elsewhere then.
    async with AsyncExitStack() as overlay, AsyncExitStack() as leaving:
        peers: list[gsg.Peer] = []
        clients = []
        for name in names:
            peers.append(await overlay.enter_async_context(gsg.Peer(join=[peers[0].contact.address] if peers else [])))
            door = await overlay.enter_async_context(PedroDoor(peers[-1], port=0))
            client = await leaving.enter_async_context(AsyncClient(port=door.port))
            await client.register(name)
            clients.append(client)
        yield clients


def run(work: Coroutine[Any, Any, object]) -> None:  # Any: what a coroutine passes to its loop concerns nobody
    """Run an example to its end, or until the reader of its output has gone, as in ``house.py | head``."""
    try:
        asyncio.run(work)
        sys.stdout.flush()
    except* BrokenPipeError:
        # What is still to be written goes nowhere, so that Python has nothing to complain of at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
