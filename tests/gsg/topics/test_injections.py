"""Events of a publisher who is no member: together where they come fast, in order, and by another member where one fails."""

from __future__ import annotations

import asyncio

import pytest
from peers import quiet, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import DoorClosed, LocalError, PeerUnreachable
from gsg.topics import injections, peer_topics
from gsg.topics.injections import MAX_INJECTED
from gsg.topics.topic import TopicSubscription
from gsg.wire.topic_messages import Inject

ALL = 100_000


def heard(events: TopicSubscription) -> list[object]:
    return [event.values[0] for event in events.take(ALL, 1 << 30)]


def injected(member: Peer) -> list[int]:
    """How many events each message brings to a member, as they come."""
    counts: list[int] = []
    receive = member._parts.topics._inject

    def count(link, message: Inject, now_s: float) -> None:  # type: ignore[no-untyped-def]  # as the one in its place
        counts.append(len(message.payloads))
        receive(link, message, now_s)

    member._parts.topics._inject = count  # type: ignore[method-assign]  # looked at, not changed
    return counts


def test_what_is_published_at_once_goes_together_and_in_order() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()
        counts = injected(peers[0])

        await asyncio.gather(*[peers[1].topic("news").publish(number) for number in range(1_200)])
        await quiet()

        assert heard(events) == list(range(1_200))
        assert counts == [MAX_INJECTED, MAX_INJECTED, 200]
        assert peers[1]._parts.topics._injections._waiting == {}

    simulate(work, seed=1, size=3)


def test_what_is_published_while_a_message_is_under_way_waits_for_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()
        await peers[1].topic("news").publish("first")
        counts = injected(peers[0])

        publishing = []
        for number in range(10):
            publishing.append(asyncio.ensure_future(peers[1].topic("news").publish(number)))
            await asyncio.sleep(0.0001)  # less than a message takes
        await asyncio.gather(*publishing)
        await quiet()

        assert heard(events) == ["first", *range(10)]
        assert counts == [1, 9]

    simulate(work, seed=1, size=3)


@pytest.mark.parametrize("publisher", [0, 1], ids=["member", "other"])
def test_many_events_of_one_call_come_in_order(publisher: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()

        await peers[publisher].topic("news").publish_all([number] for number in range(1_200))
        await quiet()

        assert heard(events) == list(range(1_200))

    simulate(work, seed=2, size=3)


def test_bytes_of_one_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injections, "INJECTED_BYTES", 1_000)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()
        counts = injected(peers[0])

        await peers[1].topic("news").publish_all([text * 400] for text in "abcd")
        await peers[1].topic("news").publish("e" * 2_000)
        await quiet()

        assert [str(text)[0] for text in heard(events)] == list("abcde")
        assert counts == [2, 2, 1]

    simulate(work, seed=3, size=3)


def test_whoever_gives_up_waiting_costs_nobody_else_an_event() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()
        publishing = [asyncio.ensure_future(peers[1].topic("news").publish(number)) for number in range(5)]
        await asyncio.sleep(0)

        for given_up in (publishing[0], publishing[2]):
            given_up.cancel()
        await asyncio.gather(*publishing, return_exceptions=True)
        await quiet()

        assert heard(events) == [0, 1, 2, 3, 4]

    simulate(work, seed=4, size=3)


def test_where_no_member_can_be_reached_all_who_wait_are_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        async def nobody(topic: str) -> None:
            raise PeerUnreachable("nobody answers")

        topics = peers[1]._parts.topics
        topics._injections._find_member = nobody  # what happens where all holders are away

        failed = await asyncio.gather(*[peers[1].topic("news").publish(number) for number in range(3)], return_exceptions=True)

        assert [str(error) for error in failed] == ["nobody answers"] * 3
        assert topics._injections._waiting == {}

    simulate(work, seed=5, size=3)


def test_members_by_which_is_published_are_remembered_for_a_bounded_number_of_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injections, "MAX_ACCESS", 2)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        for name in "abc":
            await peers[0].topic(name).subscribe()

        for name in "abca":
            await peers[1].topic(name).publish(1)

        assert list(peers[1]._parts.topics._injections._access) == ["c", "a"]

    simulate(work, seed=6, size=3)


def test_a_message_with_more_events_than_anybody_sends_ends_its_link(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].topic("news").subscribe()
        monkeypatch.setattr(peer_topics, "MAX_INJECTED", 3)

        with pytest.raises(PeerUnreachable):
            await peers[1].topic("news").publish_all([number] for number in range(4))

    simulate(work, seed=7, size=2)


def test_one_topic_too_many_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_topics, "MAX_TOPICS", 1)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].topic("a").subscribe()
        await peers[0].topic("a").subscribe()

        with pytest.raises(LocalError, match="topic 'b' would be one more than the 1 that a peer may join"):
            await peers[0].topic("b").subscribe()

        assert await peers[1].topic("b").size() == 0

    simulate(work, seed=8, size=2)


def test_a_member_that_is_left_alone_meets_those_that_the_holders_know_at_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()
        await peers[1].topic("news").subscribe()
        await quiet()
        # One more is a member, knows no other one, and is known to the holders alone.
        late = peers[2]._parts.topics
        late._begin_topics().join("news", tell=lambda _: None, tell_gap=lambda *_: None, on_joined=lambda: None).join_alone()
        await late._ask_holders("news", enrols=True)

        for contact in list(peers[0]._parts.topics._begin_topics().base.view):
            peers[0]._parts.topics._begin_topics().base.view.forget(contact.id)

        net.crash(peers[1].contact.host)
        await asyncio.sleep(2.0)

        assert list(peers[0]._parts.topics._begin_topics().joined["news"].neighbours.active) == [peers[2].contact.id]
        events.close()

    simulate(work, seed=9, size=4)


def test_events_of_callers_that_gave_up_waiting_are_kept_no_longer() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        events = await peers[0].topic("news").subscribe()
        under_way = asyncio.ensure_future(peers[1].topic("news").publish("under way"))
        await asyncio.sleep(0.0001)  # less than a message takes
        waiting = peers[1]._parts.topics._injections._waiting["news"]

        given_up = [asyncio.ensure_future(peers[1].topic("news").publish(number)) for number in range(100)]
        await asyncio.sleep(0)
        for each in given_up:
            each.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)

        assert len(waiting) == 0
        await under_way
        await quiet()
        assert heard(events) == ["under way"]

    simulate(work, seed=10, size=3)


def test_whoever_publishes_while_the_peer_stops_is_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].topic("news").subscribe()
        topic = peers[1].topic("news")
        publishing = asyncio.ensure_future(topic.publish("under way"))
        await asyncio.sleep(0.0001)  # less than a message takes
        waiting = asyncio.ensure_future(topic.publish("waiting"))
        await asyncio.sleep(0)

        peers[1]._open = False
        peers[1]._parts.topics.stop()

        for late in (waiting, topic.publish("later")):
            with pytest.raises(DoorClosed, match="the peer stops"):
                await asyncio.wait_for(late, 60.0)
        await publishing
        peers[1]._open = True

    simulate(work, seed=11, size=3)
