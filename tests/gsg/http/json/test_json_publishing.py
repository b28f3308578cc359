"""Publishing over plain HTTP: whole bodies and line by line, what is refused, and where a mistake is."""

from __future__ import annotations

import asyncio

import pytest
from doors import still_serves
from plain_http import Answer, connected, request

import gsg
from gsg import AsyncClient, Peer, PeerUnreachable
from gsg.errors import TooLarge
from gsg.http.door import HttpDoor
from gsg.http.json import publishing
from gsg.http.serving import bodies
from gsg.http.serving.bodies import Lines
from gsg.quotas import Quota, Quotas

pytestmark = pytest.mark.waits

ON = {"symbol": "on"}
JSON = "application/json"
LINES = "application/x-ndjson"


async def held(client: AsyncClient, query: str = "(?x, on)") -> list[str]:
    """The rows that hold."""
    async with await client.subscribe(query) as subscription:
        return sorted(str(row["x"]) for row in subscription.rows())


async def send(door: HttpDoor, method: str, path: str, body: object, media: str = JSON) -> Answer:
    """What is answered to a body of this kind."""
    return await request(door, method, path, body, {"content-type": media})


async def test_facts_come_and_go_and_events_pass(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, on)")

    inserted = await send(door, "POST", "/facts", [["a", ON], ["b", ON]])
    again = await send(door, "POST", "/facts", {"tuples": [["a", ON]]})
    retracted = await send(door, "DELETE", "/facts", [["b", ON]])
    notified = await send(door, "POST", "/events", [["c", ON]])

    assert [answer.json for answer in (inserted, again, retracted, notified)] == [
        {"count": 2},
        {"count": 0},
        {"count": 1},
        {"count": 1},
    ]
    assert inserted.headers["content-type"] == "application/json"
    assert [str(sign) for sign, _ in await subscription.batch(2)] == ["+", "+"]
    assert [f"{sign}{row['x']}" for sign, row in [await anext(subscription), await anext(subscription)]] == ["-b", "!c"]


async def test_facts_may_be_for_named_readers(door: HttpDoor, client: AsyncClient) -> None:
    here = (await client.report()).peers[0].peer.hex()

    for path, body in (("/facts", {"tuples": [["a", ON]], "audience": ["00" * 20]}), (f"/facts?audience={here}", [["b", ON]])):
        assert (await send(door, "POST", path, body)).json == {"count": 1}
    lines = await send(door, "POST", f"/facts?audience={'00' * 20}&audience={here}", b'["c", {"symbol": "on"}]', LINES)

    assert lines.json == {"count": 1, "lines": 1}
    assert await held(client) == ["b", "c"]
    assert (await send(door, "POST", "/facts?audience=bob", [["a"]])).status == 400


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([["a", ON], [{}]], {"kind": "BadTerm", "detail": "tuple 1 of the request: {} is no term; expected one of iri"}),
        ([["a", ON], []], {"kind": "BadTerm", "detail": "tuple 1 of the request: a tuple of 0 terms; expected 1 to 255"}),
        ([["a", ON], [None]], {"kind": "LocalError", "detail": "tuple 1 of the request is none: Expected"}),
        (
            [["a", ON], 1],
            {"kind": "LocalError", "detail": "no tuples: Expected `array`, got `int` - at `$[1]`; expected an array of tuples"},
        ),
        (b'[["a"],\n ["b"', {"kind": "BadText", "line": 2, "column": 6, "detail": "no tuples: Input data was truncated"}),
        (b"[" * 100_000, {"kind": "LocalError", "detail": "no tuples: arrays too deep in each other"}),
    ],
    ids=["a term", "no terms", "null", "a number", "half", "deep"],
)
async def test_nothing_is_published_of_what_has_a_mistake_and_its_place_is_said(
    door: HttpDoor, client: AsyncClient, body: object, expected: dict[str, object]
) -> None:
    answer = await send(door, "POST", "/facts", body)

    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    detail = str(expected.pop("detail"))
    assert answer.json.items() >= {"status": 400, "title": "Bad Request", **expected}.items()
    assert answer.json["detail"].startswith(detail)
    assert await held(client) == []


async def test_a_body_of_another_kind_is_refused_with_those_that_there_are(door: HttpDoor) -> None:
    answer = await send(door, "POST", "/facts", b"a=b", "application/x-www-form-urlencoded")

    assert (answer.status, answer.headers["accept-post"]) == (415, "application/json, application/x-ndjson")
    assert "expected Content-Type: application/json (an array of tuples) or application/x-ndjson" in answer.json["detail"]


async def test_a_body_that_is_too_large_is_refused_before_it_has_come(door: HttpDoor) -> None:
    async with connected(door, "POST", "/facts", content_type=JSON, content_length=str(10**12)) as connection:
        declared = await connection.answer()
    async with connected(door, "POST", "/facts", content_type=JSON, transfer_encoding="chunked") as connection:
        for _ in range(17):
            await connection.send_part(b" " * 1024 * 1024)
        status, _ = await connection.head()

    assert (declared.status, status) == (413, 413)
    assert "expected at most 16,777,216: cut it into several" in declared.json["detail"]
    assert door._services.bodies.held_bytes == 0
    await still_serves(door)


async def test_bodies_of_all_requests_are_bounded_together(door: HttpDoor) -> None:
    door._services.bodies._limit_bytes = 100
    async with connected(door, "POST", "/facts", content_type=JSON, content_length="90") as slow:
        slow.writer.write(b"[" + b" " * 80)
        while not door._services.bodies.held_bytes:  # noqa: ASYNC110  # the door has no business telling tests
            await asyncio.sleep(0)
        other = await send(door, "POST", "/facts", b"[" + b" " * 40 + b"]")
        slow.writer.write(b"        ]")
        answer = await slow.answer()

    assert (other.status, other.headers["retry-after"], other.json["kind"]) == (503, "1", "RemoteError")
    assert answer.json == {"count": 0}
    assert door._services.bodies.held_bytes == 0


async def test_a_body_that_does_not_come_is_not_waited_for_any_longer(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "BODY_S", 0.01)
    monkeypatch.setattr(publishing, "IDLE_S", 0.01)

    async with connected(door, "POST", "/facts", content_type=JSON, content_length="9") as connection:
        whole = await connection.answer()
    async with connected(door, "POST", "/facts", content_type=LINES, content_length="9") as connection:
        lines = await connection.answer()

    assert (whole.status, lines.status) == (408, 408)
    assert "0 tuples were published before" in lines.json["detail"]


async def test_lines_are_published_as_they_come(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, on)")
    async with connected(door, "POST", "/events", content_type=LINES, transfer_encoding="chunked") as connection:
        await connection.send_part(b'["a", {"symbol": "on"}]\n["b", ')
        first = await anext(subscription)
        assert door._services.clients.count == 2
        await connection.send_part(b'{"symbol": "on"}]\r\n\n["c", {"symbol": "on"}]')
        second = await anext(subscription)
        await connection.send_part(b"")
        third = await anext(subscription)
        answer = await connection.answer()

    assert [row["x"] for _, row in (first, second, third)] == ["a", "b", "c"]
    assert answer.status == 200
    assert b'{"count":3,"lines":4}' in answer.body


async def test_a_line_that_is_no_tuple_is_named_and_those_before_it_were_published(door: HttpDoor, client: AsyncClient) -> None:
    good = b'["a", {"symbol": "on"}]\n\n["b", {"symbol": "on"}]\n'

    broken = await send(door, "POST", "/facts", good + b'["c", {"symbol": "on"}\n["d"]\n', LINES)
    no_term = await send(door, "POST", "/facts", good + b"[{}]\n", LINES)
    number = await send(door, "POST", "/facts", good + b"7", LINES)

    assert (broken.status, no_term.status, number.status) == (400, 400, 400)
    assert broken.json["detail"].startswith("no tuple: Input data was truncated; expected an array of terms")
    assert [broken.json[name] for name in ("line", "column", "what", "tuples", "kind")] == [4, 23, "body", 2, "BadText"]
    assert [no_term.json[name] for name in ("line", "tuples", "kind")] == [4, 2, "BadTerm"]
    assert [number.json[name] for name in ("line", "column")] == [4, 1]
    assert await held(client) == ["a", "b"]


async def test_whoever_goes_on_sending_behind_a_mistake_reads_the_answer(door: HttpDoor) -> None:
    async with connected(door, "POST", "/facts", content_type=LINES, transfer_encoding="chunked") as connection:
        await connection.send_part(b"no tuple\n")
        for _ in range(100):
            await connection.send_part(b'["a"]\n' * 1_000)
        await connection.send_part(b"")
        status, _ = await connection.head()

    assert status == 400


async def test_a_line_without_end_is_refused(door: HttpDoor) -> None:
    answer = await send(door, "POST", "/facts", b'["a"]\n["' + b"x" * 2_000_000, LINES)

    assert (answer.status, answer.json["line"]) == (413, 2)
    assert "expected at most 1,048,576: one tuple each" in answer.json["detail"]


def test_lines_come_in_whatever_parts() -> None:
    text = b"one\n\ntwo\nthree"
    for size in range(1, len(text) + 1):
        lines = Lines()
        found = [line for begin in range(0, len(text), size) for line in lines.feed(text[begin : begin + size])]
        assert [*found, *lines.end()] == [b"one", b"", b"two", b"three"]


def test_a_line_is_bounded_however_it_comes() -> None:
    lines = Lines(10)
    lines.feed(b"12345\n12345")
    with pytest.raises(TooLarge, match="a line of 11 bytes or more; expected at most 10"):
        lines.feed(b"123456")


async def test_a_quota_refuses_and_says_when_it_would_not(monkeypatch: pytest.MonkeyPatch) -> None:
    quotas = Quotas(client=Quota(templates=10, tuples_per_s=1, bytes_per_s=10**9))
    # All requests are of one client.
    allowance = quotas.of_client("127.0.0.1")
    monkeypatch.setattr(quotas, "of_client", lambda who: allowance)
    async with Peer(quotas=quotas) as peer, HttpDoor(peer, port=0) as door:
        taken = await send(door, "POST", "/events", [["a"]] * 100)
        refused = await send(door, "POST", "/events", [["a"]])
        line = await send(door, "POST", "/events", b'["a"]\n', LINES)

    assert (taken.status, refused.status, line.status) == (200, 429, 429)
    assert 90 <= int(refused.headers["retry-after"]) <= 98
    assert refused.json["kind"] == "Refused"
    assert "one client may publish 1 tuples a second here" in refused.json["detail"]
    assert [line.json[name] for name in ("line", "kind")] == [1, "Refused"]


async def test_a_quota_slows_lines_down_before_it_refuses_them() -> None:
    quotas = Quotas(client=Quota(templates=10, tuples_per_s=1_000, bytes_per_s=10**9))
    async with (
        Peer(quotas=quotas) as peer,
        HttpDoor(peer, port=0) as door,
        connected(door, "POST", "/events", content_type=LINES, transfer_encoding="chunked") as connection,
    ):
        for _ in range(3):
            await connection.send_part(b'["a"]\n' * 1_100)
        await connection.send_part(b"")
        answer = await connection.answer()

    assert b'{"count":3300,"lines":3300}' in answer.body


async def test_a_client_that_leaves_in_the_middle_costs_nothing(door: HttpDoor, client: AsyncClient) -> None:
    subscription = await client.subscribe("(?x, on)")
    for media in ("application/json", LINES):
        async with connected(door, "POST", "/facts", content_type=media, transfer_encoding="chunked") as connection:
            await connection.send_part(b'["a", {"symbol": "on"}]\n')
    await anext(subscription)
    while door._services.clients.count > 1 or door._services.bodies.held_bytes:  # noqa: ASYNC110  # as above
        await asyncio.sleep(0)

    await still_serves(door)


async def test_what_the_network_fails_at_may_be_tried_again(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object) -> int:
        raise PeerUnreachable("nobody is there")

    async def breaks(*_: object) -> int:
        raise KeyError("a defect")

    for fails_so in (fails, breaks):
        monkeypatch.setattr("gsg.publisher.caller.Caller.facts", fails_so)
        answer = await send(door, "POST", "/facts", [["a"]])
        if fails_so is fails:
            assert (answer.status, answer.headers["retry-after"], answer.json["detail"]) == (503, "1", "nobody is there")
        else:
            assert (answer.status, answer.json["title"]) == (500, "Internal Server Error")


async def test_one_client_too_many_is_told_so(door: HttpDoor) -> None:
    door._services.clients._most = 0

    stream = await send(door, "POST", "/facts", b'["a"]', LINES)
    watch = await request(door, "GET", "/watch?query=(%3Fx)")

    assert (stream.status, watch.status) == (503, 503)
    assert stream.json["detail"] == "0 clients are served already; try again later"


async def test_lines_end_with_the_door() -> None:
    async with Peer() as peer, HttpDoor(peer, port=0) as door, gsg.connect(door.url) as client:
        subscription = await client.subscribe("(?x)")
        async with connected(door, "POST", "/events", content_type=LINES, transfer_encoding="chunked") as connection:
            await connection.send_part(b'["a"]\n')
            await anext(subscription)
            leaving = asyncio.ensure_future(door.__aexit__(None, None, None))
            status, _ = await connection.head()
            await leaving

    assert status == 503
