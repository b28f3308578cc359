"""Pedro's clients when the rendezvous of what they asked for dies: they hear all, once and in order, and keep their names."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import AsyncExitStack

import pytest

import dht
import gsg
import gsg.churn.handover
import gsg.placement.holders
import gsg.placement.responsibility
from dht.simnet import SimNet, run
from gsg.errors import Refused
from gsg.tuples.features import Key, key
from pedro_compat import AsyncClient
from pedro_compat.door.addresses import MESSAGE_PLACE, message_event
from pedro_compat.door.door import PedroDoor

PORT = 7400
SOON_S = 20.0
"""Until nobody is unsure any more; shortened, so that less virtual time is to be run through."""


def primary(peers: list[gsg.Peer], feature: Key) -> gsg.Peer:
    return min(peers, key=lambda peer: dht.distance(peer.contact.id, key(*feature)))


async def one_line(client: AsyncClient) -> str:
    delivery = await client.delivery()
    assert delivery is not None
    return delivery.line


async def lines(client: AsyncClient, count: int) -> list[str]:
    """What a client is delivered; one more than expected shows as well."""
    heard: list[str] = []
    async with asyncio.timeout(60):
        while len(heard) < count:
            heard.append(await one_line(client))
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(10):
            heard.append(await one_line(client))
    return heard


@pytest.mark.parametrize("quietly", [False, True], ids=["reset", "without a word"])
@pytest.mark.parametrize("messages", [False, True], ids=["notifications", "messages"])
def test_clients_hear_all_when_the_rendezvous_dies(monkeypatch: pytest.MonkeyPatch, messages: bool, quietly: bool) -> None:
    settling = (gsg.placement.responsibility, "SETTLING_S"), (gsg.churn.handover, "SETTLING_S")
    for module, name in ((gsg.placement.holders, "UNSURE_S"), *settling):
        monkeypatch.setattr(module, name, SOON_S)

    async def main(net: SimNet) -> None:
        async with AsyncExitStack() as stack:
            peers: list[gsg.Peer] = []
            for _ in range(5):
                peer = gsg.Peer((net.host(), PORT), [one.contact.address for one in peers[:1]], rng=net.rng(), clock=net.loop.time)
                peers.append(await stack.enter_async_context(peer))
            here, there = peers[:2]
            names = [f"name{number}" for number in range(100)]
            addressed = [message_event(name, None) for name in names]
            features: list[Key] = [
                (len(items), MESSAGE_PLACE, items[MESSAGE_PLACE]) if messages else (2, 0, gsg.Symbol(name))
                for name, items in zip(names, addressed, strict=True)
            ]
            dying, name = next(
                (peer, name)
                for name, feature in zip(names, features, strict=True)
                if (peer := primary(peers, feature)) not in (here, there)
            )
            doors = [await stack.enter_async_context(PedroDoor(peer, peer.contact.host, 0)) for peer in (here, there)]
            sender, receiver, thief = [
                await stack.enter_async_context(AsyncClient(door.host, door.port, reconnect_s=0)) for door in (*doors, doors[1])
            ]
            await receiver.subscribe(f"{name}(N)")
            await sender.register("sender")
            await receiver.register(name)
            await asyncio.sleep(SOON_S + 10)
            line = f"p2pmsg({name}@_, {sender.handle}, m({{}}))" if messages else f"{name}({{}})"

            net.loop.call_later(0.5, lambda: net.crash(dying.contact.host, quietly=quietly))
            for number in range(40):
                assert await sender.send(line.format(number)) == 1
                await asyncio.sleep(0.02)
            with pytest.raises(Refused):
                await thief.register(name)

            heard = await lines(receiver, 40)
            assert [said.rsplit("(", 1)[1].rstrip(")") for said in heard] == [str(number) for number in range(40)]

    run(main, seed=5)
