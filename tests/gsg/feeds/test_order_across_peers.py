"""What one publisher says by several rendezvous reaches a subscriber in the order said."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence

import pytest
from members import member_of
from peers import others, quiet, rendezvous, simulate, unread

import gsg.feeds.ordered_delivery
import rete
from dht.simnet import SimNet
from gsg import Peer
from gsg.feeds.feeds import NEXT_S
from gsg.feeds.publisher_order import ORDER_WAIT_S
from gsg.feeds.standbys import Standby
from gsg.placement.holders import UNSURE_S
from gsg.publisher.order import NAMED_S
from gsg.tuples.terms import Symbol
from gsg.wire.messages import AskPassed, Event, Happened


def names(peers: Sequence[Peer], at: Peer, count: int) -> list[Symbol]:
    """Functors of events of two terms whose rendezvous is this peer."""
    candidates = (Symbol(f"f{number}") for number in range(10_000))
    return [name for name, _ in zip((one for one in candidates if rendezvous(peers, 2, 0, one) is at), range(count), strict=False)]


async def settled(peers: Sequence[Peer]) -> None:
    """Until no key may be changing hands, and everybody has heard what everybody asks for."""
    await asyncio.sleep(UNSURE_S + 5)
    for _ in range(2):
        for peer in peers:
            await peer.notify([("nobody", "asks for this")])
        await quiet()


async def listen_in_order(peer: Peer, functors: Sequence[Symbol]) -> list[int]:
    """The second terms of what a peer's listeners hear, in the order heard."""
    heard: list[int] = []

    def on_event(event: Event, _: int) -> None:
        heard.append(event.items[1])  # type: ignore[arg-type]  # a number, as sent below

    for functor in functors:
        await peer.listen(rete.Template((functor, None)), on_event, anchor=0)
    return heard


ROLES = {
    "publisher, subscriber and both rendezvous apart": (0, 1, 2, 3),
    "the publisher is a rendezvous": (0, 1, 0, 3),
    "the subscriber is a rendezvous": (0, 1, 2, 1),
    "the publisher subscribes": (0, 0, 2, 3),
    "the publisher subscribes and is a rendezvous": (0, 0, 0, 3),
}


@pytest.mark.parametrize("roles", ROLES.values(), ids=ROLES.keys())
@pytest.mark.parametrize("batch", [1, 7], ids=["one by one", "in batches"])
def test_listeners_hear_events_of_two_rendezvous_in_the_order_said(roles: tuple[int, int, int, int], batch: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = (peers[role] for role in roles)
        functors = [*names(peers, one, 1), *names(peers, other, 1)]
        heard = await listen_in_order(subscriber, functors)
        await settled(peers)

        sending = []
        for start in range(0, 210, batch):
            events = [((functors[number % 2], number), f"said({number})") for number in range(start, start + batch)]
            if not publisher.flash_here(events):
                sending.append(asyncio.ensure_future(publisher.flash(events)))
            # A turn for the loop, so that the messages of two calls are under way at once.
            await asyncio.sleep(0)
        await asyncio.gather(*sending)
        await quiet()

        assert heard == list(range(210))
        assert subscriber._parts.subscriber.feeds.order.late == 0

    simulate(work, seed=11)


def test_who_listened_when_an_event_was_said_hears_of_it_also_where_it_ends_before_the_event_has_its_turn() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        at, other = peers[:2]
        [here], [asked_here, asked_there] = names(peers, at, 1), names(peers, other, 2)
        heard = await listen_in_order(at, [asked_here])
        ending = await at.listen(rete.Template((here, None)), lambda event, _: heard.append(event.items[1]), anchor=0)  # type: ignore[arg-type]  # a number
        await listen_in_order(peers[2], [asked_there])
        await settled(peers)

        await at.flash([((asked_there, 1), "said(1)")])
        passage = at.flash_here([((here, 2), "said(2)")])
        assert passage is not None
        assert passage.done
        # It waits until the other rendezvous says that nothing of what came before it concerns this peer.
        assert heard == []
        at.end_listening(ending)
        at.flash_here([((here, 3), "said(3)")])
        await quiet()

        assert heard == [2]

    simulate(work, seed=15)


@pytest.mark.parametrize("besides", ["(other, ?n)", "(other, ?n) WINDOW 60 s"], ids=["alone", "beside a window"])
def test_a_query_that_is_asked_while_an_event_waits_for_its_turn_does_not_hear_of_it(besides: str) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        at, other = peers[:2]
        [here], [asked_here, asked_there] = names(peers, at, 1), names(peers, other, 2)
        await listen_in_order(at, [asked_here])
        await at.subscribe(besides)
        early = await at.subscribe(f"({here}, ?n)")
        await listen_in_order(peers[2], [asked_there])
        await settled(peers)

        await at.flash([((asked_there, 1), "said(1)")])
        at.flash_here([((here, 2), "said(2)")])
        await asyncio.sleep(0.001)
        late = await at.subscribe(f"({here}, ?n)")
        await quiet()

        assert (await unread(early), await unread(late)) == (["!?n=2"], [])

    simulate(work, seed=15)


def test_rows_of_events_of_two_rendezvous_come_in_the_order_said() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = peers[:4]
        functors = [*names(peers, one, 1), *names(peers, other, 1)]
        groups = " UNION ".join(f"{{ ({functor}, ?n) }}" for functor in functors)
        subscription = await subscriber.subscribe(f"{groups}")
        await settled(peers)

        for number in range(40):
            await publisher.notify([(functors[number % 2], number), (functors[number % 3 % 2], number + 1000)])
        sending = [publisher.notify([(functors[number % 2], number)]) for number in range(40, 80)]
        await asyncio.gather(*sending)
        await quiet()

        told = [int(row[1:].removeprefix("?n=")) for row in await unread(subscription)]
        said = [number for turn in range(40) for number in (turn, turn + 1000)] + list(range(40, 80))
        assert told == said

    simulate(work, seed=12)


def test_events_are_in_order_while_peers_are_unsure_of_who_holds_what() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = peers[:4]
        functors = [*names(peers, one, 1), *names(peers, other, 1)]
        heard = await listen_in_order(subscriber, functors)

        # Everything goes by the rendezvous of all positions now, whether somebody asks there or not.
        for number in range(100):
            await publisher.notify([(functors[number % 2], number)])
        await quiet()

        assert heard == list(range(100))
        assert subscriber._parts.subscriber.feeds.order.late == 0

    simulate(work, seed=13)


def test_nobody_is_asked_while_a_publisher_uses_one_rendezvous(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def ask(publisher: bytes, number: int) -> AskPassed:
        asked.append(number)
        return AskPassed(publisher, number)

    monkeypatch.setattr(gsg.feeds.ordered_delivery, "AskPassed", ask)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one = peers[:3]
        functors = names(peers, one, 2)
        heard = await listen_in_order(subscriber, functors)
        await settled(peers)
        await asyncio.sleep(NAMED_S)

        await asyncio.gather(*(publisher.notify([(functors[number % 2], number)]) for number in range(50)))
        await quiet()

        assert heard == list(range(50))
        assert asked == []

    simulate(work, seed=14)


def test_a_rendezvous_whose_link_breaks_is_waited_for_a_moment_and_told_of_later() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = peers[:4]
        functors = [*names(peers, one, 1), *names(peers, other, 1)]
        heard = await listen_in_order(subscriber, functors)
        await settled(peers)

        net.partition([[subscriber.contact.host], [other.contact.host]])
        await publisher.notify([(functors[1], 1), (functors[0], 2)])
        await asyncio.sleep(0.5)
        assert heard == []
        net.cut(subscriber.contact.host, other.contact.host)
        await asyncio.sleep(0.1)
        assert heard == []
        await asyncio.sleep(NEXT_S)

        assert heard == [2]
        net.heal()
        await quiet()
        assert heard == [2, 1]
        assert subscriber._parts.subscriber.feeds.order.late == 0

    simulate(work, seed=15)


def test_what_never_comes_delays_others_for_a_while_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = peers[:4]
        functors = [*names(peers, one, 1), *names(peers, other, 1)]
        heard = await listen_in_order(subscriber, functors)
        await settled(peers)

        # As one that died between two messages would: it has named what it was about to send, and has not sent it.
        record = publisher._parts.publisher.record
        record.sent.note_sending(other.contact.id, record.next_number(), net.loop.time())
        await publisher.notify([(functors[0], 2), (functors[0], 3)])
        await asyncio.sleep(ORDER_WAIT_S - 0.2)
        assert heard == []
        await asyncio.sleep(0.4)
        assert heard == [2, 3]
        # What was given up is waited for again once it has brought something.
        await publisher.notify([(functors[1], 4)])
        await quiet()
        await publisher.notify([(functors[0], 5), (functors[1], 6), (functors[0], 7)])
        await quiet()

        assert heard == [2, 3, 4, 5, 6, 7]
        assert subscriber._parts.subscriber.feeds.order.late == 1

    simulate(work, seed=16)

    assert "1 events or changes were told without what their publisher sent before them" in caplog.text


# --- facts --------------------------------------------------------------------------------------------------------------


def predicates(peers: Sequence[Peer], at: Peer, count: int) -> list[Symbol]:
    """Constants at position 1 of facts of three terms whose rendezvous is this peer."""
    candidates = (Symbol(f"p{number}") for number in range(10_000))
    return [one for one, _ in zip((name for name in candidates if rendezvous(peers, 3, 1, name) is at), range(count), strict=False)]


@pytest.mark.parametrize("roles", ROLES.values(), ids=ROLES.keys())
@pytest.mark.parametrize("at_once", [1, 60], ids=["one by one", "many under way"])
def test_a_query_never_sees_facts_in_an_order_that_nobody_published(roles: tuple[int, int, int, int], at_once: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = (peers[role] for role in roles)
        [present], [absent] = predicates(peers, one, 1), predicates(peers, other, 1)
        subscription = await subscriber.subscribe(f"(?x, {present}, ?n), NOT {{ (?x, {absent}, ?n) }}")
        await quiet()

        # Whatever is true, what forbids it is true for longer: no row ever holds.
        calls: list[Coroutine[None, None, int]] = []
        for number in range(30):
            calls.append(publisher.insert([("x", absent, number)]))
            calls.append(publisher.insert([("x", present, number)]))
            calls.append(publisher.retract([("x", present, number)]))
            calls.append(publisher.retract([("x", absent, number)]))
        for start in range(0, len(calls), at_once):
            await asyncio.gather(*calls[start : start + at_once])
        await quiet()

        assert await unread(subscription) == []
        assert subscriber._parts.subscriber.feeds.order.late == 0

    simulate(work, seed=21)


@pytest.mark.parametrize("seed", range(22, 26))
def test_an_event_joins_with_the_facts_that_its_publisher_inserted_before_it(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, subscriber, one, other = peers[:4]
        [state], [rings] = predicates(peers, one, 1), names(peers, other, 1)
        subscription = await subscriber.subscribe(f"SUBSCRIBE ?n {{ ({rings}, ?n), (?d, {state}, ?n) }}")
        await quiet()

        calls: list[Coroutine[None, None, object]] = []
        for number in range(40):
            calls.append(publisher.insert([(Symbol("door"), state, number)]))
            calls.append(publisher.notify([(rings, number)]))
            calls.append(publisher.retract([(Symbol("door"), state, number)]))
        await asyncio.gather(*calls)
        await quiet()

        assert await unread(subscription) == [f"!?n={number}" for number in range(40)]

    simulate(work, seed=seed)


def test_the_answer_is_right_when_publishers_contradict_each_other_while_links_break() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        constants = [Symbol(f"p{number}") for number in range(6)]
        subscriptions = [await peer.subscribe("(?x, p0, ?n), (?x, p1, ?n)") for peer in peers]
        subscriptions += [await peer.subscribe("(?x, p2, ?n), NOT { (?x, p3, ?n) }") for peer in peers]
        rng = net.rng()

        for _ in range(60):
            calls = []
            for peer in peers:
                facts = [(Symbol("x"), rng.choice(constants), rng.randrange(5)) for _ in range(3)]
                calls.append(peer.insert(facts) if rng.random() < 0.5 else peer.retract(facts))
            await asyncio.gather(*calls)
            if rng.random() < 0.1:
                one, other = rng.sample(peers, 2)
                net.cut(one.contact.host, other.contact.host)
        await asyncio.sleep(30)

        for first in (0, len(peers)):
            answers = [subscription.rows() for subscription in subscriptions[first : first + len(peers)]]
            late = await peers[0].subscribe("(?x, p0, ?n), (?x, p1, ?n)" if not first else "(?x, p2, ?n), NOT { (?x, p3, ?n) }")
            assert answers == [late.rows()] * len(peers)
        assert all(len(peer._parts.subscriber.feeds.order._order) == 0 for peer in peers)

    simulate(work, seed=23)


def test_who_feeds_nothing_says_nothing_of_what_was_published() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host = rendezvous(peers, 3, 1, Symbol("on"))
        speaker, reader, *_ = others(peers, host)
        subscription = await reader.subscribe("(?x, ^on, ?y)")
        [feed] = [number for number, one in reader._parts.subscriber.feeds._sources.items() if not isinstance(one, Standby)]
        ordering = reader._parts.subscriber.feeds.order._order
        said = Event((1 << 60) + 1, ("false", Symbol("on"), 1))
        async with member_of(net) as member:
            await member.say(reader, Happened(speaker.contact.id, [said], [[feed]], [(host.contact.id, 1 << 60, 1 << 60)]))
            await asyncio.sleep(1)
            held, streams = len(ordering), set(ordering._streams)
            await asyncio.sleep(ORDER_WAIT_S)

            await speaker.notify([("true", Symbol("on"), 1)])
            await quiet()

            assert (held, streams, ordering.late) == (0, set(), 0)
            assert await unread(subscription) == ['!?x="true" ?y=1']
            await member.say(reader, Happened(speaker.contact.id, [said], [], []))
            await quiet()
            assert member.links.link_to(reader.contact.id) is None

    simulate(work, seed=61)
