"""SPARQL subscriptions, in a space and over peers; what SPARQL means is claimed in tests/conformance and tests/gsg/languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

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
SEEN = (
    "PREFIX e: <http://example.org/> CONSTRUCT { ?x e:knows ?y . ?y e:knows ?x } "
    "{ { ?x e:met ?y } UNION { ?x e:saw ?y } UNION { ?y e:met ?x } }"
)
LINKS = "PREFIX e: <http://example.org/> CONSTRUCT { [] e:from ?x ; e:to ?y } { ?x e:knows+ ?y }"
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


def triples(changes: Iterable[gsg.Change]) -> list[str]:
    return [f"{sign}{row['subject']} {row['predicate']} {row['object']}".replace(E, "") for sign, row in changes]


def test_a_constructed_triple_is_there_while_any_solution_makes_it() -> None:
    space = Space()
    graph = space.subscribe(SEEN, "sparql")

    space.insert([(e("ann"), e("met"), e("bob")), (e("ann"), e("saw"), e("bob"))])
    space.retract([(e("ann"), e("met"), e("bob"))])
    before = triples(graph)
    space.retract([(e("ann"), e("saw"), e("bob"))])

    assert sorted(before) == ["+ann knows bob", "+bob knows ann"]
    assert sorted(triples(graph)) == ["-ann knows bob", "-bob knows ann"]


def test_a_constructed_row_binds_the_three_names_whatever_the_variables_are_called() -> None:
    space = Space()
    graph = space.subscribe("CONSTRUCT { ?object ?subject ?predicate } { ?predicate ?subject ?object }", "sparql")

    space.insert([(e("a"), e("p"), e("b"))])

    assert graph.variables == ("subject", "predicate", "object")
    assert triples(graph) == ["+b p a"]


def test_what_is_no_triple_is_left_out_of_a_constructed_graph() -> None:
    space = Space()
    text = "CONSTRUCT { ?s ?p ?o . ?o ?p ?s . ?s ?o ?p . 1 ?p ?s . ?s ?p ?missing . ?s ?p 'kept' } { ?s ?p ?o }"
    graph = space.subscribe(text, "sparql")

    space.insert([(e("a"), e("p"), 1), ("text", "p", "o")])

    assert sorted(triples(graph)) == ["+a p 1", "+a p kept"]


def test_a_template_that_makes_no_triple_has_an_empty_graph() -> None:
    space = Space()
    graph = space.subscribe("CONSTRUCT { 1 ?p ?s } { ?s ?p ?o }", "sparql")

    space.insert([(e("a"), e("p"), 1)])

    assert not graph.rows()


def test_a_template_of_constants_is_there_while_there_is_a_solution() -> None:
    space = Space()
    graph = space.subscribe("CONSTRUCT { <http://example.org/s> <http://example.org/p> 1 } { ?s ?p ?o }", "sparql")

    space.insert([(e("a"), e("p"), 1), (e("a"), e("p"), 2)])
    space.retract([(e("a"), e("p"), 1)])
    before = triples(graph)
    space.retract([(e("a"), e("p"), 2)])

    assert (before, triples(graph)) == (["+s p 1"], ["-s p 1"])


def test_a_template_of_many_triples_is_no_deep_tree() -> None:
    space = Space()
    lines = " . ".join(f"?s <http://example.org/p{number}> ?o" for number in range(40))
    graph = space.subscribe(f"CONSTRUCT {{ {lines} }} {{ ?s ?p ?o }}", "sparql")

    space.insert([(e("a"), e("p"), 1)])

    assert len(graph.rows()) == 40


def test_equal_solutions_make_blank_nodes_of_their_own_and_take_them_back() -> None:
    space = Space()
    graph = space.subscribe("CONSTRUCT { [] <http://example.org/of> ?s } { SELECT ?s { ?s ?p ?o } }", "sparql")

    space.insert([(e("a"), e("p"), 1), (e("a"), e("p"), 2), (e("a"), e("p"), 3)])
    three = set(graph.rows())
    space.retract([(e("a"), e("p"), 1)])
    two = set(graph.rows())
    space.insert([(e("a"), e("p"), 4)])

    assert (len(three), len(two)) == (3, 2)
    assert two < three
    assert set(graph.rows()) == three


def test_blank_nodes_of_one_solution_are_one_node_and_those_of_another_query_are_others() -> None:
    space = Space()
    space.insert([(e("a"), e("p"), 1)])
    text = "CONSTRUCT { _:x <http://example.org/s> ?s ; <http://example.org/o> ?o . _:y <http://example.org/s> ?s } { ?s ?p ?o }"

    rows = [set(space.subscribe(text, "sparql").rows()) for text in (text, text, text.replace("/o>", "/other>"))]

    assert rows[0] == rows[1]
    assert sorted(Counter(row["subject"] for row in rows[0]).values()) == [1, 2]
    assert {row["subject"] for row in rows[0]}.isdisjoint(row["subject"] for row in rows[2])


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        pytest.param("SELECT * { ?s ?p }", gsg.BadText, "expected subject, predicate and object", id="syntax"),
        pytest.param("CLEAR GRAPH <http://a>", gsg.Unsupported, "CLEAR is an update, and a subscription only asks", id="update"),
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
        early = [(await peers[1].subscribe(text, "sparql"), space.subscribe(text, "sparql")) for text in (PEOPLE, KNOWN, LINKS)]
        facts = [(e("a"), TYPE, e("Person")), (e("a"), e("knows"), e("b")), (e("b"), e("knows"), e("a")), (e("a"), e("name"), "A")]
        await peers[2].insert(facts)
        space.insert(facts)
        late = [
            (await peers[3].subscribe(text, "sparql"), space.subscribe(text, "sparql")) for text in (PEOPLE, KNOWN, LINKS, COUNTED)
        ]
        await peers[0].retract(facts[2:3])
        space.retract(facts[2:3])
        await peers[0].insert([(e("a"), e("gone"), 1)])
        space.insert([(e("a"), e("gone"), 1)])
        await quiet()

        assert [live.rows() for live, _ in early + late] == [plain.rows() for _, plain in early + late]
        assert late[1][0].rows() == Counter([Row({"x": e("a"), "y": e("b")})])

    simulate(work, seed=seed, size=4)
