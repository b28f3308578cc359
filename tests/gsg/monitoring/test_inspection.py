"""Looking inside peers: anchors with their loads, reasons over what feeds have brought, pictures; all of it through a client."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from xml.etree import ElementTree

import pytest
from peers import quiet, simulate

import gsg
from dht import distance
from dht.simnet import SimNet
from gsg import IRI, LocalError, Peer, Row, Symbol
from gsg.cli.row_text import read_row
from gsg.explain.explanations import HeldKey
from gsg.http.door import HttpDoor
from gsg.tuples.features import key

BLOCKS = """
INSERT {
    (B1, ^on, B2), (B1, ^on, B3), (B4, ^on, B2),
    (B2, ^left-of, B3), (B2, ^left-of, B5),
    (B3, ^color, red), (B5, ^color, green), (B6, ^color, green)
}
"""
QUERY = "(?x, ^on, ?y), (?y, ^left-of, ?z), NOT { (?z, ^color, red) }"


def test_any_peer_says_who_holds_a_key_and_each_what_it_has() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        place, missing = (3, 1, Symbol("on")), (3, 1, Symbol("under"))
        closest = sorted((peer.contact for peer in peers), key=lambda each: distance(each.id, key(*place)))[:3]
        await peers[0].insert([("a", Symbol("on"), "b"), ("b", Symbol("on"), "c")])

        for peer in peers:
            held, nothing = await peer.inside.keys([place, missing], find=True)
            assert held.holders == tuple(closest)
            assert held.facts == (2 if peer.contact in closest else 0)
            assert (nothing.facts, len(nothing.holders)) == (0, 3)
            assert await peer.inside.keys([place]) == [HeldKey(held.facts)]

    simulate(work, seed=20, size=6)


def test_the_route_of_a_tuple_goes_by_its_keys_to_those_who_would_hear_of_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        on, under = Symbol("on"), Symbol("under")
        subscriber = peers[4]
        for query in ("(?x, ^on, ?y)", "(?x, ^on, ?y) FILTER ?y > 5", "(?x, ^on, ?x)", "(?x, ^under, ?y)"):
            await subscriber.subscribe(query)
        await peers[3].subscribe("(a, ?p, 7)")
        await peers[0].insert([("b", on, "c")])

        for peer in (peers[0], subscriber):
            route = await peer.inside.route((Symbol("a"), on, 7))
            assert [(one.position, one.constant, one.problem) for one in route.keys] == [(0, "a", ""), (1, "on", ""), (2, "7", "")]
            for one, constant in zip(route.keys, (Symbol("a"), on, 7), strict=True):
                place = key(3, one.position, constant)
                assert one.key == place.hex()
                assert one.holders == tuple(sorted((peer.contact for peer in peers), key=lambda each: distance(each.id, place))[:3])
            heard = {one.constant: [(each.id, each.templates) for each in one.subscribers or ()] for one in route.keys}
            assert heard["on"] == [(subscriber.contact.id.hex(), 2)]
            assert heard["a"] + heard["7"] == [(peers[3].contact.id.hex(), 1)]
            assert {one.constant: one.facts for one in route.keys}["on"] == 1

        with pytest.raises(LocalError, match="expected at most 65,536 to ask for its route"):
            await peers[0].inside.route(("x" * 70_000,))
        [of_pattern] = (await peers[0].inside.route((None, under, None))).keys
        assert (of_pattern.templates, of_pattern.subscribers) == (1, None)

    simulate(work, seed=22, size=6)


def test_a_rendezvous_that_has_died_is_not_in_a_route_and_one_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        by_distance = sorted(peers, key=lambda each: distance(each.contact.id, key(1, 0, Symbol("a"))))
        net.crash(by_distance[0].contact.host)

        [only] = (await by_distance[-1].inside.route((Symbol("a"),))).keys
        assert (only.holders[0], only.facts, only.problem) == (by_distance[1].contact, 0, "")

        async def refuse(*_: object) -> object:
            raise gsg.Refused("it is full")

        monkeypatch.setattr(by_distance[-1]._parts.exchange, "ask", refuse)
        [only] = (await by_distance[-1].inside.route((Symbol("a"),))).keys
        assert (only.holders[0], only.facts, only.problem) == (by_distance[1].contact, None, "it is full")

    simulate(work, seed=23, size=6)


def test_a_network_is_said_as_data_whose_ids_stay() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].run(BLOCKS)
        live = await peers[1].subscribe(QUERY)
        before = peers[1].inside.network(live.number)
        await peers[2].retract([(Symbol("B3"), Symbol("color"), Symbol("red"))])
        await quiet()
        after = peers[1].inside.network(live.number)

        assert [(node.id, node.title, node.text) for node in before.nodes] == [
            (node.id, node.title, node.text) for node in after.nodes
        ]
        assert before.edges == after.edges
        [rows] = [node for node in after.nodes if node.kind == "Query"]
        assert (rows.title, rows.text, rows.count, rows.unit) == (f"subscription {live.number}", QUERY, len(live.rows()), "row")
        memories = {node.text: node.count for node in after.nodes if node.kind == "AlphaMemory"}
        assert memories == {"(?x, on, ?y)": 3, "(?y, left-of, ?z)": 2, "(?z, color, red)": 0}
        ids = {node.id for node in after.nodes}
        assert all({edge.source, edge.target} <= ids for edge in after.edges)
        with pytest.raises(LocalError):
            peers[1].inside.network(99)

    simulate(work, seed=24)


def test_a_plan_over_peers_has_anchors_with_the_loads_that_rendezvous_report() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].run(BLOCKS)

        plan = await peers[1].inside.explain(QUERY)
        await peers[2].subscribe(QUERY)
        again = await peers[1].inside.explain(QUERY)

        left, on, negated = plan.steps
        assert [(step.text, step.facts, step.on) for step in (left, on)] == [
            ("(?y, left-of, ?z)", 2, ()),
            ("(?x, on, ?y)", 3, ("y",)),
        ]
        red, color = negated.steps[0].candidates
        assert (red.constant, red.position, red.facts, red.chosen) == ("red", 2, 1, True)
        assert (color.constant, color.position, color.facts, color.chosen) == ("color", 1, 3, False)
        assert not red.posted
        assert [step.candidates[0].posted for step in again.steps[:2]] == [True, True]
        assert "anchor red at position 2, " in str(plan)

    simulate(work, seed=21)


def test_a_condition_without_constants_is_said_to_be_posted_everywhere() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        plan = await peers[1].inside.explain("(?x, ?p, ?y)")

        assert plan.steps[0].everywhere
        assert "it is posted at every peer" in str(plan)

    simulate(work, seed=22)


def test_a_peer_says_why_and_why_not_for_its_subscriptions() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        subscription = await peers[1].subscribe(QUERY)
        await peers[0].run(BLOCKS)
        await quiet()

        inside = peers[1].inside
        why = inside.why(subscription.number, read_row("?x=B1"))
        refused = inside.why_not(subscription.number, read_row("?x=B1 ?z=B3"))

        assert [reason.fact for reason in why.derivations[0]] == ["(B1, on, B2)", "(B2, left-of, B5)", None]
        assert refused.because == ("NOT has a solution: (B3, color, red)",)
        (held,) = inside.subscriptions()
        assert (held.number, held.text, held.rows, held.client) == (subscription.number, QUERY, 2, "")
        assert held.tokens == held.own_tokens > 0
        for ask in (inside.why, inside.why_not):
            with pytest.raises(LocalError, match="no subscription 99 at this peer"):
                ask(99, read_row("?x=B1"))
        await subscription.close()
        assert inside.subscriptions() == []

    simulate(work, seed=23)


def test_filters_at_the_rendezvous_are_noted_where_a_row_is_refused() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("a", Symbol("age"), 17), ("b", Symbol("age"), 20)])
        subscription = await peers[1].subscribe("(?p, ^age, ?n), FILTER (?n > 18)")

        refused = peers[1].inside.why_not(subscription.number, Row({"p": "a"}))

        assert refused.because == ("of 1 tuple that match (?p, age, ?n) none has the values of the row",)
        assert refused.notes == (
            "(?p, age, ?n) with ?n > 18: tuples that do not pass stay at their rendezvous, and may be what this row lacks",
        )

    simulate(work, seed=24)


def test_queries_of_one_template_are_said_to_share() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        for at in range(40):
            await peers[1].subscribe(f"(?x, ^on, b{at}), (?x, ^color, ?c)")

        sharing = Counter(held.sharing for held in peers[1].inside.subscriptions())

        (together,) = (number for number in sharing if number > 1)
        assert sharing == {1: 40 - together, together: together}

    simulate(work, seed=25)


def test_the_picture_of_all_says_which_subscription_has_which_rows() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        first = await peers[1].subscribe("SUBSCRIBE ?y, COUNT(?x) AS ?n { (?x, ^on, ?y) } HAVING COUNT(?x) > 2")
        alike = [await peers[1].subscribe(f"(?x, ^on, b{at}), (?x, ^color, ?c)") for at in range(40)]

        drawn = peers[1].inside.drawing()

        assert "COUNT(?x) &gt; 2" in drawn
        assert f">subscription {first.number}<" in drawn
        assert f">subscription {alike[0].number}<" in drawn
        # Those that share a network are named in one box, the first of them at least.
        assert re.search(r">subscriptions (\d+, ){6}…<", drawn)

    simulate(work, seed=26)


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    async with Peer() as peer, HttpDoor(peer, port=0) as made:
        yield made


async def test_a_client_looks_inside_its_peer(door: HttpDoor) -> None:
    async with gsg.connect(door.url) as client:
        await client.run(BLOCKS)
        subscription = await client.subscribe(QUERY)
        number = subscription.number

        (held,) = await client.subscriptions()
        assert (held.number, held.rows) == (number, 2)
        assert held.client.startswith("127.0.0.1:")
        assert [step.text for step in (await client.explain(QUERY)).steps] == ["(?y, left-of, ?z)", "(?x, on, ?y)", "NOT"]
        assert (await client.why(number, {"x": Symbol("B1")})).total == 1
        assert (await client.why_not(number, {"x": Symbol("B7")})).because
        for svg in (await client.drawing(), await client.drawing(number)):
            assert ElementTree.fromstring(svg).tag.endswith("svg")
        with pytest.raises(LocalError, match="no subscription 99 at this peer"):
            await client.drawing(99)


ASKED = [
    ("(?x, p, ?y), NOT { (?y, q, ?z) }", "gsg"),
    ("(?x, p, 3), (?x, q, ?z)", "gsg"),
    ("(?x, p, ?y) WINDOW 10 EVENTS", "gsg"),
    ("SUBSCRIBE ?x, COUNT(?y) AS ?n { (?x, p, ?y) } HAVING COUNT(?y) > 1", "gsg"),
    ("SELECT * { ?x <e:e>/<e:f>* ?y }", "sparql"),
    ("SELECT * { ?x ?p ?y FILTER(?y = 1) }", "sparql"),
    ("SELECT * { ?x <e:e> ?y OPTIONAL { ?y !<e:f> ?z } }", "sparql"),
]


@pytest.mark.parametrize(("text", "language"), ASKED)
def test_reasons_are_the_same_where_others_have_their_turn_meanwhile(text: str, language: str) -> None:
    async def work() -> None:
        async with Peer(("127.0.0.1", 0)) as peer:
            e, f, p, q = IRI("e:e"), IRI("e:f"), Symbol("p"), Symbol("q")
            subscription = await peer.subscribe(text, language)
            names = [IRI(f"e:{number}") for number in range(4)]
            await peer.insert([(one, e, other) for one in names for other in names if one is not other])
            await peer.insert([(one, f, 1) for one in names] + [(1, p, 1), (1, p, 2), (2, p, 3), (2, q, 1)])
            await peer.notify([(5, p, 6)])
            inside, number = peer.inside, subscription.number

            rows = list(subscription.rows())
            assert rows
            for row in rows:
                assert await inside.why_beside(number, row) == inside.why(number, row)
                assert await inside.why_not_beside(number, row) == inside.why_not(number, row)
            nothing = Row({next(iter(rows[0])): "nothing"})
            assert await inside.why_not_beside(number, nothing) == inside.why_not(number, nothing)

    asyncio.run(work())
