"""Links that have been lost on one side only are found, and everybody hears what time it is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from lives import Lives, slow_disks
from peers import quiet, simulate

import dht
from dht.simnet import SimNet, run
from gsg import Peer, Symbol
from gsg.churn.heartbeats import BEAT_S, CONGESTED_S, SILENT_S, Heartbeats
from gsg.storage.clock import HybridClock
from gsg.tuples.features import key
from gsg.wire.exchange import PeerLink
from gsg.wire.known_doors import KnownDoors
from gsg.wire.messages import Passed

ON = Symbol("on")


def closest(peers: list[Peer], constant: str) -> list[Peer]:
    """All peers, those closest to the key of a one-term fact first."""
    return sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(1, 0, constant)))


def test_a_feed_whose_rendezvous_has_lost_the_link_is_set_up_anew() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous, *_, subscriber = closest(peers, "x")
        subscription = await subscriber.subscribe('("x")')
        await quiet()
        # Each direction of the link stands until something is sent by it: the subscriber, who only reads, never finds out.
        net.partition([[rendezvous.contact.host], [subscriber.contact.host]])
        rendezvous._parts.exchange.abort(subscriber.contact.id, "it does not answer")
        await asyncio.sleep(0.1)
        net.heal()
        await rendezvous.insert([("x",)])
        assert not subscription.rows()

        await asyncio.sleep(2 * BEAT_S + 1)

        assert len(subscription.rows()) == 1

    simulate(work, seed=1, size=8)


def test_links_to_a_former_life_are_ended_as_soon_as_its_peer_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_disks(monkeypatch, seed=1)

    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(12)
        victim = lives.peers[5].contact
        for number, peer in lives.peers.items():
            await peer.insert([(f"{number}", f"{other}") for other in range(20)])
        before = {number: set(peer._parts.exchange.links_of(victim.id)) for number, peer in lives.peers.items() if number != 5}
        assert all(before.values())

        # As when its machine loses power for a moment: nobody is told by TCP, and nobody's probe has found it silent.
        await lives.kill(5, quietly=True)
        await lives.start(5)
        await asyncio.sleep(1.0)

        for number, links in before.items():
            assert links.isdisjoint(lives.peers[number]._parts.exchange.links_of(victim.id)), number
        await lives.end()

    run(main, seed=3)


def test_a_link_by_which_nothing_comes_though_it_owes_an_answer_is_ended() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous, *_, subscriber = closest(peers, "x")
        await subscriber.subscribe('("x")')
        (feeding,) = [link for link in subscriber._parts.subscriber.feeds.links() if link.contact == rendezvous.contact]
        await asyncio.sleep(BEAT_S)
        net.stall(rendezvous.contact.host)
        assert feeding in subscriber._parts.exchange.links()

        await asyncio.sleep(SILENT_S + 3 * BEAT_S)

        assert feeding not in subscriber._parts.exchange.links()
        net.read_on(rendezvous.contact.host)
        await asyncio.sleep(SILENT_S)
        await rendezvous.insert([("x",)])
        await quiet()
        assert len((await subscriber.subscribe('("x")')).rows()) == 1

    simulate(work, seed=1, size=8)


def test_a_link_that_takes_nothing_either_is_ended_later() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous, *_, subscriber = closest(peers, "x")
        await subscriber.subscribe('("x")')
        (feeding,) = [link for link in subscriber._parts.subscriber.feeds.links() if link.contact == rendezvous.contact]
        net.stall(rendezvous.contact.host)
        while not feeding.congested:
            feeding.send(Passed(subscriber.contact.id, 1))

        await asyncio.sleep(SILENT_S + 3 * BEAT_S)
        assert feeding in subscriber._parts.exchange.links()
        await asyncio.sleep(CONGESTED_S - SILENT_S)

        assert feeding not in subscriber._parts.exchange.links()
        net.read_on(rendezvous.contact.host)

    simulate(work, seed=1, size=8)


def test_who_has_nothing_to_do_with_a_change_hears_of_its_time() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher = peers[0]
        stamp = publisher._parts.clock.latest = publisher._parts.clock.now_us() + 7_200_000_000

        await asyncio.sleep(6 * BEAT_S)

        assert [peer for peer in peers if peer._parts.clock.latest < stamp] == []

    simulate(work, seed=2, size=16)


def test_a_defect_that_one_beat_brings_out_ends_no_other() -> None:
    beats: list[float] = []

    def feeding() -> list[PeerLink]:
        beats.append(asyncio.get_running_loop().time())
        if len(beats) == 1:
            raise TypeError("a defect")
        return []

    async def main(net: SimNet) -> None:
        holders = SimpleNamespace(others=list)
        exchange = SimpleNamespace(links=list)
        doors = KnownDoors("10.0.0.1", lambda: None)
        heartbeats = Heartbeats(holders, exchange, HybridClock(lambda: 0), feeding, net.rng(), doors)  # type: ignore[arg-type]  # as far as they are asked
        running = asyncio.create_task(heartbeats.run())
        await asyncio.sleep(3 * BEAT_S + 1)
        running.cancel()

    run(main, seed=1)
    assert len(beats) == 3


def test_who_only_reads_and_slowly_is_not_taken_for_lost() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous, *_, subscriber = closest(peers, "x")
        await subscriber.subscribe('("x")')
        heartbeats = rendezvous._parts.heartbeats
        fed = rendezvous._parts.exchange.links()
        asked_s = net.loop.time()
        net.stall(subscriber.contact.host)
        assert not set(fed) & set(rendezvous._parts.subscriber.feeds.links())

        heartbeats.beat(asked_s)
        owing = [link for link in fed if link.pending]
        heartbeats.beat(asked_s + 2 * SILENT_S)

        assert owing
        await asyncio.sleep(1)
        assert set(owing) <= set(rendezvous._parts.exchange.links())
        net.read_on(subscriber.contact.host)

    simulate(work, seed=1, size=2)
