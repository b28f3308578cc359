"""Quenching: what nobody asks for does not travel, and what was subscribed to before is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from peers import guest_of, others, overlay, quiet, rendezvous, simulate

import dht
import gsg.publisher.quenching
import rete
from dht.simnet import SimNet, run
from gsg import Peer, PeerUnreachable
from gsg.placement.holders import UNSURE_S
from gsg.placement.rules import NOWHERE
from gsg.publisher.quenching import LEASE_S, UNANSWERED, Interests, _Wanted
from gsg.tuples.features import Key
from gsg.tuples.terms import Symbol, Tuple
from gsg.wire.exchange import Exchange
from gsg.wire.interest_messages import AskInterest, Interest, Interested
from gsg.wire.messages import Event

TEMP = Symbol("temp")
SETTLED: Any = SimpleNamespace(settling=False)  # Any: as far as it is asked
TEMPERATURES: rete.Template[object] = rete.Template((TEMP, None, None))


def noop(*_: object) -> None:
    """Nothing is done about it."""


async def settled(peers: Sequence[Peer]) -> None:
    """Until no key may be changing hands, and everybody has heard what everybody asks for."""
    await asyncio.sleep(UNSURE_S + 5)
    for peer in peers:
        await peer.notify([("nobody", "asks for this")])
    await quiet()
    for peer in peers:
        await peer.notify([("nobody", "asks for this")])
    await asyncio.sleep(1)


def sent(peers: Sequence[Peer]) -> int:
    """Messages that went between peers."""
    return sum(peer._parts.exchange.traffic.messages for peer in peers)


async def hear(peer: Peer, template: rete.Template[object], anchor: int) -> list[Tuple]:
    """What a listener of its own hears, from now on."""
    heard: list[Tuple] = []

    def on_event(event: Event, _: int) -> None:
        heard.append(event.items)

    await peer.listen(template, on_event, anchor=anchor)  # type: ignore[arg-type]  # constants are terms
    return heard


def test_what_nobody_asks_for_does_not_travel() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard = await hear(peers[1], TEMPERATURES, 0)
        await settled(peers)
        before = sent(peers)

        await peers[0].notify([("noise", number, "x") for number in range(100)])
        await peers[0].notify([("temp", number, "x") for number in range(100)])  # a string is no symbol

        assert sent(peers) == before
        assert heard == []

    simulate(work, seed=1)


def test_what_is_asked_for_goes_to_the_one_rendezvous_that_asks() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        home = rendezvous(peers, 3, 0, TEMP)
        publisher, listener = others(peers, home)[:2]
        heard = await hear(listener, TEMPERATURES, 0)
        await settled(peers)
        before = sent(peers)

        await publisher.notify([(TEMP, number, "x") for number in range(100)])

        # Flash, Happened and Done.
        assert sent(peers) - before == 3
        await quiet()
        assert heard == [(TEMP, number, "x") for number in range(100)]

    simulate(work, seed=2)


@pytest.mark.parametrize("anchor", [0, NOWHERE], ids=["under a constant", "everywhere"])
def test_a_subscription_is_heard_by_all_once_it_is_acknowledged(anchor: int) -> None:
    template: rete.Template[object] = TEMPERATURES if anchor == 0 else rete.Template((None, None, None))

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await settled(peers)
        for turn in range(5):
            listener = peers[turn]
            heard = await hear(listener, template, anchor)

            for peer in peers:
                await peer.notify([(TEMP, turn, "x")])
            await quiet()

            assert len(heard) == len(peers)

    simulate(work, seed=3)


def test_a_key_that_came_into_use_is_told_before_its_subscriber_is_answered() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await settled(peers)
        heard = []
        for number in range(30):
            name = Symbol(f"name{number}")
            heard.append(await hear(peers[number % 5], rete.Template((name, None)), 0))

            await peers[(number + 2) % 5].notify([(name, number)])

        await quiet()
        assert [len(each) for each in heard] == [1] * 30

    simulate(work, seed=4)


def test_who_is_the_second_to_ask_for_a_key_waits_until_it_is_told_as_well() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        home = rendezvous(peers, 3, 0, TEMP)
        publisher, first, second = others(peers, home)[:3]
        await settled(peers)
        tell = publisher._parts.interests.add_interest
        publisher._parts.interests.add_interest = lambda *told: net.loop.call_later(3.0, tell, *told)  # type: ignore[method-assign]  # a busy peer
        async with asyncio.TaskGroup() as group:
            group.create_task(hear(first, TEMPERATURES, 0))
            await asyncio.sleep(1.5)

            heard = await hear(second, TEMPERATURES, 0)
            await publisher.notify([(TEMP, 1, "x")])
            await quiet()

            assert heard == [(TEMP, 1, "x")]

    simulate(work, seed=5)


def test_a_lease_ends_where_its_publisher_is_silent() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        home = rendezvous(peers, 3, 0, TEMP)
        publisher, listener = others(peers, home)[:2]
        await settled(peers)
        loop = asyncio.get_running_loop()
        # It never acknowledges what it is told.
        publisher._parts.interests.add_interest = lambda link, interested: None  # type: ignore[method-assign]  # a peer that hangs
        began = loop.time()

        await hear(listener, TEMPERATURES, 0)

        assert 0 < loop.time() - began <= gsg.publisher.quenching.LEASE_S

    simulate(work, seed=5)


def test_a_link_that_breaks_takes_what_was_told_by_it_along() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        home = rendezvous(peers, 3, 0, TEMP)
        publisher, listener = others(peers, home)[:2]
        await settled(peers)

        publisher._parts.exchange.abort(home.contact.id, "cut")
        await quiet()
        heard = await hear(listener, TEMPERATURES, 0)
        await publisher.notify([(TEMP, 1, "x")])
        await quiet()

        assert heard == [(TEMP, 1, "x")]

    simulate(work, seed=6)


def test_a_newcomer_that_takes_keys_over_is_heard_of() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 3) as peers:
            heard = [await hear(peers[0], rete.Template((Symbol(f"name{number}"), None)), 0) for number in range(20)]
            await settled(peers)
            async with guest_of(net, peers) as guest:
                for publisher in (peers[1], guest):
                    await publisher.notify([(Symbol(f"name{number}"), number) for number in range(20)])
                    await quiet()
                later = [await hear(guest, rete.Template((Symbol(f"later{number}"), None)), 0) for number in range(20)]
                await peers[1].notify([(Symbol(f"later{number}"), number) for number in range(20)])
                await settled([*peers, guest])
                await peers[2].notify([(Symbol(f"later{number}"), number) for number in range(20)])
                await quiet()

                assert [len(each) for each in heard] == [2] * 20
                assert [len(each) for each in later] == [2] * 20

    run(main, seed=7)


def test_more_keys_than_are_named_are_all_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.publisher.quenching, "NAMED_KEYS", 3)
    monkeypatch.setattr(gsg.rendezvous.interest, "NAMED_KEYS", 3)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard = [await hear(peers[0], rete.Template((Symbol(f"name{number}"), None)), 0) for number in range(40)]
        await settled(peers)
        heard.append(await hear(peers[0], rete.Template((Symbol("name40"), None)), 0))

        await peers[1].notify([(Symbol(f"name{number}"), number) for number in range(41)])
        await quiet()

        assert [len(each) for each in heard] == [1] * 41

    simulate(work, seed=8)


def test_standing_queries_join_events_that_are_sent_where_they_are_asked_for() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[1].insert([("bob", Symbol("in"), "kitchen")])
        subscription = await peers[2].subscribe('(?what, "kitchen", ?degrees), (?who, ^in, "kitchen")')
        await settled(peers)

        await peers[3].notify([(TEMP, "kitchen", 25)])
        await quiet()

        assert [str(sign) for sign, _ in await subscription.batch(9)] == ["!"]

    simulate(work, seed=9)


@pytest.mark.parametrize("key", [(3, 7, None), (3, 3, "x"), (3, -1, None), (0, 1, None), (256, 0, None)], ids=str)
def test_who_asks_for_positions_that_no_tuple_has_is_cut_off_and_events_go_on(key: tuple[int, int, str | None]) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, reader, liar = peers[:3]
        heard = await hear(reader, TEMPERATURES, 0)
        await settled(peers)
        link = await publisher._parts.exchange.link(liar.contact)
        to_publisher = await liar._parts.exchange.link(publisher.contact)

        to_publisher.send(Interested(1, False, [key]))
        await asyncio.sleep(0.5)
        await publisher.notify([("temp", 1, "x"), (TEMP, 1, 2)])
        await quiet()

        assert heard == [(TEMP, 1, 2)]
        with pytest.raises(PeerUnreachable):
            link.send(AskInterest())

    simulate(work, seed=21)


def test_what_one_peer_asks_for_is_bounded_and_what_is_beyond_is_sent_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.publisher.quenching, "PLACES", 3)
    monkeypatch.setattr(gsg.publisher.quenching, "CONSTANTS", 4)
    wanted = _Wanted(10.0, False, [(2, 0, "a"), (2, 1, "b"), (3, 0, "c"), (3, 0, "d"), (2, 0, "a")])
    assert not wanted.anything
    assert not wanted.asks_for(3, 0, "e")

    wanted.add_keys([(3, 0, "e")])
    assert wanted.asks_for(3, 0, "any")
    assert not wanted.asks_for(2, 0, "any")

    wanted.add_keys([(2, 0, "f"), (2, 0, "g"), (2, 0, "h")])
    assert wanted.asks_for(2, 0, "any")
    assert not wanted.anything

    wanted.add_keys([(4, 0, "x")])
    assert wanted.anything
    assert len(wanted.keys) == 3


class OneStranger:
    """Holders of which one is not among the peers that this one knows."""

    unsure = False
    known, stranger = dht.Contact(b"k" * 20, "1.2.3.4", 1), dht.Contact(b"s" * 20, "1.2.3.9", 1)

    def __init__(self, *, passes_over: bool) -> None:
        self.passes_over = passes_over

    def others(self) -> list[dht.Contact]:
        return [self.known]

    def suspects(self, peer: bytes) -> bool:
        return False

    def primary_now(self, feature: Key) -> dht.Contact:
        return self.stranger if feature[1] == 1 else self.known


@pytest.mark.parametrize(("passes_over", "expected"), [(False, b"\x01"), (True, b"\x00\x01\x02")], ids=["not told of", "known of"])
async def test_a_holder_that_is_not_among_the_peers_known_is_sent_what_it_may_want(passes_over: bool, expected: bytes) -> None:
    holders = OneStranger(passes_over=passes_over)
    exchange = Exchange(dht.Contact(b"o" * 20, "1.2.3.5", 1), on_message=lambda *_: None, on_batch=noop, on_broken=lambda *_: None)
    rendezvous = SimpleNamespace(positions_in_use=lambda arity: [1])
    interests = Interests(holders, exchange, rendezvous, SETTLED, noop)  # type: ignore[arg-type]  # as far as they are asked
    interests._of_peer[holders.known.id] = _Wanted(asyncio.get_running_loop().time() + LEASE_S, False, [])

    places, here = interests.places([("a", "b", "c")])

    assert (places, here) == ([expected], False)


class EachHolds:
    """Each peer holds the key of the constant that is its name."""

    passes_over = unsure = False

    def __init__(self) -> None:
        self.peers = {name: dht.Contact(name.encode() * 20, "1.2.3.4", 1) for name in ("own", "known", "silent")}

    def others(self) -> list[dht.Contact]:
        return [self.peers["known"], self.peers["silent"]]

    def suspects(self, peer: bytes) -> bool:
        return False

    def primary_now(self, feature: Key) -> dht.Contact:
        return self.peers[str(feature[2])]


class Asking:
    """Interests of a publisher that knows what one of two peers asks for, and what itself, each of them for some keys."""

    def __init__(self, *, known: Sequence[Key] = (), own: Sequence[Key] = (), settling: bool = False) -> None:
        self.holders = EachHolds()
        peers = self.holders.peers
        self.exchange = Exchange(peers["own"], on_message=lambda *_: None, on_batch=noop, on_broken=lambda *_: None)
        rendezvous = SimpleNamespace(
            positions_in_use=lambda arity: [key[1] for key in own if key[0] == arity], has_listeners=lambda key: key in own
        )
        # Nobody is asked, and so nobody answers.
        self.interests = Interests(
            self.holders,  # type: ignore[arg-type]  # as far as they are asked
            self.exchange,
            rendezvous,  # type: ignore[arg-type]  # as above
            SimpleNamespace(settling=settling),  # type: ignore[arg-type]  # as above
            lambda task: task.close(),
        )
        self.now_s = asyncio.get_running_loop().time()
        self.says("known", known)

    def says(self, peer: str, keys: Sequence[Key], *, anything: bool = False, for_s: float = LEASE_S) -> None:
        wanted = _Wanted(self.now_s + for_s, anything, keys)
        self.interests._of_peer[self.holders.peers[peer].id] = wanted


class SlowLink:
    """The link to the silent peer, which answers when a test says so."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self.contact = asking.holders.peers["silent"]
        self.questions: list[object] = []
        self.send = self.questions.append

    async def ask(self, asked_s: float) -> None:
        asking = self.asking

        async def there(contact: dht.Contact) -> SlowLink:
            return self

        asking.exchange.link = there  # type: ignore[method-assign, assignment]  # as far as it is asked
        await asking.interests._ask(self.contact, asked_s)

    def answer(self, *, anything: bool = False) -> _Wanted:
        self.asking.interests.take_interest(self, Interest(anything, []))  # type: ignore[arg-type]  # as above
        return self.asking.interests._of_peer[self.contact.id]


EVENTS: list[Tuple] = [("own", "known", "silent"), ("known", "own")]


async def test_a_peer_of_which_nothing_is_known_is_alone_sent_everything() -> None:
    asking = Asking(known=[(2, 0, "known")])

    assert asking.interests.places(EVENTS) == ([b"\x02", b"\x00"], False)


async def test_what_is_asked_for_here_stays_here_while_another_is_silent() -> None:
    asking = Asking(own=[(2, 1, "own")])

    assert asking.interests.places([("known", "own")]) == ([b"\x01"], True)


async def test_everything_goes_everywhere_while_it_is_not_sure_whose_keys_are_whose() -> None:
    asking = Asking()
    asking.says("silent", [])
    assert asking.interests.places(EVENTS) == ([b"", b""], True)

    asking.holders.unsure = True

    assert asking.interests.places(EVENTS) == ([b"\x00\x01\x02", b"\x00\x01"], False)


async def test_nothing_is_left_out_here_while_this_peer_is_settling() -> None:
    asking = Asking(settling=True)
    asking.says("silent", [])

    assert asking.interests.places(EVENTS) == ([b"\x00", b"\x01"], True)


@pytest.mark.parametrize("said", [{"anything": True}, {"for_s": 0.0}], ids=["anything", "too long ago"])
async def test_who_wants_anything_or_has_said_it_too_long_ago_is_sent_everything(said: dict[str, float]) -> None:
    asking = Asking()
    asking.says("silent", [], **said)  # type: ignore[arg-type]  # one of its options

    assert asking.interests.places(EVENTS) == ([b"\x02", b""], False)


async def test_a_late_answer_holds_from_its_own_question_on() -> None:
    link = SlowLink(Asking())

    for asked_s in (1.0, 12.0):
        await link.ask(asked_s)

    assert [link.answer().until_s, link.answer().until_s] == [1.0 + LEASE_S, 12.0 + LEASE_S]
    assert not link.answer(anything=True).anything  # to no question


async def test_an_answer_to_what_was_asked_before_peers_came_holds_for_no_time() -> None:
    link = SlowLink(Asking())
    now_s = link.asking.now_s

    await link.ask(now_s)
    link.asking.interests.forget_all()
    await link.ask(now_s)

    assert link.answer().until_s < now_s
    assert link.answer().until_s == now_s + LEASE_S


async def test_who_leaves_questions_unanswered_is_asked_no_more() -> None:
    link = SlowLink(Asking())

    for asked_s in range(2 * UNANSWERED):
        await link.ask(asked_s)

    assert len(link.questions) == UNANSWERED


def test_what_is_told_after_a_lease_is_not_kept() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, other = peers[:2]
        await settled(peers)
        link = await publisher._parts.exchange.link(other.contact)
        wanted = publisher._parts.interests._of_peer[other.contact.id]

        publisher._parts.interests.add_interest(link, Interested(1, False, [(3, 0, "in time")]))
        await asyncio.sleep(2 * LEASE_S)
        publisher._parts.interests.add_interest(link, Interested(2, False, [(3, 0, "too late")]))

        assert wanted.asks_for(3, 0, "in time")
        assert not wanted.asks_for(3, 0, "too late")

    simulate(work, seed=22)
