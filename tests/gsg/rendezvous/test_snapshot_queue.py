"""Snapshots leave at the pace of each link, however many feeds ask at once, and their subscriber waits while any of them comes."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Iterator

import pytest
from peers import Reader, quiet, rendezvous, simulate
from place import ANYTHING, ON, X_ON_Y, Place

import dht
import dht.links.link
import gsg.rendezvous.snapshot
from dht.simnet import SimNet
from gsg import LiveSubscription, Peer, Symbol
from gsg.errors import PeerUnreachable
from gsg.placement.rules import NOWHERE
from gsg.rendezvous.feed import Feed
from gsg.tuples.terms import Term, Tuple
from gsg.wire.exchange import ANSWER_TIMEOUT_S
from gsg.wire.messages import Snapshot
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests

TEXT = "x" * 1_000
MANY = 100


def relations(host: Peer, peers: list[Peer]) -> list[Term]:
    """Constants of whose keys one peer is the primary."""
    found = [Symbol(f"r{number}") for number in range(MANY * 4)]
    return [constant for constant in found if rendezvous(peers, 3, 1, constant) is host][:MANY]


async def stored(peers: list[Peer]) -> tuple[Peer, Peer, list[Term]]:
    """A rendezvous with 50 KB under each of many keys, and somebody else."""
    host, reader = peers
    constants = relations(host, peers)
    await host.insert([(number, constant, TEXT) for constant in constants for number in range(50)])
    return host, reader, constants


async def ask_all(reader: Peer, constants: list[Term]) -> list[LiveSubscription]:
    """Subscribe to all of them at once."""
    return await asyncio.gather(*(reader.subscribe(f"(?x, ^{constant}, ?y)") for constant in constants))


def test_a_link_bears_that_all_its_feeds_ask_for_their_snapshots_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dht.links.link, "HARD_LIMIT_BYTES", 3 * 1024 * 1024)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, reader, constants = await stored(peers)
        links = reader._endpoint.links.open_links()

        subscriptions = await ask_all(reader, constants)

        assert len(constants) == MANY
        assert [len(subscription.rows()) for subscription in subscriptions] == [50] * MANY
        assert reader._endpoint.links.open_links() == links
        assert not host._parts.delivery._snapshots._lines

    simulate(work, seed=31, size=2)


def test_what_changes_while_a_snapshot_waits_for_its_turn_is_told_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, reader, constants = await stored(peers)
        asking = asyncio.create_task(ask_all(reader, constants))
        while not host._parts.delivery._snapshots._lines:  # noqa: ASYNC110  # virtual time
            await asyncio.sleep(0.001)

        await host.insert([("late", constant, TEXT) for constant in constants])
        await host.retract([(0, constant, TEXT) for constant in constants])
        readers = [Reader(subscription) for subscription in await asking]
        await quiet()
        for one in readers:
            await one.read()

        assert [one.held.total() for one in readers] == [50] * MANY
        assert [one.held for one in readers] == [one.subscription.rows() for one in readers]
        assert min(one.lowest for one in readers) == 0

    simulate(work, seed=32, size=2)


def test_a_subscriber_waits_for_a_snapshot_as_long_as_its_link_brings_others_before_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        link, resync = peer._parts.exchange.own, peer._parts.subscriber.feeds.resync
        wholes: list[asyncio.Future[None]] = [asyncio.get_running_loop().create_future() for _ in range(2)]
        waits = [asyncio.create_task(resync.until_whole(whole, link)) for whole in wholes]

        for _ in range(10):
            await asyncio.sleep(ANSWER_TIMEOUT_S * 0.9)
            resync.note_part(link)
        wholes[0].set_result(None)
        await waits[0]
        heard_s = net.loop.time()
        with pytest.raises(PeerUnreachable, match="stopped in the middle of a snapshot"):
            await waits[1]

        assert net.loop.time() - heard_s == pytest.approx(ANSWER_TIMEOUT_S)

    simulate(work, seed=33, size=1)


class SlowClock:
    """Each look at it takes a second."""

    def __init__(self) -> None:
        self._now_s = itertools.count()

    def __call__(self) -> float:
        return next(self._now_s)


def looked_through(place: Place, facts: int) -> tuple[Feed, list[Snapshot | None]]:
    """A feed of the texts of more than two letters, and what its snapshot says slice by slice."""
    place.insert(*((number, ON, "ccc" if number % 10 == 9 else "a") for number in range(facts)))
    feed = place.post("s", 1, X_ON_Y, 1, test=TupleTest("longer", "2"))
    place.rendezvous.clock = SlowClock()
    return feed, list(place.rendezvous.snapshot(feed))


def test_what_a_filter_lets_through_is_looked_for_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SNAPSHOT_FACTS", 2)
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SIGN_S", math.inf)

    _, slices = looked_through(Place(), 50)

    parts = [part for part in slices if part is not None]
    assert [[items[0] for items in part.facts] for part in parts] == [[9, 19], [29, 39], [49]]
    assert [(part.first, part.last) for part in parts] == [(True, False), (False, False), (False, True)]
    assert slices.count(None) == 48  # one for each that is no part


def test_a_long_search_gives_a_sign_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SIGN_S", 20.0)

    _, slices = looked_through(Place(), 50)

    parts = [part for part in slices if part is not None]
    assert len(parts) > 3
    assert [(part.first, part.last) for part in parts] == [(number == 0, number == len(parts) - 1) for number in range(len(parts))]
    assert [items[0] for part in parts for items in part.facts] == [9, 19, 29, 39, 49]


def test_a_snapshot_is_of_one_moment_however_long_it_is_looked_for() -> None:
    place = Place()
    place.insert(("a", ON, "ccc"), ("b", ON, "ccc"))
    feed = place.post("s", 1, X_ON_Y, 1, test=TupleTest("longer", "2"))
    place.rendezvous.clock = SlowClock()

    slices = place.rendezvous.snapshot(feed)
    assert next(slices) is None
    place.retract(("b", ON, "ccc"))
    place.insert(("c", ON, "ccc"))
    parts = list(filter(None, slices))
    place.rendezvous.release_feed(feed)

    assert [part.facts for part in parts] == [[("a", ON, "ccc"), ("b", ON, "ccc")]]
    assert place.heard() == {"s": ["-b on ccc", "+c on ccc"]}


def test_what_a_template_without_constants_asks_for_is_gathered_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SIGN_S", math.inf)
    place = Place()
    place.insert(*((number, ON, "c") for number in range(50)))
    feed = place.post("s", 1, ANYTHING, NOWHERE)
    place.rendezvous.clock = SlowClock()
    looked_at = 0

    class Counted(dict[Tuple, int]):
        def __iter__(self) -> Iterator[Tuple]:
            nonlocal looked_at
            looked_at += 1
            return super().__iter__()

    held = place.rendezvous.held._facts
    held.update({key: Counted(facts) for key, facts in held.items()})
    slices = place.rendezvous.snapshot(feed)

    assert looked_at == 0
    assert [next(slices) for _ in range(3)] == [None] * 3
    assert looked_at == 3
    told = [fact for part in slices if part is not None for fact in part.facts]
    assert told == [(number, ON, "c") for number in range(50)]


def test_the_last_word_on_a_fact_that_changes_while_facts_are_gathered_is_its_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.rendezvous.snapshot, "SIGN_S", math.inf)
    place = Place()
    place.insert(*((letter, ON, "ccc") for letter in "abcd"))
    feed = place.post("s", 1, ANYTHING, NOWHERE)
    place.rendezvous.clock = SlowClock()

    slices = place.rendezvous.snapshot(feed)
    assert next(slices) is None
    place.retract(("a", ON, "ccc"), ("c", ON, "ccc"), ("d", ON, "ccc"))
    place.insert(("d", ON, "ccc"), ("e", ON, "ccc"))
    [part] = filter(None, slices)
    place.rendezvous.release_feed(feed)

    assert [items[0] for items in part.facts] == ["a", "b", "d"]
    assert place.heard() == {"s": ["-a on ccc", "-c on ccc", "-d on ccc", "+d on ccc", "+e on ccc"]}


def test_others_have_their_turn_while_a_filter_is_asked_for_and_it_ends_with_its_feed() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [peer] = peers
        await peer.insert([(number, ON, number) for number in range(300)])
        peer._parts.rendezvous.clock = SlowClock()
        asking = [asyncio.create_task(peer.subscribe("(?x, ^on, ?y) FILTER(?y > 290)")) for _ in range(2)]

        turns = 0
        while not asking[0].done():
            await asyncio.sleep(0)
            turns += 1
        await (await asking[0]).close()
        await (await asking[1]).close()

        assert turns >= 300
        gone = asyncio.create_task(peer.subscribe("(?x, ^on, ?y) FILTER(?y > 280)"))
        for _ in range(100):
            await asyncio.sleep(0)
        gone.cancel()
        await quiet()
        assert not peer._parts.delivery._snapshots._lines
        assert peer._parts.rendezvous.conditions.feeds() == 0

    simulate(work, seed=34, size=1)
