"""The tests of the SPARQL 1.1 Protocol by the W3C, written anew from their descriptions: what is asked, and the answer that is due.

Their graphs are at addresses that nobody serves any more; a peer fetches nothing anyway, so they are put into the space first.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest
from plain_http import Answer, Fields, request, url_with

from gsg import Peer
from gsg.http.door import HttpDoor
from gsg.tuples.terms import IRI

DATA = "http://kasei.us/2009/09/sparql/data/data{}.rdf"
FORM = "application/x-www-form-urlencoded"
QUERY = "application/sparql-query"
UPDATE = "application/sparql-update"
RESULTS = {"application/sparql-results+json", "application/sparql-results+xml", "text/csv", "text/tab-separated-values"}
GRAPHS = {"text/turtle", "application/rdf+xml", "application/n-triples"}
TYPE = IRI("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    """The door of a peer that holds the four graphs of the suite: one triple in each, and one in the default graph."""
    async with Peer() as peer, HttpDoor(peer, port=0) as made:
        graphs = [IRI(DATA.format(number)) for number in range(4)]
        await peer.insert([(graph, TYPE, IRI("http://xmlns.com/foaf/0.1/Document"), graph) for graph in graphs])
        await peer.insert([(IRI("http://example.org/"), TYPE, IRI("http://example.org/Thing"))])
        yield made


@dataclass(frozen=True)
class Asked:
    """One request of a test."""

    method: str
    fields: Fields = field(default_factory=dict)
    """In the URL."""
    content_type: str = ""
    body: bytes | str | Fields | None = None
    accept: str = ""

    async def answer(self, door: HttpDoor) -> Answer:
        headers: dict[str, str] = {}
        if self.content_type:
            headers["Content-Type"] = self.content_type
        if self.accept:
            headers["Accept"] = self.accept
        body = self.body
        if isinstance(body, Mapping | list):
            body = url_with("", body)[1:]
        path = url_with("/sparql", self.fields) if self.fields else "/sparql"
        return await request(door, self.method, path, body, headers)


def graphs(name: str, *numbers: int) -> list[tuple[str, str]]:
    return [(name, DATA.format(number)) for number in numbers]


REFUSED = {
    "bad_query_method": Asked("PUT", {"query": "ASK {}"}),
    "bad_multiple_queries": Asked("GET", [("query", "ASK {}"), ("query", "SELECT * {}")]),
    "bad_query_wrong_media_type": Asked("POST", {}, "text/plain", "ASK {}"),
    "bad_query_missing_form_type": Asked("POST", {}, "", {"query": "ASK {}"}),
    "bad_query_missing_direct_type": Asked("POST", {}, "", "ASK {}"),
    "bad_query_non_utf8": Asked("POST", {}, f"{QUERY}; charset=UTF-16", "ASK {}".encode("utf-16")),
    "bad_query_syntax": Asked("GET", {"query": "ASK {"}),
    "bad_update_get": Asked("GET", {"update": "CLEAR ALL"}),
    "bad_multiple_updates": Asked("POST", {}, FORM, [("update", "CLEAR NAMED"), ("update", "CLEAR DEFAULT")]),
    "bad_update_wrong_media_type": Asked("POST", {}, "text/plain", "CLEAR NAMED"),
    "bad_update_missing_form_type": Asked("POST", {}, "", {"update": "CLEAR NAMED"}),
    "bad_update_non_utf8": Asked("POST", {}, f"{UPDATE}; charset=UTF-16", "CLEAR NAMED".encode("utf-16")),
    "bad_update_syntax": Asked("POST", {}, FORM, {"update": "CLEAR XYZ"}),
    "bad_update_dataset_conflict": Asked(
        "POST",
        {},
        FORM,
        [("using-named-graph-uri", "http://example/people"), ("update", "DELETE { ?s a ?o } USING <urn:a> WHERE { ?s a ?o }")],
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
async def test_what_the_protocol_does_not_have_is_refused(door: HttpDoor, name: str) -> None:
    answer = await REFUSED[name].answer(door)

    assert 400 <= answer.status < 500, answer.text


ALL = "ASK { " + " . ".join(f"GRAPH ?g{number} {{ <{DATA.format(number)}> a ?t{number} }}" for number in (1, 2)) + " }"
IN_DEFAULT = f"ASK {{ <{DATA.format(1)}> a ?type }}"
IN_BOTH_DEFAULTS = f"ASK {{ <{DATA.format(1)}> a ?type . <{DATA.format(2)}> a ?type }}"
FULL = f"ASK {{ <{DATA.format(3)}> a ?type . {ALL[6:-2]} }}"

ASKED = {
    "query_get": Asked("GET", {"query": "ASK {}"}),
    "query_post_form": Asked("POST", {}, FORM, {"query": "ASK {}"}),
    "query_post_direct": Asked("POST", {}, QUERY, "ASK {}"),
    "query_dataset_default_graph": Asked("POST", graphs("default-graph-uri", 1), QUERY, IN_DEFAULT),
    "query_dataset_default_graphs_get": Asked("GET", [("query", IN_BOTH_DEFAULTS), *graphs("default-graph-uri", 1, 2)]),
    "query_dataset_default_graphs_post": Asked("POST", graphs("default-graph-uri", 1, 2), QUERY, IN_BOTH_DEFAULTS),
    "query_dataset_named_graphs_get": Asked("GET", [("query", ALL), *graphs("named-graph-uri", 1, 2)]),
    "query_dataset_named_graphs_post": Asked("POST", graphs("named-graph-uri", 1, 2), QUERY, ALL),
    "query_dataset_full": Asked(
        "POST", {}, FORM, [("query", FULL), *graphs("default-graph-uri", 3), *graphs("named-graph-uri", 1, 2)]
    ),
    "query_multiple_dataset": Asked(
        "GET",
        [("query", f"ASK FROM <{DATA.format(3)}> {{ <{DATA.format(1)}> a ?type }}"), *graphs("default-graph-uri", 1, 2)],
    ),
}


@pytest.mark.parametrize("name", list(ASKED))
async def test_a_query_is_answered_over_its_dataset(door: HttpDoor, name: str) -> None:
    answer = await ASKED[name].answer(door)

    assert answer.status == 200, answer.text
    assert json.loads(answer.body)["boolean"] is True


async def test_the_dataset_of_the_protocol_hides_the_rest(door: HttpDoor) -> None:
    asked = Asked("GET", [("query", IN_BOTH_DEFAULTS), *graphs("default-graph-uri", 1)])

    assert json.loads((await asked.answer(door)).body)["boolean"] is False


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("SELECT (1 AS ?value) {}", RESULTS, id="query_content_type_select"),
        pytest.param("ASK {}", RESULTS, id="query_content_type_ask"),
        pytest.param("CONSTRUCT { <s> <p> 1 } WHERE {}", GRAPHS, id="query_content_type_construct"),
        pytest.param("DESCRIBE <http://example.org/>", GRAPHS, id="query_content_type_describe"),
    ],
)
async def test_an_answer_says_what_it_is(door: HttpDoor, text: str, expected: set[str]) -> None:
    answer = await Asked("GET", {"query": text}).answer(door)

    assert answer.status == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] in expected


@dataclass(frozen=True)
class Updated:
    """An update, and what is to be true behind it."""

    update: Asked
    then: str


IN_PEOPLE = "ASK { GRAPH <http://example.org/protocol-update-dataset-test/> { %s } }"
INSERT_FROM = (
    "PREFIX dc: <http://purl.org/dc/terms/> CLEAR SILENT GRAPH <http://example.org/protocol-update-dataset-test/> ; "
    "INSERT { GRAPH <http://example.org/protocol-update-dataset-test/> { ?s a dc:BibliographicResource } } WHERE { %s }"
)
TYPED = "<%s> a <http://purl.org/dc/terms/BibliographicResource>"


def typed(*numbers: int) -> str:
    return IN_PEOPLE % " . ".join(TYPED % DATA.format(number) for number in numbers)


UPDATED = {
    "update_post_form": Updated(
        Asked("POST", {}, FORM, {"update": "INSERT DATA { <urn:a> <urn:p> 1 }"}), "ASK { <urn:a> <urn:p> 1 }"
    ),
    "update_post_direct": Updated(Asked("POST", {}, UPDATE, "INSERT DATA { <urn:a> <urn:p> 2 }"), "ASK { <urn:a> <urn:p> 2 }"),
    "update_dataset_default_graph": Updated(Asked("POST", graphs("using-graph-uri", 1), UPDATE, INSERT_FROM % "?s a ?t"), typed(1)),
    "update_dataset_default_graphs": Updated(
        Asked("POST", graphs("using-graph-uri", 1, 2), UPDATE, INSERT_FROM % "?s a ?t"), typed(1, 2)
    ),
    "update_dataset_named_graphs": Updated(
        Asked("POST", graphs("using-named-graph-uri", 1, 2), UPDATE, INSERT_FROM % "GRAPH ?g { ?s a ?t }"), typed(1, 2)
    ),
    "update_dataset_full": Updated(
        Asked(
            "POST",
            {},
            FORM,
            [
                *graphs("using-graph-uri", 1),
                *graphs("using-named-graph-uri", 2),
                ("update", INSERT_FROM % "{ ?s a ?t } UNION { GRAPH ?g { ?s a ?t } }"),
            ],
        ),
        typed(1, 2),
    ),
    "update_base_uri": Updated(
        Asked(
            "POST",
            {},
            UPDATE,
            "CLEAR GRAPH <http://example.org/b/> ; INSERT DATA { GRAPH <http://example.org/b/> { <t> <p> <t> } }",
        ),
        "ASK { GRAPH <http://example.org/b/> { ?s ?p ?s FILTER(STRSTARTS(STR(?s), 'http://')) } }",
    ),
}


@pytest.mark.parametrize("name", list(UPDATED))
async def test_an_update_is_carried_out_over_its_dataset(door: HttpDoor, name: str) -> None:
    answer = await UPDATED[name].update.answer(door)

    assert 200 <= answer.status < 300, answer.text
    asked = await Asked("POST", {}, QUERY, UPDATED[name].then).answer(door)
    assert json.loads(asked.body)["boolean"] is True, asked.text


async def test_a_dataset_of_one_graph_hides_the_others_from_an_update(door: HttpDoor) -> None:
    await UPDATED["update_dataset_default_graph"].update.answer(door)

    asked = await Asked("POST", {}, QUERY, typed(2)).answer(door)
    assert json.loads(asked.body)["boolean"] is False
