"""The tests of the SPARQL 1.1 Graph Store HTTP Protocol by the W3C, written anew from their descriptions, in their order.

A graph is there while it has a triple: an empty one that was put is not told from one that was never there (section 5.3 leaves that
to the store).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import pyoxigraph
import pytest
from plain_http import Answer, request

from gsg import Peer
from gsg.http.door import HttpDoor

TURTLE = "text/turtle"
JOHN = '@prefix foaf: <http://xmlns.com/foaf/0.1/> . <http://h/person/1> a foaf:Person ; foaf:name "John Doe" .'
JANE = '@prefix foaf: <http://xmlns.com/foaf/0.1/> . <http://h/person/1> a foaf:Person ; foaf:name "Jane Doe" .'
MULTIPART = (
    "--a6fe4cd636164618814be9f8d3d1a0de\r\n"
    'Content-Disposition: form-data; name="lastName"; filename="lastName.ttl"\r\nContent-Type: text/turtle; charset=utf-8\r\n\r\n'
    '<http://h/person/1> <http://xmlns.com/foaf/0.1/familyName> "Doe" .\r\n'
    "--a6fe4cd636164618814be9f8d3d1a0de\r\n"
    'Content-Disposition: form-data; name="firstName"; filename="firstName.ttl"\r\nContent-Type: text/turtle; charset=utf-8\r\n\r\n'
    '<http://h/person/1> <http://xmlns.com/foaf/0.1/givenName> "Jane" .\r\n'
    "--a6fe4cd636164618814be9f8d3d1a0de--\r\n"
)


@pytest.fixture
async def door() -> AsyncIterator[HttpDoor]:
    async with Peer() as peer, HttpDoor(peer, port=0) as made:
        yield made


async def ask(
    door: HttpDoor, method: str, path: str, body: str | None = None, content_type: str = TURTLE, **headers: str
) -> Answer:
    said: dict[str, str] = {"Content-Type": content_type} if body is not None else {}
    return await request(door, method, f"/graph{path}", body, said | headers)


async def triples(door: HttpDoor, path: str) -> set[pyoxigraph.Triple]:
    """What GET gives, read by another program."""
    answer = await ask(door, "GET", path)
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"].partition(";")[0] == TURTLE
    return {quad.triple for quad in pyoxigraph.parse(answer.body, pyoxigraph.RdfFormat.TURTLE)}


def of(turtle: str) -> set[pyoxigraph.Triple]:
    return {quad.triple for quad in pyoxigraph.parse(turtle.encode(), pyoxigraph.RdfFormat.TURTLE)}


async def test_a_graph_is_put_read_and_put_anew(door: HttpDoor) -> None:
    created = await ask(door, "PUT", "/person/1.ttl", JOHN)
    assert created.status == 201
    assert await triples(door, "/person/1.ttl") == of(JOHN)

    replaced = await ask(door, "PUT", "/person/1.ttl", JANE)
    assert replaced.status in (200, 204)
    assert await triples(door, "/person/1.ttl") == of(JANE)
    # The same graph by its name.
    assert await triples(door, f"?graph={door.url}/graph/person/1.ttl") == of(JANE)


async def test_the_default_graph_is_put(door: HttpDoor) -> None:
    assert (await ask(door, "PUT", "?default", JOHN)).status in (200, 201, 204)

    assert await triples(door, "?default") == of(JOHN)
    assert (await ask(door, "GET", "?graph=urn:none")).status == 404


async def test_a_payload_that_is_not_what_it_says_is_refused_and_changes_nothing(door: HttpDoor) -> None:
    await ask(door, "PUT", "/person/1.ttl", JOHN)

    refused = await ask(door, "PUT", "/person/1.ttl", JANE, "application/rdf+xml")

    assert refused.status == 400
    assert await triples(door, "/person/1.ttl") == of(JOHN)


async def test_a_graph_is_deleted_once(door: HttpDoor) -> None:
    await ask(door, "PUT", "/person/1.ttl", JOHN)

    assert (await ask(door, "DELETE", "/person/1.ttl")).status in (200, 204)
    assert (await ask(door, "GET", "/person/1.ttl")).status == 404
    assert (await ask(door, "DELETE", "/person/1.ttl")).status == 404


async def test_what_is_posted_is_added(door: HttpDoor) -> None:
    await ask(door, "PUT", "/person/1.ttl", JOHN)

    assert (await ask(door, "POST", "/person/1.ttl", JANE)).status in (200, 204)
    assert await triples(door, "/person/1.ttl") == of(JOHN) | of(JANE)


async def test_several_files_are_posted_as_a_form(door: HttpDoor) -> None:
    await ask(door, "PUT", "/person/1.ttl", JOHN)

    posted = await ask(door, "POST", "/person/1.ttl", MULTIPART, "multipart/form-data; boundary=a6fe4cd636164618814be9f8d3d1a0de")

    assert posted.status in (200, 204), posted.text
    foaf = "<http://h/person/1> <http://xmlns.com/foaf/0.1/"
    names = f'{foaf}familyName> "Doe" . {foaf}givenName> "Jane" .'
    assert await triples(door, "/person/1.ttl") == of(JOHN) | of(names)


async def test_a_new_graph_is_made_by_post_and_told_where_it_is(door: HttpDoor) -> None:
    created = await ask(door, "POST", "", JOHN)

    assert created.status == 201
    where = created.headers["location"].removeprefix(f"{door.url}/graph")
    assert await triples(door, where) == of(JOHN)
    assert (await ask(door, "POST", where, JANE)).status in (200, 204)
    assert await triples(door, where) == of(JOHN) | of(JANE)


async def test_nothing_posted_changes_nothing(door: HttpDoor) -> None:
    await ask(door, "PUT", "/person/1.ttl", JOHN)

    assert (await ask(door, "POST", "/person/1.ttl", "")).status in (200, 204)
    assert await triples(door, "/person/1.ttl") == of(JOHN)


async def test_head_is_get_without_the_graph(door: HttpDoor) -> None:
    await ask(door, "PUT", "/person/1.ttl", JOHN)

    there = await ask(door, "HEAD", "/person/1.ttl")
    assert (there.status, there.body) == (200, b"")
    assert there.headers["content-type"].partition(";")[0] == TURTLE
    assert (await ask(door, "HEAD", "/person/4.ttl")).status == 404


FORMATS: Mapping[str, pyoxigraph.RdfFormat] = {
    "text/turtle": pyoxigraph.RdfFormat.TURTLE,
    "application/n-triples": pyoxigraph.RdfFormat.N_TRIPLES,
    "application/rdf+xml": pyoxigraph.RdfFormat.RDF_XML,
    "application/ld+json": pyoxigraph.RdfFormat.JSON_LD,
    "text/n3": pyoxigraph.RdfFormat.N3,
}


@pytest.mark.parametrize("media_type", list(FORMATS))
async def test_a_graph_comes_and_leaves_in_each_format(door: HttpDoor, media_type: str) -> None:
    store = pyoxigraph.Store()
    store.load(JOHN.encode(), pyoxigraph.RdfFormat.TURTLE)
    body = store.dump(format=FORMATS[media_type], from_graph=pyoxigraph.DefaultGraph())
    assert body is not None

    put = await ask(door, "PUT", "?graph=urn:a", body.decode(), media_type)
    got = await ask(door, "GET", "?graph=urn:a", Accept=media_type)

    assert put.status == 201, put.text
    assert got.headers["content-type"].partition(";")[0] == media_type
    assert {quad.triple for quad in pyoxigraph.parse(got.body, FORMATS[media_type])} == of(JOHN)


@pytest.mark.parametrize("media_type", ["application/n-quads", "application/trig"])
async def test_all_graphs_come_and_leave_together(door: HttpDoor, media_type: str) -> None:
    kind = pyoxigraph.RdfFormat.from_media_type(media_type)
    assert kind is not None
    store = pyoxigraph.Store()
    store.load(JOHN.encode(), pyoxigraph.RdfFormat.TURTLE)
    store.load(JANE.encode(), pyoxigraph.RdfFormat.TURTLE, to_graph=pyoxigraph.NamedNode("urn:a"))
    body = store.dump(format=kind)
    assert body is not None

    posted = await ask(door, "POST", "", body.decode(), media_type)
    got = await ask(door, "GET", "", Accept=media_type)

    assert posted.status in (200, 204), posted.text
    assert set(pyoxigraph.parse(got.body, kind)) == set(store)
    assert await triples(door, "?graph=urn:a") == of(JANE)


async def test_a_format_that_is_not_known_is_refused(door: HttpDoor) -> None:
    assert (await ask(door, "PUT", "?default", "x", "text/html")).status == 415
    assert (await ask(door, "GET", "?default", Accept="image/png")).status == 406
    # A graph has no graphs in it.
    assert (await ask(door, "PUT", "?graph=urn:a", "<urn:s> <urn:p> <urn:o> <urn:g> .", "application/n-quads")).status == 400


async def test_a_mistake_in_a_file_is_told_by_its_line(door: HttpDoor) -> None:
    refused = await ask(door, "PUT", "?default", "<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p .\n")

    assert refused.status == 400
    assert '"line":2' in refused.text
