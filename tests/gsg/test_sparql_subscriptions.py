"""SPARQL subscriptions, in a space and over peers; what SPARQL means is claimed in tests/conformance and tests/gsg/languages."""

from __future__ import annotations

from collections import Counter

import pytest
from peers import quiet, simulate

import gsg
from dht.simnet import SimNet
from gsg import IRI, Peer, Row, Space

E = "http://example.org/"
TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
PEOPLE = (
    "PREFIX e: <http://example.org/> "
    "SELECT ?who ?name { ?who a e:Person OPTIONAL { ?who e:name ?name } FILTER NOT EXISTS { ?who e:gone ?when } }"
)
KNOWN = "PREFIX e: <http://example.org/> SELECT * { ?x e:knows+ ?y }"
COUNTED = "PREFIX e: <http://example.org/> SELECT (COUNT(*) AS ?people) { ?who a e:Person }"


def e(name: str) -> IRI:
    return IRI(E + name)


def test_a_name_that_is_not_bound_is_missing_in_the_row_until_it_is() -> None:
    space = Space()
    people = space.subscribe(PEOPLE, "sparql")

    space.insert([(e("ann"), TYPE, e("Person"))])
    before = people.rows()
    space.insert([(e("ann"), e("name"), "Ann")])

    assert before == Counter([Row({"who": e("ann")})])
    assert people.rows() == Counter([Row({"who": e("ann"), "name": "Ann"})])
    assert [f"{sign}{row}" for sign, row in people] == [
        "+?who=<http://example.org/ann>",
        "-?who=<http://example.org/ann>",
        '+?who=<http://example.org/ann> ?name="Ann"',
    ]


def test_an_aggregate_of_nothing_is_a_row_and_changes_with_what_it_counts() -> None:
    space = Space()
    counted = space.subscribe(COUNTED, "sparql")

    space.insert([(e("ann"), TYPE, e("Person")), (e("bob"), TYPE, e("Person"))])
    space.retract([(e("ann"), TYPE, e("Person"))])

    assert [f"{sign}{row}" for sign, row in counted] == ["+?people=0", "-?people=0", "+?people=2", "-?people=2", "+?people=1"]


def test_ask_is_one_empty_row_while_it_is_true() -> None:
    space = Space()
    asked = space.subscribe("ASK { ?s ?p 'Bob' }", "sparql")

    space.insert([("a", "b", "Bob"), ("c", "d", "Bob")])
    space.retract([("a", "b", "Bob"), ("c", "d", "Bob")])

    assert [(str(sign), dict(row)) for sign, row in asked] == [("+", {}), ("-", {})]


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        pytest.param("SELECT * { ?s ?p }", gsg.BadText, "expected subject, predicate and object", id="syntax"),
        pytest.param(
            "CONSTRUCT WHERE { ?s ?p ?o }", gsg.Unsupported, "CONSTRUCT is not supported as a subscription", id="construct"
        ),
        pytest.param("SELECT * FROM <http://a> { ?s ?p ?o }", gsg.Unsupported, "FROM is not supported", id="from"),
        pytest.param("SELECT * { SERVICE <http://a> { ?s ?p ?o } }", gsg.Unsupported, "SERVICE", id="service"),
    ],
)
def test_what_cannot_be_a_subscription_is_refused_by_name(text: str, error: type[gsg.GsgError], problem: str) -> None:
    with pytest.raises(error, match=problem):
        Space().subscribe(text, "sparql")


@pytest.mark.parametrize("seed", range(3))
def test_peers_answer_what_one_space_answers(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        space = Space()
        early = [(await peers[1].subscribe(text, "sparql"), space.subscribe(text, "sparql")) for text in (PEOPLE, KNOWN)]
        facts = [(e("a"), TYPE, e("Person")), (e("a"), e("knows"), e("b")), (e("b"), e("knows"), e("a")), (e("a"), e("name"), "A")]
        await peers[2].insert(facts)
        space.insert(facts)
        late = [(await peers[3].subscribe(text, "sparql"), space.subscribe(text, "sparql")) for text in (PEOPLE, KNOWN, COUNTED)]
        await peers[0].retract(facts[2:3])
        space.retract(facts[2:3])
        await peers[0].insert([(e("a"), e("gone"), 1)])
        space.insert([(e("a"), e("gone"), 1)])
        await quiet()

        assert [live.rows() for live, _ in early + late] == [plain.rows() for _, plain in early + late]
        assert late[1][0].rows() == Counter([Row({"x": e("a"), "y": e("b")})])

    simulate(work, seed=seed, size=4)
