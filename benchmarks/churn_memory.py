"""Many peers of one process over a simulated network, in virtual time: the same seed gives the same figures on every machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Any

from benchmarks.churn_crowd import Crowd, Member, Tally, all_of_a_kind, facts, queries
from dht.simnet import net as simnet
from gsg import LiveSubscription, Peer
from gsg.explain.explanations import HeldKey
from gsg.tuples.features import Key

PORT = 7400
JOINING = 8
"""Peers that join at once."""
SETTLED_S = 20.0
MEETS_S = 150.0
"""By when the parts of a network that was cut are to be one again: old addresses are called at every two minutes at least."""


class InMemory:
    """A peer as :class:`benchmarks.churn_crowd.Door`."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer

    async def insert(self, tuples: Iterable[Iterable[object]]) -> int:
        """As :meth:`gsg.Peer.insert`."""
        return await self.peer.insert(tuples)

    async def retract(self, tuples: Iterable[Iterable[object]]) -> int:
        """As :meth:`gsg.Peer.retract`."""
        return await self.peer.retract(tuples)

    async def subscribe(self, text: str) -> LiveSubscription:
        """As :meth:`gsg.Peer.subscribe`."""
        return await self.peer.subscribe(text)

    async def keys(self, keys: Sequence[Key], *, find: bool = False) -> list[HeldKey]:
        """As :meth:`gsg.monitoring.inspection.Inspection.keys`."""
        return await self.peer.inside.keys(keys, find=find)


class World:
    """Peers by id, with the network under them."""

    def __init__(self, net: simnet.SimNet, tally: Tally) -> None:
        self.net = net
        self.peers: dict[bytes, Peer] = {}
        self.crowd = Crowd([], net.rng(), tally)
        self._ending: list[asyncio.Task[bool | None]] = []

    async def begin(self, size: int) -> None:
        """So many peers that know each other."""
        places = asyncio.Semaphore(JOINING)
        began_s = self.net.loop.time()

        async def enter() -> None:
            async with places:
                entries = [peer.contact.address for peer in self.peers.values()]
                join = [self.crowd.rng.choice(entries)] if entries else []
                peer = Peer((self.net.host(), PORT), join, rng=self.net.rng(), clock=self.net.loop.time)
                await peer.__aenter__()
                self.peers[peer.contact.id] = peer
                self.crowd.living.append(Member(peer.contact.id, InMemory(peer)))

        await enter()
        await asyncio.gather(*(enter() for _ in range(size - 1)))
        self.crowd.tally.say(f"{size} peers joined", "", f"{self.net.loop.time() - began_s:.1f} s")
        await asyncio.sleep(SETTLED_S)
        await self.crowd.known()

    def die(self, members: Iterable[Member]) -> None:
        """As when their power fails: nobody is told, and links stand."""
        for member in members:
            self._power_off(self.peers.pop(member.id))

    async def end(self) -> None:
        """All of them."""
        for peer in self.peers.values():
            self._power_off(peer)
        await asyncio.gather(*self._ending)

    def _power_off(self, peer: Peer) -> None:
        self.net.crash(peer.contact.host, quietly=True)
        self._ending.append(asyncio.get_running_loop().create_task(peer.__aexit__(ConnectionError, None, None)))


def run(size: int, seed: int, loss: float, tally: Tally, work: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """``work`` with so many peers."""

    async def main(net: simnet.SimNet) -> None:
        world = World(net, tally)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(world.end)
            await world.begin(size)
            await work(world)

    simnet.run(main, seed=seed, loss=loss)


async def cut(world: World, number_of_facts: int, cut_s: float) -> None:
    """Cut the network in two halves that both go on, and see how it heals."""
    crowd, net = world.crowd, world.net
    halves = crowd.living[::2], crowd.living[1::2]
    made = facts(number_of_facts, crowd.rng)
    before, apart = made[: len(made) // 2], made[len(made) // 2 :]
    await crowd.publish(before, crowd.living)
    await crowd.subscribe(queries(), crowd.living)
    net.partition([[world.peers[member.id].contact.host for member in half] for half in halves])
    healed_s = net.loop.time() + cut_s
    # Until the others count as dead, holders are waited for in vain, and publishers told so.
    await asyncio.sleep(cut_s / 2)
    await crowd.publish(apart[::2], halves[0])
    await crowd.publish(apart[1::2], halves[1])
    await crowd.publish(before[::10], halves[0], gone=True)
    await asyncio.sleep(healed_s - net.loop.time())
    net.heal()
    crowd.tally.say(f"cut in two for {cut_s:.0f} s; published meanwhile, and retracted", "", f"{len(apart)}, {len(before[::10])}")
    await crowd.until_held(net.loop.time(), wanted_s=MEETS_S)
    await crowd.compare(all_of_a_kind())
    await crowd.look_up(10.0)
