"""The examples of datasets in the recommendation (SPARQL 1.1, sections 13.1 to 13.3): their data, queries and tables of results.

Each is asked of a space, and over HTTP of a peer that does not hold what another one was sent.
"""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

import pytest
from plain_http import request, url_with

import gsg
from gsg import Peer
from gsg.http.door import HttpDoor
from gsg.languages.files import read_tuples

PREFIXES = """
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
PREFIX data: <http://example.org/foaf/>
PREFIX : <http://example.org/>
"""

PUBLISHERS = """
:bob dc:publisher "Bob" . :alice dc:publisher "Alice" .
:bob { _:a foaf:name "Bob" ; foaf:mbox <mailto:bob@oldcorp.example.org> }
:alice { _:b foaf:name "Alice" ; foaf:mbox <mailto:alice@work.example.org> }
"""
HACKERS = """
:dft.ttl { :bob dc:publisher "Bob Hacker" . :alice dc:publisher "Alice Hacker" }
:bob { _:a foaf:name "Bob" ; foaf:mbox <mailto:bob@oldcorp.example.org> }
:alice { _:b foaf:name "Alice" ; foaf:mbox <mailto:alice@work.example.org> }
"""
FOAF = """
data:aliceFoaf {
    _:a foaf:name "Alice" ; foaf:mbox <mailto:alice@work.example> ; foaf:knows _:b .
    _:b foaf:name "Bob" ; foaf:mbox <mailto:bob@work.example> ; foaf:nick "Bobby" ; rdfs:seeAlso data:bobFoaf .
    data:bobFoaf rdf:type foaf:PersonalProfileDocument
}
data:bobFoaf {
    _:z foaf:mbox <mailto:bob@work.example> ; rdfs:seeAlso data:bobFoaf ; foaf:nick "Robert" .
    data:bobFoaf rdf:type foaf:PersonalProfileDocument
}
"""
DATED = """
:graph1 dc:publisher "Bob" ; dc:date "2004-12-06"^^xsd:date .
:graph2 dc:publisher "Bob" ; dc:date "2005-01-10"^^xsd:date .
:graph1 { _:a foaf:name "Alice" ; foaf:mbox <mailto:alice@work.example> .
          _:b foaf:name "Bob" ; foaf:mbox <mailto:bob@oldcorp.example.org> }
:graph2 { _:c foaf:name "Alice" ; foaf:mbox <mailto:alice@work.example> .
          _:d foaf:name "Bob" ; foaf:mbox <mailto:bob@newcorp.example.org> }
"""


class Example(NamedTuple):
    """``rows`` are those of its table, as CSV has them."""

    data: str
    query: str
    rows: set[tuple[str, ...]]


ALICE, BOB = "http://example.org/foaf/aliceFoaf", "http://example.org/foaf/bobFoaf"
EXAMPLES = [
    pytest.param(
        Example(
            PUBLISHERS,
            "SELECT ?who ?mbox { ?g dc:publisher ?who GRAPH ?g { ?x foaf:mbox ?mbox } }",
            {("Bob", "mailto:bob@oldcorp.example.org"), ("Alice", "mailto:alice@work.example.org")},
        ),
        id="13.1 information of graphs in the default graph",
    ),
    pytest.param(
        Example(PUBLISHERS, "SELECT ?name FROM :alice FROM :bob { ?x foaf:name ?name }", {("Alice",), ("Bob",)}),
        id="13.1 the default graph as a merge",
    ),
    pytest.param(
        Example(FOAF, "SELECT ?name FROM data:aliceFoaf { ?x foaf:name ?name }", {("Alice",), ("Bob",)}),
        id="13.2.1 FROM",
    ),
    pytest.param(
        Example(FOAF, "SELECT ?name FROM NAMED data:aliceFoaf { ?x foaf:name ?name }", set()),
        id="13.2.2 FROM NAMED leaves the default graph empty",
    ),
    pytest.param(
        Example(
            HACKERS,
            "SELECT ?who ?g ?mbox FROM :dft.ttl FROM NAMED :alice FROM NAMED :bob"
            " WHERE { ?g dc:publisher ?who . GRAPH ?g { ?x foaf:mbox ?mbox } }",
            {
                ("Bob Hacker", "http://example.org/bob", "mailto:bob@oldcorp.example.org"),
                ("Alice Hacker", "http://example.org/alice", "mailto:alice@work.example.org"),
            },
        ),
        id="13.2.3 FROM and FROM NAMED",
    ),
    pytest.param(
        Example(
            FOAF,
            "SELECT ?src ?bobNick FROM NAMED data:aliceFoaf FROM NAMED data:bobFoaf"
            " WHERE { GRAPH ?src { ?x foaf:mbox <mailto:bob@work.example> . ?x foaf:nick ?bobNick } }",
            {(ALICE, "Bobby"), (BOB, "Robert")},
        ),
        id="13.3.1 names of graphs",
    ),
    pytest.param(
        Example(
            FOAF,
            "SELECT ?nick FROM NAMED data:aliceFoaf FROM NAMED data:bobFoaf"
            " WHERE { GRAPH data:bobFoaf { ?x foaf:mbox <mailto:bob@work.example> . ?x foaf:nick ?nick } }",
            {("Robert",)},
        ),
        id="13.3.2 one graph",
    ),
    pytest.param(
        Example(
            FOAF,
            "SELECT ?mbox ?nick ?ppd FROM NAMED data:aliceFoaf FROM NAMED data:bobFoaf WHERE {"
            " GRAPH data:aliceFoaf { ?alice foaf:mbox <mailto:alice@work.example> ; foaf:knows ?whom ."
            " ?whom foaf:mbox ?mbox ; rdfs:seeAlso ?ppd . ?ppd a foaf:PersonalProfileDocument . }"
            " GRAPH ?ppd { ?w foaf:mbox ?mbox ; foaf:nick ?nick } }",
            {("mailto:bob@work.example", "Robert", BOB)},
        ),
        id="13.3.3 a graph that another one names",
    ),
    pytest.param(
        Example(
            DATED,
            "SELECT ?name ?mbox ?date WHERE { ?g dc:publisher ?name ; dc:date ?date ."
            " GRAPH ?g { ?person foaf:name ?name ; foaf:mbox ?mbox } }",
            {
                ("Bob", "mailto:bob@oldcorp.example.org", "2004-12-06"),
                ("Bob", "mailto:bob@newcorp.example.org", "2005-01-10"),
            },
        ),
        id="13.3.4 named and default graphs",
    ),
]
each_example = pytest.mark.parametrize("example", EXAMPLES)


@each_example
def test_a_space_answers_as_the_recommendation(example: Example) -> None:
    with gsg.Space() as space:
        subscription = space.subscribe(PREFIXES + example.query, "sparql")
        space.insert(read_tuples(io.BytesIO((PREFIXES + example.data).encode()), "trig"))

        assert {tuple(text_of(row[name]) for name in row) for row in subscription.rows()} == example.rows


@each_example
async def test_a_peer_answers_as_the_recommendation_what_another_was_sent(example: Example) -> None:
    async with (
        Peer() as first,
        Peer(join=[first.contact.address]) as second,
        HttpDoor(first, port=0) as told,
        HttpDoor(second, port=0) as asked,
    ):
        sent = await request(told, "POST", "/graph", PREFIXES + example.data, {"Content-Type": "application/trig"})
        answer = await request(
            asked, "GET", url_with("/sparql", {"query": PREFIXES + example.query}), headers={"Accept": "text/csv"}
        )

    assert (sent.status, answer.status) == (204, 200)
    assert set(map(tuple, list(csv.reader(io.StringIO(answer.text)))[1:])) == example.rows


def text_of(value: object) -> str:
    """As CSV writes a term (SPARQL 1.1 Query Results CSV and TSV Formats, section 3)."""
    return value.lexical if isinstance(value, gsg.Literal) else str(value)
