"""What a SPARQL update counts against the quota of its client: its text once, and what its templates make."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from plain_http import Answer, request, url_with

from gsg import IRI, Peer
from gsg.http.door import HttpDoor
from gsg.http.sparql import updating
from gsg.quotas import Quota, Quotas

ROWS = 300
P = IRI("http://x/p")


@asynccontextmanager
async def door_of(*, tuples_per_s: int = 1_000_000, bytes_per_s: int = 1_000_000) -> AsyncIterator[HttpDoor]:
    """The door of a peer of its own, whose clients may publish so much."""
    quotas = Quotas(client=Quota(10_000, tuples_per_s, bytes_per_s))
    async with Peer(quotas=quotas) as peer, HttpDoor(peer, port=0) as made:
        yield made


async def update(door: HttpDoor, text: str) -> Answer:
    return await request(door, "POST", "/sparql", text, {"Content-Type": "application/sparql-update"})


async def count(door: HttpDoor, predicate: str) -> int:
    answer = await request(door, "GET", url_with("/sparql", {"query": f"SELECT (COUNT(*) AS ?n) {{ ?s <{predicate}> ?o }}"}))
    return int(answer.json["results"]["bindings"][0]["n"]["value"])


MANY = " ;\n".join(f"INSERT DATA {{ <http://x/{number}> <http://x/p> {number} }}" for number in range(ROWS))


@pytest.mark.parametrize(("tuples_per_s", "bytes_per_s"), [(1, 1_000_000), (1_000_000, 100)], ids=["tuples", "bytes"])
async def test_an_update_of_many_operations_is_taken_as_a_whole_and_counted_once(tuples_per_s: int, bytes_per_s: int) -> None:
    async with door_of(tuples_per_s=tuples_per_s, bytes_per_s=bytes_per_s) as door:
        taken = await update(door, MANY)
        refused = await update(door, "INSERT DATA { <http://x/one> <http://x/p> 'more' }")
        held = await count(door, "http://x/p")

    assert (taken.status, refused.status, held) == (204, 429, ROWS)
    # In whole seconds: what it would owe had each of its operations counted its text is hundreds of times as much.
    assert int(refused.headers["retry-after"]) <= max(ROWS / tuples_per_s, len(MANY) / bytes_per_s)


@pytest.mark.parametrize("decided_at_once", [ROWS, 0], ids=["at once", "in a thread"])
async def test_what_a_template_makes_is_counted(decided_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(updating, "DECIDED_AT_ONCE", decided_at_once)
    monkeypatch.setattr(updating, "MEASURED_AT_ONCE", 7)
    async with door_of(bytes_per_s=5_000) as door:
        await door._peer.insert([(IRI(f"http://x/{number}"), P, number) for number in range(ROWS)])
        taken = await update(door, f"INSERT {{ ?s <http://x/long> '{'x' * 1_000}' }} WHERE {{ ?s <http://x/p> ?o }}")
        refused = await update(door, "INSERT DATA { <http://x/one> <http://x/p> 'more' }")
        held = await count(door, "http://x/long")

    assert (taken.status, refused.status, held) == (204, 429, ROWS)
    assert int(refused.headers["retry-after"]) < 400_000 / 5_000


async def test_the_text_of_an_update_that_only_asks_counts_with_what_it_changes() -> None:
    async with door_of(bytes_per_s=10) as door:
        taken = await update(door, "DELETE WHERE { ?s <http://x/none> ?o } " + "#" * 1_000)
        refused = await update(door, "DELETE WHERE { ?s <http://x/none> ?o }")

    assert (taken.status, refused.status) == (204, 429)
