"""FILTERs of one condition over peers: what fails them does not travel, and rows are those of one space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from peers import Reader, quiet, simulate, templates

from dht.simnet import SimNet
from gsg import Peer, Row, Space, Symbol

TEMP, IN = Symbol("temp"), Symbol("in")
ROOMS = [Symbol(f"room-{number}") for number in range(4)]
FLOORS = [Symbol("ground"), Symbol("attic")]
FACTS = [(room, TEMP, degrees) for room in ROOMS for degrees in (5, 15, 25)]
FACTS += [(room, IN, floor) for room in ROOMS for floor in FLOORS]
WARM = "(?r, ^temp, ?t) FILTER ?t > 10"
QUERIES = [
    WARM,
    "(?r, ^temp, ?t), (?r, ^in, ?f) FILTER ?t > 10 && ?f = attic",
    "(?r, ^temp, ?t), (?s, ^temp, ?u) FILTER ?t > 10 && ?t < ?u",
    "(?r, ^in, ?f), NOT { (?r, ^temp, ?t) FILTER ?t > 20 }",
    "(?r, ^in, ?f) OPTIONAL { (?r, ^temp, ?t) FILTER ?t < 10 }",
    "(?r, ?p, ?t) FILTER ISNUMERIC(?t) && ?t > 10",
    "(?r, ^temp, ?t), (?r, ^in, ?f) FILTER REGEX(STR(?f), 'tt') FILTER ?t != 15",
    "{ (?r, ^temp, ?t) FILTER ?t > 20 } UNION { (?r, ^temp, ?t) FILTER ?t < 10 }",
]


def fed(peers: Sequence[Peer]) -> int:
    """Facts and events that all rendezvous together have sent to subscribers since they began."""
    return sum(peer._parts.rendezvous.matched for peer in peers)


def held(peer: Peer) -> int:
    """Facts in the memories of a subscriber's peer."""
    return sum(memory.size() for memory in peer._parts.subscriber.feeds.memories.values())


def test_facts_and_events_that_fail_a_filter_do_not_travel() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[1].insert(FACTS)
        warm = Reader(await peers[0].subscribe(WARM))
        stored = held(peers[0])

        await peers[2].insert((Symbol("hall"), TEMP, degrees) for degrees in range(20))
        await peers[2].notify((Symbol("yard"), TEMP, degrees) for degrees in range(20))
        await quiet()
        await warm.read()

        assert stored == 8
        # While peers have just come, events go by all holders of a key.
        assert fed(peers) == 9 + 3 * 9
        assert (sum(warm.held.values()), sum(warm.events.values())) == (8 + 9, 9)
        assert held(peers[0]) == 17

    simulate(work, seed=1)


def test_equal_filters_of_many_subscribers_are_posted_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for peer in peers:
            await peer.subscribe("(?room, ^temp, ?degrees) FILTER ?degrees > 10")
            await peer.subscribe(WARM)
        posted = templates(peers)
        await peers[0].subscribe("(?r, ^temp, ?t) FILTER ?t > 11")
        await peers[0].subscribe("(?r, ^temp, ?t)")

        assert posted == 1
        assert templates(peers) == 3

    simulate(work, seed=2)


def test_filters_that_do_not_fit_into_one_text_are_made_by_the_subscriber() -> None:
    many = " ".join(f"FILTER ?t NOT IN ({', '.join(map(str, range(start, start + 90)))})" for start in (0, 100, 200))

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[1].insert((Symbol("hall"), TEMP, degrees) for degrees in range(0, 300, 30))
        reader = Reader(await peers[0].subscribe(f"(?r, ^temp, ?t) {many}"))
        await peers[1].insert((Symbol("hall"), TEMP, degrees) for degrees in range(5, 300, 30))
        await peers[1].notify((Symbol("yard"), TEMP, degrees) for degrees in (205, 295))
        await quiet()
        await reader.read()

        assert Counter(row["t"] for row in reader.held) == Counter([90, 95])
        assert Counter(row["t"] for row in reader.events) == Counter([295])

    simulate(work, seed=3)


@pytest.mark.parametrize("seed", range(6))
def test_rows_under_filters_are_those_of_one_space(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = Random(seed)
        space = Space()
        queries = rng.sample(QUERIES, 4)
        own = {peer: FACTS[number :: len(peers)] for number, peer in enumerate(peers)}
        readers: list[tuple[Reader, str]] = []
        for round_ in range(6):
            if round_ < len(queries):
                readers.append((Reader(await rng.choice(peers).subscribe(queries[round_])), queries[round_]))
            for peer in peers:
                facts = rng.sample(own[peer], rng.randrange(1, 4))
                if rng.random() < 0.6:
                    space.insert(facts)
                    await peer.insert(facts)
                else:
                    space.retract(facts)
                    await peer.retract(facts)
            await quiet()
            for reader, query in readers:
                await reader.read()
                expected: Counter[Row] = space.subscribe(query).rows()
                assert reader.held == expected
                assert reader.subscription.rows() == expected
                assert reader.lowest == 0

    simulate(work, seed=seed)


def test_a_pattern_that_a_fact_brings_holds_no_peer_and_neither_does_one_of_a_query() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        given = await peers[0].subscribe('(?x, ^says, ?text) FILTER REGEX(?text, "^(a+)+$")')
        brought = await peers[1].subscribe("(?x, ^says, ?text), (?x, ^likes, ?pattern) FILTER REGEX(?text, ?pattern)")
        replaced = await peers[1].subscribe('(?x, ^says, ?text) LET ?k = REPLACE(?text, "(a|aa)+$", "b") FILTER ?k = "b"')

        says, likes = Symbol("says"), Symbol("likes")
        patterns = ["^(a+)+$", "(a|a?)+$", "(a*)*$", "^(([a-z])+.)+[A-Z]", r"^(a+)+\1$", "(a{1000}){1000}", "("]
        await peers[2].insert((str(number), says, "a" * 60 + "!" * (number % 2)) for number in range(len(patterns)))
        await peers[2].insert((str(number), likes, pattern) for number, pattern in enumerate(patterns))
        await quiet()

        assert {row["x"] for row in given.rows()} == {"0", "2", "4", "6"}
        assert {row["x"] for row in brought.rows()} == {"0", "1", "2"}
        assert {row["x"] for row in replaced.rows()} == {"0", "2", "4", "6"}

    simulate(work, seed=7)
