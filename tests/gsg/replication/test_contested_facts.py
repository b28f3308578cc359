"""Facts that several publishers insert and retract at the same moment: one state comes of it, under all keys alike."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest
from peers import PORT, guest_of, quiet, simulate

import dht
from dht.simnet import SimNet, run
from gsg import Peer, Symbol
from gsg.placement.holders import UNSURE_S
from gsg.placement.rules import REPLICAS
from gsg.replication.changes import MAX_BEHIND_S
from gsg.tuples.features import key
from gsg.tuples.terms import Tuple

ON = Symbol("on")
FACTS: list[Tuple] = [(name, ON, to) for name in "abc" for to in "xyz"]
TEXTS = ["(?x, on, ?y)", '("a", on, ?y)', '(?x, on, "z")', "(?x, ?p, ?y)"]


def lies(peers: Sequence[Peer], fact: Tuple) -> list[int]:
    """At how many peers a fact lies under each of its keys."""
    return [
        sum(fact in peer._parts.rendezvous.held.under((len(fact), position, constant)) for peer in peers)
        for position, constant in enumerate(fact)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_whatever_several_say_at_once_all_keys_agree(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        if seed % 2:
            await asyncio.sleep(UNSURE_S + 5)
        rng = net.rng()
        asked = [await peers[0].subscribe(text) for text in TEXTS]
        for _ in range(20):
            doings = []
            for peer in peers:
                some = rng.sample(FACTS, 3)
                doings.append(peer.insert(some) if rng.random() < 0.5 else peer.retract(some))
            await asyncio.gather(*doings)
            await asyncio.sleep(rng.random() * 0.02)
        await quiet()

        there = [lies(peers, fact) for fact in FACTS]
        assert [each for each in there if each not in ([REPLICAS] * 3, [0] * 3)] == []
        for text, subscription in zip(TEXTS, asked, strict=True):
            anew = await peers[1].subscribe(text)
            assert subscription.rows() == anew.rows(), text
        assert sum((await peers[2].subscribe(TEXTS[0])).rows().values()) == sum(each == [REPLICAS] * 3 for each in there)

    simulate(work, seed=seed)


def test_who_speaks_after_another_was_acknowledged_has_the_last_word_whatever_the_clocks_say() -> None:
    async def main(net: SimNet) -> None:
        async with AsyncExitStack() as stack:
            peers: list[Peer] = []
            for ahead_s in (10_000.0, 7_000.0, 3.0, 0.0):
                join = [peer.contact.address for peer in peers[:1]]
                peer = Peer((net.host(), PORT), join, rng=net.rng(), clock=lambda ahead_s=ahead_s: net.loop.time() + ahead_s)  # type: ignore[misc]  # bound now
                peers.append(await stack.enter_async_context(peer))
            await quiet()
            for number in range(12):
                fact = ("a", ON, number)
                first, second, third = (peers[(number + more) % 4] for more in (0, 1, 3))
                await first.insert([fact])
                await second.retract([fact])
                assert lies(peers, fact) == [0] * 3
                await third.insert([fact])
                assert lies(peers, fact) == [REPLICAS] * 3

    run(main, seed=7)


@pytest.mark.parametrize("comes", [False, True], ids=["retraction", "insertion"])
def test_a_primary_that_knows_less_than_the_other_holders_does_not_acknowledge_what_they_pass_over(comes: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact: Tuple = ("x",)
        primary, *_ = sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(1, 0, "x")))[:REPLICAS]
        first, second = [peer for peer in peers if peer is not primary][-2:]
        first._parts.clock.latest = int((net.loop.time() + 5) * 1_000_000)
        await first.insert([fact])
        if comes:
            await first.retract([fact])
        # As one that has just come: the others have not handed over yet.
        primary._parts.rendezvous.held.drop((1, 0, "x"))
        primary._parts.clock.latest = second._parts.clock.latest = 0

        await (second.insert if comes else second.retract)([fact])

        assert lies(peers, fact) == [REPLICAS * comes]

    simulate(work, seed=9, size=6)


def test_a_publisher_whose_clock_is_far_behind_is_told_the_time() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        now = net.loop.time
        async with guest_of(net, peers) as guest:
            await asyncio.sleep(2 * MAX_BEHIND_S)
            await peers[0].insert([("c", ON, number) for number in range(30)])
            guest._parts.clock._clock = lambda: now() - 1.5 * MAX_BEHIND_S
            guest._parts.clock.latest = 0

            assert await guest.insert([("a", ON, "b")]) == 1

            assert lies([*peers, guest], ("a", ON, "b")) == [REPLICAS] * 3
            assert guest._parts.clock.latest > (now() - 1) * 1_000_000

    simulate(work, seed=8)
