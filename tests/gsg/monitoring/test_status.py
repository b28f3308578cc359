"""What a peer says of itself when asked: what lies there is counted without keeping others waiting, however often it is asked."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest
from peers import simulate

import gsg.monitoring.status
import gsg.storage.tombstones
from dht.simnet import SimNet
from gsg import Peer
from gsg.monitoring.shared_walk import ASKING, AT_ONCE, REST
from gsg.monitoring.status import PIECE

MANY = 2 * AT_ONCE * PIECE


def fill(peer: Peer, first: int, last: int) -> None:
    """Facts at a peer alone, each under one key of its own and one of all."""
    facts = [(number, "fact") for number in range(first, last)]
    peer._parts.rendezvous.publish(1, facts, [b"\0\1"] * len(facts))


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each time that a peer has walked through what it holds."""
    begun: list[int] = []
    figures_of = gsg.monitoring.status.figures_of
    monkeypatch.setattr(gsg.monitoring.status, "figures_of", lambda rendezvous: begun.append(1) or figures_of(rendezvous))
    return begun


def test_few_facts_are_counted_whenever_somebody_asks(walks: list[int]) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        fill(peer, 0, 100)

        [before] = await peer.status()
        fill(peer, 100, 150)
        [after] = await peer.status()

        assert [(one.facts, one.entries, one.keys) for one in (before, after)] == [(100, 200, 101), (150, 300, 151)]
        assert len(walks) == 2

    simulate(work, seed=51, size=1)


def test_many_facts_are_counted_in_slices_once_for_all_who_ask(walks: list[int]) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        peer._parts.rendezvous.clock = count().__next__  # each look at it takes a second
        fill(peer, 0, MANY)
        asking = asyncio.gather(*(peer.status() for _ in range(ASKING + 1)))

        turns = 0
        while not asking.done():
            await asyncio.sleep(0)
            turns += 1

        assert turns > MANY / PIECE
        assert [[one.facts for one in answers] for answers in await asking] == [[MANY]] * ASKING + [[]]
        assert len(walks) == 1

    simulate(work, seed=52, size=1)


def test_what_was_counted_in_slices_is_told_for_longer_than_it_took(walks: list[int]) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        looks = count()
        peer._parts.rendezvous.clock = looks.__next__
        fill(peer, 0, MANY)

        [first] = await peer.status()
        took = next(looks)
        fill(peer, MANY, MANY + 1)
        [second] = await peer.status()
        for _ in range(took * REST):
            next(looks)
        [third] = await peer.status()

        assert [one.facts for one in (first, second, third)] == [MANY, MANY, MANY + 1]
        assert len(walks) == 2

    simulate(work, seed=53, size=1)


def test_what_was_told_out_of_order_and_forgotten_before_its_time_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.tombstones, "TOMBSTONES", 2)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        peer = peers[0]
        facts = [("a", number) for number in range(20)]
        await peer.insert(facts)
        await peer.retract(facts)
        peer._parts.subscriber.feeds.order._order.late = 3

        [status] = [one for one in await peer.status() if one.peer == peer.contact.id]
        counts = {one.name: one.count for one in status.counts}

        assert (counts["retractions_forgotten"] > 0, counts["told_out_of_order"]) == (True, 3)

    simulate(work, seed=52, size=2)
