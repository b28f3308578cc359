"""A query's rows as server-sent events: the answer, its changes, and what a client that comes back is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from doors import still_serves
from plain_http import Event, request, watching

import gsg
from gsg import AsyncClient, Peer
from gsg.http.door import HttpDoor
from gsg.http.json import streams
from gsg.http.json.event_text import Sent, SentBytes, place_of
from gsg.http.json.stream_events import EVENTS
from gsg.quotas import Quota, Quotas

pytestmark = pytest.mark.waits


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that the door does not tell."""
    while not holds():  # noqa: ASYNC110  # the door has no business telling tests
        await asyncio.sleep(0)


async def test_rows_that_hold_come_first_then_their_changes(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a",)])
    async with watching(door) as events:
        snapshot, row, up_to_date = await events.some(3)
        await client.insert([("b",)])
        await client.retract([("a",)])
        await client.notify([("c",)])
        later = await events.texts(3)

    assert (snapshot.name, snapshot.data["type"], snapshot.data["variables"]) == ("snapshot", "snapshot", ["x"])
    assert "because" not in snapshot.data
    assert row.data.items() >= {"type": "row", "sign": "+", "row": {"x": "a"}}.items()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row.data["at"])
    assert up_to_date.name == "up_to_date"
    assert later == ["+b", "-a", "!c"]


async def test_an_answer_of_many_rows_is_up_to_date_behind_the_last(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([(number,) for number in range(1_050)])
    async with watching(door) as events:
        names = [event.name for event in await events.some(1_052)]

    assert names == ["snapshot", *["row"] * 1_050, "up_to_date"]


async def test_terms_come_as_they_are_asked_for(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([(gsg.IRI("http://e.org/a"), 1)])
    query = "SELECT ?s { ?s ?p ?o }"
    async with watching(door, "(?x, 1)", terms="sparql") as events, watching(door, query, language="sparql") as others:
        row = (await events.some(2))[1]
        await client.insert([(gsg.IRI("http://e.org/a"), gsg.IRI("http://e.org/p"), "o")])
        other = (await others.some(3))[2]

    assert row.data["row"] == {"x": {"type": "uri", "value": "http://e.org/a"}}
    assert other.data["row"] == {"s": {"iri": "http://e.org/a"}}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (
            "/watch",
            "missing required field `query`; expected ?query=..., such as /watch?query=",
        ),
        ("/watch?query=(?x)&limit=many", "Expected `int`, got `str` - at `$.limit`; expected"),
        ("/watch?query=(?x)&limit=0", "limit=0 unread differences; expected a whole number, 1 to 1000000"),
        ("/watch?query=(?x)&langauge=gsg", "no parameter is called langauge; expected"),
        ("/watch?query=(?x)&id=1", "no parameter is called id; expected"),
        ("/watch?query=(?x)&terms=xml", "terms='xml'; expected plain or sparql"),
        ("/watch?query=(?x)&overflow=never", "overflow='never'; expected resync"),
        ("/watch?query=(?x)&max_tokens=0", "max_tokens=0; expected 1 to"),
        ("/watch?query=(?x)&language=sql", "'sql'"),
    ],
)
async def test_what_cannot_be_watched_is_refused_by_name(door: HttpDoor, path: str, problem: str) -> None:
    answer = await request(door, "GET", path.replace("?x", "%3Fx"))

    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert problem in answer.json["detail"]


async def test_a_mistake_in_a_query_has_its_place(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/watch?query=(%3Fx")

    assert answer.json.items() >= {"kind": "BadText", "line": 1, "column": 4, "source_line": "(?x"}.items()


async def test_a_head_has_no_stream(door: HttpDoor) -> None:
    answer = await request(door, "HEAD", "/watch?query=(%3Fx)")

    assert (answer.status, answer.headers["content-type"], answer.body) == (200, "text/event-stream; charset=utf-8", b"")
    assert not door._services.streams._open


async def test_a_client_that_comes_back_is_told_the_difference(door: HttpDoor, client: AsyncClient) -> None:
    await client.insert([("a",), ("b",)])
    async with watching(door) as events:
        seen = (await events.some(4))[-1]
    await until(lambda: bool(door._services.streams._kept))
    await client.retract([("a",)])
    await client.insert([("c",)])
    await client.notify([("d",)])

    async with watching(door, last=seen.id) as events:
        told = await events.texts(4)
        await client.insert([("e",)])
        told += await events.texts(1)

    assert told == ["resumed", "-a", "+c", "!d", "+e"]


async def test_what_was_sent_and_may_not_have_come_is_told_again(door: HttpDoor, client: AsyncClient) -> None:
    async with watching(door) as events:
        await events.some(2)
        await client.insert([(number,) for number in range(5)])
        sent = await events.some(5)

    async with watching(door, last=sent[1].id) as events:
        told = await events.some(4)
        await client.insert([("new",)])
        told += await events.some(1)

    assert [str(event) for event in told] == ["resumed", *map(str, sent[2:]), "+new"]
    assert [event.id for event in told[1:-1]] == [event.id for event in sent[2:]]


async def test_a_client_that_is_back_before_its_old_connection_is_gone_goes_on_alone(door: HttpDoor, client: AsyncClient) -> None:
    async with watching(door) as old:
        first = (await old.some(2))[-1]
        async with watching(door, last=first.id) as new:
            assert await new.texts(1) == ["resumed"]
            await client.insert([(number,) for number in range(20)])

            assert await new.texts(20) == [f"+{number}" for number in range(20)]
            assert await old.next() is None
            assert len(door._services.streams._open) == 1


@pytest.mark.parametrize("change", ["another query", "other terms", "an old place", "a place to come", "no id", "a stranger's"])
async def test_what_is_not_known_any_more_begins_with_a_snapshot_that_says_so(
    door: HttpDoor, client: AsyncClient, change: str
) -> None:
    await client.insert([("a",)])
    async with watching(door) as events:
        seen = (await events.some(3))[-1]
    stream, number = seen.id[:22], seen.id[23:]
    if change == "an old place":
        next(iter(door._services.streams._open.values()))._sent.forget()
    last = {"a place to come": f"{stream}-99", "no id": "7", "a stranger's": "x" * 22 + f"-{number}", "an old place": f"{stream}-1"}

    terms = "sparql" if change == "other terms" else "plain"
    async with watching(door, "(?x, 1)" if change == "another query" else "(?x)", last.get(change, seen.id), terms=terms) as events:
        snapshot, *_ = await events.some(2)

    assert snapshot.name == "snapshot"
    assert snapshot.data["because"].startswith("this peer does not know any more what you were told")


async def test_a_subscription_waits_for_its_client_for_some_time(
    door: HttpDoor, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "KEPT_S", 0.0)
    async with watching(door) as events:
        seen = (await events.some(2))[-1]
    await until(lambda: not door._services.streams._open)

    async with watching(door, last=seen.id) as events:
        assert await events.texts(1) == ["snapshot"]
    assert door._services.unread.held_bytes == 0


async def test_so_many_wait_at_once(door: HttpDoor, client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_KEPT", 2)
    seen: list[Event] = []
    for kept in (1, 2, 2):
        async with watching(door) as events:
            seen.append((await events.some(2))[-1])
        await until(lambda: not door._services.clients.count - 1 and len(door._services.streams._kept) == kept)  # noqa: B023  # at once

    told = []
    for each in seen:
        async with watching(door, last=each.id) as events:
            told += await events.texts(1)
    assert told[0] == "snapshot"
    assert "resumed" in told[1:]


async def test_a_client_that_does_not_read_holds_up_nobody_and_is_told_what_it_missed(door: HttpDoor, client: AsyncClient) -> None:
    async with watching(door, limit="10") as events:
        await events.some(2)
        # They come in few turns of the loop, of which each has more than are kept.
        await door._peer.notify([(number,) for number in range(1_000)])
        await still_serves(door)
        lost, told = [], []
        while told[-1:] != [999]:
            event = await events.next()
            assert event is not None
            if event.name == "overrun":
                lost.append(event.data["why"])
            else:
                told.append(event.data["row"]["x"])

    assert lost
    assert {why["kind"] for why in lost} == {"Overrun"}
    assert len(told) + sum(why["lost"] for why in lost) == 1_000


async def test_a_query_that_ends_says_why_and_browsers_are_told_not_to_come_back(door: HttpDoor, client: AsyncClient) -> None:
    async with watching(door, max_tokens="3") as events:
        await events.some(2)
        await client.insert([(number,) for number in range(10)])
        *_, ended = await _rest(events.next)
        assert await events.next() is None
    back = await request(door, "GET", "/watch?query=(%3Fx)", headers={"last-event-id": ended.id})

    assert (ended.name, ended.data["why"]["kind"]) == ("ended", "TooManyTokens")
    assert (back.status, back.body) == (204, b"")
    await until(lambda: not door._services.streams._open)


async def _rest(following: Callable[[], Any]) -> list[Event]:
    found = []
    while (event := await following()) is not None:
        found.append(event)
        if event.name == "ended":
            break
    return found


async def test_a_stream_ends_when_the_peer_stops_and_can_be_gone_on_with_elsewhere() -> None:
    async with Peer() as peer, HttpDoor(peer, port=0) as door, watching(door) as events:
        await events.some(2)
        await door.__aexit__(None, None, None)
        ended = await events.next()
        assert await events.next() is None

    assert ended is not None
    # Without an id: its client comes back with the one that it has.
    assert (ended.name, ended.id, ended.data["why"]["kind"]) == ("ended", "", "DoorClosed")
    assert not door._services.streams._open


async def test_silence_is_broken_by_comments(door: HttpDoor, client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_S", 0.001)
    async with watching(door) as events:
        await events.some(2)
        while await events.connection.reader.readline() != b":\n":
            pass
        assert await events.connection.reader.readline() == b"\n"
        await client.insert([("a",)])
        assert await events.texts(1) == ["+a"]


async def test_a_row_that_is_too_long_ends_its_stream(door: HttpDoor, client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MAX_MESSAGE_BYTES", 1_000)
    async with watching(door) as events:
        await events.some(2)
        await client.insert([("x" * 1_000,)])
        ended = await events.next()

    assert ended is not None
    assert (ended.name, ended.data["why"]["kind"]) == ("ended", "TooLarge")


async def test_streams_are_clients_of_the_door_and_count_as_subscriptions() -> None:
    quotas = Quotas(client=Quota(templates=0, tuples_per_s=10, bytes_per_s=10))
    async with Peer() as peer, HttpDoor(peer, port=0) as door, watching(door) as events:
        await events.some(2)
        assert door._services.clients.count == 1
        peer.quotas = quotas
        answer = await request(door, "GET", "/watch?query=(%3Fx)")

    assert (answer.status, answer.json["kind"]) == (429, "Refused")
    assert "retry-after" not in answer.headers


async def test_a_subscription_whose_client_comes_back_later_is_one_still(door: HttpDoor, client: AsyncClient) -> None:
    async with watching(door) as events:
        seen = (await events.some(2))[-1]
        assert await _numbers(client) == [1]
    async with watching(door, last=seen.id) as events:
        resumed = await events.next()
        assert await _numbers(client) == [1]

    assert resumed is not None
    assert resumed.data == {"type": "resumed", "variables": ["x"], "number": 1}


async def _numbers(client: AsyncClient) -> list[int]:
    return [holding.number for holding in await client.subscriptions()]


def test_sent_events_are_kept_up_to_their_bytes() -> None:
    together = SentBytes(limit_bytes=300)
    one, other = Sent("s" * 22, together, 200), Sent("t" * 22, together, 200)
    told = [one.add("row", b"x" * 40) for _ in range(5)]

    assert one.since(5) == []
    assert one.since(4) == told[4:]
    assert one.since(1) is None
    assert one.since(6) is None
    assert together.held <= 200

    for _ in range(5):
        other.add("row", b"x" * 40)
    assert together.held <= 300
    one.forget()
    other.forget()
    assert together.held == 0
    assert one.since(4) is None
    assert one.since(5) == []


def test_an_id_says_the_stream_and_the_number() -> None:
    made = Sent("abcdefghij-_0123456789", SentBytes()).add("row", b"{}")
    found = re.search(rb"^id: (.*)$", made, re.MULTILINE)

    assert found is not None
    assert place_of(found[1].decode()) == ("abcdefghij-_0123456789", 1)
    assert [place_of(text) for text in ("", "ended", "x-1", "abcdefghij-_0123456789-", "abcdefghij-_0123456789-" + "9" * 16)] == [
        None
    ] * 5


def test_every_event_has_a_name_of_its_own() -> None:
    assert sorted(EVENTS) == ["ended", "overrun", "resumed", "row", "snapshot", "stale", "up_to_date"]
