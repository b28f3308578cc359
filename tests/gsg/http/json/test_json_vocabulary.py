"""The vocabulary at the door: over HTTP, over the WebSocket in both forms, and by the clients in Python."""

from __future__ import annotations

import asyncio
import json

import pytest
from doors import ON, endpoint
from plain_http import request
from websockets.asyncio.client import connect

import gsg
from gsg import AsyncClient, LocalError
from gsg.http.door import HttpDoor
from gsg.wire.status_messages import ArityCount, ConstantCount

pytestmark = pytest.mark.waits

FACTS = [("a", ON, 1), ("b", ON, 1), ("long " * 100, 2**60)]


async def test_constants_are_told_with_the_most_facts_first(door: HttpDoor, client: AsyncClient) -> None:
    await client.subscribe("(?x, on, ?y)")
    await client.insert(FACTS)

    found = (await request(door, "GET", "/vocabulary")).json
    fewer = (await request(door, "GET", "/vocabulary?most=2")).json

    assert found["constants"][:2] == [
        {"arity": 3, "position": 2, "constant": 1, "facts": 2, "templates": 0},
        {"arity": 3, "position": 1, "constant": {"symbol": "on"}, "facts": 2, "templates": 1},
    ]
    assert fewer == {**found, "constants": found["constants"][:2]}
    assert found["totals"] == [{"arity": 2, "facts": 1, "keys": 2}, {"arity": 3, "facts": 2, "keys": 4}]
    assert found["silent"] == []
    assert {
        "arity": 2,
        "position": 1,
        "constant": {"value": str(2**60), "datatype": "http://www.w3.org/2001/XMLSchema#integer"},
        "facts": 1,
        "templates": 0,
    } in found["constants"]


async def test_a_long_constant_is_told_as_one(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert(FACTS)

    [long] = [one for one in (await request(door, "GET", "/vocabulary")).json["constants"] if one["constant"] is None]

    assert long.pop("long").startswith("a constant of 503 bytes with the hash ")
    assert long == {"arity": 2, "position": 0, "constant": None, "facts": 1, "templates": 0}


@pytest.mark.parametrize(
    ("most", "problem"),
    [
        ("some", "most=some is no number; expected 1 to 1000, as in /vocabulary?most=100"),
        ("0", "most=0 constants; expected at least 1, and 1,000 at most are told"),
    ],
)
async def test_a_number_that_cannot_be_is_refused(door: HttpDoor, most: str, problem: str) -> None:
    answer = await request(door, "GET", f"/vocabulary?most={most}")

    assert (answer.status, answer.json["detail"]) == (400, problem)


async def test_more_than_there_may_be_is_cut(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([(number, ON) for number in range(1_100)])

    answer = await request(door, "GET", "/vocabulary?most=100000")

    assert (len(answer.json["constants"]), answer.json["totals"][0]["keys"]) == (1_000, 1_101)


async def test_as_arrays_a_constant_is_the_term_that_it_is(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a", ON)])
    async with connect(endpoint(door)) as socket:
        await socket.send(json.dumps([36, 7]))
        told = json.loads(await socket.recv())

    assert told == [37, 7, [[2, 0, "a", 1, 0], [2, 1, [1, "on"], 1, 0]], [[2, 1, 2]], []]


async def test_a_client_has_the_terms_themselves(client: AsyncClient) -> None:
    await client.insert([("a", ON)])

    found = await client.vocabulary(1)

    assert (found.constants, found.totals) == ([ConstantCount(2, 0, "a", 1, 0)], [ArityCount(2, 1, 2)])
    with pytest.raises(LocalError, match="most=0 constants"):
        await client.vocabulary(0)


async def test_a_client_without_async_asks_too(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a", ON)])

    def ask() -> list[ConstantCount]:
        with gsg.Client(door.url) as blocking:
            return blocking.vocabulary().constants

    assert await asyncio.to_thread(ask) == [ConstantCount(2, 0, "a", 1, 0), ConstantCount(2, 1, ON, 1, 0)]
