"""Overlays over a simulated network: do they find the right owners, whatever happens?"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

from dht import Contact, Overlay, distance, random_id
from dht.simnet import SimNet, run

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


def closest(peers: Sequence[Overlay], key: bytes, r: int) -> tuple[Contact, ...]:
    """The definition: the r nearest of all."""
    return tuple(sorted((peer.contact for peer in peers), key=lambda each: distance(each.id, key))[:r])


async def wrong_owners(peers: Sequence[Overlay], living: Sequence[Overlay], rng: Random, keys: int = 3) -> list[str]:
    """Where what a peer believes differs from the definition."""
    wrong = []
    for peer in peers:
        for _ in range(keys):
            key = random_id(rng)
            found = await peer.owners(key, r=3)
            if found != closest(living, key, 3):
                wrong.append(f"{peer.contact} on {key.hex()[:8]}: {[str(each) for each in found]}")
    return wrong


def test_peers_that_joined_in_a_chain_agree_on_every_owner() -> None:
    async def main(net: SimNet) -> list[str]:
        async with network(net, 50) as peers:
            await asyncio.sleep(60)
            return await wrong_owners(peers, peers, net.rng())

    assert run(main, seed=1) == []
