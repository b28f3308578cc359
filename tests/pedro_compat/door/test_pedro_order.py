"""FIFO for each publisher and receiver, whatever functors there are and by whichever peers they travel."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

from pedro_doors import doors

import dht
import gsg
from dht.simnet import SimNet, run
from gsg.placement.holders import UNSURE_S
from gsg.tuples.features import key
from pedro_compat import AsyncClient
from pedro_compat.door.door import PedroDoor

PORT = 7400


def functors(peers: Sequence[gsg.Peer], count: int, *, arity: int) -> list[str]:
    """Functors that have different peers as their rendezvous, of those given in turn."""

    def home(functor: str) -> gsg.Peer:
        return min(peers, key=lambda peer: dht.distance(peer.contact.id, key(arity, 0, gsg.Symbol(functor))))

    homes = {home(f"f{number}"): f"f{number}" for number in range(1000)}
    return [homes[peer] for peer in peers[:count]]


async def hear_in_order(sender: AsyncClient, receiver: AsyncClient, said: Sequence[str]) -> list[str]:
    """What the receiver hears of these lines, which are sent without waiting for answers in between."""
    async with asyncio.TaskGroup() as tasks:
        for line in said:
            tasks.create_task(sender.send(line))
    heard = []
    async with asyncio.timeout(30):
        while len(heard) < len(said):
            heard.append((await receiver.delivery()).line)
    return heard


def test_notifications_of_different_functors_keep_their_order_on_the_way_to_another_peer() -> None:
    async def main(net: SimNet) -> None:
        async with AsyncExitStack() as stack:
            peers: list[gsg.Peer] = []
            for _ in range(4):
                join = [peer.contact.address for peer in peers[:1]]
                peer = gsg.Peer((net.host(), PORT), join, rng=net.rng(), clock=net.loop.time)
                peers.append(await stack.enter_async_context(peer))
            doors = [await stack.enter_async_context(PedroDoor(peer, peer.contact.host, 0)) for peer in (peers[0], peers[3])]
            sender, receiver = [await stack.enter_async_context(AsyncClient(door.host, door.port, reconnect_s=0)) for door in doors]
            names = functors(peers, 4, arity=2)
            for name in names:
                await receiver.subscribe(f"{name}(N)")
            # While peers are unsure of their keys all lines go by all rendezvous, and afterwards each by its own.
            for pause_s in (0.0, UNSURE_S + 5, 5.0, 5.0):
                await asyncio.sleep(pause_s)
                said = [f"{names[number % 4]}({number})" for number in range(200)]

                assert await hear_in_order(sender, receiver, said) == said

            # One by one, so that each line is a message of its own.
            said = [f"{names[number * 7 % 4]}({number})" for number in range(50)]
            for line in said:
                await sender.send(line)
            assert [(await receiver.delivery()).line for _ in said] == said

    run(main, seed=5)


async def test_notifications_and_messages_keep_their_order_over_real_sockets() -> None:
    async with (
        doors(3) as [(one, first), (two, _), (three, third)],
        AsyncClient(port=first.port) as sender,
        AsyncClient(port=third.port) as receiver,
    ):
        names = functors([one, two, three], 3, arity=2)
        await sender.register("sender")
        await receiver.register("receiver")
        for name in names:
            await receiver.subscribe(f"{name}(N)")
        said = []
        for number in range(300):
            said.append(f"{names[number % 3]}({number})")
            if number % 10 == 0:
                said.append(f"p2pmsg(receiver@localhost, sender@localhost, m({number}))")

        heard = await hear_in_order(sender, receiver, said)

        numbers = [int(line.rpartition("(")[2].rstrip(")")) for line in heard]
        assert numbers == sorted(numbers)
