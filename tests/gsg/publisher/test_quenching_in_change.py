"""Quenching while keys may be changing hands: what is posted at none of all peers does not travel, and what is posted is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from peers import guest_of, others, overlay, quiet, rendezvous, simulate

import dht
import rete
from dht.simnet import SimNet, run
from gsg import Peer
from gsg.placement.holders import UNSURE_S
from gsg.publisher.quenching import LEASE_S, LOOK_AGAIN_S, SILENT_S, Interests
from gsg.rendezvous.interest import MAX_PEERS, InterestLeases
from gsg.tuples.features import Key
from gsg.tuples.terms import Symbol, Tuple
from gsg.wire.exchange import Exchange
from gsg.wire.interest_messages import AskInterest, Interest, Interested
from gsg.wire.messages import Done, Event

NAMES = ("own", "near", "far")
STANDS_BY: Key = (2, 0, "stands by")
POSTED: Key = (2, 0, "posted")
ANOTHERS: Key = (2, 0, "stands by for another")


def contact(name: str) -> dht.Contact:
    return dht.Contact(name.encode().ljust(20), "1.2.3.4", 1)


def ids(*names: str) -> list[bytes]:
    return [contact(name).id for name in names]


class Known:
    """Holders of a peer that knows some others; who holds a key is not to be asked."""

    def __init__(self, *names: str) -> None:
        self.unsure, self.passes_over = True, False
        self.peers = [contact(name) for name in names]
        self.primary = contact(names[1])
        self.gone: list[bytes] = []
        self.suspected: list[bytes] = []

    def others(self) -> list[dht.Contact]:
        return self.peers[1:]

    def everybody(self) -> list[dht.Contact]:
        return self.peers

    def suspects(self, peer: bytes) -> bool:
        return peer in self.suspected

    def is_known(self, peer: bytes) -> bool:
        return peer in self.gone or peer in [each.id for each in self.peers]

    def primary_now(self, feature: Key) -> dht.Contact:
        return self.primary


class Link:
    """The link to a peer: what was sent by it."""

    def __init__(self, name: str) -> None:
        self.contact = contact(name)
        self.sent: list[Any] = []  # Any: whichever messages
        self.send = self.sent.append

    def ask(self, make: Any) -> asyncio.Future[Done]:  # Any: as above
        self.send(make(1))
        return asyncio.get_running_loop().create_future()


class Asking:
    """Interests of a publisher that is not sure whose keys are whose, and the links by which it asks the others."""

    def __init__(self, *, own: Sequence[Key] = (), names: Sequence[str] = NAMES) -> None:
        self.holders = Known(*names)
        self.links = {name: Link(name) for name in names[1:]}
        exchange = Exchange(contact("own"), on_message=lambda *_: None, on_batch=lambda: None, on_broken=lambda *_: None)
        by_id = {link.contact.id: link for link in self.links.values()}

        async def link_to(peer: dht.Contact) -> Link:
            return by_id[peer.id]

        exchange.link = link_to  # type: ignore[method-assign, assignment]  # as far as it is asked
        conditions = SimpleNamespace(
            positions_in_use=lambda arity: [key[1] for key in own if key[0] == arity],
            has_listeners=lambda key: key in own,
            is_in_use=lambda arity: arity in [key[0] for key in own],
        )
        self.interests = Interests(
            self.holders,  # type: ignore[arg-type]  # as far as they are asked
            exchange,
            conditions,  # type: ignore[arg-type]  # as above
            SimpleNamespace(settling=False),  # type: ignore[arg-type]  # as above
            lambda task: tasks.append(asyncio.get_running_loop().create_task(task)),  # type: ignore[arg-type]  # as above
        )
        tasks: list[asyncio.Task[None]] = []

    async def asked(self) -> list[int]:
        """Let it ask whom it has to: how many questions each has got by now."""
        self.interests.places([("x", "y")])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return [len(link.sent) for link in self.links.values()]

    def answer(self, name: str, keys: Sequence[Key] = (), *, anything: bool = False, knows: Sequence[str] = NAMES) -> None:
        said = Interest(anything, list(keys), ids(*knows))  # type: ignore[arg-type]  # keys of constants
        self.interests.take_interest(self.links[name], said)  # type: ignore[arg-type]  # as far as it is asked


async def all_asked(**options: Any) -> Asking:  # Any: as Asking has them
    asking = Asking(**options)
    assert await asking.asked() == [1, 1]
    return asking


EVENTS: list[Tuple] = [("posted", "x"), ("y", "z")]
EVERYWHERE = ([b"\x00\x01", b"\x00\x01"], False)
NOWHERE = ([b"", b""], True)


async def test_all_are_asked_for_what_stands_by_and_then_what_nobody_has_is_not_sent() -> None:
    asking = await all_asked()
    assert [link.sent for link in asking.links.values()] == [[AskInterest(standby=True)]] * 2

    asking.answer("near")
    assert asking.interests.places(EVENTS) == EVERYWHERE
    asking.answer("far")

    assert asking.interests.places(EVENTS) == NOWHERE
    assert asking.interests.wanted(EVENTS) == []


async def test_what_any_peer_has_goes_to_the_rendezvous_whoever_that_is_and_is_not_matched_here_alone() -> None:
    asking = await all_asked()
    asking.answer("near")
    asking.answer("far", [POSTED])

    assert asking.interests.places(EVENTS) == ([b"\x00", b""], False)


async def test_what_this_peer_has_goes_to_the_rendezvous_as_well() -> None:
    asking = await all_asked(own=[POSTED])
    for name in NAMES[1:]:
        asking.answer(name)

    assert asking.interests.places(EVENTS) == ([b"\x00", b""], False)


@pytest.mark.parametrize(
    "said",
    [{"knows": [*NAMES, "stranger"]}, {"knows": []}, {"anything": True}, {"knows": ["far"] * (MAX_PEERS + 2)}],
    ids=["knows a stranger", "of its primary keys alone", "anything", "knows too many"],
)
async def test_whoever_cannot_tell_all_has_everything_sent_and_is_asked_again(said: dict[str, Any]) -> None:
    asking = await all_asked()
    asking.answer("near")
    asking.answer("far", **said)

    assert asking.interests.places(EVENTS) == EVERYWHERE
    assert await asking.asked() == [1, 1], "not at once"

    asking.interests._of_peer[contact("far").id].until_s -= LOOK_AGAIN_S  # as if it had been asked so much earlier
    assert await asking.asked() == [1, 2]
    asking.answer("far")
    assert asking.interests.places(EVENTS) == NOWHERE


async def test_who_knows_a_peer_that_has_just_gone_knows_no_stranger() -> None:
    asking = await all_asked()
    asking.holders.gone = ids("dead")
    asking.answer("near", knows=[*NAMES, "dead"])
    asking.answer("far")

    assert asking.interests.places(EVENTS) == NOWHERE


async def test_who_takes_back_what_it_has_told_is_asked_at_once_and_meanwhile_everything_is_sent() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)
    assert asking.interests.places(EVENTS) == NOWHERE

    asking.interests.add_interest(asking.links["far"], Interested(1, True, []))  # type: ignore[arg-type]  # as far as it is asked

    assert asking.interests.places(EVENTS) == EVERYWHERE
    assert await asking.asked() == [1, 3]  # the answer to what it was told is the second
    asking.answer("far")
    assert asking.interests.places(EVENTS) == NOWHERE


async def test_where_one_is_suspected_the_others_have_told_all_when_it_is_dead() -> None:
    asking = Asking()
    asking.holders.unsure = False
    assert await asking.asked() == [1, 1]
    for name in NAMES[1:]:
        asking.answer(name, knows=[])
    asking.holders.suspected = ids("far")

    asking.interests._sure_until_s = 0.0  # as if LOOK_AGAIN_S had passed
    assert await asking.asked() == [2, 2]
    assert asking.links["near"].sent == [AskInterest(standby=False), AskInterest(standby=True)]
    asking.answer("near", [STANDS_BY])
    asking.holders.unsure, asking.holders.peers, asking.holders.gone = True, [contact("own"), contact("near")], ids("far")
    asking.interests.forget_peer(contact("far").id)

    assert asking.interests.places([*EVENTS, ("stands by", 1)]) == ([b"", b"", b"\x00"], False)


async def test_while_one_is_silent_the_others_tell_what_stands_by_for_it() -> None:
    asking = Asking()
    asking.holders.unsure = False
    assert await asking.asked() == [1, 1]
    asking.answer("near", knows=[])
    assert not asking.interests.nobody_asks([(("y", "z"), b"\x00")]), "near has told of its primary keys alone"

    asking.interests._asked_s[contact("far").id] -= 2 * SILENT_S  # as if it had been asked so much earlier
    assert await asking.asked() == [2, 1], "far owes an answer"
    assert not asking.interests.nobody_asks([(("y", "z"), b"\x00")]), "near has not told of all yet"
    asking.answer("near", [STANDS_BY])

    assert asking.interests.places([("stands by", 1), ("y", "z")]) == ([b"\x00", b""], False)
    assert not asking.interests.nobody_asks([(("stands by", 1), b"\x00\x01")])
    assert asking.interests.nobody_asks([(("stands by", 1), b"\x01"), (("y", "z"), b"\x00")])


async def test_all_holders_of_a_key_may_be_among_several_silent_ones() -> None:
    names = [*NAMES, "silent1", "silent2", "silent3"]
    asking = Asking(names=names)
    asking.holders.unsure = False
    await asking.asked()
    for name in NAMES[1:]:
        asking.answer(name, knows=names)
    asking.holders.primary = contact("silent1")
    for name in names[3:]:
        asking.interests._asked_s[contact(name).id] -= 2 * SILENT_S  # as if it had been asked so much earlier
    assert asking.interests.places([("y", "z")]) == ([b"\x00\x01"], False)

    asking.answer("silent3", knows=names)

    await asking.asked()
    for name in NAMES[1:]:
        asking.answer(name, knows=names)
    assert asking.interests.places([("y", "z")]) == ([b""], True)


async def test_where_one_dies_what_was_told_of_primary_keys_alone_does_not_hold() -> None:
    asking = await all_asked()
    asking.answer("near", knows=[])
    asking.holders.peers, asking.holders.gone = [contact("own"), contact("near")], ids("far")

    asking.interests.forget_peer(contact("far").id)

    assert asking.interests.places(EVENTS) == EVERYWHERE
    assert await asking.asked() == [2, 1], "at once"


async def test_what_comes_into_use_is_sent_from_then_on() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)

    told = Interested(1, False, [STANDS_BY])  # type: ignore[list-item]  # a key of a constant
    asking.interests.add_interest(asking.links["far"], told)  # type: ignore[arg-type]  # as far as it is asked

    assert asking.interests.places([("stands by", 1)]) == ([b"\x00"], False)


async def test_events_of_an_arity_that_nobody_asks_for_need_not_be_made() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)

    assert asking.interests.wanted_at(("y", "z")) == b""
    assert not asking.interests.is_arity_asked(2)


async def test_once_a_link_is_gone_what_the_others_have_told_does_not_speak_for_its_peer() -> None:
    asking = await all_asked()
    for name in NAMES[1:]:
        asking.answer(name)
    assert asking.interests.places(EVENTS) == NOWHERE

    asking.interests.drop_link(asking.links["far"])  # type: ignore[arg-type]  # as far as it is asked

    assert asking.interests.places(EVENTS) == EVERYWHERE


async def test_once_all_is_sure_what_is_asked_for_goes_where_it_is_asked_for() -> None:
    asking = await all_asked()
    asking.answer("near")
    asking.answer("far", [POSTED])
    assert asking.interests.places(EVENTS) == ([b"\x00", b""], False)

    asking.holders.unsure = False
    asking.interests._sure_until_s = 0.0  # as if LOOK_AGAIN_S had passed

    assert asking.interests.places(EVENTS) == ([b"", b""], True), "near is the primary, and has nothing"


# --- the rendezvous ---------------------------------------------------------------------------------------------------------


class Leases:
    """The leases of a rendezvous at which one key is posted, and two stand by, of which one is its own."""

    def __init__(self, *, settling: bool = True, leaving: bool = False) -> None:
        self.new_keys: list[Key] = []
        self.holders = Known(*NAMES)
        self.responsibility = SimpleNamespace(
            settling=settling, leaving=leaving, other_primary=lambda key: contact("near") if key == ANOTHERS else None
        )
        conditions = SimpleNamespace(
            keys_in_use=lambda: [POSTED],
            keys_on_standby=lambda: [STANDS_BY, ANOTHERS],
            has_templates=lambda key: key == POSTED,
            take_new_keys=lambda: self.new_keys,
        )
        self.leases = InterestLeases(conditions, self.holders, self.responsibility, lambda task: task.close())  # type: ignore[arg-type]  # as far as they are asked

    def answer(self, link: Link, *, standby: bool, is_sure: bool = True) -> Interest:
        self.leases.answer(link, standby=standby, is_sure=is_sure)  # type: ignore[arg-type]  # as far as it is asked
        said: Interest = link.sent[-1]
        return said

    def told(self, *links: Link) -> list[list[Any]]:  # Any: whichever messages
        self.leases.call_when_known(lambda: None)
        return [[message for message in link.sent if isinstance(message, Interested)] for link in links]


async def test_while_keys_change_hands_all_that_is_here_is_told_to_who_asks_for_it_and_anything_asked_for_of_others() -> None:
    leases = Leases()

    assert leases.answer(Link("near"), standby=True) == Interest(False, [POSTED, STANDS_BY, ANOTHERS], ids(*NAMES))  # type: ignore[list-item]  # keys of constants
    assert leases.answer(Link("far"), standby=False) == Interest(True, [])


@pytest.mark.parametrize("why", ["leaving", "strange", "passes over", "too many"])
async def test_who_cannot_tell_all_asks_for_anything(why: str) -> None:
    leases = Leases(leaving=why == "leaving")
    leases.holders.passes_over = why == "passes over"
    if why == "too many":
        leases.holders.peers = [contact("many")] * (MAX_PEERS + 2)

    assert leases.answer(Link("near"), standby=True, is_sure=why != "strange") == Interest(True, [])


async def test_what_comes_to_stand_by_for_another_is_told_to_those_who_rely_on_all_that_is_here() -> None:
    leases = Leases(settling=False)
    of_all, of_primaries, none_any_more = Link("near"), Link("far"), Link("late")
    leases.answer(of_all, standby=True)
    leases.answer(of_primaries, standby=False)
    leases.answer(none_any_more, standby=True)
    leases.answer(none_any_more, standby=False)

    leases.new_keys = [ANOTHERS]
    assert leases.told(of_all, of_primaries, none_any_more) == [[Interested(1, False, [ANOTHERS])], [], []]  # type: ignore[list-item]  # a key of a constant

    leases.new_keys = [STANDS_BY]
    assert [len(told) for told in leases.told(of_all, of_primaries)] == [2, 1]


# --- whole peers ------------------------------------------------------------------------------------------------------------


def sent(peers: Sequence[Peer]) -> int:
    """Messages that went between peers."""
    return sum(peer._parts.exchange.traffic.messages for peer in peers)


async def hear(peer: Peer, name: Symbol) -> list[Tuple]:
    """What a listener of its own hears, from now on."""
    heard: list[Tuple] = []

    def on_event(event: Event, _: int) -> None:
        heard.append(event.items)

    template: rete.Template[object] = rete.Template((name, None))
    await peer.listen(template, on_event, anchor=0)  # type: ignore[arg-type]  # constants are terms
    return heard


def test_after_a_peer_has_died_what_nobody_asks_for_does_not_travel() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, *living, victim = peers
        name = Symbol("asked for")
        heard = await hear(living[0], name)
        net.crash(victim.contact.host, quietly=True)
        await asyncio.sleep(15)
        await publisher.notify([("nobody", "asks for this")])
        await quiet()
        assert publisher._parts.holders.unsure
        await publisher.notify([("nobody", "asks for this")])  # those that were asked have answered
        await asyncio.sleep(0.5)
        before = sent([publisher, *living])
        remembered = len(publisher._parts.holders._sets)

        await publisher.notify([("noise", number) for number in range(100)])

        assert sent([publisher, *living]) == before
        assert len(publisher._parts.holders._sets) == remembered
        await publisher.notify([(name, number) for number in range(100)])
        await quiet()
        assert heard == [(name, number) for number in range(100)]

    simulate(work, seed=1)


@pytest.mark.parametrize("sure", [True, False], ids=["all sure of their keys", "keys may be changing hands"])
def test_nobody_waits_for_a_rendezvous_that_is_stopped_with_what_nobody_asks_for(sure: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        victim = rendezvous(peers, 2, 0, "nobody")
        publisher, listener = others(peers, victim)[:2]
        names = [Symbol(f"name{number}") for number in range(20)]
        at_victim = next(name for name in names if rendezvous(peers, 2, 0, name) is victim)
        elsewhere = next(name for name in names if rendezvous(peers, 2, 0, name) is not victim)
        heard = {name: await hear(listener, name) for name in (at_victim, elsewhere)}
        await publisher.notify([("nobody", 0)])  # so that it has a link to all
        await asyncio.sleep(2 * UNSURE_S if sure else 2 * LEASE_S)
        assert publisher._parts.holders.unsure != sure
        net.suspend(victim.contact.host)
        began_s = net.loop.time()

        await publisher.notify([("nobody", number) for number in range(100)])
        await publisher.notify([("nobody", number) for number in range(100)])
        await publisher.notify([(elsewhere, 1)])

        assert net.loop.time() - began_s < 1.0
        assert listener._parts.holders.everybody().count(victim.contact) == 1, "nobody takes it for dead yet"
        await publisher.notify([(at_victim, 1)])  # once it is taken for dead
        await quiet()
        assert heard == {at_victim: [(at_victim, 1)], elsewhere: [(elsewhere, 1)]}
        net.resume(victim.contact.host)
        await quiet()
        assert heard == {at_victim: [(at_victim, 1)], elsewhere: [(elsewhere, 1)]}

    simulate(work, seed=1)


@pytest.mark.parametrize("quietly", [False, True], ids=["its links break", "its host is gone"])
def test_an_event_reaches_whoever_listened_at_a_rendezvous_that_dies(quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        names = [Symbol(f"name{number}") for number in range(12)]
        victim = rendezvous(peers, 2, 0, names[0])
        publisher, listener = others(peers, victim)[:2]
        heard = [await hear(listener, name) for name in names]
        net.crash(victim.contact.host, quietly=quietly)

        for moment in range(40):
            await publisher.notify([(name, moment) for name in names])
            await asyncio.sleep(0.5)
        await quiet()

        assert [[number for _, number in each] for each in heard] == [list(range(40))] * 12

    simulate(work, seed=2)


@pytest.mark.parametrize("seed", range(4))
def test_an_event_reaches_whoever_subscribed_before_it_while_peers_come_and_go(seed: int) -> None:
    async def main(net: SimNet) -> None:
        rng = Random(seed)
        async with overlay(net, 5) as peers, AsyncExitStack() as stack:
            expected: dict[Symbol, list[int]] = {}
            heard: dict[Symbol, list[Tuple]] = {}
            living = list(peers)
            for moment in range(60):
                if moment % 20 == 5:
                    victim = living.pop(rng.randrange(2, len(living)))
                    net.crash(victim.contact.host, quietly=bool(rng.randrange(2)))
                if moment % 20 == 12:
                    living.append(await stack.enter_async_context(guest_of(net, living)))
                name = Symbol(f"name{moment}")
                expected[name] = []
                # The first two stay: who has died hears nothing.
                heard[name] = await hear(living[rng.randrange(2)], name)
                publisher = rng.choice(living)
                some = rng.sample(list(expected), min(5, len(expected)))
                for each in dict.fromkeys((name, *some)):
                    await publisher.notify([(each, moment), ("noise", moment)])
                    expected[each].append(moment)
                await asyncio.sleep(rng.random())
            await quiet()

            assert {name: sorted(number for _, number in told) for name, told in heard.items()} == expected

    run(main, seed=seed)


def test_a_lease_of_all_ends_like_any_other() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        name = Symbol("asked for")
        await peers[0].notify([("nobody", "asks for this")])
        await asyncio.sleep(1)
        # It never acknowledges what it is told.
        peers[0]._parts.interests.add_interest = lambda link, interested: None  # type: ignore[method-assign]  # a peer that hangs
        began_s = net.loop.time()

        await hear(peers[1], name)

        assert 0 < net.loop.time() - began_s <= LEASE_S

    simulate(work, seed=5)
