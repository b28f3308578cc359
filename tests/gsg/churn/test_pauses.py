"""Peers that were stopped for a while, as their machine was, blame nobody for it: what was sent before arrives."""

from __future__ import annotations

import asyncio

import pytest
from line import Line, NoEvents
from peers import QUIET_S, quiet, simulate

import dht
from dht.simnet import SimNet, run
from gsg import Peer, Sign
from gsg.churn.heartbeats import BEAT_S, SILENT_S
from gsg.churn.pauses import AWAY_S, LOOK_S, Pauses
from gsg.errors import Overrun, PeerUnreachable
from gsg.feeds.ordered_delivery import OrderedDelivery
from gsg.feeds.publisher_order import ORDER_WAIT_S
from gsg.feeds.resync import Resync
from gsg.placement.holders import UNSURE_S
from gsg.rendezvous.broken_links import BACK_S
from gsg.replication.changes import HOLDERS_TIMEOUT_S
from gsg.subscriptions.live import LiveSubscription
from gsg.tuples.features import key
from gsg.wire.exchange import ANSWER_TIMEOUT_S
from gsg.wire.messages import Deltas, Origin, Passed

MOMENT_S = 0.001
LONG_S = 2 * ANSWER_TIMEOUT_S
"""Longer than anything is waited for."""


def closest(peers: list[Peer], constant: str) -> list[Peer]:
    """All peers, those closest to the key of a one-term fact first."""
    return sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(1, 0, constant)))


def test_holders_are_not_set_aside_and_the_change_is_acknowledged() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *holders = closest(peers, "x")
        await primary.insert([("x",)])
        for holder in holders:
            net.stall(holder.contact.host)
        retracting = asyncio.create_task(primary.retract([("x",)]))
        await asyncio.sleep(1)

        net.loop.oversleep(LONG_S)
        await asyncio.sleep(0)
        for holder in holders:
            net.read_on(holder.contact.host)

        assert await retracting == 1
        assert net.loop.time() < LONG_S + HOLDERS_TIMEOUT_S
        assert not primary._parts.holders.aside

    simulate(work, seed=6, size=3)


def test_a_rendezvous_whose_answer_lies_unread_is_not_taken_for_dead() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous, *_, publisher = closest(peers, "x")
        gone: list[bytes] = []
        publisher._parts.holders._on_gone = lambda peer, lives: gone.append(peer)
        await publisher._parts.exchange.link(rendezvous.contact)
        net.stall(rendezvous.contact.host)
        inserting = asyncio.create_task(publisher.insert([("x",)]))
        subscribing = asyncio.create_task(publisher.subscribe('("x")'))
        await asyncio.sleep(1)

        net.loop.oversleep(LONG_S)
        await asyncio.sleep(0)
        net.read_on(rendezvous.contact.host)

        assert await inserting == 1
        assert (await subscribing).variables == ()
        assert gone == []

    simulate(work, seed=1, size=5)


def test_a_link_that_owes_an_answer_stands() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous, *_, subscriber = closest(peers, "x")
        await subscriber.subscribe('("x")')
        (feeding,) = [link for link in subscriber._parts.subscriber.feeds.links() if link.contact == rendezvous.contact]
        await asyncio.sleep(BEAT_S)
        net.stall(rendezvous.contact.host)
        await asyncio.sleep(BEAT_S)

        net.loop.oversleep(LONG_S)
        await asyncio.sleep(0)
        net.read_on(rendezvous.contact.host)
        await asyncio.sleep(SILENT_S + 2 * BEAT_S)

        assert feeding in subscriber._parts.exchange.links()

    simulate(work, seed=1, size=8)


def test_a_snapshot_under_way_is_waited_for_anew() -> None:
    async def main(net: SimNet) -> None:
        resync, whole = Resync(None, None, None), net.loop.create_future()  # type: ignore[arg-type]  # nothing is asked of them
        waiting = asyncio.create_task(resync.until_whole(whole, Line("one")))
        await asyncio.sleep(1)

        net.loop.oversleep(LONG_S)
        await asyncio.sleep(ANSWER_TIMEOUT_S - 1)
        whole.set_result(None)

        await waiting

    run(main, seed=1)


def test_order_is_kept_with_what_lies_unread() -> None:
    async def main(net: SimNet) -> None:
        one, other = Line("one"), Line("other")
        order = OrderedDelivery(
            lambda peer: [line for line in (one, other) if line.contact.id == peer], lambda peer: [], NoEvents()
        )
        told: list[str] = []
        after = [(other.contact.id, 1, 0)]
        order.take_deltas(one, Deltas(7, 0, [("a",)], [1], Origin(b"publisher", 2, after)), lambda: told.append("second"))
        await asyncio.sleep(1)

        net.loop.oversleep(LONG_S)
        await asyncio.sleep(0.1)
        order.take_deltas(other, Deltas(8, 0, [("b",)], [1], Origin(b"publisher", 1, [])), lambda: told.append("first"))
        order.note_passed(other, Passed(b"publisher", 1))
        order.take_deltas(
            one, Deltas(7, 1, [("a",)], [-1], Origin(b"publisher", 4, [(other.contact.id, 3, 0)])), lambda: told.append("late")
        )
        await asyncio.sleep(ORDER_WAIT_S + 1)

        assert told == ["first", "second", "late"]
        assert order.late == 1
        order.stop()

    run(main, seed=1)


async def fed(peers: list[Peer]) -> tuple[Peer, LiveSubscription]:
    """A rendezvous, and the subscription of another peer that it feeds, when all know of it."""
    rendezvous, *_, subscriber = closest(peers, "x")
    subscription = await subscriber.subscribe('("x")')
    await asyncio.sleep(UNSURE_S + 2 * QUIET_S)
    return rendezvous, subscription


async def bury(stopped: Peer, peers: list[Peer]) -> None:
    """Let all others take a peer for dead, which hears nothing of it."""
    for peer in peers:
        if peer is not stopped:
            peer._parts.holders.failed(stopped.contact.id, PeerUnreachable("it does not answer"))
    # Until whom it fed has left; there is a moment before these are back.
    await asyncio.sleep(LOOK_S / 2)
    assert not any(stopped._parts.rendezvous.conditions.feeds(link) for link in stopped._parts.exchange.links())


def test_a_peer_that_others_took_for_dead_meanwhile_loses_no_event() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        stopped, subscription = await fed(peers)
        await bury(stopped, peers)

        net.loop.oversleep(AWAY_S + LOOK_S)
        await asyncio.sleep(MOMENT_S)
        await stopped.notify([("x",)])
        await quiet()

        assert subscription.pending == 1
        assert [sign for sign, _ in await subscription.batch(10)] == [Sign.EVENT]

    simulate(work, seed=3, size=8)


def test_a_peer_whose_machine_slept_loses_no_event_though_its_timers_are_not_late() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        stopped, subscription = await fed(peers)
        parts = stopped._parts.holders, stopped._parts.interests, stopped._parts.leases, stopped._parts.handover
        slept_s = 0.0
        told: list[float] = []
        async with asyncio.TaskGroup() as group:
            looking = group.create_task(Pauses(*parts, told.append, clock=lambda: net.loop.time() + slept_s).run())
            await asyncio.sleep(LOOK_S / 2 - MOMENT_S)
            await bury(stopped, peers)

            slept_s = AWAY_S
            await asyncio.sleep(2 * MOMENT_S)
            await stopped.notify([("x",)])
            await quiet()
            looking.cancel()

        assert subscription.pending == 1
        assert [sign for sign, _ in await subscription.batch(10)] == [Sign.EVENT]
        assert told == [pytest.approx(AWAY_S, abs=0.1)]

    simulate(work, seed=3, size=8)


def test_subscriptions_are_told_that_their_peer_was_stopped_for_longer_than_events_are_kept() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        here = peers[0]
        resumed, ended = await here.subscribe('("x", ?n)'), await here.subscribe('("x", ?n)', overflow="error")

        here._parts.subscriber.was_away(BACK_S - 1)
        calm = [subscription.has_ended for subscription in (resumed, ended)]
        here._parts.subscriber.was_away(BACK_S + 5)

        with pytest.raises(Overrun, match=r"events may have been missed: this peer was stopped for 25 s, and others keep") as told:
            await resumed.batch(1)
        await here.notify([("x", 1)])
        with pytest.raises(Overrun, match="this peer was stopped"):
            await ended.batch(1)
        assert calm == [False, False]
        assert told.value.lost == 0
        assert len(await resumed.batch(1)) == 1, "it goes on"

    simulate(work, seed=3, size=2)
