"""Topics of whole peers, over a simulated network."""

from __future__ import annotations

import asyncio

import pytest
from peers import quiet, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import BadTerm, DoorClosed, PeerMisbehaved, Refused
from gsg.topics.access_points import ADVERT_LIFE_S
from gsg.topics.topic import TopicSubscription
from gsg.tuples.sizes import MAX_TUPLE_BYTES
from gsg.wire.messages import Done
from gsg.wire.topic_messages import Inject, Payload

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


@pytest.mark.parametrize("by", [0, -1], ids=["a member", "a stranger"])
def test_an_event_that_is_too_long_is_refused_and_costs_no_other_one(by: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = await members(peers[:3])
        topic = peers[by].topic("news")

        with pytest.raises(BadTerm, match="expected at most 1048576"):
            await topic.publish_all([["short"], ["x" * MAX_TUPLE_BYTES]])
        await topic.publish("after")
        await quiet()

        assert [heard(events) for events in subscribed] == [[("after",)]] * 3

    simulate(work, seed=3, size=5)


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


def test_a_topic_that_nobody_uses_any_more_is_forgotten_by_all() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribed = await members(peers[:3])
        await asyncio.sleep(ADVERT_LIFE_S)  # of the simulated network
        known = [peer.topics() for peer in peers]

        for events in subscribed:
            events.close()
        await asyncio.sleep(1.5 * ADVERT_LIFE_S)

        assert all("news" in topics for topics in known)
        assert [peer.topics() for peer in peers] == [{}] * 6

    simulate(work, seed=4, size=6)


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


def test_whoever_subscribes_while_another_subscriber_here_leaves_hears_all() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        topic = peers[0].topic("news")

        async def pass_by() -> None:
            (await topic.subscribe()).close()

        _, events, _ = await asyncio.gather(pass_by(), topic.subscribe(), pass_by())
        await peers[1].topic("news").publish(1)
        await quiet()

        assert heard(events) == [(1,)]

    simulate(work, seed=8, size=3)


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.05, 1.0])
def test_whoever_gives_up_subscribing_takes_nobody_along(after_s: float) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[2].topic("news").subscribe()
        first, second = [asyncio.ensure_future(peers[0].topic("news").subscribe()) for _ in range(2)]

        await asyncio.sleep(after_s)
        first.cancel()
        events = await second
        await peers[1].topic("news").publish(1)
        await quiet()

        assert heard(events) == [(1,)]

    simulate(work, seed=9, size=3)


def test_whoever_was_the_only_one_to_subscribe_and_gave_up_is_no_member() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscribing = asyncio.ensure_future(peers[0].topic("news").subscribe())
        await asyncio.sleep(0)

        subscribing.cancel()
        await quiet()

        assert peers[0]._parts.topics._memberships == {}
        assert await peers[1].topic("news").size() == 0

    simulate(work, seed=10, size=3)


def test_a_member_that_leaves_and_comes_back_at_once_is_known_to_the_holders() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for peer in peers[:3]:
            (await peer.topic("news").subscribe()).close()
            await peer.topic("news").subscribe()
        await quiet()

        assert await peers[3].topic("news").size() == 3

    simulate(work, seed=11, size=4)


def test_whoever_subscribes_while_the_peer_stops_is_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[1].topic("news").subscribe()
        net.crash(peers[1].contact.host, quietly=True)
        subscribing = asyncio.ensure_future(peers[0].topic("news").subscribe())
        await asyncio.sleep(1.0)

        peers[0]._parts.topics.stop()

        with pytest.raises(DoorClosed):
            await asyncio.wait_for(subscribing, 60.0)

    simulate(work, seed=12, size=6)


@pytest.mark.parametrize(("count", "named"), [(-1, 0), (1 << 60, 0), (9, 9)], ids=["fewer than none", "too many", "too many named"])
def test_what_no_holder_says_of_members_is_a_breach(count: int, named: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for peer in peers:
            lies = count, [peers[1].contact] * named
            peer._parts.topics._enrolments.members = lambda *_, lies=lies, **__: lies  # type: ignore[assignment, misc]  # a liar

        with pytest.raises(PeerMisbehaved, match="expected at most 8, of 0 to 1,000,000"):
            await peers[0].topic("news").size()

    simulate(work, seed=13, size=3)


def test_who_injects_into_a_topic_with_a_long_name_gets_a_short_answer() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        payload = Payload("x" * 1_000_000, peers[0].contact.id + bytes(6), 1, b"\x90")

        with pytest.raises(Refused, match="this peer is no member of topic 'xxx") as refused:
            await peers[0]._parts.exchange.ask(peers[1].contact, lambda request: Inject(request, [payload]), Done)

        assert len(str(refused.value)) < 1_000

    simulate(work, seed=14, size=2)
