"""Topics of whole peers, over a simulated network."""

from __future__ import annotations

import asyncio

import pytest
from peers import quiet, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.topics.topic import TopicSubscription

ALL = 10_000


def heard(events: TopicSubscription) -> list[tuple[object, ...]]:
    """The values of what has come, without waiting."""
    return [event.values for event in events.take(ALL, 1 << 30)]


async def members(peers: list[Peer]) -> list[TopicSubscription]:
    """All of these become members of one topic, which has time to settle."""
    subscribed = [await peer.topic("news").subscribe() for peer in peers]
    await quiet()
    return subscribed


def test_an_event_reaches_all_members_and_nobody_else() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = [await peer.topic("house/temp").subscribe() for peer in peers[:5]]

        await peers[0].topic("house/temp").publish(21)
        await peers[7].topic("house/temp").publish(22)
        await peers[7].topic("house/temp").publish(23)
        await quiet()

        for events in subscribed:
            found = heard(events)
            assert sorted(found) == [(21,), (22,), (23,)]
            assert found.index((22,)) < found.index((23,))
        assert await peers[6].topic("house/temp").size() == 5
        assert [peer._parts.topics.delivered for peer in peers] == [3] * 5 + [0] * 3

    simulate(work, seed=1, size=8)


def test_an_event_that_follows_a_subscription_at_once_is_delivered() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for number, peer in enumerate(peers):
            events = await peer.topic("news").subscribe()
            await peers[-1 - number].topic("news").publish(number)
            assert (await anext(events)).values == (number,)

    simulate(work, seed=2, size=6)


def test_a_standing_query_joins_a_topic_with_facts() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[1].insert([("kitchen", "owner", "fred")])
        rows = await peers[2].subscribe('(topic, "temp", ?room, ?value), (?room, "owner", ?who)')

        await peers[3].topic("temp").publish("kitchen", 30)
        await quiet()

        assert [str(row) for _, row in await rows.batch(rows.pending)] == ['?room="kitchen" ?value=30 ?who="fred"']

    simulate(work, seed=3, size=6)


def test_members_that_leave_are_members_no_more() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        topics = [peer.topic("news") for peer in peers]
        async with await topics[0].subscribe(), await topics[1].subscribe() as events:
            assert await topics[2].size() == 2
        await quiet()

        await topics[2].publish(1)

        assert await topics[2].size() == 0
        assert [event async for event in events] == []

    simulate(work, seed=4, size=4)


@pytest.mark.parametrize(("quietly", "within_s"), [(False, 1.0), (True, 2.0)], ids=["links break", "silent"])
@pytest.mark.parametrize("seed", range(2))
def test_half_of_the_members_die_at_the_moment_of_publishing(seed: int, quietly: bool, within_s: float) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = await members(peers)

        await peers[0].topic("news").publish("last words")
        for peer in peers[8:]:
            net.crash(peer.contact.host, quietly=quietly)
        await asyncio.sleep(within_s)

        assert [heard(events) for events in subscribed[:8]] == [[("last words",)]] * 8
        await quiet()
        await peers[3].topic("news").publish("next")
        await asyncio.sleep(1.0)
        assert [heard(events) for events in subscribed[:8]] == [[("next",)]] * 8

    simulate(work, seed=seed, size=16)


def test_parts_that_were_cut_off_from_each_other_grow_together() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = await members(peers)
        halves = [[peer.contact.host for peer in some] for some in (peers[:5], peers[5:])]

        net.partition(halves)
        await asyncio.sleep(600.0)
        await peers[0].topic("news").publish("one half")
        await peers[9].topic("news").publish("other half")
        await quiet()
        apart = [heard(events) for events in subscribed]
        net.heal()
        await asyncio.sleep(120.0)
        for events in subscribed:
            heard(events)
        await peers[0].topic("news").publish("whole")
        await quiet()

        assert apart == [[("one half",)]] * 5 + [[("other half",)]] * 5
        assert [heard(events) for events in subscribed] == [[("whole",)]] * 10
        assert await peers[4].topic("news").size() == 10

    simulate(work, seed=5, size=10)


def test_a_member_that_stands_still_holds_up_nobody() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = await members(peers)

        net.suspend(peers[2].contact.host)
        for number in range(40):
            await peers[0].topic("news").publish(number)
            await asyncio.sleep(0.05)
        await asyncio.sleep(2.0)
        others = [heard(events) for events in subscribed[:2] + subscribed[3:]]
        net.resume(peers[2].contact.host)
        await quiet()

        assert others == [[(number,) for number in range(40)]] * 7
        assert heard(subscribed[2]) == [(number,) for number in range(40)]

    simulate(work, seed=6, size=8)


def test_publishers_that_are_no_members_go_on_by_another_member() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = await members(peers[:4])
        topic = peers[5].topic("news")
        await topic.publish(1)
        access = peers[5]._parts.topics._injections._access["news"]
        [number] = [number for number, peer in enumerate(peers) if peer.contact == access]

        net.crash(access.host)
        await topic.publish(2)
        await topic.publish(3)
        await quiet()

        for at, events in enumerate(subscribed):
            if at != number:
                assert heard(events) == [(1,), (2,), (3,)]

    simulate(work, seed=7, size=6)


def test_a_timer_that_rings_early_is_followed_by_the_next_one() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await members(peers)
        topics = peers[0]._parts.topics
        timer = topics._timer
        assert timer is not None

        timer._run()  # as uvloop does, half a millisecond before its time and more

        assert topics._timer is not timer

    simulate(work, seed=6, size=2)
