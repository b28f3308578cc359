"""What queries hold, and the network as a graph."""

from __future__ import annotations

import gc
import tracemalloc

import networkx
from notation import basic, condition, group, none_of
from world import World

import rete
from rete import algebra as a
from rete.inspect import graph, held_by, nodes_of

PAIRS = [*(f"x{at} p y{at}" for at in range(500)), *(f"y{at} q z{at}" for at in range(0, 500, 2))]


def test_a_query_holds_its_tokens_and_those_that_it_shares() -> None:
    world = World(*PAIRS)
    one = world.watch(group("?x p ?y", "?y q ?z")).production
    alone = held_by(one)
    world.watch(group("?x p ?y"))

    assert (alone.rows, alone.tokens, alone.own_tokens) == (250, 251, 251)
    assert alone.bytes == alone.own_bytes
    assert held_by(one).tokens == 251
    both = [held_by(world.watch(group("?x p ?y", "?y q ?z")).production), held_by(one)]
    assert [(held.tokens, held.own_tokens, held.own_bytes) for held in both] == [(251, 0, 0)] * 2
    assert [held.bytes for held in both] == [alone.bytes] * 2


def test_the_estimate_of_bytes_is_about_what_python_takes() -> None:
    world = World(*(f"x{at} p y" for at in range(3_000)))
    world.facts |= {("y", "q", "z"): None}
    gc.collect()
    tracemalloc.start()
    production = world.watch(a.Distinct(basic("?x p ?y", "?y q ?z", "?x p ?w"))).production
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert taken / 2.5 < held_by(production).bytes < taken * 2.5


def test_queries_of_one_template_share_what_it_holds() -> None:
    world = World(*PAIRS)
    template = rete.Group((rete.Condition((rete.Parameter(0), "p", rete.Variable("y"))), condition("?y q ?z")))
    made = [world.network.subscribe_template(template, (f"x{at}",), ("y", "z"), lambda _: None)[0] for at in range(10)]

    held = [held_by(production) for production in made]

    assert {one.queries for one in held} == {10}
    assert [one.rows for one in held] == [1, 0] * 5
    assert {(one.tokens, one.own_tokens) for one in held} == {(20, 2)}


def test_the_graph_has_every_node_once_and_says_what_it_holds() -> None:
    world = World(*PAIRS)
    one = world.watch(group("?x p ?y", "?y q ?z", none_of("?z r ?w"))).production
    world.watch(a.LeftJoin(basic("?x p ?y"), basic("?y q ?z")))
    world.watch(a.Exists(basic("?x p ?y"), basic("?y q ?z")))

    drawn = graph(world.network)
    part = graph(world.network, [one])

    assert networkx.is_directed_acyclic_graph(
        drawn.edge_subgraph((u, v) for u, v, kind in drawn.edges(data="kind") if kind != "asks")
    )
    kinds = [kind for _, kind in part.nodes(data="kind")]
    assert sorted(kinds) == ["AlphaMemory"] * 3 + ["Demand", "Existence"] + ["Join"] * 3 + ["Query", "Root"]
    assert {data["tokens"] for _, data in part.nodes(data=True) if data["kind"] == "Existence"} == {250}
    assert sorted(data["facts"] for _, data in part.nodes(data=True) if data["kind"] == "AlphaMemory") == [0, 250, 500]
    assert [data["rows"] for _, data in part.nodes(data=True) if data["kind"] == "Query"] == [250]
    nodes = [data["node"] for _, data in drawn.nodes(data=True) if "node" in data]
    assert len(nodes) == len(set(nodes))
    assert set(nodes_of(one)) <= set(nodes)
    assert len(part) < len(drawn)


def test_a_network_without_queries_is_an_empty_graph() -> None:
    assert len(graph(World(*PAIRS).network)) == 0
