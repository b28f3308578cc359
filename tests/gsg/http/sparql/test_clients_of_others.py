"""Programs of others that speak SPARQL, as they are: rdflib's stores, SPARQLWrapper, curl, and pyoxigraph as a reader."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pyoxigraph
import pytest
from rdflib import Dataset, Graph, URIRef
from rdflib import Literal as RdfLiteral
from rdflib.plugins.stores.sparqlstore import SPARQLStore, SPARQLUpdateStore
from SPARQLWrapper import CSV, JSON, POST, TURTLE, XML, SPARQLWrapper

import gsg
from gsg import IRI
from gsg.http.door import HttpDoor

A, B, P = URIRef("http://x/a"), URIRef("http://x/b"), URIRef("http://x/p")
FACTS = [(IRI("http://x/a"), IRI("http://x/p"), 1), (IRI("http://x/b"), IRI("http://x/p"), 2)]
ROWS = "SELECT ?s ?n { ?s <http://x/p> ?n } ORDER BY ?n"


@pytest.fixture
async def filled(door: HttpDoor) -> HttpDoor:
    async with gsg.connect(door.url) as client:
        await client.insert(FACTS)
    return door


async def elsewhere(work: Callable[[], Any]) -> Any:  # Any: whatever the work gives
    """Programs of others wait for the peer, which runs in this loop."""
    return await asyncio.to_thread(work)


async def test_rdflib_reads_as_from_a_graph_of_its_own(filled: HttpDoor) -> None:
    graph = Graph(SPARQLStore(f"{filled.url}/sparql"))

    assert await elsewhere(lambda: [(row.s, int(row.n)) for row in graph.query(ROWS)]) == [(A, 1), (B, 2)]
    assert await elsewhere(lambda: len(graph)) == 2
    assert await elsewhere(lambda: (A, P, None) in graph)
    assert await elsewhere(lambda: bool(graph.query("ASK { <http://x/a> <http://x/p> 2 }").askAnswer)) is False
    assert await elsewhere(lambda: set(graph.query("CONSTRUCT WHERE { ?s ?p 2 }"))) == {(B, P, RdfLiteral(2))}


async def test_rdflib_writes_as_into_a_graph_of_its_own(filled: HttpDoor) -> None:
    url = f"{filled.url}/sparql"

    def write() -> None:
        dataset = Dataset(SPARQLUpdateStore(url, url), default_union=False)
        graph = dataset.graph(URIRef("http://x/g"))
        graph.add((A, P, RdfLiteral("in a graph", lang="en")))
        dataset.default_graph.add((A, P, RdfLiteral(3)))
        dataset.default_graph.remove((A, P, RdfLiteral(1)))

    await elsewhere(write)

    async with gsg.connect(filled.url) as client:
        query = "SELECT ?n { { <http://x/a> <http://x/p> ?n } UNION { GRAPH <http://x/g> { <http://x/a> <http://x/p> ?n } } }"
        async with await client.subscribe(query, "sparql") as live:
            assert sorted(str(row["n"]) for row in live.rows()) == ["3", "in a graph"]


@pytest.mark.parametrize("form", [JSON, XML, CSV])
async def test_sparqlwrapper_reads_what_it_asks_for(filled: HttpDoor, form: str) -> None:
    client = SPARQLWrapper(f"{filled.url}/sparql")
    client.setQuery(ROWS)
    client.setReturnFormat(form)

    answer = await elsewhere(client.query)

    text = answer.response.read().decode()
    assert [text.find(name) for name in ("http://x/a", "http://x/b")] == sorted(
        text.find(name) for name in ("http://x/a", "http://x/b")
    )
    assert "http://x/a" in text


async def test_sparqlwrapper_writes_and_constructs(filled: HttpDoor) -> None:
    client = SPARQLWrapper(f"{filled.url}/sparql")
    client.setMethod(POST)
    client.setQuery("INSERT DATA { <http://x/c> <http://x/p> 3 }")
    await elsewhere(client.query)
    client.setQuery("CONSTRUCT { ?s <http://x/q> ?n } WHERE { ?s <http://x/p> ?n FILTER(?n > 2) }")
    client.setReturnFormat(TURTLE)

    turtle = (await elsewhere(client.query)).response.read()

    made = list(pyoxigraph.parse(turtle, pyoxigraph.RdfFormat.TURTLE))
    assert [(quad.subject, quad.predicate) for quad in made] == [
        (pyoxigraph.NamedNode("http://x/c"), pyoxigraph.NamedNode("http://x/q"))
    ]


async def test_pyoxigraph_reads_the_rows(filled: HttpDoor) -> None:
    client = SPARQLWrapper(f"{filled.url}/sparql")
    client.setQuery(ROWS)
    client.setReturnFormat(XML)

    body = (await elsewhere(client.query)).response.read()

    found = pyoxigraph.parse_query_results(body, pyoxigraph.QueryResultsFormat.XML)
    assert isinstance(found, pyoxigraph.QuerySolutions)
    assert [str(row["s"]) for row in found] == ["<http://x/a>", "<http://x/b>"]


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
async def test_curl_asks_in_one_line(filled: HttpDoor) -> None:
    command = ["curl", "-sfG", f"{filled.url}/sparql", "--data-urlencode", f"query={ROWS}"]

    said = await elsewhere(lambda: subprocess.run(command, capture_output=True, check=True, timeout=30).stdout)

    assert [row["n"]["value"] for row in json.loads(said)["results"]["bindings"]] == ["1", "2"]
