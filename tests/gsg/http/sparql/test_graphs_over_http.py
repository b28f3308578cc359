"""Graphs as wholes over HTTP: their names, what goes with them and what stays, and what changes nothing.

What the recommendation says of each method is in tests/conformance/test_graph_store.py.
"""

from __future__ import annotations

from urllib.parse import quote

import pytest
from plain_http import Answer, request

import gsg
from gsg import IRI, BlankNode, Symbol
from gsg.http.door import HttpDoor
from gsg.tuples.terms import Tuple

TURTLE = {"Content-Type": "text/turtle"}
A, P, G = IRI("http://x/a"), IRI("http://x/p"), IRI("http://x/g")
GRAPH = "/graph?graph=http://x/g"


async def put(door: HttpDoor, path: str, text: str) -> Answer:
    return await request(door, "PUT", path, text, TURTLE)


async def facts_of(door: HttpDoor) -> set[Tuple]:
    """All facts of three and of four terms."""
    query = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
    async with gsg.connect(door.url) as client, await client.subscribe(query, "sparql") as live:
        return {row.terms for row in live.rows()}


async def test_a_graph_that_is_put_is_all_that_is_there(door: HttpDoor) -> None:
    assert (await put(door, GRAPH, "<a> <p> 1, 2 .")).status == 201

    assert (await put(door, GRAPH, "<a> <p> 2, 3 .")).status == 204

    assert await facts_of(door) == {(A, P, 2, G), (A, P, 3, G)}


async def test_a_graph_that_is_deleted_is_not_there_any_more(door: HttpDoor) -> None:
    await put(door, GRAPH, "<a> <p> 1 .")
    await put(door, "/graph?default", "<http://x/a> <http://x/p> 1 .")

    assert (await request(door, "DELETE", GRAPH)).status == 204

    assert await facts_of(door) == {(A, P, 1)}
    assert (await request(door, "GET", GRAPH)).status == (await request(door, "DELETE", GRAPH)).status == 404


async def test_a_graph_is_sent_as_triples_and_all_graphs_as_quads(door: HttpDoor) -> None:
    await put(door, GRAPH, "<a> <p> 1 .")
    await put(door, "/graph?default", "<http://x/a> <http://x/p> 2 .")

    one = await request(door, "GET", GRAPH, headers={"Accept": "application/n-triples"})
    every = await request(door, "GET", "/graph", headers={"Accept": "application/n-quads"})

    integer = "http://www.w3.org/2001/XMLSchema#integer"
    assert one.text == f'<http://x/a> <http://x/p> "1"^^<{integer}> .\n'
    assert sorted(every.text.splitlines()) == [
        f'<http://x/a> <http://x/p> "1"^^<{integer}> <http://x/g> .',
        f'<http://x/a> <http://x/p> "2"^^<{integer}> .',
    ]


@pytest.mark.parametrize("name", ["http://x/ns#", "http://x/a/../b", "urn:a", "http://x/?q=1&r", "http://x/a%20b"])
async def test_a_graph_has_the_very_name_that_was_given(door: HttpDoor, name: str) -> None:
    await put(door, f"/graph?graph={quote(name, safe='')}", "<http://x/a> <http://x/p> 1 .")

    assert await facts_of(door) == {(A, P, 1, IRI(name))}


async def test_a_graph_may_be_named_by_its_address(door: HttpDoor) -> None:
    assert (await put(door, "/graph/some/na%20me", "<http://x/a> <http://x/p> 1 .")).status == 201

    assert await facts_of(door) == {(A, P, 1, IRI(f"http://{door.host}:{door.port}/graph/some/na%20me"))}
    assert (await request(door, "GET", "/graph/some/na%20me")).status == 200


async def test_tuples_that_are_no_triples_stay_where_the_default_graph_goes(door: HttpDoor) -> None:
    kitchen = (Symbol("kitchen"), Symbol("temperature"), 21)
    async with gsg.connect(door.url) as client:
        await client.insert([kitchen, (A, P, 1)])

    await put(door, "/graph?default", "<http://x/a> <http://x/p> 2 .")
    assert await facts_of(door) == {kitchen, (A, P, 2)}

    await request(door, "DELETE", "/graph?default")
    assert await facts_of(door) == {kitchen}


async def test_blank_nodes_are_other_ones_in_each_request(door: HttpDoor) -> None:
    for _ in range(2):
        await request(door, "POST", GRAPH, "_:b <p> 1 .", TURTLE)

    subjects = {items[0] for items in await facts_of(door)}
    assert len(subjects) == 2
    assert all(isinstance(subject, BlankNode) for subject in subjects)


@pytest.mark.parametrize(
    ("content_type", "body", "status", "said"),
    [
        ("text/turtle", "<a> <p> .", 400, '"line":1'),
        ("text/csv", "a,b", 415, "no media type of RDF"),
        ("", "<a> <p> 1 .", 415, "no media type of RDF"),
        ("application/trig", "<http://x/h> { <a> <p> 1 }", 400, "a named graph in what is to be one graph"),
        ("multipart/form-data", "<a> <p> 1 .", 400, "without parts"),
        ("multipart/form-data; boundary=b", "--c\r\n\r\n<a> <p> 1 .\r\n--c--\r\n", 400, "without parts"),
        ("multipart/form-data; boundary=b", "--b\r\nContent-Type: text/turtle\r\n\r\n<a> <p> 1 .\r\n", 400, "without its end"),
    ],
)
async def test_a_body_that_is_no_graph_changes_nothing(
    door: HttpDoor, content_type: str, body: str, status: int, said: str
) -> None:
    await put(door, GRAPH, "<a> <p> 7 .")

    answer = await request(door, "PUT", GRAPH, body, {"Content-Type": content_type})

    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert said in answer.text
    assert await facts_of(door) == {(A, P, 7, G)}


@pytest.mark.parametrize(
    ("method", "path", "accept", "status"),
    [
        ("GET", "/graph?graph=http://%5B::1", "*/*", 404),
        ("GET", "/graph?graph=http://x/a%20b", "*/*", 400),
        ("GET", "/graph?default", "application/n-quads", 406),
        ("GET", "/graph", "text/turtle", 406),
        ("DELETE", "/graph", "*/*", 400),
        ("PUT", "/graph", "*/*", 400),
        ("PATCH", "/graph?default", "*/*", 405),
    ],
)
async def test_what_cannot_be_asked_of_graphs_is_refused(door: HttpDoor, method: str, path: str, accept: str, status: int) -> None:
    answer = await request(door, method, path, "", {"Accept": accept} | TURTLE)

    assert answer.status == status
