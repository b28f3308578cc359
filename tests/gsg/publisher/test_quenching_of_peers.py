"""Whole peers while keys may be changing hands, and beside one that is stopped or dead: what nobody asks for does not travel, what
is asked for is heard, and nobody waits for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random

import pytest
from peers import guest_of, others, overlay, quiet, rendezvous, simulate

import rete
from dht.simnet import SimNet, run
from gsg import Peer
from gsg.placement.holders import UNSURE_S
from gsg.publisher.quenching import LEASE_S
from gsg.tuples.terms import Symbol, Tuple
from gsg.wire.messages import Event


def sent(peers: Sequence[Peer]) -> int:
    """Messages that went between peers."""
    return sum(peer._parts.exchange.traffic.messages for peer in peers)


async def hear(peer: Peer, name: Symbol) -> list[Tuple]:
    """What a listener of its own hears, from now on."""
    heard: list[Tuple] = []

    def on_event(event: Event, _: int) -> None:
        heard.append(event.items)

    template: rete.Template[object] = rete.Template((name, None))
    await peer.listen(template, on_event, anchor=0)  # type: ignore[arg-type]  # constants are terms
    return heard


def test_after_a_peer_has_died_what_nobody_asks_for_does_not_travel() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, *living, victim = peers
        name = Symbol("asked for")
        heard = await hear(living[0], name)
        net.crash(victim.contact.host, quietly=True)
        await asyncio.sleep(15)
        await publisher.notify([("nobody", "asks for this")])
        await quiet()
        assert publisher._parts.holders.unsure
        await publisher.notify([("nobody", "asks for this")])  # those that were asked have answered
        await asyncio.sleep(0.5)
        before = sent([publisher, *living])
        remembered = len(publisher._parts.holders._sets)

        await publisher.notify([("noise", number) for number in range(100)])

        assert sent([publisher, *living]) == before
        assert len(publisher._parts.holders._sets) == remembered
        await publisher.notify([(name, number) for number in range(100)])
        await quiet()
        assert heard == [(name, number) for number in range(100)]

    simulate(work, seed=1)


@pytest.mark.parametrize("sure", [True, False], ids=["all sure of their keys", "keys may be changing hands"])
def test_nobody_waits_for_a_rendezvous_that_is_stopped_with_what_nobody_asks_for(sure: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        victim = rendezvous(peers, 2, 0, "nobody")
        publisher, listener = others(peers, victim)[:2]
        names = [Symbol(f"name{number}") for number in range(20)]
        at_victim = next(name for name in names if rendezvous(peers, 2, 0, name) is victim)
        elsewhere = next(name for name in names if rendezvous(peers, 2, 0, name) is not victim)
        heard = {name: await hear(listener, name) for name in (at_victim, elsewhere)}
        await publisher.notify([("nobody", 0)])  # so that it has a link to all
        await asyncio.sleep(2 * UNSURE_S if sure else 2 * LEASE_S)
        assert publisher._parts.holders.unsure != sure
        net.suspend(victim.contact.host)
        began_s = net.loop.time()

        await publisher.notify([("nobody", number) for number in range(100)])
        await publisher.notify([("nobody", number) for number in range(100)])
        await publisher.notify([(elsewhere, 1)])

        assert net.loop.time() - began_s < 1.0
        assert listener._parts.holders.everybody().count(victim.contact) == 1, "nobody takes it for dead yet"
        await publisher.notify([(at_victim, 1)])  # once it is taken for dead
        await quiet()
        assert heard == {at_victim: [(at_victim, 1)], elsewhere: [(elsewhere, 1)]}
        net.resume(victim.contact.host)
        await quiet()
        assert heard == {at_victim: [(at_victim, 1)], elsewhere: [(elsewhere, 1)]}

    simulate(work, seed=1)


@pytest.mark.parametrize("quietly", [False, True], ids=["its links break", "its host is gone"])
def test_an_event_reaches_whoever_listened_at_a_rendezvous_that_dies(quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        names = [Symbol(f"name{number}") for number in range(12)]
        victim = rendezvous(peers, 2, 0, names[0])
        publisher, listener = others(peers, victim)[:2]
        heard = [await hear(listener, name) for name in names]
        net.crash(victim.contact.host, quietly=quietly)

        for moment in range(40):
            await publisher.notify([(name, moment) for name in names])
            await asyncio.sleep(0.5)
        await quiet()

        assert [[number for _, number in each] for each in heard] == [list(range(40))] * 12

    simulate(work, seed=2)


@pytest.mark.parametrize("seed", range(4))
def test_an_event_reaches_whoever_subscribed_before_it_while_peers_come_and_go(seed: int) -> None:
    async def main(net: SimNet) -> None:
        rng = Random(seed)
        async with overlay(net, 5) as peers, AsyncExitStack() as stack:
            expected: dict[Symbol, list[int]] = {}
            heard: dict[Symbol, list[Tuple]] = {}
            living = list(peers)
            for moment in range(60):
                if moment % 20 == 5:
                    victim = living.pop(rng.randrange(2, len(living)))
                    net.crash(victim.contact.host, quietly=bool(rng.randrange(2)))
                if moment % 20 == 12:
                    living.append(await stack.enter_async_context(guest_of(net, living)))
                name = Symbol(f"name{moment}")
                expected[name] = []
                # The first two stay: who has died hears nothing.
                heard[name] = await hear(living[rng.randrange(2)], name)
                publisher = rng.choice(living)
                some = rng.sample(list(expected), min(5, len(expected)))
                for each in dict.fromkeys((name, *some)):
                    await publisher.notify([(each, moment), ("noise", moment)])
                    expected[each].append(moment)
                await asyncio.sleep(rng.random())
            await quiet()

            assert {name: sorted(number for _, number in told) for name, told in heard.items()} == expected

    run(main, seed=seed)


def test_a_lease_of_all_ends_like_any_other() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        name = Symbol("asked for")
        await peers[0].notify([("nobody", "asks for this")])
        await asyncio.sleep(1)
        # It never acknowledges what it is told.
        peers[0]._parts.interests.add_interest = lambda link, interested: None  # type: ignore[method-assign]  # a peer that hangs
        began_s = net.loop.time()

        await hear(peers[1], name)

        assert 0 < net.loop.time() - began_s <= LEASE_S

    simulate(work, seed=5)
