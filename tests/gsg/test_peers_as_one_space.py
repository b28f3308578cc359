"""Random histories over a simulated network: what one space would answer, peers answer together."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import combinations
from random import Random

import pytest
from peers import Reader, feeds, guest_of, overlay, quiet, simulate, templates

from dht.simnet import SimNet, run
from gsg import Peer, Row, Space, Symbol

ON = Symbol("on")
AFTER_LEAVING_S = 20.0
"""Holders that a peer has just left compare what they have every ten seconds: what a feed missed meanwhile comes by then."""


QUERIES = [
    "(?x, on, ?y)",
    "(?x, on, ?y), (?y, on, ?z)",
    "(?x, on, ?x)",
    "(?x, on, *)",
    "(?x, ?p, ?y)",
    "(?x, ?p, ?x)",
    "(?x, on, ?y), NOT { (?y, color, red) }",
    "(?x, color, ?c), NOT { (?x, on, ?y), NOT { (?y, color, ?c) } }",
    "(a, ?p, ?y), (?y, ?q, b)",
    "(?x, on, b), NOT { (?x, ?p, ?x) }",
    "(b, color, red), (?x, on, *)",
]
FACTS = [(x, p, y) for x in map(Symbol, "abc") for p in (ON, Symbol("color")) for y in map(Symbol, ("a", "b", "c", "red"))]


class Trial:
    """A random history, told to several peers and to one space."""

    def __init__(self, seed: int, peers: list[Peer], *, settle_s: float = 0.0) -> None:
        """``settle_s``: how long a round waits for feeds beside :func:`quiet`."""
        self.rng = Random(seed)
        self.settle_s = settle_s
        self.peers = peers
        self.space = Space()
        self.pairs: list[tuple[Reader, Counter[Row], str]] = []
        # A fact is changed by one publisher only: two who disagree at the same moment are not promised an order.
        self.own = {peer: FACTS[number :: len(peers)] for number, peer in enumerate(peers)}

    async def round(self) -> None:
        """Everybody publishes, comes and goes at the same time; then all compare; then events, one after the other."""
        await asyncio.gather(*(self.publish(peer) for peer in self.peers), self.subscribe(), self.subscribe(), self.unsubscribe())
        await quiet()
        await asyncio.sleep(self.settle_s)
        await self.compare()
        for event in self.rng.sample(FACTS, 2):
            await self.flash(event)

    async def publish(self, peer: Peer) -> None:
        for _ in range(self.rng.randrange(4)):
            facts = self.rng.sample(self.own[peer], self.rng.randrange(1, 4))
            if self.rng.random() < 0.6:
                self.space.insert(facts)
                await peer.insert(facts)
            else:
                self.space.retract(facts)
                await peer.retract(facts)

    async def subscribe(self) -> None:
        text = self.rng.choice(QUERIES)
        subscription = await self.rng.choice(self.peers).subscribe(text)
        self.pairs.append((Reader(subscription), Counter(), text))

    async def unsubscribe(self) -> None:
        if len(self.pairs) > 4:
            reader, _, _ = self.pairs.pop(self.rng.randrange(len(self.pairs)))
            await reader.subscription.close()

    async def compare(self) -> None:
        for reader, expected_events, text in self.pairs:
            with self.space.subscribe(text) as yardstick:
                expected = yardstick.rows()
            await reader.read()
            assert reader.subscription.rows() == reader.held == expected, text
            assert reader.lowest == 0, text
            assert reader.events == expected_events, text

    async def flash(self, event: tuple[Symbol, ...]) -> None:
        yardsticks = [self.space.subscribe(text) for _, _, text in self.pairs]
        for yardstick in yardsticks:
            list(yardstick)
        self.space.notify([event])
        for (_, expected_events, _), yardstick in zip(self.pairs, yardsticks, strict=True):
            expected_events.update(row for _, row in yardstick)
            yardstick.close()
        await self.rng.choice(self.peers).notify([event])
        await quiet()
        await self.compare()

    async def end(self) -> None:
        for reader, _, _ in self.pairs:
            await reader.subscription.close()
        await quiet()
        assert (templates(self.peers), feeds(self.peers)) == (0, 0)
        assert all(peer._parts.subscriber._network.is_empty for peer in self.peers)


@pytest.mark.parametrize("seed", range(8))
def test_when_quiet_every_subscription_answers_as_one_space_would(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        for _ in range(6):
            await trial.round()
        await trial.end()

    simulate(work, seed=seed, size=2 + seed % 4)


@pytest.mark.parametrize("seed", range(4))
def test_peers_that_come_and_leave_in_order_change_no_answer(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers, settle_s=AFTER_LEAVING_S)
        await trial.round()
        async with guest_of(net, peers):
            await trial.round()
            async with guest_of(net, peers):
                await trial.round()
            await trial.round()
        await trial.round()
        await trial.end()

    simulate(work, seed=seed, size=2 + seed % 3)


@pytest.mark.parametrize("seed", range(4))
def test_links_that_break_while_nothing_is_published_change_no_answer(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        for _ in range(4):
            await trial.round()
            for one, other in combinations(peers, 2):
                if trial.rng.random() < 0.5:
                    net.cut(one.contact.host, other.contact.host)
            await quiet()
        await trial.round()

    simulate(work, seed=seed, size=2 + seed % 4)


def test_the_same_seed_gives_the_same_run() -> None:
    async def main(net: SimNet) -> str:
        async with overlay(net, 3) as peers:
            trial = Trial(7, peers)
            await trial.round()
        return net.digest

    assert run(main, seed=7) == run(main, seed=7)
