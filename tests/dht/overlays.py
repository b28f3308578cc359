"""Overlays over a simulated network, each at a host of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from dht import Overlay, random_id
from dht.simnet import SimNet

PORT = 7400


def overlay(net: SimNet, host: str | None = None, **options: object) -> Overlay:
    rng = net.rng()
    return Overlay(random_id(rng), host or net.host(), PORT, rng=rng, **options)  # type: ignore[arg-type]  # as Overlay takes them


@asynccontextmanager
async def network(net: SimNet, size: int, **options: object) -> AsyncIterator[list[Overlay]]:
    """Peers that each joined through the one before: a chain."""
    async with AsyncExitStack() as stack:
        peers: list[Overlay] = []
        for _ in range(size):
            peer = await stack.enter_async_context(overlay(net, **options))
            await peer.join([peers[-1].contact.address] if peers else [])
            peers.append(peer)
        yield peers
