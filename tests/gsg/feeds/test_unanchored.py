"""Templates without constants: a row stays while what its other holders have said of it is unread, and goes when nobody has it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

import pytest
from line import Line, NoEvents
from peers import others, quiet, simulate, unread

import dht
import gsg.feeds.unanchored
from dht.simnet import SimNet
from gsg import LiveSubscription, Peer
from gsg.feeds.ordered_delivery import OrderedDelivery
from gsg.tuples.features import HOME, key
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Deltas, Origin, Passed

READS_ALL = "(?x, ?y)"


def closest(peers: Sequence[Peer], position: int, term: int) -> list[Peer]:
    """The holders of a feature of facts of two terms, by the definition."""
    return sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(2, position, term)))[:3]


def fact_at(peers: Sequence[Peer], holders: Sequence[Peer]) -> Tuple:
    """A fact that these three hold under both of its keys."""
    return tuple(next(n for n in range(1_000) if {*closest(peers, position, n)} == {*holders}) for position in (0, 1))


def links_to(reader: Peer, peers: Iterable[Peer]) -> list[dht.Link]:
    """Those by which some peers feed one."""
    contacts = {peer.contact for peer in peers}
    return [link for link in reader._endpoint.links.open_links() if link.peer in contacts]


async def fed_by_one(reader: Peer, first: Peer, rest: Sequence[Peer]) -> tuple[LiveSubscription, Tuple, list[dht.Link]]:
    """A subscription with a fact of which one holder alone has told: by the links of the others nothing is read."""
    subscription = await reader.subscribe(READS_ALL)
    paused = links_to(reader, rest)
    for link in paused:
        link.pause_reading()
    fact = fact_at([reader, first, *rest], [first, *rest])
    await first.insert([fact])
    await asyncio.sleep(1.0)
    assert len(await unread(subscription)) == 1
    return subscription, fact, paused


def kill(net: SimNet, peer: Peer) -> None:
    """A peer dies, and its host says so to whoever calls it."""
    net.crash(peer.contact.host)
    net.restart(peer.contact.host)


def test_a_row_stays_where_links_break_also_while_they_are_dialled_anew() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, *rest = peers
        subscription = await reader.subscribe(READS_ALL)
        await rest[0].insert([fact_at(peers, rest)])
        await asyncio.sleep(1.0)
        assert len(await unread(subscription)) == 1

        for _ in range(40):
            for peer in rest:
                net.cut(reader.contact.host, peer.contact.host)
            await asyncio.sleep(0.01)
        await quiet()

        assert await unread(subscription) == []
        assert len(subscription.rows()) == 1

    simulate(work, seed=5, size=4)


def test_a_row_stays_while_what_the_other_holders_said_of_it_is_unread() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, first, *rest = peers
        subscription, fact, paused = await fed_by_one(reader, first, rest)

        kill(net, first)
        await asyncio.sleep(2.0)
        assert await unread(subscription) == []
        for link in paused:
            link.resume_reading()
        await quiet()

        assert await unread(subscription) == []
        assert reader._parts.subscriber.feeds._unanchored.postings.popitem()[1].times == 1
        await rest[0].retract([fact])
        await quiet()
        assert len(await unread(subscription)) == 1

    simulate(work, seed=5, size=4)


def test_a_row_stays_while_a_holder_that_has_told_of_it_hands_it_over() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, first, *rest = peers
        subscription, fact, paused = await fed_by_one(reader, first, rest)

        # As one does that stood in for another holder, which is back.
        first._parts.rendezvous.drop_moved_key((2, HOME, fact[HOME]))
        first._parts.delivery.flush()
        await asyncio.sleep(2.0)
        assert await unread(subscription) == []
        for link in paused:
            link.resume_reading()
        await quiet()

        assert await unread(subscription) == []

    simulate(work, seed=5, size=4)


def test_a_row_stays_while_the_links_of_its_other_holders_break() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, first, *rest = peers
        subscription, _, _ = await fed_by_one(reader, first, rest)

        kill(net, first)
        await asyncio.sleep(0.5)
        for other in rest:
            net.cut(reader.contact.host, other.contact.host)
        await quiet()

        assert await unread(subscription) == []
        assert subscription.rows().total() == 1

    simulate(work, seed=5, size=4)


def test_a_row_goes_when_those_who_may_have_its_fact_say_nothing_for_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.unanchored, "HEARD_OUT_S", 2.0)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, first, *rest = peers
        subscription, _, paused = await fed_by_one(reader, first, rest)

        kill(net, first)
        await asyncio.sleep(1.5)
        assert await unread(subscription) == []
        await asyncio.sleep(1.0)
        assert [change[0] for change in await unread(subscription)] == ["-"]
        for link in paused:
            link.resume_reading()
        await quiet()

        assert [change[0] for change in await unread(subscription)] == ["+"]

    simulate(work, seed=5, size=4)


def test_a_row_goes_at_once_when_everybody_says_that_its_fact_is_lost() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        holders = closest(peers, 0, 1)
        reader = others(peers, *holders)[0]
        subscription = await reader.subscribe(READS_ALL)
        await reader.insert([fact_at(peers, holders)])
        await quiet()
        assert len(await unread(subscription)) == 1

        for holder in holders:
            kill(net, holder)
        await asyncio.sleep(1.0)

        assert [change[0] for change in await unread(subscription)] == ["-"]

    simulate(work, seed=5, size=8)


def test_a_subscription_may_end_while_others_are_heard_out_for_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, first, *rest = peers
        subscription, _, paused = await fed_by_one(reader, first, rest)
        kill(net, first)
        await asyncio.sleep(1.0)

        await subscription.close()
        for link in paused:
            link.resume_reading()
        await quiet()

        assert not reader._parts.subscriber.feeds._unanchored.postings
        assert reader._parts.subscriber._network.is_empty
        assert (await reader.subscribe(READS_ALL)).rows().total() == 1

    simulate(work, seed=5, size=4)


def test_of_what_another_peer_has_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, first, *rest = peers
        subscription = await reader.subscribe(READS_ALL)
        await reader.insert([fact_at(peers, [first, *rest])])
        await quiet()
        asked: list[PeerLink] = []
        monkeypatch.setattr(reader._parts.subscriber.feeds.order, "hear_out", asked.append)

        kill(net, first)
        await quiet()

        assert asked == []
        assert subscription.rows().total() == 1

    simulate(work, seed=5, size=4)


# --- what waits for its turn ----------------------------------------------------------------------------------------------


async def test_who_is_heard_out_has_told_also_what_had_to_wait_for_its_turn() -> None:
    one, other = Line("one"), Line("other")
    order = OrderedDelivery(lambda peer: [line for line in (one, other) if line.contact.id == peer], lambda peer: [], NoEvents())
    told: list[str] = []
    after = [(other.contact.id, 1, 0)]
    order.take_deltas(one, Deltas(7, 0, [("a",)], [1], Origin(b"publisher", 2, after)), lambda: told.append("second"))
    heard = asyncio.create_task(order.hear_out(one))
    await asyncio.sleep(0)
    order.note_passed(one, one.ask_passed())
    await asyncio.sleep(0)
    assert (told, heard.done()) == ([], False)

    order.take_deltas(other, Deltas(8, 0, [("b",)], [1], Origin(b"publisher", 1, [])), lambda: told.append("first"))
    order.note_passed(other, Passed(b"publisher", 1))

    assert await heard
    assert told == ["first", "second"]
    order.stop()


async def test_who_cannot_be_heard_out_as_its_link_breaks_is_not_waited_for() -> None:
    one, other = Line("one"), Line("other")
    order = OrderedDelivery(lambda peer: [], lambda peer: [], NoEvents())
    heard = [asyncio.create_task(order.hear_out(line)) for line in (one, other)]
    await asyncio.sleep(0)

    order.note_broken(one)
    order.note_passed(other, other.ask_passed())

    assert await asyncio.gather(*heard) == [False, True]
