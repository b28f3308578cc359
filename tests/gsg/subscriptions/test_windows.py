"""Windows over peers: the subscriber's peer keeps the events, and rows come and go as in one space with the same clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest
from peers import Reader, feeds, quiet, simulate, unread

from dht.simnet import SimNet
from gsg import Overrun, Peer, Space, Symbol
from gsg.languages.rows import Sign
from gsg.placement.rules import REPLICAS

TEMP, FLOOR, ALARM = Symbol("temp"), Symbol("floor"), Symbol("alarm")
ROOMS = [Symbol(name) for name in ("hall", "attic", "cellar")]
EVENTS = [(TEMP, room, degrees) for room in ROOMS for degrees in (10, 20, 30)] + [(ALARM, room) for room in ROOMS]
FACTS = [(room, FLOOR, number) for room in ROOMS for number in (0, 1)] + [(TEMP, Symbol("shed"), 30)]
ROUND_S = 10.0
"""Events come in the first second or so of a round, and rows are compared at its end: windows end in between."""
QUERIES = [
    "(temp, ?r, ?t) WINDOW 15 s",
    "(temp, ?r, ?t) WINDOW 25 s FILTER ?t > 10",
    "(temp, ?r, ?t) WINDOW 4 EVENTS FILTER ?t > 10",
    "(temp, ?r, ?t) WINDOW 15 s, (?r, ^floor, ?f)",
    "(temp, ?r, ?t) WINDOW 35 s, (temp, ?r, ?u) WINDOW 3 EVENTS FILTER ?t < ?u",
    "(?r, ^floor, ?f), NOT { (temp, ?r, *) WINDOW 15 s }",
    "(?r, ^floor, ?f) OPTIONAL { (temp, ?r, ?t) WINDOW 2 EVENTS }",
    "SUBSCRIBE ?r, AVG(?t) AS ?mean { (temp, ?r, ?t) WINDOW 25 s } GROUP BY ?r",
    "SUBSCRIBE COUNT(*) AS ?n { (alarm, *) WINDOW 25 s }",
    "(alarm, ?r) WINDOW 25 s, (temp, ?r, ?t)",
    "(?kind, ?r, ?t) WINDOW 15 s",
    "{ (alarm, ?r) WINDOW 1 EVENTS } UNION { (temp, ?r, 30) WINDOW 15 s }",
]


async def until_next_round(net: SimNet) -> None:
    """To the end of the round, and into the next."""
    await asyncio.sleep(ROUND_S - net.loop.time() % ROUND_S)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_windows_are_those_of_one_space(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = Random(seed)
        space = Space(clock=net.loop.time)
        readers = []
        for text in rng.sample(QUERIES, 4):
            yardstick = space.subscribe(text)
            readers.append((Reader(await rng.choice(peers).subscribe(text)), yardstick))
            list(yardstick)
        for _ in range(8):
            await until_next_round(net)
            for _ in range(rng.randrange(4)):
                teller, told = rng.choice(peers), rng.choice([EVENTS, EVENTS, FACTS])
                tuples = rng.sample(told, rng.randrange(1, 3))
                if told is EVENTS:
                    space.notify(tuples)
                    await teller.notify(tuples)
                elif rng.random() < 0.7:
                    space.insert(tuples)
                    await teller.insert(tuples)
                else:
                    space.retract(tuples)
                    await teller.retract(tuples)
                # By several rendezvous, tuples may pass each other on the way.
                await asyncio.sleep(0.3)
            await asyncio.sleep(ROUND_S - 1 - net.loop.time() % ROUND_S)
            for reader, yardstick in readers:
                await reader.read()
                assert reader.held == yardstick.rows() == reader.subscription.rows()
                assert reader.events == Counter(row for sign, row in yardstick if sign is Sign.EVENT)
                assert reader.lowest == 0
                reader.events.clear()

    simulate(work, seed=seed, size=4)


def test_events_leave_a_window_at_their_time_though_nobody_calls() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        long = await peers[0].subscribe("(temp, ?r, ?t) WINDOW 1 min")
        short = await peers[0].subscribe("(temp, ?r, 30) WINDOW 2 s")
        await peers[1].notify([(TEMP, "hall", 20)])
        await peers[1].notify([(TEMP, "hall", 30)])
        await asyncio.sleep(1)
        first = await unread(short)
        await asyncio.sleep(1.5)
        then = await unread(short)
        await asyncio.sleep(60)

        assert (first, then) == (['+?r="hall"'], ['-?r="hall"'])
        assert [change[0] for change in await unread(long)] == ["+", "+", "-", "-"]

    simulate(work, seed=1)


def test_a_window_is_fed_with_events_alone_and_filtered_at_the_rendezvous_if_it_is_of_time() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].subscribe("(temp, ?r, ?t) WINDOW 10 s FILTER ?t > 10")
        await peers[1].insert([(TEMP, "hall", 30)])
        before = sum(peer._parts.rendezvous.matched for peer in peers)
        await peers[1].notify((TEMP, "hall", degrees) for degrees in (5, 15, 25))
        of_time = sum(peer._parts.rendezvous.matched for peer in peers)
        await peers[0].subscribe("(temp, ?r, ?t) WINDOW 10 EVENTS FILTER ?t > 10")
        await peers[1].notify([(TEMP, "hall", 5)])
        counted = sum(peer._parts.rendezvous.matched for peer in peers)

        # Peers have just come, so that each event goes by all holders of its key.
        assert (before, of_time, counted) == (0, 2 * REPLICAS, 3 * REPLICAS)

    simulate(work, seed=2)


def test_a_later_subscription_to_a_window_that_its_peer_keeps_sees_what_is_in_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        text = "(temp, ?r, ?t) WINDOW 1 min"
        first = await peers[0].subscribe(text)
        await peers[1].notify([(TEMP, "hall", 30)])
        await quiet()
        late, elsewhere = await peers[0].subscribe(text), await peers[1].subscribe(text)
        shown = [sum(subscription.rows().values()) for subscription in (first, late, elsewhere)]
        posted = feeds(peers)
        for subscription in (first, late, elsewhere):
            await subscription.close()

        anew = await peers[0].subscribe(text)

        assert (shown, posted) == ([1, 1, 0], 2)
        assert anew.rows() == {}

    simulate(work, seed=3)


def test_a_subscription_is_told_once_that_events_leave_its_window_early(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("rete.alpha.MAX_WINDOW_EVENTS", 2)
    text, other = "(temp, ?r, ?t) WINDOW 1 min", "(alarm, ?r) WINDOW 1 min"
    problem = r"the window of 60 s on \(temp, \*, \*\) is full, with 100000 events or 67108864 bytes of them"

    async def work(net: SimNet, peers: list[Peer]) -> None:
        space = Space(clock=net.loop.time)
        space.subscribe(text, callback=lambda sign, row: None)
        of_space, beside, of_peer = space.subscribe(text), space.subscribe(other), await peers[0].subscribe(text)
        for degrees in range(5):
            space.notify([(TEMP, "hall", degrees)])
            await peers[1].notify([(TEMP, "hall", degrees)])
        await quiet()
        with pytest.raises(Overrun, match=problem):
            list(of_space)
        with pytest.raises(Overrun, match=problem):
            await of_peer.batch(1)
        late, late_of_peer = space.subscribe(text), await peers[0].subscribe(text)
        space.notify([(TEMP, "hall", 6)])
        await peers[1].notify([(TEMP, "hall", 6)])
        await quiet()

        assert [len(list(of_space)), len(await of_peer.batch(100)), len(list(beside))] == [10, 10, 0]
        assert sum(of_space.rows().values()) == sum(of_peer.rows().values()) == 2
        with pytest.raises(Overrun, match=problem):
            list(late)
        with pytest.raises(Overrun, match=problem):
            await late_of_peer.batch(1)

    simulate(work, seed=4)

    assert sum("the oldest leave early" in record.getMessage() for record in caplog.records) == 1
