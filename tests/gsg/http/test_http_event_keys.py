"""Keys of events at the door: over the WebSocket, in JSON and over plain HTTP; of clients with tokens, and over a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from doors import endpoint
from plain_http import request
from token_files import TOKENS, locked_door
from websockets.asyncio.client import connect

import gsg
from gsg import AsyncClient, LiveSubscription, LocalError
from gsg.cli.processes import start
from gsg.http.door import HttpDoor
from gsg.http.json.form import SUBPROTOCOL
from gsg.http.websocket.decoding import LARGE_BYTES

pytestmark = pytest.mark.waits

RANG = gsg.Symbol("rang")
LONG = "x" * LARGE_BYTES


async def told(subscription: LiveSubscription, client: AsyncClient) -> list[object]:
    """What was told, up to a last event that is told now."""
    await client.notify([("end", RANG)])
    names = []
    while not names or names[-1] != "end":
        names += [row["x"] for _, row in await subscription.batch(100)]
    return names[:-1]


async def test_events_with_a_key_are_told_once(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, ^rang)")

    for key in ("1", "1", "2", None, None):
        await client.notify([("bell", RANG), ("door", RANG)], key=key)

    assert await told(subscription, client) == ["bell", "door"] * 4


async def test_another_connection_of_the_same_client_may_ask_again(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, ^rang)")

    for _ in range(2):
        async with gsg.connect(door.url) as other:
            await other.notify([("bell", RANG)], key="1")

    assert await told(subscription, client) == ["bell"]


async def test_a_large_request_may_have_a_key(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, ^rang)")

    for _ in range(2):
        await client.notify([(LONG, RANG)], key="1")

    assert await told(subscription, client) == [LONG]


async def test_keys_are_those_of_a_token(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door, gsg.connect(door.url, token=TOKENS["both"]) as both:
        subscription = await both.subscribe("(?x, ^rang)")

        for name in ("writer", "both", "writer"):
            async with gsg.connect(door.url, token=TOKENS[name]) as client:
                await client.notify([(name, RANG)], key="1")

        assert await told(subscription, both) == ["writer", "both"]


async def test_more_events_than_a_request_has_are_refused_with_a_key(client: AsyncClient) -> None:
    with pytest.raises(LocalError, match=r"a key for 1,001 events, which make 2 requests; expected at most 1,000 events and"):
        await client.notify([(number,) for number in range(1_001)], key="1")


@pytest.mark.parametrize("text", ["bell", LONG], ids=["short", "long"])
async def test_json_has_keys_for_events_and_for_nothing_else(door: HttpDoor, client: AsyncClient, text: str) -> None:
    subscription = await client.subscribe("(?x, ^rang)")
    tuples = [[text, {"symbol": "rang"}]]
    async with connect(endpoint(door), subprotocols=[SUBPROTOCOL]) as socket:  # type: ignore[list-item]  # a name is a str
        answers = []
        for kind in ("notify", "notify", "insert"):
            await socket.send(json.dumps({"type": kind, "id": 1, "tuples": tuples, "key": "1"}))
            answers.append(json.loads(await socket.recv()))

    assert answers[:2] == [{"type": "done", "id": 1, "count": 1}] * 2
    assert "key" in answers[2]["problem"]
    assert answers[2]["type"] == "failed"
    assert await told(subscription, client) == [text]


async def test_too_many_events_with_a_key_are_refused_whoever_sends_them(door: HttpDoor) -> None:
    body, headers = [[number] for number in range(1_001)], {"content-type": "application/json", "idempotency-key": '"1"'}

    answer = await request(door, "POST", "/events", body, headers)

    assert answer.status == 400
    assert answer.json["detail"] == "1,001 events with one key; expected at most 1,000: cut them, each part with a key"


async def test_the_header_idempotency_key_is_a_key(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, ^rang)")

    answers = [
        await request(
            *(door, "POST", "/events", [["bell", {"symbol": "rang"}]]),
            {"content-type": "application/json", "idempotency-key": key},
        )
        for key in ('"a"', '"a"', "a", '"a\\"b"')
    ]
    await client.notify([("bell", RANG)], key='a"b')

    assert [answer.json for answer in answers] == [{"count": 1}] * 4
    assert await told(subscription, client) == ["bell", "bell"]


async def test_the_key_of_a_body_with_other_events_is_refused(door: HttpDoor) -> None:
    headers = {"content-type": "application/json", "idempotency-key": '"a"'}

    first, second = [await request(door, "POST", "/events", [[name]], headers) for name in ("bell", "door")]

    assert (first.status, second.status) == (200, 400)
    assert "was used for others" in second.json["detail"]


async def test_several_keys_of_one_request_are_refused(door: HttpDoor) -> None:
    headers = {"idempotency-key": '"a"\r\nidempotency-key: "b"'}

    answer = await request(door, "POST", "/events", [["bell"]], headers)

    assert answer.status == 400
    assert answer.json["detail"] == "2 headers Idempotency-Key; expected one, which names all events of the request"


@pytest.mark.parametrize("key", ['"a', '"a", "b"', 'a"', '"é"', "é", '"a\\b"'])
async def test_a_header_that_is_no_key_is_refused(door: HttpDoor, key: str) -> None:
    answer = await request(
        door, "POST", "/events", [["bell"]], {"content-type": "application/json", "idempotency-key": key.encode().decode("latin-1")}
    )

    assert answer.status == 400
    assert answer.json["detail"].startswith("the header Idempotency-Key: ")
    assert "expected a text of printable ASCII between quotes" in answer.json["detail"]


@pytest.mark.parametrize("key", [7, b"x", "", "a\nb", "x" * 201])
async def test_what_can_be_no_key_is_refused_before_it_is_sent(client: AsyncClient, key: object) -> None:
    with pytest.raises(LocalError, match=r"is no key for events; expected a text of 1 to 200 printable characters, such as a UUID"):
        await client.notify([("bell", RANG)], key=key)  # type: ignore[arg-type]  # what a program may do


@pytest.mark.parametrize("method", ["POST", "DELETE"])
@pytest.mark.parametrize(("media_type", "body"), [("application/json", [["a"]]), ("application/x-ndjson", b'["a"]\n')])
async def test_facts_have_no_key(door: HttpDoor, client: AsyncClient, method: str, media_type: str, body: object) -> None:
    await client.insert([("a",)] if method == "DELETE" else [])

    answer = await request(door, method, "/facts", body, {"content-type": media_type, "idempotency-key": '"a"'})

    assert answer.status == 400
    assert answer.json["detail"] == (
        "Idempotency-Key with facts; expected it with POST /events alone: leave it out, as facts are a set, and one that is said "
        "once more changes nothing"
    )
    assert len((await client.subscribe("(?x)")).rows()) == (method == "DELETE")


async def test_lines_have_no_key(door: HttpDoor) -> None:
    answer = await request(
        *(door, "POST", "/events", b'["a"]\n'), {"content-type": "application/x-ndjson", "idempotency-key": '"a"'}
    )

    assert answer.status == 400
    assert "with lines, which are published as they come; expected Content-Type: application/json with it" in answer.json["detail"]


async def test_the_document_of_the_door_has_the_header(door: HttpDoor) -> None:
    paths = (await request(door, "GET", "/openapi.json")).json["paths"]

    headers = {
        path: [each["name"] for each in paths[path]["post"]["parameters"] if each["in"] == "header"]
        for path in ("/events", "/facts")
    }
    assert headers == {"/events": ["Idempotency-Key"], "/facts": []}


async def test_a_peer_that_was_killed_and_started_again_knows_what_it_has_acknowledged(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "peer"))
    first = await start(options=options)
    try:
        async with gsg.connect(first.url, reconnect=False) as client:
            await client.notify([("bell", RANG)], key="1")
    finally:
        first.process.kill()
        await first.process.wait()
    second = await start(options=options)
    try:
        async with gsg.connect(second.url) as client:
            subscription = await client.subscribe("(?x, ^rang)")
            for key in ("1", "2"):
                await client.notify([("bell", RANG)], key=key)

            assert await told(subscription, client) == ["bell"]
    finally:
        second.process.kill()
        await second.process.wait()
