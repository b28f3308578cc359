"""Whole peers over a simulated network, in virtual time; here to sleep is to let the network settle, and costs nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import dht
from dht.simnet import SimNet, run
from gsg import LiveSubscription, Peer, Row
from gsg.tuples.features import key
from gsg.tuples.terms import Term

PORT = 7400
QUIET_S = 5.0
"""Longer than any message takes, and shorter than any of a peer's timeouts that would hide a loss."""


def make_peer(net: SimNet, join: Sequence[tuple[str, int]], **options: Any) -> Peer:  # Any: keywords of Peer
    """A peer of the simulated network, in its time."""
    return Peer((net.host(), PORT), join, rng=net.rng(), clock=net.loop.time, **options)


def stranger_of(net: SimNet, **callbacks: Any) -> dht.Links:  # Any: as dht.Links takes them
    """Links of somebody who proves who it is, and says what it likes."""
    rng = net.rng()
    membership = dht.Membership(dht.Identity(rng.randbytes(32)))
    options = {"on_frames": lambda link, payloads: None, **callbacks}
    return dht.Links(membership.id, net.host(), PORT, rng=rng, membership=membership, **options)


def guest_of(net: SimNet, peers: Sequence[Peer], **options: Any) -> Peer:  # Any: as above
    """A peer that joins others by the first of them."""
    return make_peer(net, [peer.contact.address for peer in peers[:1]], **options)


@asynccontextmanager
async def overlay(net: SimNet, size: int, **options: Any) -> AsyncIterator[list[Peer]]:  # Any: as above
    """Peers that know each other."""
    async with AsyncExitStack() as stack:
        peers: list[Peer] = []
        for _ in range(size):
            peers.append(await stack.enter_async_context(guest_of(net, peers, **options)))
        await quiet()
        yield peers


def simulate(
    work: Callable[[SimNet, list[Peer]], Coroutine[Any, Any, None]],  # Any: as coroutines have it
    *,
    seed: int,
    size: int = 5,
    **options: Any,  # Any: keywords of Peer
) -> None:
    """Run ``work`` with so many peers."""

    async def main(net: SimNet) -> None:
        async with overlay(net, size, **options) as peers:
            await work(net, peers)

    run(main, seed=seed)


async def quiet() -> None:
    """Until nothing is under way."""
    await asyncio.sleep(QUIET_S)


def rendezvous(peers: Sequence[Peer], arity: int, position: int, constant: Term) -> Peer:
    """The peer that is responsible for a feature, by the definition."""
    return min(peers, key=lambda peer: dht.distance(peer.contact.id, key(arity, position, constant)))


def others(peers: Sequence[Peer], *without: Peer) -> list[Peer]:
    """All peers but these."""
    return [peer for peer in peers if peer not in without]


async def unread(subscription: LiveSubscription) -> list[str]:
    """The differences that have come, as ``+?x=1``."""
    batch = await subscription.batch(subscription.pending) if subscription.pending else []
    return [f"{sign}{row}" for sign, row in batch]


class Reader:
    """Adds up the differences of a subscription and sees that no count is ever negative."""

    def __init__(self, subscription: LiveSubscription) -> None:
        self.subscription = subscription
        self.held: Counter[Row] = Counter()
        self.lowest = 0
        self.events: Counter[Row] = Counter()

    async def read(self) -> None:
        """Take what has come."""
        for sign, row in await self.subscription.batch(self.subscription.pending) if self.subscription.pending else []:
            if not sign:
                self.events[row] += 1
                continue
            self.held[row] += sign
            self.lowest = min(self.lowest, self.held[row])
        self.held = +self.held


def templates(peers: Sequence[Peer]) -> int:
    """Templates stored at all of them together."""
    return sum(peer._parts.rendezvous.conditions.templates() for peer in peers)


def feeds(peers: Sequence[Peer]) -> int:
    """Feeds of all of them together."""
    return sum(peer._parts.rendezvous.conditions.feeds() for peer in peers)
