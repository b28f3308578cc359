"""The six queries of the Train Benchmark beside pyoxigraph, while its graph is loaded and while faults come and go.

Skipped, with the reason, where the data does not lie beside the project (GSG_SHARED names another place for it).
"""

from __future__ import annotations

import random
from collections import Counter

import pytest
from oracle import comparable
from peers import quiet, simulate
from railway import FOLDER, QUERIES, Changes, Railway, Row, facts, known_to_the_oracle, singly, text, undone
from w3c import Rows

import gsg
from dht.simnet import SimNet
from gsg.tuples.terms import XSD, Literal

LOADED_AT_ONCE = 5
FAULTS = 10

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason=f"the railway is not at {FOLDER}")


def terms_of(row: gsg.Row) -> Row:
    return dict(zip(row, row.terms, strict=True))


def as_the_oracle(rows: Counter[gsg.Row]) -> Rows:
    return Counter({comparable(known_to_the_oracle(terms_of(row))): count for row, count in rows.items()})


class World:
    """The railway in a space, with the six queries subscribed to."""

    def __init__(self) -> None:
        self.railway = Railway()
        self.space = gsg.Space()
        self.subscriptions = {query: self.space.subscribe(text(query), "sparql") for query in QUERIES}
        self._held: dict[str, Counter[gsg.Row]] = {query: Counter() for query in QUERIES}

    def change(self, changes: Changes) -> None:
        self.railway.change(changes)
        for fact, sign in changes:
            (self.space.insert if sign > 0 else self.space.retract)([fact])

    def check(self) -> None:
        """Rows, and differences added up, are what the oracle answers."""
        for query, subscription in self.subscriptions.items():
            held = self._held[query]
            for sign, row in subscription:
                held[row] += sign
                assert held[row] >= 0
            self._held[query] = held = +held
            assert subscription.rows() == held
            assert as_the_oracle(held) == self.railway.oracle.answer(text(query)), query


def places(railway: Railway, query: str, chance: random.Random) -> list[Row]:
    """Where faults go in."""
    found = sorted(map(sorted, railway.oracle.answer(text(query + "Inject"))), key=repr)
    return [dict(row) for row in chance.sample(found, min(FAULTS, len(found)))]


@pytest.mark.long
def test_rows_are_the_oracles_while_the_graph_is_loaded_in_any_order() -> None:
    world = World()
    shuffled = random.Random(1).sample(facts(), len(facts()))

    for start in range(0, len(shuffled), LOADED_AT_ONCE):
        world.change([(fact, 1) for fact in shuffled[start : start + LOADED_AT_ONCE]])
        world.check()

    assert len(world.space) == len(facts())


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_the_oracles_after_every_triple_of_a_fault_and_of_its_repair(query: str) -> None:
    world = World()
    world.change([(fact, 1) for fact in facts()])
    before = world.subscriptions[query].rows()
    world.check()
    repairs: list[Changes] = []

    for row in places(world.railway, query, random.Random(query)):
        changes = world.railway.fault(query, row)
        repairs.append(undone(changes))
        for change in singly(changes):
            world.change(change)
            world.check()
    faulty = world.subscriptions[query].rows()
    for repair in reversed(repairs):
        for change in singly(repair):
            world.change(change)
            world.check()

    assert faulty != before
    assert world.subscriptions[query].rows() == before


def test_a_length_keeps_its_lexical_form_and_datatype() -> None:
    world = World()
    world.change([(fact, 1) for fact in facts()])
    (row, *_) = places(world.railway, "PosLength", random.Random(1))

    world.change(world.railway.fault("PosLength", row))

    (found,) = [found for found in world.subscriptions["PosLength"].rows() if found["segment"] == row["segment"]]
    assert found["length"] == Literal("0", XSD + "int")


@pytest.mark.long
def test_eight_peers_end_with_the_rows_of_the_oracle() -> None:
    railway = Railway()
    chance, sites = random.Random(8), random.Random(8)

    async def work(net: SimNet, peers: list[gsg.Peer]) -> None:
        early = {query: await chance.choice(peers).subscribe(text(query), "sparql") for query in QUERIES}
        loaded = [(fact, 1) for fact in facts()]
        railway.change(loaded)
        for start, peer in enumerate(peers):
            await peer.insert([fact for fact, _ in loaded[start :: len(peers)]])
        late = {query: await chance.choice(peers).subscribe(text(query), "sparql") for query in QUERIES}
        for query in QUERIES:
            for row in places(railway, query, sites)[:3]:
                changes = railway.fault(query, row)
                railway.change(changes)
                peer = chance.choice(peers)
                await peer.insert([fact for fact, sign in changes if sign > 0])
                await peer.retract([fact for fact, sign in changes if sign < 0])
        await quiet()

        for subscriptions in (early, late):
            for query, subscription in subscriptions.items():
                assert subscription.rows(), query
                assert as_the_oracle(subscription.rows()) == railway.oracle.answer(text(query)), query

    simulate(work, seed=8, size=8)
