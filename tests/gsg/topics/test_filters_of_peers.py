"""Filters of topics at whole peers, over a simulated network."""

from __future__ import annotations

import asyncio

import pytest
from peers import guest_of, quiet, rendezvous, simulate, templates

from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import BadTerm, LocalError, Overrun
from gsg.placement.holders import UNSURE_S
from gsg.rendezvous.broken_links import BACK_S
from gsg.topics.backlog import TopicEvent
from gsg.topics.filters import ARITY
from gsg.topics.topic import TopicSubscription
from gsg.tuples.terms import List, Symbol, Term

ALL = 10_000


def heard(events: TopicSubscription) -> list[TopicEvent]:
    """What has come, without waiting."""
    return events.take(ALL, 1 << 30)


def said(events: TopicSubscription) -> list[tuple[str, Term]]:
    return [(event.topic, event.values[0]) for event in heard(events)]


@pytest.mark.parametrize("seed", range(3))
def test_filters_hear_all_topics_that_match_each_event_once_in_the_order_of_its_publisher(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        filters = ["house/+/temp", "house/#", "#", "+/+/temp", "office/#"]
        subscribed = [await peer.topic(name).subscribe() for peer, name in zip(peers, filters, strict=False)]
        topics = ["house/kitchen/temp", "house/hall/temp", "house/hall/light", "house", "office/desk", "$SYS/house/temp"]

        async def publish(peer: Peer, who: int) -> None:
            for number in range(12):
                await peer.topic(topics[number % len(topics)]).publish(who * 100 + number)

        await asyncio.gather(publish(peers[5], 5), publish(peers[6], 6))
        await quiet()

        for events, name, numbers in zip(subscribed, filters, [{0, 1}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 1}, {4}], strict=True):
            found = said(events)
            expected = [(topics[number % 6], number) for number in range(12) if number % 6 in numbers]
            for who in (5, 6):
                of_one = [(topic, value - who * 100) for topic, value in found if isinstance(value, int) and value // 100 == who]
                assert of_one == expected, name
            assert len(found) == 2 * len(expected)

    simulate(work, seed=seed, size=7)


def test_an_event_is_to_a_filter_what_it_is_to_members() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        member = await peers[0].topic("house/temp").subscribe()
        by_filter = await peers[1].topic("house/+").subscribe()
        await quiet()

        for peer in (peers[0], peers[2], peers[3]):
            await peer.topic("house/temp").publish(1, Symbol("warm"))
            await peer.topic("house/temp").publish(List((2, "a")))
            await peer.topic("house/temp").publish("")
        await quiet()

        found = heard(member)
        assert len(found) == 9
        assert sorted(heard(by_filter), key=str) == sorted(found, key=str)
        assert {event.publisher for event in found} == {peer.contact.id for peer in (peers[0], peers[2], peers[3])}

    simulate(work, seed=4, size=6)


def test_an_event_that_follows_a_subscription_at_once_is_delivered_and_none_after_its_end() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for number, peer in enumerate(peers):
            async with await peer.topic(f"+/{number}").subscribe() as events:
                await peers[-1 - number].topic(f"room/{number}").publish(number)
                event = await anext(events)
            await peers[0].topic(f"room/{number}").publish("late")
            await quiet()

            assert (event.topic, event.values) == (f"room/{number}", (number,))
            assert [event async for event in events] == []
        assert templates(peers) == 0

    simulate(work, seed=5, size=4)


def test_events_of_a_topic_without_members_begin_anew_each_time() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("house/+").subscribe()

        for value in range(3):
            await peers[1].topic("house/temp").publish(value)
        await quiet()

        assert [(event.values, event.number) for event in heard(events)] == [((0,), 1), ((1,), 1), ((2,), 1)]

    simulate(work, seed=13, size=3)


def test_load_spreads_by_levels_and_what_nobody_asks_for_does_not_travel() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for name in ("house/+/temp", "+/kitchen/#", "office/#"):
            await peers[0].topic(name).subscribe()
        await asyncio.sleep(UNSURE_S + 5)
        for number in range(2):
            before = peers[1]._parts.publisher.published
            await peers[1].topic("garden/pond").publish(number)
            await quiet()

        anchored = [
            constant
            for position, constant in ((2, "house"), (4, "temp"), (3, "kitchen"), (2, "office"), (0, Symbol("topic-levels")))
            if rendezvous(peers, ARITY, position, constant)._parts.rendezvous.conditions.has_templates((ARITY, position, constant))
        ]

        assert anchored in (["house", "kitchen", "office"], ["temp", "kitchen", "office"])
        assert peers[1]._parts.publisher.published == before

    simulate(work, seed=6, size=6)


def test_events_come_when_a_rendezvous_has_died() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        holder = rendezvous(peers, ARITY, 2, "house")
        asking, publishing, *_ = [peer for peer in peers if peer is not holder]
        events = await asking.topic("house/#").subscribe()
        await publishing.topic("house/temp").publish(1)

        net.crash(holder.contact.host)
        await publishing.topic("house/temp").publish(2)
        await asyncio.sleep(60.0)
        await publishing.topic("house/temp").publish(3)
        await quiet()

        assert said(events) == [("house/temp", 1), ("house/temp", 2), ("house/temp", 3)]

    simulate(work, seed=7, size=6)


def test_what_was_missed_is_told_as_a_gap() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("house/#").subscribe()
        subscriber = peers[0]._parts.subscriber
        [memory] = [memory for standing in subscriber._standing.values() for memory in standing.memories]

        subscriber.was_away(2 * BACK_S)
        await quiet()
        with pytest.raises(Overrun, match="events of the topic may have been lost") as unknown:
            await anext(events)
        subscriber.note_missed(memory, 3)
        await quiet()
        with pytest.raises(Overrun, match="3 events of the topic were lost") as known:
            await anext(events)
        await peers[1].topic("house/temp").publish(2)
        await quiet()

        assert (unknown.value.lost, known.value.lost) == (0, 3)
        assert said(events) == [("house/temp", 2)]

    simulate(work, seed=8, size=4)


def test_a_reader_that_does_not_keep_up_is_told_how_many_it_has_lost() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("house/#").subscribe()
        many = 10_050

        await asyncio.gather(*[peers[1].topic("house/temp").publish(number) for number in range(many)])
        await quiet()
        with pytest.raises(Overrun) as told:
            await anext(events)

        found = said(events)
        assert told.value.lost == many - len(found)
        assert found == [("house/temp", number) for number in range(many - len(found), many)]

    simulate(work, seed=9, size=2)


def test_forged_events_are_counted_and_not_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("#").subscribe()

        await peers[1].notify([(Symbol("topic-levels"), 1, "a", *[0] * 15, "a", "no id", 1, "no values")])
        await peers[1].insert([(Symbol("topic-levels"), 1, "a", *[0] * 15, "a", "aa", 1, "a fact")])
        await quiet()

        assert heard(events) == []
        assert peers[0]._parts.topic_filters.counts()[0].count == 2

    simulate(work, seed=10, size=3)


def test_what_a_filter_cannot_do_is_refused() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        topic = peers[0].topic("house/#")

        with pytest.raises(LocalError, match="'house/#' is a filter, for subscribing; publish to the name of one topic"):
            await topic.publish(1)
        with pytest.raises(BadTerm):
            await topic.publish(object())  # type: ignore[arg-type]  # what is tried
        for members in (topic.members, topic.size):
            with pytest.raises(LocalError, match="'house/#' is a filter, which has no members; ask for those of one topic"):
                await members()
        with pytest.raises(LocalError, match="is a filter, which has no members"):
            print(topic.estimated_size)

    simulate(work, seed=11, size=1)


def test_a_peer_that_stops_ends_the_events() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with guest_of(net, peers) as guest:
            events = await guest.topic("house/#").subscribe()
            await guest.topic("house/temp").publish(1)
            await quiet()

        assert [event.values async for event in events] == [(1,)]

    simulate(work, seed=12, size=2)
