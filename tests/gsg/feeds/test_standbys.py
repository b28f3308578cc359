"""Templates that stand by: every acknowledged event is heard, once and in order, whatever becomes of its rendezvous."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import count
from random import Random
from types import SimpleNamespace

import pytest
from peers import Reader, guest_of, others, overlay, quiet, rendezvous, simulate, templates

import dht
import gsg.churn.handover
import gsg.placement.holders
import gsg.placement.responsibility
import rete
from dht.simnet import SimNet, run
from gsg import Peer
from gsg.background import StartTask
from gsg.errors import Refused
from gsg.feeds.feeding_links import BrokenFeeds
from gsg.feeds.standbys import Standby, Standbys
from gsg.placement.rules import REPLICAS
from gsg.rendezvous.broken_links import BACK_S
from gsg.tuples.features import Key, key
from gsg.tuples.terms import Symbol, Tuple
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Event, Happened

SAID = Symbol("said")
SAYINGS: rete.Template[Tuple] = rete.Template((SAID, None))  # type: ignore[arg-type]  # constants are terms
SOON_S = 20.0
NOTICED_S = 40.0
"""Longer than it takes until all have noticed that a peer is gone, and made up for it."""


LEASE_S = 15.0
"""The time in which what a subscriber that is gone has asked for goes."""


@pytest.fixture
def soon_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is unsure for long, so that less virtual time is to be run through."""
    settling = (gsg.placement.responsibility, "SETTLING_S"), (gsg.churn.handover, "SETTLING_S")
    for module, name in ((gsg.placement.holders, "UNSURE_S"), *settling):
        monkeypatch.setattr(module, name, SOON_S)


def holders(peers: Sequence[Peer], feature: Key = (2, 0, SAID)) -> list[Peer]:
    """The holders of a key, the primary first, by the definition."""
    return sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(*feature)))[:REPLICAS]


async def settled(peers: Sequence[Peer]) -> None:
    """Until no key may be changing hands, and everybody has heard what everybody asks for."""
    await asyncio.sleep(gsg.placement.holders.UNSURE_S + 5)
    for _ in range(2):
        for peer in peers:
            await peer.notify([("nobody", "asks for this")])
        await quiet()


async def listener(peer: Peer, template: rete.Template[Tuple] = SAYINGS, *, exclusive: bool = False) -> list[object]:
    """The last terms of what a listener hears, from now on."""
    heard: list[object] = []

    def on_event(event: Event, _: int) -> None:
        heard.append(event.items[-1])

    await peer.listen(template, on_event, anchor=0, exclusive=exclusive)  # type: ignore[arg-type]  # constants are terms
    return heard


async def say(net: SimNet, peer: Peer, numbers: Sequence[int]) -> None:
    """A stream of events, one after the other."""
    rng = Random(net.seed)
    for number in numbers:
        await peer.notify([(SAID, number)])
        await asyncio.sleep(rng.uniform(0.0, 0.05))


def standing(peers: Sequence[Peer]) -> list[int]:
    """How many templates stand by at each peer."""
    return [peer._parts.rendezvous.conditions.templates(standby=True) for peer in peers]


def test_a_template_is_fed_by_the_primary_and_stands_by_at_the_other_holders() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *rest = holders(peers)
        subscriber = others(peers, primary, *rest)[0]

        subscription = await subscriber.subscribe("(said, ?n)")

        assert standing(rest) == [1, 1]
        assert sum(standing(peers)) == 2
        assert (templates(peers), primary._parts.rendezvous.conditions.templates()) == (1, 1)
        [status] = [one for one in await subscriber.status() if one.peer == rest[0].contact.id]
        assert (status.templates, status.feeds, status.standby) == (0, 0, 1)
        await subscription.close()
        await quiet()
        assert sum(standing(peers)) == 0

    simulate(work, seed=1, size=6)


def test_who_goes_on_for_one_that_was_cancelled_before_it_stood_by_asks_for_no_second_feed() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *rest = holders(peers)
        subscriber = others(peers, primary, *rest)[0]
        first, second = (asyncio.create_task(subscriber.subscribe("(said, ?n)")) for _ in range(2))
        while not subscriber._parts.subscriber.feeds.standbys._beginning:  # noqa: ASYNC110  # virtual time
            await asyncio.sleep(0.001)

        first.cancel()
        subscription = await second
        await quiet()
        await peers[0].insert([(SAID, 1)])
        await quiet()

        assert first.cancelled()
        assert [row["n"] for row in subscription.rows()] == [1]
        assert (primary._parts.rendezvous.conditions.feeds(), standing(rest)) == (1, [1, 1])

    simulate(work, seed=11, size=6)


def test_what_stands_by_costs_no_message_while_all_is_settled(soon_settled: None) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *rest = holders(peers)
        publisher, subscriber = others(peers, primary, *rest)[:2]
        heard = await listener(subscriber)
        await settled(peers)
        before = sum(peer._parts.exchange.traffic.messages for peer in peers)

        for number in range(10):
            await publisher.notify([(SAID, number)])
        await asyncio.sleep(0.2)

        # Flash, Happened and Done; that they have arrived is said ten times a second at most.
        assert sum(peer._parts.exchange.traffic.messages for peer in peers) - before == 30 + 4
        assert heard == list(range(10))

    simulate(work, seed=2, size=6)


@pytest.mark.parametrize("seed", range(21))
def test_a_newcomer_takes_keys_over_while_events_stream(seed: int) -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 3) as peers:
            names = [Symbol(f"name{number}") for number in range(8)]
            heard = [await listener(peers[0], rete.Template((name, None))) for name in names]  # type: ignore[arg-type]  # terms

            async def stream(publisher: Peer, first: int) -> None:
                for number in range(first, first + 20):
                    await publisher.notify([(name, number) for name in names])
                    await asyncio.sleep(0.02)

            streaming = asyncio.ensure_future(stream(peers[1], 0))
            async with guest_of(net, peers) as guest:
                await stream(guest, 1000)
                await streaming
                await quiet()

                for each in heard:
                    assert [number for number in each if number < 1000] == list(range(20))  # type: ignore[operator]  # numbers
                    assert [number for number in each if number >= 1000] == list(range(1000, 1020))  # type: ignore[operator]
                assert sum(rendezvous([*peers, guest], 2, 0, name) is guest for name in names) > 0 or seed not in (0, 1)

    run(main, seed=seed)


@pytest.mark.parametrize("dying", [1, 2], ids=["the primary dies", "the primary and another holder die"])
@pytest.mark.parametrize(("seed", "quietly"), [(200, False), (206, True), (207, True)], ids=["reset", "without a word", "again"])
def test_holders_die_in_the_middle_of_a_stream(seed: int, quietly: bool, dying: int, soon_settled: None) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        of_key = holders(peers)
        publisher, subscriber = others(peers, *of_key)[:2]
        heard = [await listener(subscriber), await listener(of_key[2]), await listener(publisher)]
        await publisher.insert([("likes", 40)])
        reader = Reader(await subscriber.subscribe('(said, ?n), ("likes", ?n)'))
        await settled(peers)

        def crash() -> None:
            for victim in of_key[:dying]:
                net.crash(victim.contact.host, quietly=quietly)

        net.loop.call_later(Random(seed).uniform(0.4, 0.9), crash)
        await say(net, publisher, range(60))
        await asyncio.sleep(NOTICED_S)

        assert heard == [list(range(60))] * 3
        await reader.read()
        assert list(reader.events.values()) == [1]
        primary, *rest = holders(others(peers, *of_key[:dying]))
        assert primary._parts.rendezvous.conditions.templates() > 0
        assert [peer._parts.rendezvous.conditions.templates(standby=True) > 0 for peer in rest] == [True, True]

    simulate(work, seed=seed)


def test_who_subscribed_after_an_event_does_not_hear_of_it_when_its_rendezvous_dies(
    soon_settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *rest = holders(peers)
        publisher, subscriber = others(peers, primary, *rest)
        early = await listener(subscriber)
        await settled(peers)
        await publisher.notify([(SAID, 1)])
        await asyncio.sleep(3)
        late = await listener(subscriber)
        told: list[object] = []
        events = subscriber._parts.subscriber.feeds.events
        tell_all = events.tell_all

        def tell(link: PeerLink, message: Happened) -> None:
            told.extend(event.late_s for event in message.events)
            tell_all(link, message)

        monkeypatch.setattr(events, "tell_all", tell)

        net.crash(primary.contact.host)
        await asyncio.sleep(NOTICED_S)

        assert told
        assert min(told) > 0  # type: ignore[type-var]  # numbers
        assert (early, late) == ([1], [])

    simulate(work, seed=3)


@pytest.mark.parametrize("quietly", [False, True], ids=["reset", "without a word"])
def test_what_came_and_went_while_nobody_fed_it_comes_out_right(quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (3, 1, SAID)
        primary, *rest = holders(peers, feature)
        publisher, subscriber = others(peers, primary, *rest)[:2]
        reader = Reader(await subscriber.subscribe("(?x, said, ?n)"))
        facts = [(f"{number}", SAID, number) for number in range(40)]
        await publisher.insert(facts[:20])

        sending = [asyncio.ensure_future(publisher.insert([fact])) for fact in facts[20:30]]
        sending += [asyncio.ensure_future(publisher.retract([fact])) for fact in facts[:10]]
        await asyncio.sleep(0.02)
        net.crash(primary.contact.host, quietly=quietly)
        await publisher.insert(facts[30:])
        await asyncio.gather(*sending)
        await asyncio.sleep(NOTICED_S)

        await reader.read()
        assert {row["n"] for row in reader.held} == set(range(10, 40))
        assert reader.subscription.rows() == reader.held
        assert (reader.held.total(), reader.lowest) == (30, 0)

    simulate(work, seed=4)


@pytest.mark.parametrize("dying", [0, 1, 2], ids=["nobody dies", "the primary dies", "the primary and another holder die"])
def test_a_name_is_one_listeners_whatever_becomes_of_its_rendezvous(dying: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        of_key = holders(peers)
        first, second = others(peers, *of_key)[:2]
        heard = await listener(first, exclusive=True)
        for victim in of_key[:dying]:
            net.crash(victim.contact.host)

        refused = 0
        for _ in range(10):
            with pytest.raises(Refused, match="somebody has this already"):
                await listener(second, exclusive=True)
            refused += 1
            await asyncio.sleep(0.5)
        await asyncio.sleep(NOTICED_S)
        await second.notify([(SAID, 1)])
        await quiet()

        assert heard == [1]
        assert refused == 10

    simulate(work, seed=5)


def test_a_name_that_was_given_up_is_free(soon_settled: None) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        first, second = others(peers, *holders(peers))[:2]
        for number in range(6):
            peer = (first, second)[number % 2]
            listening = await peer.listen(SAYINGS, lambda event, _: None, anchor=0, exclusive=True)  # type: ignore[arg-type]  # terms
            peer.end_listening(listening)
            await asyncio.sleep(0.06)

        await quiet()
        assert sum(standing(peers)) + templates(peers) == 0

    simulate(work, seed=6)


def test_a_newcomer_does_not_give_a_name_away_that_it_has_not_heard_of() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 3) as peers:
            names = [Symbol(f"name{number}") for number in range(8)]
            templates_ = [rete.Template((name, None)) for name in names]
            for template in templates_:
                await listener(peers[0], template, exclusive=True)  # type: ignore[arg-type]  # constants are terms
            async with guest_of(net, peers) as guest:
                for template in templates_:
                    with pytest.raises(Refused, match="somebody has this already"):
                        await listener(guest, template, exclusive=True)  # type: ignore[arg-type]  # as above

    run(main, seed=7)


def test_what_a_subscriber_asked_for_goes_when_it_is_cut_off_and_stays_while_it_lives() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        of_key = holders(peers)
        dead, living = others(peers, *of_key)[:2]
        await listener(dead)
        heard = await listener(living)
        assert [peer._parts.rendezvous.conditions.feeds() for peer in of_key[:1]] == [2]

        net.crash(dead.contact.host, quietly=True)
        await asyncio.sleep(LEASE_S + BACK_S)

        assert [peer._parts.rendezvous.conditions.feeds() for peer in of_key] == [1, 0, 0]
        assert [peer._parts.rendezvous.conditions.feeds(standby=True) for peer in of_key] == [0, 1, 1]
        await asyncio.sleep(90)
        await of_key[1].notify([(SAID, 1)])
        await quiet()
        assert heard == [1]

    simulate(work, seed=8)


class Wire:
    """The other end of a link that takes everything."""

    contact = dht.Contact(bytes(20), "10.0.0.1", 1)

    def send(self, message: object) -> None:
        """Nobody looks at it."""


async def test_one_that_ends_after_what_came_in_its_place_ends_quietly() -> None:
    memory, wire = object(), Wire()
    before, instead = (Standby(memory, number, wire, 0) for number in (1, 2))  # type: ignore[arg-type]  # as far as they are looked at
    sources: dict[int, object] = {1: before, 2: instead}
    standbys = Standbys(None, None, sources, count(3), BrokenFeeds(), lambda work: None)  # type: ignore[arg-type]  # as above
    standbys._of_memory = {memory: {wire.contact.id: instead}}  # type: ignore[dict-item]  # as above
    standbys._links._of_peer = {wire.contact.id: Counter({wire: 2})}  # type: ignore[dict-item]  # as above

    standbys.end_standby(instead)
    standbys.end_standby(before)

    assert sources == {}
    assert (standbys._of_memory, bool(standbys._links)) == ({}, False)


class AnyMemory:
    """A memory that is only looked at."""

    anchor = 0
    key = (3, 0, "anything")
    sources = ()


class Refusing(Standbys):
    """Standbys one of whose memories a holder refuses, and that note when they look at each."""

    def __init__(self, refused: AnyMemory, start_task: StartTask) -> None:
        super().__init__(SimpleNamespace(version=0), None, {}, count(1), BrokenFeeds(), start_task)  # type: ignore[arg-type]  # as far as asked
        self.refused = refused
        self.looked_s: dict[object, list[float]] = {}

    def _is_amiss(self, memory: object) -> bool:
        return True

    async def _look_at(self, memory: object, *, refuse: bool = False) -> bool:
        self.looked_s.setdefault(memory, []).append(asyncio.get_running_loop().time())
        if memory is self.refused:
            raise Refused("as over a quota")
        return True


def test_what_a_holder_refuses_keeps_nothing_else_waiting() -> None:
    async def main(net: SimNet) -> None:
        refused, other = AnyMemory(), AnyMemory()
        async with asyncio.TaskGroup() as group:
            standbys = Refusing(refused, group.create_task)
            begun_s = asyncio.get_running_loop().time()
            standbys.check_memory(refused)  # type: ignore[arg-type]  # as far as it is looked at
            await asyncio.sleep(10)

            standbys.check_memory(other)  # type: ignore[arg-type]  # likewise
            await asyncio.sleep(50)
            standbys.stop()

        looked_s = {memory: [when_s - begun_s for when_s in times_s] for memory, times_s in standbys.looked_s.items()}
        assert looked_s[other] == [pytest.approx(10)]
        assert looked_s[refused] == [pytest.approx(when_s) for when_s in (0, 1, 3, 8, 23, 38, 53)]

    run(main, seed=1)


async def test_holders_that_are_forgotten_again_are_looked_up_once_more() -> None:
    async def look_up(features: Sequence[Key]) -> None:
        """As where what is found contradicts what was known: all of that is forgotten."""

    holders = SimpleNamespace(look_up=look_up, holders_of=lambda feature: ())
    standbys = Standbys(holders, None, {}, count(1), BrokenFeeds(), lambda work: None)  # type: ignore[arg-type]  # as far as they are asked

    assert not await standbys._look_at(AnyMemory())  # type: ignore[arg-type]  # as far as it is looked at
