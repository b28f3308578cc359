"""Links that break while events are on their way: these are told by the next link, with those that happened meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest
from line import Line
from peers import others, quiet, rendezvous, simulate, unread

import gsg.rendezvous.broken_links
import rete
from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import PeerUnreachable, Refused
from gsg.feeds.acknowledging import ARRIVED_S
from gsg.feeds.feeds import NEXT_S
from gsg.placement.holders import UNSURE_S
from gsg.rendezvous.broken_links import BACK_S, BrokenLink, BrokenLinks, UnacknowledgedEvents
from gsg.rendezvous.slow_links import HeldEvents
from gsg.tuples.terms import Term
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Arrived, Event, Happened, Missed
from gsg.wire.waiting import Room

TellAgain: TypeAlias = Callable[[PeerLink, Sequence[int], int], None]


def happened(first: int, count: int, *feeds: int, late_s: int = 0) -> Happened:
    """Events from this number on, each for these feeds."""
    numbers = range(first, first + count)
    return Happened(b"p", [Event(number, ("x",), late_s=late_s) for number in numbers], [list(feeds)] * count)


def broken_at_once(links: BrokenLinks, link: Line, held: HeldEvents | None = None) -> tuple[BrokenLink, list[BrokenLink]]:
    """A link breaks at the beginning, and is kept; with those that are kept no more."""
    broken = links.end_link(link, held, 0.0)
    return broken, links.keep_events(link, broken)


# --- what is under way by a link ---------------------------------------------------------------------------------------------


def test_what_has_arrived_is_forgotten() -> None:
    sent = UnacknowledgedEvents()
    for number in range(1, 5):
        sent.add(happened(number, 1, 7), 100)

    sent.acknowledge(3)
    sent.acknowledge(2)

    assert list(sent) == [happened(4, 1, 7)]


@pytest.mark.parametrize(("limit", "most"), [("UNACKNOWLEDGED_EVENTS", 3), ("UNACKNOWLEDGED_BYTES", 150)])
def test_of_what_is_too_much_the_oldest_is_counted_until_it_has_arrived(
    limit: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.rendezvous.broken_links, limit, most)
    sent = UnacknowledgedEvents()
    for number in (1, 3, 5):
        sent.add(happened(number, 2, 7), 100)

    counted = dict(sent.missed)
    sent.acknowledge(1)
    still = dict(sent.missed)
    sent.acknowledge(2)

    assert (counted, still, dict(sent.missed)) == ({7: 4}, {7: 4}, {})
    assert list(sent) == [happened(5, 2, 7)]


def test_who_is_back_is_told_what_was_under_way_what_the_link_did_not_take_and_what_happened_since() -> None:
    sent, held = UnacknowledgedEvents(), HeldEvents()
    sent.add(happened(1, 1, 7, 8), 100)
    sent.add(happened(2, 1, 8), 100)
    held.add(happened(3, 1, 7))

    broken = BrokenLink(Line("away"), sent, held, 10.0)
    broken.add(Missed(7, 6), 10.0)
    broken.add(Arrived(1), 10.0)

    assert list(broken.take_messages(7, 9, 10.5)) == [happened(1, 1, 9, late_s=1), happened(3, 1, 9, late_s=1), Missed(9, 6)]
    assert list(broken.take_messages(8, 10, 12.0)) == [happened(1, 1, 10, late_s=3), happened(2, 1, 10, late_s=3)]
    assert list(broken.take_messages(11, 12, 13.0)) == []


@pytest.mark.parametrize("limit", ["KEPT_TIMES", "KEPT_BYTES"])
def test_what_is_too_much_for_a_link_that_broke_is_counted(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = UnacknowledgedEvents()
    sent.missed[7] = 4
    monkeypatch.setattr(gsg.rendezvous.broken_links, limit, 3 if limit == "KEPT_TIMES" else 100)
    broken = BrokenLink(Line("away"), sent, None, 0.0)

    broken.add(happened(1, 2, 7, 8), 0.0)
    for number in range(3, 10):
        broken.add(happened(number, 1, 7), 0.0)
    broken.add(happened(10, 1, 8), 0.0)

    missed, *events, beyond = broken.take_messages(7, 9, 0.0)
    assert (missed, events[0]) == (Missed(9, 4), happened(1, 2, 9, late_s=1))
    assert isinstance(beyond, Missed)
    assert beyond.events + sum(len(each.events) for each in events if isinstance(each, Happened)) == 9
    assert list(broken.take_messages(8, 9, 0.0)) == [happened(1, 2, 9, late_s=1), Missed(9, 1)]


def test_what_is_told_is_not_counted_as_lost_and_what_is_not_told_is() -> None:
    links, link = BrokenLinks(), Line("away")
    links.add_sent(link, happened(1, 2, 7, 8), 100, lambda: 0.0)
    broken, _ = broken_at_once(links, link, None)
    broken.add(Missed(7, 5), 0.0)
    broken.add(happened(3, 4, 8), 0.0)

    told = list(broken.take_messages(7, 9, 0.0))
    links.end(broken)

    assert told == [happened(1, 2, 9, late_s=1), Missed(9, 5)]
    assert links.untold == 6


def test_what_a_slow_link_had_missed_when_it_broke_is_told_and_not_counted_again() -> None:
    links, link = BrokenLinks(), Line("away")
    held = HeldEvents()
    held._missed[7] = 5
    broken, _ = broken_at_once(links, link, held)

    broken.add(happened(1, 1, 7), 0.0)
    untold = broken.untold()

    assert list(broken.take_messages(7, 9, 0.0)) == [Missed(9, 6)]
    assert untold == 1


@pytest.mark.parametrize(("limit", "most"), [("KEPT_TIMES", 2), ("KEPT_BYTES", 45)])
def test_what_was_told_makes_room_for_what_is_kept_for_other_feeds(limit: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.broken_links, limit, most)
    broken = BrokenLink(Line("away"), UnacknowledgedEvents(), None, 0.0)
    broken.add(happened(1, 2, 7), 0.0)

    told = list(broken.take_messages(7, 9, 0.0))
    broken.add(happened(3, 2, 8), 0.0)

    assert told == [happened(1, 2, 9, late_s=1)]
    assert list(broken.take_messages(8, 9, 0.0)) == [happened(3, 2, 9, late_s=1)]


def test_what_happens_after_the_break_is_kept_also_where_it_was_matched_before() -> None:
    links, link = BrokenLinks(), Line("away")
    links.add_sent(link, happened(1, 1, 7), 100, lambda: 0.0)

    broken, _ = broken_at_once(links, link, None)
    links.add_sent(link, happened(2, 1, 7), 100, lambda: 9.0)

    # Late since it happened, not since the break: who asked in between is to hear of it.
    assert list(broken.take_messages(7, 8, 10.0)) == [happened(1, 1, 8, late_s=11), happened(2, 1, 8, late_s=2)]


def test_a_feed_of_which_some_are_missed_keeps_nothing_from_the_others() -> None:
    broken = BrokenLink(Line("away"), UnacknowledgedEvents(), None, 0.0)
    broken.add(Missed(7, 3), 0.0)

    broken.add(happened(1, 1, 7, 8), 0.0)

    assert list(broken.take_messages(7, 9, 0.0)) == [Missed(9, 4)]
    assert list(broken.take_messages(8, 9, 0.0)) == [happened(1, 1, 9, late_s=1)]


def test_of_links_that_broke_the_first_are_forgotten_where_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.broken_links, "LINKS", 3)
    links = BrokenLinks()
    begun = [broken_at_once(links, Line(name)) for name in "aaabc"]

    gone = [broken for _, beyond in begun for broken in beyond]

    assert gone == [begun[0][0], begun[1][0]]
    assert links.oldest() is begun[2][0]
    assert links.of_peer(Line("a").contact.id) == [begun[2][0]]


def test_what_was_under_way_by_a_link_that_is_not_kept_is_counted() -> None:
    links, link, held = BrokenLinks(), Line("a"), HeldEvents()
    links.add_sent(link, happened(1, 2, 7, 8, 9), 100, lambda: 0.0)
    held.add(happened(3, 1, 7, 8))

    assert links.end_link(link, held, 0.0).untold() == 8


# --- between peers -----------------------------------------------------------------------------------------------------------


def three(peers: list[Peer]) -> tuple[Peer, Peer, Peer]:
    """The rendezvous of ("x", ...), a subscriber, and a publisher."""
    asked = rendezvous(peers, 2, 0, "x")
    subscriber, publisher, *_ = others(peers, asked)
    return asked, subscriber, publisher


def lose(net: SimNet, asked: Peer, subscriber: Peer) -> None:
    """What is on its way to a subscriber that reads nothing goes with the link."""
    net.cut(asked.contact.host, subscriber.contact.host)
    net.read_on(subscriber.contact.host)


@pytest.mark.parametrize("by_rendezvous", [True, False], ids=["said at the rendezvous", "said elsewhere"])
def test_events_on_their_way_when_a_link_breaks_are_told_by_the_next_one(by_rendezvous: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, publisher = three(peers)
        subscription = await subscriber.subscribe('("x", ?n)')
        await asyncio.sleep(UNSURE_S + 5)

        for number in range(20):
            if number % 5 == 4:
                net.stall(subscriber.contact.host)
            await (asked if by_rendezvous else publisher).notify([("x", number)])
            if number % 5 == 4:
                lose(net, asked, subscriber)
        await quiet()

        assert await unread(subscription) == [f"!?n={number}" for number in range(20)]

    simulate(work, seed=4, size=5)


def test_what_comes_by_another_rendezvous_waits_for_what_a_broken_link_had_to_bring() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        first, subscriber, publisher = three(peers)
        constant = next(f"y{number}" for number in range(100) if rendezvous(peers, 2, 0, f"y{number}") is peers[-1])
        assert peers[-1] not in (first, subscriber, publisher)
        heard: list[Term] = []
        for name in ("x", constant):
            await subscriber.listen(rete.Template((name, None)), lambda event, _: heard.append(event.items[1]), anchor=0)
        await asyncio.sleep(UNSURE_S + 5)
        for number in range(2):
            await publisher.notify([("x", number), (constant, number)])
        heard.clear()

        for number in range(0, 20, 2):
            net.stall(subscriber.contact.host)
            await publisher.notify([("x", number)])
            net.cut(first.contact.host, subscriber.contact.host)
            net.read_on(subscriber.contact.host)
            await publisher.notify([(constant, number + 1)])
            await asyncio.sleep(1.0)

        assert heard == list(range(20))

    simulate(work, seed=4, size=5)


def test_a_query_that_was_asked_after_the_break_hears_nothing_of_what_was_said_before() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, _ = three(peers)
        early = await subscriber.subscribe('("x", ?n)')
        await asyncio.sleep(ARRIVED_S)
        hosts = [subscriber.contact.host], [peer.contact.host for peer in peers if peer is not subscriber]
        net.stall(subscriber.contact.host)
        await asked.notify([("x", 1)])
        net.cut(asked.contact.host, subscriber.contact.host)
        net.partition(hosts)
        net.read_on(subscriber.contact.host)
        await asyncio.sleep(3.0)
        late = await subscriber.subscribe('("x", ?n)')
        net.heal()
        await asyncio.sleep(5.0)

        assert (await unread(early), await unread(late)) == (["!?n=1"], [])

    simulate(work, seed=4, size=5)


def test_listeners_hear_once_what_a_link_has_brought_or_not_when_it_breaks_again_and_again() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, _ = three(peers)
        heard: list[Term] = []
        await subscriber.listen(rete.Template(("x", None)), lambda event, _: heard.append(event.items[1]), anchor=0)

        for number in range(200):
            if number % 10 == 7:
                net.stall(subscriber.contact.host)
            await asked.notify([("x", number)])
            if number % 10 == 9:
                lose(net, asked, subscriber)
            await asyncio.sleep(0.01)
        await quiet()

        assert heard == list(range(200))

    simulate(work, seed=5, size=5)


def noting(tell_again: TellAgain, named: list[int]) -> TellAgain:
    """Tell again, and note which feeds are named."""

    def both(link: PeerLink, feeds: Sequence[int], instead: int) -> None:
        named.extend(feeds)
        tell_again(link, feeds, instead)

    return both


def test_where_the_rendezvous_dies_and_then_the_link_to_who_stands_by_breaks_events_are_told_by_the_next_one() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, _ = three(peers)
        subscription = await subscriber.subscribe('("x", ?n)')
        await asyncio.sleep(UNSURE_S + 5)
        standing = [peer for peer in others(peers, asked) if list(peer._parts.rendezvous.conditions.keys_on_standby())]
        assert standing
        assert subscriber not in standing

        net.stall(subscriber.contact.host)
        net.crash(asked.contact.host)
        for peer in others(peers, asked):
            peer._parts.holders.failed(asked.contact.id, PeerUnreachable("it has died"))
        await standing[0].notify([("x", 1)])
        for peer in standing:
            net.cut(peer.contact.host, subscriber.contact.host)
        told: list[int] = []
        for peer in standing:
            peer._parts.delivery.replay_events = noting(peer._parts.delivery.replay_events, told)  # type: ignore[method-assign]  # to see what is named
        net.read_on(subscriber.contact.host)
        await asyncio.sleep(5.0)

        assert await unread(subscription) == ["!?n=1"]
        assert len(set(told)) >= len(standing), "each is told which of its own feeds broke"

    simulate(work, seed=4, size=5)


def test_a_peer_that_was_taken_for_dead_misses_no_event_when_it_goes_on() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, _ = three(peers)
        subscription = await subscriber.subscribe('("x", ?n)')
        await asyncio.sleep(UNSURE_S + 5)
        net.stall(subscriber.contact.host)
        await asked.notify([("x", 0)])
        for peer in others(peers, subscriber):
            peer._parts.holders.failed(subscriber.contact.id, PeerUnreachable("it does not answer"))

        for number in range(1, 4):
            await asked.notify([("x", number)])
        net.read_on(subscriber.contact.host)
        await asyncio.sleep(5.0)

        assert await unread(subscription) == [f"!?n={number}" for number in range(4)]

    simulate(work, seed=4, size=5)


def test_what_nobody_comes_back_for_goes_in_time() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, _ = three(peers)
        subscription = await subscriber.subscribe('("x", ?n)')
        net.cut(asked.contact.host, subscriber.contact.host)
        await subscription.close()
        await asyncio.sleep(1.0)

        waits = asked._parts.rendezvous.conditions.feeds()
        await asyncio.sleep(BACK_S)

        assert (waits, asked._parts.rendezvous.conditions.feeds()) == (1, 0)

    simulate(work, seed=4, size=5)


@pytest.mark.parametrize("ends", ["before", "after"])
def test_nothing_is_remembered_of_a_link_that_broke(ends: str) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        _, subscriber, publisher = three(peers)
        subscription = await subscriber.subscribe('("x", ?n)')
        await publisher.notify([("x", 1)])
        await quiet()
        streams = subscriber._parts.subscriber.feeds.order._order._streams
        broken = set(subscriber._parts.exchange.links())
        assert any(broken.intersection(stream.come) for stream in streams.values())

        if ends == "before":
            await subscription.close()
            await quiet()
        for peer in others(peers, subscriber):
            net.cut(peer.contact.host, subscriber.contact.host)
        await asyncio.sleep(2 * NEXT_S)

        assert not any(broken.intersection(stream.come) for stream in streams.values())

    simulate(work, seed=4, size=5)


def test_who_lost_its_link_keeps_nobody_from_what_it_had_for_itself() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        _, subscriber, other = three(peers)
        hosts = [subscriber.contact.host], [peer.contact.host for peer in peers if peer is not subscriber]

        async def take(peer: Peer) -> None:
            await peer.listen(rete.Template(("x", None)), lambda *_: None, anchor=0, exclusive=True)

        await take(subscriber)
        with pytest.raises(Refused, match="somebody has this already"):
            await take(other)
        net.partition(hosts)
        for peer in peers:
            if peer is not subscriber:
                peer._parts.exchange.abort(subscriber.contact.id, "it does not answer")

        await take(other)

    simulate(work, seed=4, size=5)


def test_a_link_of_which_only_the_subscriber_knows_that_it_broke_is_ended_when_it_is_back() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        asked, subscriber, _ = three(peers)
        subscription = await subscriber.subscribe('("x", ?n)')
        await quiet()
        [old] = asked._parts.exchange.links_of(subscriber.contact.id)
        net.partition([[subscriber.contact.host], [asked.contact.host]])
        subscriber._parts.exchange.abort(asked.contact.id, "it does not answer")
        await asked.notify([("x", 1)])
        net.heal()
        await quiet()

        assert await unread(subscription) == ["!?n=1"]
        assert old not in asked._parts.exchange.links_of(subscriber.contact.id)
        assert asked._parts.rendezvous.conditions.feeds() == 1

    simulate(work, seed=4, size=5)


def test_what_is_under_way_by_all_links_is_bounded_together_and_makes_room_when_a_link_breaks() -> None:
    all_links = Room(250, each_bytes=0)
    first, second = UnacknowledgedEvents(all_links), UnacknowledgedEvents(all_links)
    first.add(happened(1, 1, 7), 100)
    second.add(happened(2, 1, 7), 100)

    second.add(happened(3, 1, 7), 100)
    broken = BrokenLink(Line("away"), first, None, 0.0)

    assert (list(second), dict(second.missed)) == ([happened(3, 1, 7)], {7: 1})
    assert broken.untold() == 1
    assert all_links.taken_bytes == 100
