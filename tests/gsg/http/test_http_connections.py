"""Connections to the HTTP door: strangers that misbehave, clients that leave, and what one client may ask for."""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from doors import DECODE, closed, endpoint, no_feeds, read, reply, still_serves
from websockets.asyncio.client import connect as websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin

import gsg
import gsg.http.client.request_parts
from gsg import (
    AsyncClient,
    BadQuery,
    LocalError,
    Peer,
)
from gsg.http.access.principals import ANYBODY
from gsg.http.door import HttpDoor
from gsg.http.protocol import (
    MAX_LIMIT,
    MAX_MESSAGE_BYTES,
    AskReport,
    Done,
    Failed,
    Insert,
    Reply,
    Report,
    Rows,
    Subscribe,
    Unsubscribe,
)
from gsg.http.websocket.channel_subscription import PeerChannel
from gsg.http.websocket.session import Session
from gsg.quotas import Quota, Quotas

pytestmark = pytest.mark.waits


async def test_clients_may_speak_json_in_text_frames(door: HttpDoor) -> None:
    async with websocket(endpoint(door)) as socket:
        await socket.send(json.dumps([4, 1, "(?x, on, ?y)"]))
        await socket.send(json.dumps([1, 2, [["a", [1, "on"], [4, "1.5", "x:decimal", ""]]]]))
        answers = [json.loads(await socket.recv()) for _ in range(4)]

    assert [12, 1, ["x", "y"], [], 1] in answers
    assert [14, 1] in answers
    assert [10, 2, 1] in answers
    assert [13, 1, [1], [["a", [4, "1.5", "x:decimal"]]]] in answers or [
        13,
        1,
        [1],
        [["a", [4, "1.5", "x:decimal", ""]]],
    ] in answers


async def test_requests_that_make_no_sense_are_answered_and_the_connection_stays(door: HttpDoor) -> None:
    encode, decode = msgspec.msgpack.encode, msgspec.msgpack.Decoder(Failed).decode
    async with websocket(endpoint(door)) as socket:
        await socket.send(encode(Unsubscribe(1, 77)))
        unknown = decode(await socket.recv())
        await socket.send(encode(Insert(2, [()])))
        empty = decode(await socket.recv())
        await socket.send(encode(Subscribe(3, "(?x)")))
        await socket.recv(), await socket.recv()
        await socket.send(encode(Subscribe(3, "(?x)")))
        again = decode(await socket.recv())

    assert (unknown.request, unknown.kind, unknown.problem) == (
        1,
        "LocalError",
        "no subscription was made by request 77; it may have ended",
    )
    assert (empty.request, empty.kind) == (2, "BadTerm")
    assert (again.request, again.problem) == (3, "request 3 has made a subscription already; expected a new number")


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xc1", b"GET / HTTP/1.1", msgspec.msgpack.encode([99, 1]), b"\x91" * 10_000, "", "{", "[1]", "\x00", "[" * 10_000],
    ids=[
        "nothing",
        "no msgpack",
        "another protocol",
        "unknown kind",
        "deep",
        "no text",
        "half of JSON",
        "too short",
        "NUL",
        "deep JSON",
    ],
)
async def test_garbage_is_answered_and_costs_its_client_nothing_else(
    door: HttpDoor, client: AsyncClient, frame: bytes | str
) -> None:
    subscribe = msgspec.json.encode([4, 7, "(?x)"]).decode() if isinstance(frame, str) else msgspec.msgpack.encode([4, 7, "(?x)"])
    async with websocket(endpoint(door)) as socket:
        await socket.send(subscribe)
        await socket.recv(), await socket.recv()
        await socket.send(frame)
        failed = reply(await socket.recv())
        await client.insert([("a",)])
        rows = reply(await socket.recv())

    assert isinstance(failed, Failed)
    assert (failed.kind, failed.problem.partition(":")[0]) == ("LocalError", "not a request")
    assert rows == Rows(7, [1], [("a",)])


async def test_garbage_behind_requests_under_way_fails_nothing_else(door: HttpDoor, caplog: pytest.LogCaptureFixture) -> None:
    encode = msgspec.msgpack.encode
    async with websocket(endpoint(door)) as socket:
        await socket.send(encode(Subscribe(1, "(?x)")))
        for number in range(2, 12):
            await socket.send(encode(Insert(number, [(item,) for item in range(500)])))
            await socket.send(encode(AskReport(number + 100)))
        await socket.send(b"\xc1")
        answers: list[Reply] = []
        while sum(isinstance(answer, Done | Report | Failed) for answer in answers) < 21:
            answers.append(DECODE(await socket.recv()))

    assert [answer.request for answer in answers if isinstance(answer, Failed)] == [0]
    await still_serves(door)
    await no_feeds(door)
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_a_message_that_is_too_long_ends_its_connection(door: HttpDoor) -> None:
    async with websocket(endpoint(door)) as socket:
        with suppress(ConnectionClosed):
            await socket.send(b"\x00" * (MAX_MESSAGE_BYTES + 1))
        assert await closed(socket) == 1009

    await still_serves(door)


HANDSHAKE = (
    b"GET /v1 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + base64.b64encode(bytes(16)) + b"\r\n\r\n"
)
STRANGERS = {
    "nothing": b"",
    "garbage": bytes(range(256)) * 4,
    "half a request": b"GET /v1 HTTP/1.1\r\nHost: local",
    "half a handshake": HANDSHAKE[:-2],
    "half a frame": HANDSHAKE + b"\x82\xfe\x10",
    "a frame without a mask": HANDSHAKE + b"\x82\x02hi",
    "a frame that claims to be 4 GB": HANDSHAKE + b"\x82\xff" + (2**32).to_bytes(8, "big") + b"mask",
    "a frame of an unknown kind": HANDSHAKE + b"\x8f\x80mask",
    "a peer's hello": b"\x00\x00\x00\x26GSG1" + bytes(34),
}


@pytest.mark.parametrize("data", STRANGERS.values(), ids=STRANGERS)
async def test_a_stranger_on_the_socket_harms_nobody(door: HttpDoor, client: AsyncClient, data: bytes) -> None:
    subscription = await client.subscribe("(?x)")
    reader, writer = await asyncio.open_connection(door.host, door.port)
    writer.write(data)
    writer.write_eof()
    await reader.read()
    writer.close()

    await still_serves(door)
    await client.insert([(1,)])
    assert await read(subscription, 1) == ["+?x=1"]


async def test_a_client_that_leaves_while_it_subscribes_leaves_no_subscription(door: HttpDoor) -> None:
    async with gsg.connect(door.url) as client:
        await client.insert([(number, "x") for number in range(1_000)])
    async with websocket(endpoint(door)) as socket:
        for number in range(20):
            await socket.send(msgspec.msgpack.encode(Subscribe(number, "(?x, ?y)")))
        socket.transport.abort()

    await still_serves(door)
    await no_feeds(door)


async def test_a_client_that_vanishes_takes_its_subscriptions_with_it(door: HttpDoor, client: AsyncClient) -> None:
    async with websocket(endpoint(door)) as socket:
        await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x)")))
        await socket.recv()
        socket.transport.abort()

    await no_feeds(door)
    assert await client.insert([("a",)]) == 1


async def test_a_number_makes_one_subscription_however_fast_it_comes_again(door: HttpDoor) -> None:
    encode = msgspec.msgpack.encode
    async with websocket(endpoint(door)) as socket:
        for request in (Subscribe(1, "(?x)"), Subscribe(1, "(?y)"), Subscribe(1, "(?z)")):
            await socket.send(encode(request))
        answers = [DECODE(await socket.recv()) for _ in range(4)]
        await socket.send(encode(Unsubscribe(2, 1)))
        assert DECODE(await socket.recv()) == Done(2)
        await no_feeds(door)

    assert [answer.problem for answer in answers if isinstance(answer, Failed)] == [
        "request 1 has made a subscription already; expected a new number"
    ] * 2


async def test_a_client_that_publishes_too_much_is_refused_with_the_limit_and_the_next_step(door: HttpDoor) -> None:
    door._peer.quotas = Quotas(client=Quota(10, 100, 1 << 30))
    async with gsg.connect(door.url) as greedy, gsg.connect(door.url) as modest:
        await greedy.notify([(number,) for number in range(900)])
        with pytest.raises(gsg.Refused, match=r"one client may publish 100 tuples a second here.*\(--client-rate\)") as refused:
            await greedy.insert([(1,)])
        assert refused.value.again_s is not None
        assert 6.0 <= refused.value.again_s <= 7.0
        assert await modest.insert([(2,)]) == 1


async def test_a_call_that_was_taken_in_part_goes_on_as_its_quota_allows(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.http.client.request_parts, "TUPLES_PER_REQUEST", 100)
    door._peer.quotas = quotas = Quotas(client=Quota(10, 100, 1 << 30))
    async with gsg.connect(door.url) as client, await client.subscribe("(?x)") as told:
        await client.notify([(number,) for number in range(400)])

        assert await read(told, 400) == [f"!?x={number}" for number in range(400)]
    assert quotas.counts()[0].count > 0


async def test_a_subscription_is_closed_also_where_a_program_ends_and_nobody_reads_for_its_client(door: HttpDoor) -> None:
    async with gsg.connect(door.url) as client, await client.subscribe("(?x)") as told:
        closing = asyncio.create_task(told.close())
        for task in list(client._connection._group._tasks):
            task.cancel()

        async with asyncio.timeout(10):
            await closing

    await no_feeds(door)


async def test_a_client_may_wait_for_its_quota(door: HttpDoor) -> None:
    door._peer.quotas = quotas = Quotas(client=Quota(10, 100, 1 << 30))
    async with gsg.connect(door.url, wait_for_quota=True) as client:
        await client.notify([(number,) for number in range(300)])

        assert await client.insert([("more",)]) == 1
    assert quotas.counts()[0].count > 0


async def test_subscriptions_that_are_being_made_count(door: HttpDoor) -> None:
    door._peer.quotas = Quotas(client=Quota(2, 100, 1 << 30))
    async with websocket(endpoint(door)) as socket:
        for number in range(3):
            await socket.send(msgspec.msgpack.encode(Subscribe(number, "(?x)")))
        answers = [DECODE(await socket.recv()) for _ in range(5)]

    [refused] = [answer for answer in answers if isinstance(answer, Failed)]
    assert (refused.request, refused.kind) == (2, "Refused")
    assert refused.problem.startswith("over quota: one client may have 2 subscriptions here, and this one has 2; end some")


async def test_a_subscription_may_be_ended_while_it_is_made(door: HttpDoor) -> None:
    encode = msgspec.msgpack.encode
    async with websocket(endpoint(door)) as socket:
        for request in (Subscribe(1, "(?x)"), Unsubscribe(2, 1), Unsubscribe(3, 1)):
            await socket.send(encode(request))
        answers = {answer.request: answer for answer in [DECODE(await socket.recv()) for _ in range(3)]}
        await no_feeds(door)

    assert answers[2] == Done(2)
    assert isinstance(answers[1], Failed)
    assert answers[1].problem == "the subscription of request 1 was ended before it was made"
    assert isinstance(answers[3], Failed)
    assert answers[3].problem == "no subscription was made by request 1; it may have ended"


async def test_many_long_rows_come_in_messages_that_are_short_enough(client: AsyncClient) -> None:
    text = "x" * 20_000
    await client.insert([(number, text) for number in range(1_000)])

    subscription = await client.subscribe("(?number, ?text)")

    assert sorted(int(str(row["number"])) for row in subscription.rows()) == list(range(1_000))


async def test_an_overflow_that_there_is_not_is_refused_by_the_peer_too(door: HttpDoor) -> None:
    async with websocket(endpoint(door)) as socket:
        await socket.send(json.dumps([4, 1, "(?x)", "gsg", 10, 10, "never"]))

        assert "overflow='never'; expected resync, drop_oldest, error" in await socket.recv()


@pytest.mark.parametrize("limit", [0, -1, MAX_LIMIT + 1])
async def test_a_limit_that_is_none_is_refused(client: AsyncClient, limit: int) -> None:
    with pytest.raises(LocalError, match=f"limit={limit} unread differences; expected a whole number, 1 to {MAX_LIMIT}"):
        await client.subscribe("(?x)", limit=limit)


async def test_the_door_looks_at_the_limit_too(door: HttpDoor) -> None:
    async with websocket(endpoint(door)) as socket:
        await socket.send(json.dumps([4, 1, "(?x)", "gsg", 0]))

        assert "limit=0 unread differences; expected a whole number" in await socket.recv()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"limit": "10"}, "limit='10' unread differences; expected a whole number, 1 to 1000000"),
        ({"limit": True}, "limit=True unread differences; expected a whole number"),
        ({"max_tokens": "10"}, "not a request: Expected `int`, got `str`"),
        ({"language": 7}, "not a request: Expected `str`, got `int`"),
    ],
    ids=lambda value: str(next(iter(value.items()))) if isinstance(value, dict) else "",
)
async def test_arguments_of_a_wrong_kind_cost_a_client_that_call_alone(
    client: AsyncClient, wrong: dict[str, Any], problem: str
) -> None:
    with pytest.raises(LocalError, match=problem):
        await client.subscribe("(?x)", **wrong)

    assert await client.insert([("still", "here")]) == 1


async def test_a_query_that_takes_long_to_read_is_refused(client: AsyncClient) -> None:
    with pytest.raises(BadQuery, match=r"a query of 65537 characters; expected at most 65536: split it"):
        await client.subscribe("(?x)".ljust(64 * 1024 + 1))

    await client.subscribe("(?x)".ljust(64 * 1024))


async def test_one_client_too_many_is_answered_503(door: HttpDoor, client: AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door._services.clients, "_most", 1)

    with pytest.raises(InvalidStatus) as refused:
        await websocket(endpoint(door))
    await client.close()
    async with asyncio.timeout(10):
        while door._services.clients.count:  # noqa: ASYNC110  # the door has no business telling tests
            await asyncio.sleep(0)

    assert refused.value.response.status_code == 503
    assert refused.value.response.body == b"1 clients are served already; try again later\n"
    await still_serves(door)


@pytest.mark.parametrize("origin", ["http://example.org", "http://localhost:1", "null", "http://127.0.0.1"])
async def test_pages_of_other_sites_are_not_let_in(door: HttpDoor, origin: str, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await websocket(endpoint(door), origin=Origin(origin))

    assert refused.value.response.status_code == 403
    await still_serves(door)
    assert [record.name for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == ["gsg.http.gate"]


async def test_pages_of_the_peer_itself_are_let_in(door: HttpDoor) -> None:
    async with websocket(endpoint(door), origin=Origin(door.url)) as socket:
        await socket.send(json.dumps([6, 1]))
        assert json.loads(await socket.recv())[:2] == [16, 1]


class Closed:
    """A WebSocket that was closed, as starlette and uvicorn say it, and whose client has sent a question before."""

    def __init__(self) -> None:
        self.messages = [
            {"type": "websocket.receive", "bytes": msgspec.msgpack.encode(AskReport(1))},
            {"type": "websocket.disconnect"},
        ]
        self.tried = 0

    async def accept(self, subprotocol: str | None) -> None:
        pass

    async def receive(self) -> dict[str, object]:
        if len(self.messages) == 1:
            while not self.tried:  # noqa: ASYNC110  # as above
                await asyncio.sleep(0)
        return self.messages.pop(0)

    async def send_bytes(self, data: bytes) -> None:
        self.tried += 1
        raise RuntimeError("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'.")


async def test_an_answer_to_a_connection_that_was_closed_is_dropped() -> None:
    socket: Any = Closed()
    async with Peer() as peer:
        await Session(peer, socket, channel=PeerChannel(peer), principal=ANYBODY).serve()

    assert socket.tried == 1


async def test_clients_that_go_without_a_goodbye_are_counted_and_no_others(door: HttpDoor, client: AsyncClient) -> None:
    async with websocket(endpoint(door)) as socket:
        await socket.send(msgspec.msgpack.encode(AskReport(1)))
        await socket.recv()
    async with gsg.connect(door.url) as other:
        await other.report()
    assert await lost_clients(client) == 0

    async with websocket(endpoint(door)) as socket:
        await socket.send(msgspec.msgpack.encode(AskReport(1)))
        await socket.recv()
        socket.transport.abort()

    while not (lost := await lost_clients(client)):
        pass
    assert lost == 1


async def lost_clients(client: AsyncClient) -> int:
    (asked,) = (await client.report()).peers
    return next(one.count for one in asked.counts if one.name == "http_clients_lost")


async def test_a_request_that_is_too_long_costs_a_client_that_call_alone(client: AsyncClient) -> None:
    with pytest.raises(gsg.TooLarge, match=r"a request of 17,0\d\d,\d\d\d bytes; expected at most 16,777,216"):
        await client.subscribe("x" * 17_000_000)

    assert await client.insert([("still", "here")]) == 1


async def test_a_client_that_is_not_let_in_is_told_why(door: HttpDoor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door._services.clients, "_most", 0)

    with pytest.raises(gsg.PeerUnreachable, match=r"lets this client not in \(HTTP 503\): 0 clients are served already; try again"):
        async with gsg.connect(door.url):
            pass


async def test_strangers_are_logged_with_their_address(door: HttpDoor, caplog: pytest.LogCaptureFixture) -> None:
    reader, writer = await asyncio.open_connection(door.host, door.port)
    host, port = writer.get_extra_info("sockname")
    writer.write(b"\x00\x01\x02\r\n\r\n")
    assert (await reader.read()).startswith(b"HTTP/1.1 400 ")
    writer.close()

    [record] = caplog.records
    assert record.getMessage().startswith(f"what comes from {host}:{port} is no HTTP request: closed (illegal request line")


async def test_a_message_in_fragments_is_one_request(door: HttpDoor) -> None:
    async with websocket(endpoint(door)) as socket:
        request = msgspec.msgpack.encode(Insert(7, [("a", "b")]))
        await socket.send(request[at : at + 1] for at in range(len(request)))
        answer = reply(await socket.recv())

    assert answer == Done(7, 1)
