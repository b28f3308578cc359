"""The SPARQL endpoint of a peer: formats, order, limits, what stands, and what goes wrong."""

from __future__ import annotations

import asyncio
import json
from urllib.parse import urlencode

import pytest
from plain_http import request, url_with

import gsg
from gsg import IRI, Literal, Symbol
from gsg.http.door import HttpDoor
from gsg.http.sparql import answering
from gsg.http.sparql.answering import Found, Unanswered
from gsg.http.sparql.graphs import GRAPH_TYPES, read_graph
from gsg.tuples.terms import XSD


def x(name: str) -> IRI:
    return IRI(f"http://x/{name}")


AGES = [(x("anna"), x("age"), 30), (x("bert"), x("age"), 7), (x("carl"), x("age"), Literal("10.5", f"{XSD}decimal"))]
BY_AGE = "SELECT ?who { ?who <http://x/age> ?age } ORDER BY DESC(?age)"


@pytest.fixture
async def filled(door: HttpDoor) -> HttpDoor:
    async with gsg.connect(door.url) as client:
        await client.insert(AGES)
    return door


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/csv", "who\r\nhttp://x/anna\r\nhttp://x/carl\r\nhttp://x/bert\r\n"),
        ("text/tab-separated-values", "?who\n<http://x/anna>\n<http://x/carl>\n<http://x/bert>\n"),
    ],
)
async def test_rows_come_in_order_in_the_format_that_is_asked_for(filled: HttpDoor, accept: str, expected: str) -> None:
    answer = await request(filled, "GET", url_with("/sparql", {"query": BY_AGE}), headers={"Accept": accept})

    assert (answer.status, answer.headers["content-type"].partition(";")[0], answer.text) == (200, accept, expected)
    assert answer.headers["vary"] == "accept"


async def test_many_rows_are_sent_in_parts(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.http.sparql.endpoint.ROWS_AT_ONCE", 10)
    async with gsg.connect(door.url) as client:
        await client.insert([(x("a"), x("p"), number) for number in range(95)])

    answer = await request(door, "GET", url_with("/sparql", {"query": "SELECT ?n { <http://x/a> ?p ?n } ORDER BY ?n"}))

    rows = json.loads(answer.body)["results"]["bindings"]
    assert [int(row["n"]["value"]) for row in rows] == list(range(95))


async def test_nothing_is_left_of_a_question_that_was_answered(filled: HttpDoor) -> None:
    for _ in range(3):
        assert (await request(filled, "GET", url_with("/sparql", {"query": BY_AGE}))).status == 200

    async with gsg.connect(filled.url) as client:
        assert await client.subscriptions() == []
        while (await client.report()).peers[0].feeds:
            pass


async def test_a_mistake_is_told_by_line_and_column(door: HttpDoor) -> None:
    answer = await request(door, "GET", url_with("/sparql", {"query": "SELECT *\n{ ?s ?p }"}))

    told = json.loads(answer.body)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert (told["kind"], told["line"], told["column"], told["source_line"]) == ("BadText", 2, 3, "{ ?s ?p }")


async def test_a_format_that_is_not_known_is_refused_with_those_that_are(door: HttpDoor) -> None:
    answer = await request(door, "GET", url_with("/sparql", {"query": "ASK {}"}), headers={"Accept": "image/png"})

    assert answer.status == 406
    assert "application/sparql-results+json" in answer.text


async def test_a_text_that_is_too_long_is_refused(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.http.sparql.endpoint.MAX_BODY_BYTES", 100)
    headers = {"Content-Type": "application/sparql-query"}

    assert (await request(door, "POST", "/sparql", "ASK {}" + " " * 100, headers)).status == 413


async def test_more_questions_than_can_be_answered_are_to_come_again(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "AT_ONCE", 0)

    answer = await request(door, "GET", url_with("/sparql", {"query": "ASK {}"}))

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_an_answer_that_is_too_large_is_refused(filled: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "ANSWER_BYTES", 10)

    answer = await request(filled, "GET", url_with("/sparql", {"query": BY_AGE}))

    assert answer.status == 413
    assert "LIMIT" in answer.text


async def test_few_rows_that_are_very_many_solutions_are_measured_as_such(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    async with gsg.connect(door.url) as client:
        await client.insert([(x("a"), x("p"), number) for number in range(100)])
    each = "{ SELECT ?s { ?s <http://x/p> ?n } }"
    path = url_with("/sparql", {"query": f"SELECT ?s {{ {each} {each} }}"})

    all_of_it = await request(door, "GET", path)
    monkeypatch.setattr(answering, "ANSWER_BYTES", 50_000)
    too_much = await request(door, "GET", path)

    assert (all_of_it.status, len(json.loads(all_of_it.body)["results"]["bindings"])) == (200, 10_000)
    assert too_much.status == 413


def test_what_may_be_out_of_date_is_no_ground_to_change_anything() -> None:
    Found([], is_complete=True).check_complete()

    with pytest.raises(Unanswered, match="some holder of what is asked is silent"):
        Found([], is_complete=False).check_complete()


async def test_what_is_not_supported_is_told_with_its_place(door: HttpDoor) -> None:
    answer = await request(door, "GET", url_with("/sparql", {"query": "SELECT * {\n SERVICE <s> { ?s ?p ?o } }"}))

    assert (answer.status, answer.media_type) == (400, "application/problem+json")
    place = {"kind": "Unsupported", "line": 2, "column": 2, "source_line": " SERVICE <s> { ?s ?p ?o } }"}
    assert answer.json.items() >= place.items()


async def test_the_description_says_which_formats_answers_have(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/sparql", headers={"Accept": "application/n-triples"})

    sd, formats = "http://www.w3.org/ns/sparql-service-description#", "http://www.w3.org/ns/formats/"
    found: dict[str, set[str]] = {}
    for line in answer.text.splitlines():
        _, predicate, value, _ = line.split(" ")
        found.setdefault(predicate, set()).add(value)
    graphs = {f"<{formats}{name}>" for name in ("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "N3")}
    rows = {f"<{formats}SPARQL_Results_{name}>" for name in ("JSON", "XML", "CSV", "TSV")}
    assert found[f"<{sd}resultFormat>"] == graphs | rows
    assert found[f"<{sd}inputFormat>"] == graphs | {f"<{formats}TriG>", f"<{formats}N-Quads>"}


@pytest.mark.parametrize("media_type", GRAPH_TYPES)
async def test_the_description_has_every_format_of_a_graph(door: HttpDoor, media_type: str) -> None:
    answer = await request(door, "GET", "/sparql", headers={"Accept": media_type})

    found = await read_graph(media_type, answer.body, base=door.url)
    assert answer.media_type.partition(";")[0] == media_type
    assert IRI("http://www.w3.org/ns/sparql-service-description#Service") in {triple[2] for triple in found}


async def test_what_takes_too_long_is_given_up(door: HttpDoor) -> None:
    answer = await request(door, "GET", url_with("/sparql", {"query": "ASK {?s ?p ?o}", "timeout": "1e-9"}))

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    assert "timeout=" in answer.text


async def test_an_update_whose_where_takes_too_long_changes_nothing(filled: HttpDoor) -> None:
    update = {"update": "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "timeout": "1e-9"}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    answer = await request(filled, "POST", "/sparql", urlencode(update).encode(), headers=headers)

    assert (answer.status, answer.headers["retry-after"]) == (503, "1")
    async with gsg.connect(filled.url) as client:
        assert await client.insert(AGES) == 0


async def test_a_query_stands_where_events_are_asked_for(filled: HttpDoor) -> None:
    reader, writer = await asyncio.open_connection(filled.host, filled.port)
    path = url_with("/sparql", {"query": "SELECT ?who { ?who <http://x/age> 7 }"})
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {filled.host}\r\nAccept: text/event-stream\r\n\r\n".encode())

    head = await reader.readuntil(b"\r\n\r\n")
    told = await reader.readuntil(b'"http://x/bert"')
    async with gsg.connect(filled.url) as client:
        await client.insert([(x("dora"), x("age"), 7)])
        told += await reader.readuntil(b'"http://x/dora"')
    writer.close()
    await writer.wait_closed()

    assert b"text/event-stream" in head
    assert b"event: snapshot" in told


async def test_an_update_changes_what_others_see(filled: HttpDoor) -> None:
    async with gsg.connect(filled.url) as client, await client.subscribe(BY_AGE, "sparql") as live:
        update = "DELETE { ?who ?p ?n } INSERT { ?who ?p ?more } WHERE { ?who ?p ?n FILTER(?n < 8) BIND(?n + 1 AS ?more) }"
        answer = await request(filled, "POST", "/sparql", update, {"Content-Type": "application/sparql-update"})

        assert (answer.status, answer.body) == (204, b"")
        asked = await request(filled, "GET", url_with("/sparql", {"query": "ASK { <http://x/bert> <http://x/age> 8 }"}))
        assert json.loads(asked.body)["boolean"] is True
        assert len(live.rows()) == 3


async def test_a_symbol_is_told_as_a_literal_of_a_datatype_of_ours(door: HttpDoor) -> None:
    async with gsg.connect(door.url) as client:
        await client.insert([(x("a"), x("in"), Symbol("kitchen"))])

    answer = await request(door, "GET", url_with("/sparql", {"query": "SELECT ?o { ?s <http://x/in> ?o }"}))

    (row,) = json.loads(answer.body)["results"]["bindings"]
    assert row["o"] == {"type": "literal", "value": "kitchen", "datatype": "urn:x-gsg:symbol"}
