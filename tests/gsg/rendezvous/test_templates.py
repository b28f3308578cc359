"""Queries of templates at a peer: one network for many, filled by the feeds of the constants that they ask for."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest
from peers import Reader, feeds, quiet, simulate, templates
from query_text import write_query

import rete
from dht.simnet import SimNet
from gsg import Peer, Row, Space, Symbol
from gsg.languages.query import Query
from rete import Condition, Group, Parameter, Variable

ON, COLOR = Symbol("on"), Symbol("color")
X, Y, Z = map(Variable, "xyz")
P0, P1 = Parameter(0), Parameter(1)
TEMPLATES = [
    (Group((Condition((X, ON, P0)),)), 1),
    (Group((Condition((X, ON, P0)), Condition((X, COLOR, P1)))), 2),
    (Group((Condition((X, ON, Y)), Condition((Y, COLOR, P0)))), 1),
    (Group((Condition((X, ON, P0)), Condition((P0, ON, Y)))), 1),
    (Group((Condition((X, ON, Y)), Condition((Y, ON, P0))), (Group((Condition((X, COLOR, P1)),)),)), 2),
    (Group((Condition((X, Y, X)), Condition((X, P0, Z)))), 1),
    (Group((Condition((X, P0, rete.WILDCARD)), Condition((P1, Y, Z)))), 2),
]
THINGS = [Symbol(name) for name in ("a", "b", "c")]
FACTS = [(x, p, y) for x in THINGS for p in (ON, COLOR) for y in THINGS]


class Trial:
    """A random history told to peers and to a space; queries of templates come and go at the first peer."""

    def __init__(self, seed: int, peers: list[Peer]) -> None:
        self.rng = Random(seed)
        self.peers = peers
        self.space = Space()
        self.queries: list[tuple[Reader, Counter[Row], Query]] = []
        self.own = {peer: FACTS[number :: len(peers)] for number, peer in enumerate(peers)}

    def query(self) -> Query:
        group, width = self.rng.choice(TEMPLATES)
        arguments = tuple(self.rng.choice([*THINGS, ON]) for _ in range(width))
        return Query(group, _names(group), arguments)

    async def come(self, many: int) -> None:
        async def one() -> None:
            query = self.query()
            self.queries.append((Reader(await self.peers[0].registry.subscribe(query)), Counter(), query))

        await asyncio.gather(*(one() for _ in range(many)))

    async def go(self, many: int) -> None:
        for _ in range(min(many, len(self.queries))):
            reader, _, _ = self.queries.pop(self.rng.randrange(len(self.queries)))
            await reader.subscription.close()

    async def publish(self, peer: Peer) -> None:
        for _ in range(self.rng.randrange(4)):
            facts = self.rng.sample(self.own[peer], self.rng.randrange(1, 4))
            if self.rng.random() < 0.6:
                self.space.insert(facts)
                await peer.insert(facts)
            else:
                self.space.retract(facts)
                await peer.retract(facts)

    async def flash(self) -> None:
        event = self.rng.choice(FACTS)
        yardsticks = [self.space.subscribe(text_of(query)) for _, _, query in self.queries]
        for yardstick in yardsticks:
            list(yardstick)
        self.space.notify([event])
        for (_, expected, _), yardstick in zip(self.queries, yardsticks, strict=True):
            expected.update(row for _, row in yardstick)
            yardstick.close()
        await self.rng.choice(self.peers).notify([event])
        await quiet()

    async def compare(self) -> None:
        for reader, events, query in self.queries:
            with self.space.subscribe(text_of(query)) as yardstick:
                expected = yardstick.rows()
            await reader.read()
            assert reader.subscription.rows() == reader.held == expected, text_of(query)
            assert reader.lowest == 0
            assert reader.events == events, text_of(query)


def _names(group: Group) -> tuple[str, ...]:
    return tuple(name for name in group.variables() if not name.startswith("$"))


def text_of(query: Query) -> str:
    return write_query(query.bound())


@pytest.mark.parametrize("seed", range(6))
def test_many_queries_of_templates_answer_as_one_space_would(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        trial = Trial(seed, peers)
        await asyncio.gather(trial.come(50), *map(trial.publish, peers))
        for _ in range(5):
            await quiet()
            await trial.compare()
            assert peers[0]._parts.subscriber._network._templates, "some queries share a network"
            await trial.flash()
            await trial.compare()
            await asyncio.gather(*map(trial.publish, peers), trial.come(12), trial.go(15))
        await quiet()
        await trial.compare()
        await trial.go(len(trial.queries))
        await quiet()
        assert (templates(peers), feeds(peers)) == (0, 0)
        assert peers[0]._parts.subscriber._network.is_empty

    simulate(work, seed=seed, size=2 + seed % 4)


def test_a_shared_network_has_the_facts_that_somebody_asks_for_and_loses_them_with_the_last() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        on_what, _ = TEMPLATES[0]
        await peers[1].insert([(Symbol(f"x{number}"), ON, Symbol(f"y{number}")) for number in range(20)])
        asked = [
            await peers[0].registry.subscribe(Query(on_what, ("x",), (Symbol(f"y{number}"),))) for number in [*range(7), *range(10)]
        ]
        (memory,) = (
            memory
            for memory in peers[0]._parts.subscriber._network._memories
            if isinstance(memory.spec.template, rete.OpenTemplate)
        )
        (index,) = memory.indexes.values()

        held = [len(index.rows)]
        await asked.pop().close()
        held.append(len(index.rows))

        assert held == [10, 9]

    simulate(work, seed=1, size=3)
