"""Facts and events for named readers over a simulated network: each peer's rows are those of a space told what it may read."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from lives import Lives, slow_disks
from peers import PORT, Reader, guest_of, others, overlay, quiet, rendezvous, simulate, stranger_of, unread

import rete
from dht import distance
from dht.simnet import SimNet, run
from gsg import LocalError, Peer, Row, Space, Symbol
from gsg.tuples.audiences import Restricted
from gsg.tuples.features import Template, key
from gsg.tuples.terms import Term, Tuple
from gsg.wire.messages import Event, Flash, Publish, encode

ON, COLOR, RED = map(Symbol, ("on", "color", "red"))
PAIRS = "(?x, on, ?y)"
TEXTS = [
    PAIRS,
    "(a, on, ?y)",
    "(?x, on, ?y), (?y, on, ?z)",
    "(?x, on, ?x)",
    "(?x, ?p, ?y)",
    "(?x, ?p, ?x)",
    "(?x, on, ?y), NOT { (?y, color, red) }",
    "(?x, ?p, ?y) FILTER (?y != red)",
    "(?x, on, ?y) FILTER (?y != b)",
    "OPTIONAL { (?x, on, ?y) } (?x, color, ?c)",
]
FACTS: list[Tuple] = [(x, p, y) for x in map(Symbol, "abc") for p in (ON, COLOR) for y in (Symbol("a"), Symbol("b"), RED)]
T: Tuple = (Symbol("a"), ON, Symbol("b"))
MENDED_S = 45.0


def ids(*peers: Peer) -> list[bytes]:
    return [peer.contact.id for peer in peers]


def readable(facts: Sequence[Tuple] | set[Tuple], peer: Peer) -> set[Tuple]:
    """What a peer may read, by the definition."""
    return {tuple(fact) for fact in facts if not isinstance(fact, Restricted) or peer.contact.id in fact.audience}


async def rows_at(peer: Peer, text: str = PAIRS) -> Counter[Row]:
    """What a late subscriber is told."""
    subscription = await peer.subscribe(text)
    rows = subscription.rows()
    await subscription.close()
    return rows


class Trial:
    """A random history of public and restricted changes, by several publishers, and for each peer what it may see of it."""

    def __init__(self, seed: int, peers: list[Peer]) -> None:
        self.rng = Random(seed)
        self.peers = peers
        self.facts: set[Tuple] = set()
        self.exact = True
        """Whether calls say exactly how much they changed: not where keys are just changing hands."""
        self.readers: list[tuple[Peer, Reader, Counter[Row], str]] = []
        self.audiences = [None, None, *(frozenset(ids(*some)) for size in (1, 2) for some in combinations(peers, size))]

    def own(self, peer: Peer) -> list[Tuple]:
        """A variant is changed by one publisher only: of two who disagree on one at the same moment no order is promised."""
        facts = self.rng.sample(FACTS[:6], 2)
        audiences = self.audiences[self.peers.index(peer) + 1 :: len(self.peers)] if peer in self.peers else []
        return [fact if audience is None else Restricted(fact, audience) for fact in facts for audience in audiences]

    async def publish(self, peer: Peer) -> None:
        for _ in range(3):
            for fact in self.rng.sample(own := self.own(peer), min(2, len(own))):
                audience = fact.audience if isinstance(fact, Restricted) else None
                if self.rng.random() < 0.6:
                    changed = await peer.insert([tuple(fact)], audience=audience)
                    assert changed == (fact not in self.facts) or not self.exact
                    self.facts.add(fact)
                else:
                    changed = await peer.retract([tuple(fact)], audience=audience)
                    assert changed == (fact in self.facts) or not self.exact
                    self.facts.discard(fact)

    async def subscribe(self, peer: Peer) -> None:
        text = self.rng.choice(TEXTS)
        self.readers.append((peer, Reader(await peer.subscribe(text)), Counter(), text))

    def space_of(self, peer: Peer) -> Space:
        space = Space()
        space.insert(readable(self.facts, peer))
        return space

    async def compare(self) -> None:
        for peer, reader, events, text in self.readers:
            await reader.read()
            assert reader.lowest == 0, text
            assert reader.events == events, text
            with self.space_of(peer) as space, space.subscribe(text) as yardstick:
                assert reader.subscription.rows() == reader.held == yardstick.rows(), text

    async def notify(self) -> None:
        event, audience = self.rng.choice(FACTS), self.rng.choice(self.audiences)
        for peer, _, events, text in self.readers:
            if audience is None or peer.contact.id in audience:
                with self.space_of(peer) as space, space.subscribe(text) as yardstick:
                    list(yardstick)
                    space.notify([event])
                    events.update(row for sign, row in yardstick if not sign)
        await self.rng.choice(self.peers).notify([event], audience=audience)
        await quiet()
        await self.compare()

    async def round(self) -> None:
        publishers = self.rng.sample(self.peers, min(3, len(self.peers)))
        await asyncio.gather(*map(self.publish, publishers), *(self.subscribe(self.rng.choice(self.peers)) for _ in range(3)))
        await quiet()
        await self.compare()
        await self.notify()


@pytest.mark.parametrize("seed", range(6))
def test_when_quiet_every_peer_sees_what_it_may_and_nothing_else(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        for _ in range(4):
            await trial.round()
        for peer in peers:
            with trial.space_of(peer) as space:
                for text in TEXTS:
                    with space.subscribe(text) as yardstick:
                        assert await rows_at(peer, text) == yardstick.rows(), text

    simulate(work, seed=seed, size=(1, 3, 5)[seed % 3])


@pytest.mark.parametrize("seed", range(2))
def test_what_each_peer_sees_is_the_same_while_others_come_and_leave(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        await trial.round()
        trial.exact = False
        async with guest_of(net, peers) as guest:
            await trial.round()
            assert await rows_at(guest, "(?x, ?p, ?y)") == await rows_of(readable(trial.facts, guest))
            async with guest_of(net, peers):
                await trial.round()
            await trial.round()
        await trial.round()

    simulate(work, seed=seed, size=3)


async def rows_of(facts: set[Tuple], text: str = "(?x, ?p, ?y)") -> Counter[Row]:
    with Space() as space:
        space.insert(facts)
        with space.subscribe(text) as yardstick:
            return yardstick.rows()


@pytest.mark.parametrize("quietly", [False, True], ids=["with a word", "without"])
def test_the_death_of_holders_shows_nobody_more_and_the_readers_nothing_less(quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(3, peers)
        async with asyncio.timeout(None):
            await trial.round()
        primary, *_ = dying = [rendezvous(peers, 3, 1, ON), rendezvous(peers, 3, 0, Symbol("a"))]
        trial.readers = [one for one in trial.readers if one[0] not in dying]
        for peer in set(dying):
            net.crash(peer.contact.host, quietly=quietly)
        alive = [peer for peer in peers if peer not in dying]
        await asyncio.sleep(MENDED_S)

        assert primary not in alive
        await trial.compare()
        for peer in alive:
            for text in (PAIRS, "(?x, ?p, ?y)", "(a, ?p, ?y)"):
                assert await rows_at(peer, text) == await rows_of(readable(trial.facts, peer), text)

    simulate(work, seed=4, size=7)


def test_facts_that_come_back_under_a_lost_key_keep_their_audience() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        reader, other = peers[:2]
        of_key = [sorted(peers, key=lambda peer: distance(peer.contact.id, key(3, 0, f"s{number}")))[:3] for number in range(400)]
        subject, dying = next((f"s{number}", dying) for number, dying in enumerate(of_key) if not {reader, other} & {*dying})
        await reader.insert([(subject, ON, 1), (subject, ON, 2)], audience=ids(reader))
        await reader.insert([(subject, ON, 3)])
        await quiet()

        for peer in dying:
            net.crash(peer.contact.host)
        await asyncio.sleep(MENDED_S)

        for text in (f'("{subject}", ?p, ?y)', "(?x, ?p, ?y)"):
            assert [sorted(row["y"] for row in await rows_at(peer, text)) for peer in (reader, other)] == [[1, 2, 3], [3]]

    simulate(work, seed=15, size=9)


def test_restarted_peers_remember_who_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow_disks(monkeypatch, seed=1)

    async def main(net: SimNet) -> None:
        lives = Lives(net, tmp_path)
        await lives.begin(4)
        publisher, reader, other, _ = lives.peers.values()
        named = ids(reader)
        await publisher.insert(FACTS[:4], audience=named)
        await publisher.insert(FACTS[2:6])
        await publisher.retract(FACTS[:1], audience=named)
        may = {0: FACTS[2:6], 1: FACTS[1:6], 2: FACTS[2:6]}
        assert [*ids(publisher, reader, other)] == [peer.contact.id for peer in list(lives.peers.values())[:3]]

        for number in range(4):
            await lives.kill(number)
        for number in range(4):
            await lives.start(number)
        await asyncio.sleep(MENDED_S)

        for number, facts in may.items():
            assert await rows_at(lives.peers[number], "(?x, ?p, ?y)") == await rows_of(set(facts))
        assert await lives.peers[2].retract(FACTS[1:4], audience=named) == 3
        assert await rows_at(lives.peers[1], "(?x, ?p, ?y)") == await rows_of(set(FACTS[2:6]))
        await lives.end()

    run(main, seed=5)


def test_each_variant_is_retracted_by_itself() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, bob, carol, dan = peers[:4]
        subscriptions = [await peer.subscribe(PAIRS) for peer in (bob, carol, dan)]

        async def told() -> list[list[str]]:
            await quiet()
            return [[line[0] for line in await unread(each)] for each in subscriptions]

        assert await publisher.insert([T], audience=ids(bob, carol)) == 1
        assert await told() == [["+"], ["+"], []]
        assert await dan.insert([T], audience=ids(carol, dan)) == 1
        assert await told() == [[], [], ["+"]]
        assert await publisher.insert([T]) == 1
        assert await told() == [[], [], []]
        # Whoever names the same readers, in any order, means the same.
        assert await dan.retract([T], audience=[peer.contact.id.hex() for peer in (carol, bob)]) == 1
        assert await told() == [[], [], []]
        assert await publisher.retract([T], audience=ids(carol)) == 0
        assert await publisher.retract([T]) == 1
        assert await told() == [["-"], [], []]
        assert await publisher.retract([T], audience=ids(dan, carol)) == 1
        assert await told() == [[], ["-"], ["-"]]
        assert all(not peer._parts.rendezvous.held.distinct() for peer in peers)

    simulate(work, seed=6)


def test_a_publisher_reads_its_own_only_where_it_names_itself() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [alone] = peers
        subscription = await alone.subscribe(PAIRS)

        await alone.insert([T], audience=[b"b" * 20])
        await alone.notify([T], audience=[b"b" * 20])
        await quiet()
        assert await unread(subscription) == []
        await alone.insert([T], audience=[b"b" * 20, alone.contact.id])
        assert subscription.rows().total() == 1
        await alone.notify([("x", ON, "y")], audience=ids(alone))
        await quiet()
        assert [line[0] for line in await unread(subscription)] == ["+", "!"]

    simulate(work, seed=7, size=1)


def test_an_audience_that_is_none_is_an_error_before_anything_is_sent() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for change in (peers[0].insert, peers[0].retract, peers[0].notify):
            with pytest.raises(LocalError, match="an audience of nobody"):
                await change([T], audience=[])
        assert not any(peer._parts.rendezvous.held.distinct() for peer in peers)

    simulate(work, seed=8, size=2)


def test_events_that_a_reader_may_not_see_keep_it_waiting_for_nothing() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, bob, carol = peers[:3]
        functors = [Symbol(f"f{number}") for number in range(12)]
        heard: dict[Peer, list[tuple[object, float]]] = {bob: [], carol: []}
        loop = asyncio.get_running_loop()
        for peer in (bob, carol):
            for functor in functors:
                template: Template = rete.Template((functor, None))

                def hear(event: Event, note: int, to: list[tuple[object, float]] = heard[peer]) -> None:
                    to.append((event.items[1], loop.time()))

                await peer.listen(template, hear, anchor=0)
        # By many rendezvous, of which each message names the others.
        begun_s = loop.time()
        for number in range(60):
            audience = ids(bob) if number % 3 else None
            await publisher.notify([(functors[number % 12], number)], audience=audience)
        await quiet()

        assert [number for number, _ in heard[bob]] == list(range(60))
        assert [number for number, _ in heard[carol]] == list(range(0, 60, 3))
        assert max(when for _, when in heard[carol]) < begun_s + 60
        for peer in peers:
            assert peer._parts.subscriber.feeds.order.late == 0

    simulate(work, seed=9)


def test_windows_hold_the_events_that_their_reader_may_see() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, bob, carol = peers[:3]
        subscriptions = [await peer.subscribe("(?x, on, ?y) WINDOW 2 EVENTS") for peer in (bob, carol)]

        for number in range(6):
            await publisher.notify([("x", ON, number)], audience=ids(bob) if number % 2 else None)
        await quiet()

        assert [{row["y"] for row in each.rows()} for each in subscriptions] == [{4, 5}, {2, 4}]

    simulate(work, seed=14)


def test_facts_and_events_of_mixed_audiences_come_in_order() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, bob, carol = peers[:3]
        subscriptions = [await peer.subscribe("(?x, said, ?n)") for peer in (bob, carol)]
        said = Symbol("said")
        sending = []
        for number in range(40):
            audience = None if number % 2 else ids(bob)
            change = publisher.notify if number % 5 == 0 else publisher.insert
            sending.append(asyncio.ensure_future(change([(f"x{number % 7}", said, number)], audience=audience)))
            await asyncio.sleep(0)
        await asyncio.gather(*sending)
        await quiet()

        orders = [[row["n"] for _, row in await each.batch(each.pending)] for each in subscriptions]
        assert orders == [list(range(40)), list(range(1, 40, 2))]

    simulate(work, seed=10)


@pytest.mark.parametrize("primary_dies", [False, True], ids=["to the primary", "in its place"])
def test_what_came_to_another_than_the_primary_keeps_its_audience(primary_dies: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        # Templates without constants are posted everywhere, so also where something is carried out in another's place.
        anything, here = "(?x, ?p, ?y)", b"\x00"
        primary = rendezvous(peers, 3, 0, T[0])
        former, bob, carol = others(peers, primary)[:3]
        subscriptions = [await peer.subscribe(anything) for peer in (bob, carol)]
        named = frozenset(ids(bob))
        async with stranger_of(net) as stranger:
            link = await stranger.connect(former.contact)
            if primary_dies:
                net.crash(primary.contact.host)
            link.send(encode(Publish(1, 1, [T], [here], 0, unsure=True, audience=named)))
            link.send(encode(Flash(2, stranger.id, [Event(1, FACTS[0])], [here], unsure=True, audience=named)))
            await asyncio.sleep(MENDED_S)

        assert sorted(line[0] for line in await unread(subscriptions[0])) == ["!", "+"]
        assert await unread(subscriptions[1]) == []
        assert [(await rows_at(peer, anything)).total() for peer in (bob, carol, former)] == [1, 0, 0]

    simulate(work, seed=11, size=6)


def test_newcomers_get_facts_and_events_with_their_audience() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 3) as peers, AsyncExitStack() as stack:
            publisher, bob, carol = peers
            heard: dict[Peer, list[Term]] = {bob: [], carol: []}
            for peer in (bob, carol):
                template: Template = rete.Template((Symbol("f"), None))
                await peer.listen(template, lambda event, _, to=heard[peer]: to.append(event.items[1]), anchor=0)
            subscriptions = [await peer.subscribe(PAIRS) for peer in (bob, carol)]
            joining = [asyncio.ensure_future(stack.enter_async_context(guest_of(net, peers))) for _ in range(4)]
            for number in range(40):
                await publisher.insert([(f"x{number}", ON, number)], audience=ids(bob))
                await publisher.notify([(Symbol("f"), number)], audience=ids(bob))
                await asyncio.sleep(0.05)
            guests = await asyncio.gather(*joining)
            await quiet()

            assert subscriptions[0].rows().total() == 40
            assert not subscriptions[1].rows()
            assert heard == {bob: list(range(40)), carol: []}
            for guest in guests:
                assert not await rows_at(guest)
                assert not await rows_at(guest, "(?x, ?p, ?y)")

    run(main, seed=11)


def test_what_was_missed_behind_a_slow_link_is_sent_as_the_reader_may_see_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        publisher, bob = peers[:2]
        subscription = await bob.subscribe(PAIRS)
        await publisher.insert([T], audience=ids(bob))
        await publisher.insert([FACTS[0]], audience=ids(publisher))
        await quiet()

        for one, other in combinations(peers, 2):
            net.cut(one.contact.host, other.contact.host)
        await publisher.retract([FACTS[0]], audience=ids(publisher))
        await publisher.insert([FACTS[1]], audience=ids(bob, publisher))
        await quiet()

        assert {tuple(row.terms) for row in subscription.rows()} == {(fact[0], fact[2]) for fact in (T, FACTS[1])}

    simulate(work, seed=12)


def test_a_peer_of_the_same_port_and_host_with_another_key_is_another_reader() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net, 3) as peers:
            first = guest_of(net, peers)
            async with first:
                await quiet()
                named = ids(first)
                address = first.contact.address
                await peers[0].insert([T], audience=named)
                assert (await rows_at(first)).total() == 1
            second = Peer(address, [peers[0].contact.address], rng=net.rng(), clock=net.loop.time)
            async with second:
                await quiet()
                assert second.contact.address == (first.contact.host, PORT)
                assert not await rows_at(second)

    run(main, seed=13)
