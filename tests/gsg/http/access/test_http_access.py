"""What somebody may do at a door that asks for tokens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from doors import DECODE, closed, endpoint, read
from plain_http import connected, request, url_with, watching
from token_files import LINES, ROLES, TOKENS, bearer, locked_door, written
from websockets.asyncio.client import connect as websocket
from websockets.exceptions import ConnectionClosed, InvalidStatus

import gsg
from gsg import AccessDenied, DoorClosed, Peer
from gsg.http.access.principals import Role
from gsg.http.access.roles import role_of
from gsg.http.application import operations
from gsg.http.door import HttpDoor
from gsg.http.protocol import (
    AskChannel,
    AskDoors,
    AskDrawing,
    AskHoldings,
    AskKeys,
    AskNetwork,
    AskReport,
    AskRoute,
    AskTopics,
    AskVocabulary,
    AskWhy,
    Done,
    Ended,
    Explain,
    Failed,
    Insert,
    Notify,
    PublishEvents,
    PublishTopic,
    Request,
    Retract,
    Subscribe,
    SubscribeEvents,
    SubscribeTopic,
    Unsubscribe,
)
from gsg.quotas import Quota, Quotas

WHO = [None, *TOKENS]


@pytest.fixture
async def door(tmp_path: Path) -> AsyncIterator[HttpDoor]:
    """The door of a peer of its own, which asks for a token."""
    async with locked_door(tmp_path) as made:
        yield made


def may(who: str | None, role: Role | None) -> bool:
    roles = "" if who is None else ROLES[who]
    return role is None or role.value in roles.split(",") or roles == "admin"


async def test_each_operation_takes_its_role(door: HttpDoor) -> None:
    wrong = []
    for operation in operations(door._services):
        if operation.path == "/login":
            continue
        path = operation.path.partition("{")[0] + ("7" if "{" in operation.path else "")
        for who in WHO:
            # What is asked is wrong where something can be, so nothing is begun by it.
            answer = await request(door, operation.method, path, b"", {} if who is None else bearer(who))
            expected = "let in" if may(who, operation.role) else 401 if who is None else 403
            if (answer.status if answer.status in (401, 403) else "let in") != expected and operation.path != "/sparql":
                wrong.append((operation.method, path, who, answer.status))

    assert wrong == []


@pytest.mark.parametrize("who", WHO)
@pytest.mark.parametrize(("said", "role"), [({"query": "ASK {}"}, Role.READ), ({"update": "INSERT DATA {}"}, Role.PUBLISH)])
async def test_a_post_to_sparql_takes_the_role_of_what_it_says(
    door: HttpDoor, who: str | None, said: dict[str, str], role: Role
) -> None:
    body = url_with("", said)[1:]
    shown = {"content-type": "application/x-www-form-urlencoded"} | ({} if who is None else bearer(who))

    answer = await request(door, "POST", "/sparql", body, shown)

    assert (answer.status in (200, 204)) == may(who, role)
    if not may(who, role):
        assert answer.status == (401 if who is None else 403)
        assert answer.json["kind"] == "AccessDenied"


REQUESTS: list[Request] = [
    Insert(1, []),
    Retract(1, []),
    Notify(1, []),
    Subscribe(1, "(?x)"),
    Unsubscribe(1, 7),
    AskReport(1),
    Explain(1, "(?x)"),
    AskHoldings(1),
    AskWhy(1, 7, (), ()),
    AskDrawing(1),
    AskNetwork(1),
    AskRoute(1, ("a",)),
    AskKeys(1, []),
    PublishEvents(1, []),
    SubscribeEvents(1, "true"),
    AskChannel(1),
    PublishTopic(1, "t", []),
    SubscribeTopic(1, "t"),
    AskTopics(1),
    AskVocabulary(1),
    AskDoors(1),
]


def test_these_are_all_messages() -> None:
    assert {type(said) for said in REQUESTS} == set(get_args(Request))


@pytest.mark.parametrize("who", list(TOKENS))
async def test_each_message_of_the_websocket_takes_its_role(door: HttpDoor, who: str) -> None:
    wrong = []
    for said in REQUESTS:
        async with websocket(endpoint(door), additional_headers=bearer(who)) as socket:
            await socket.send(msgspec.msgpack.encode(said))
            await socket.send(msgspec.msgpack.encode(AskReport(99)))
            while (answer := DECODE(await socket.recv())).request != 1:
                if answer.request == 99:
                    break
        denied = isinstance(answer, Failed) and answer.kind == "AccessDenied"
        if answer.request == 1 and denied is may(who, role_of(said)):
            wrong.append((type(said).__name__, answer))

    assert wrong == []


def test_publishing_is_what_takes_the_role_for_it() -> None:
    takes = {type(said).__name__ for said in REQUESTS if role_of(said) is Role.PUBLISH}

    assert takes == {"Insert", "Retract", "Notify", "PublishEvents", "PublishTopic"}
    assert {type(said).__name__ for said in REQUESTS if role_of(said) is None} == {"AskDoors", "Unsubscribe"}


async def test_without_a_token_no_websocket_is_opened_and_what_is_asked_for_is_said(door: HttpDoor) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with websocket(endpoint(door)):
            pass
    answer = await request(door, "GET", "/status")

    assert refused.value.response.status_code == answer.status == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="gsg", Basic realm="gsg"'
    assert "this takes a token with the role read, and none was shown; show one by the header" in answer.json["detail"]


async def test_a_wrong_token_is_refused_also_where_none_is_needed_and_counted(door: HttpDoor) -> None:
    answer = await request(door, "GET", "/livez", headers={"authorization": "Bearer nonsense"})

    assert (answer.status, answer.json["kind"]) == (401, "AccessDenied")
    assert {count.name: count.count for count in door._counted()}["http_tokens_refused"] == 1
    assert (await request(door, "GET", "/livez")).status == 200


async def test_probes_tell_details_to_readers_alone(door: HttpDoor) -> None:
    as_json = {"accept": "application/json"}
    plain = (await request(door, "GET", "/readyz", headers=as_json)).json
    detailed = (await request(door, "GET", "/readyz", headers=as_json | bearer("reader"))).json

    assert "peers" not in plain
    assert detailed["peers"] == 1


async def test_a_page_logs_in_once_and_is_known_by_its_cookie(door: HttpDoor) -> None:
    logged_in = await request(door, "POST", "/login", headers=bearer("reader"))
    said = logged_in.headers["set-cookie"]
    cookie = {"cookie": said.partition(";")[0]}

    assert logged_in.status == 204
    assert said.startswith(f"gsg-{door.port}=")
    assert all(part in said for part in ("HttpOnly", "SameSite=strict", "Max-Age=43200", "Path=/"))
    assert (await request(door, "GET", "/status", headers=cookie)).status == 200
    assert (await request(door, "POST", "/facts", [["a"]], cookie)).status == 403
    assert (await request(door, "DELETE", "/login", headers=cookie)).status == 204
    assert (await request(door, "GET", "/status", headers=cookie)).status == 401
    assert (await request(door, "POST", "/login")).status == 401


async def test_a_cookie_serves_no_page_of_another_origin(door: HttpDoor) -> None:
    said = (await request(door, "POST", "/login", headers=bearer("reader"))).headers["set-cookie"]

    answer = await request(door, "GET", "/status", headers={"cookie": said.partition(";")[0], "origin": "http://localhost:3000"})

    assert answer.status == 403


async def test_a_token_that_is_taken_back_ends_what_was_begun_with_it(door: HttpDoor, tmp_path: Path) -> None:
    file = written(tmp_path / "tokens")
    headers = [(name.encode(), text.encode()) for name, text in bearer("reader").items()]
    async with (
        websocket(endpoint(door), additional_headers=bearer("reader")) as mine,
        websocket(endpoint(door), additional_headers=bearer("both")) as other,
        watching(door, headers=bearer("reader")) as events,
    ):
        await events.some(2)
        assert door._authentication.principal(headers).name == "reader"

        written(file, LINES[1:])
        door._sweep()

        last = await events.next()
        assert last is not None
        assert (last.name, last.data["why"]["kind"]) == ("ended", "AccessDenied")
        assert await closed(mine) == 1008
        assert str(mine.close_reason).startswith("the token of this client was taken back, or says something else now")
        await other.send(msgspec.msgpack.encode(AskReport(1)))
        assert DECODE(await other.recv()).request == 1


async def test_a_token_that_is_replaced_by_one_of_the_same_name_ends_what_was_begun_with_it(door: HttpDoor, tmp_path: Path) -> None:
    async with websocket(endpoint(door), additional_headers=bearer("reader")) as mine:
        written(tmp_path / "tokens", [f"another-{TOKENS['reader']} read reader"])
        door._sweep()

        assert await closed(mine) == 1008


async def test_whoever_never_pauses_is_ended_too(door: HttpDoor, tmp_path: Path) -> None:
    shown = {"content_type": "application/x-ndjson", "transfer_encoding": "chunked", **bearer("writer")}
    live = await door._peer.subscribe("(?x)")
    async with asyncio.timeout(30), connected(door, "POST", "/facts", **shown) as connection:

        async def send_again_and_again() -> None:
            while True:
                await connection.send_part(b'["more"]\n')

        sending = asyncio.create_task(send_again_and_again())
        await read(live, 1)
        written(tmp_path / "tokens", LINES[:1])
        door._sweep()
        status, _ = await connection.head()
        sending.cancel()

    assert status == 401


async def test_a_client_that_does_not_read_does_nothing_once_its_token_is_taken_back(door: HttpDoor, tmp_path: Path) -> None:
    async with websocket(endpoint(door), additional_headers=bearer("both")) as socket:
        await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x)")))
        await socket.recv()
        socket.transport.pause_reading()
        await door._peer.notify([("x" * 100_000 + str(number),) for number in range(100)])
        written(tmp_path / "tokens", LINES[:1])
        door._sweep()
        for number in range(2, 50):
            with suppress(ConnectionClosed):
                await socket.send(msgspec.msgpack.encode(Insert(number, [("late", number)])))
        await no_places(door)

    assert sum((await door._peer.subscribe("(late, ?x)")).rows().values()) == 0


async def no_places(door: HttpDoor) -> None:
    """Until nobody is served."""
    async with asyncio.timeout(30):
        while door._services.clients.count:
            await request(door, "GET", "/livez")


async def test_a_token_that_is_taken_back_while_a_subscription_is_made_makes_no_stream(
    door: HttpDoor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subscribe = door._peer.subscribe

    async def taken_back_meanwhile(*arguments: Any, **options: Any) -> Any:
        made = await subscribe(*arguments, **options)
        written(tmp_path / "tokens", LINES[1:])
        door._sweep()
        return made

    monkeypatch.setattr(door._peer, "subscribe", taken_back_meanwhile)
    answer = await request(door, "GET", url_with("/watch", {"query": "(?x)"}), headers=bearer("reader"))

    assert (answer.status, answer.json["kind"]) == (401, "AccessDenied")
    assert not door._services.streams._open


async def test_logging_out_ends_what_the_page_has_open(door: HttpDoor) -> None:
    said = (await request(door, "POST", "/login", headers=bearer("reader"))).headers["set-cookie"]
    cookie = {"cookie": said.partition(";")[0]}
    async with websocket(endpoint(door), additional_headers=cookie) as socket:
        await request(door, "DELETE", "/login", headers=cookie)
        door._sweep()

        assert await closed(socket) == 1008


async def test_nobody_sends_a_body_who_may_do_nothing(door: HttpDoor) -> None:
    async with connected(door, "POST", "/sparql", content_type="application/sparql-query", content_length="1000000") as connection:
        status, _ = await connection.head()  # before any of it has come

    assert (status, door._services.bodies.held_bytes) == (401, 0)


async def test_what_a_client_says_of_its_address_is_not_believed(door: HttpDoor) -> None:
    forwarded = {"x-forwarded-for": "operator@evil", "x-forwarded-proto": "https"} | bearer("reader")
    async with websocket(endpoint(door), additional_headers=forwarded) as socket:
        await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x)")))
        await socket.recv()
        [held] = (await request(door, "GET", "/subscriptions", headers=bearer("reader"))).json

    assert held["client"].startswith("reader@127.0.0.1:")


async def test_an_operator_ends_the_subscription_of_somebody_who_is_told_so(door: HttpDoor) -> None:
    async with websocket(endpoint(door), additional_headers=bearer("reader")) as socket:
        await socket.send(msgspec.msgpack.encode(Subscribe(1, "(?x, ^on, ?y)")))
        await socket.recv()
        await socket.recv()
        [held] = (await request(door, "GET", "/subscriptions", headers=bearer("reader"))).json
        denied = await request(door, "DELETE", f"/subscriptions/{held['number']}", headers=bearer("both"))
        done = await request(door, "DELETE", f"/subscriptions/{held['number']}", headers=bearer("operator"))
        told = DECODE(await socket.recv())
        again = await request(door, "DELETE", f"/subscriptions/{held['number']}", headers=bearer("operator"))

    assert held["client"].startswith("reader@127.0.0.1:")
    assert (denied.status, done.status, again.status) == (403, 204, 404)
    assert isinstance(told, Ended)
    assert told.why.problem == f"subscription {held['number']} was ended by operator at this peer"


async def test_quotas_are_of_names_and_not_of_connections(tmp_path: Path) -> None:
    async with locked_door(tmp_path, quotas=Quotas(client=Quota(1, 100, 1 << 30))) as door:
        many = [[number] for number in range(100)]
        statuses = [(await request(door, "POST", "/events", many, bearer("writer"))).status for _ in range(9)]
        refused = await request(door, "POST", "/facts", [["mine"]], bearer("writer"))
        others = await request(door, "POST", "/facts", [["others"]], bearer("both"))
        async with watching(door, headers=bearer("reader")):
            second = await request(door, "GET", url_with("/watch", {"query": "(?y)"}), headers=bearer("reader"))
            asked = await request(door, "GET", url_with("/sparql", {"query": "ASK {}"}), headers=bearer("reader"))
            elsewhere = await request(door, "GET", url_with("/sparql", {"query": "ASK {}"}), headers=bearer("both"))

    assert statuses[0] == 200
    assert (refused.status, others.status) == (429, 200)
    assert "one client may publish 100 tuples a second here" in refused.json["detail"]
    assert (second.status, asked.status, elsewhere.status) == (429, 429, 200)
    assert "one client may have 1 subscriptions here, and this one has 1" in second.json["detail"]


async def test_what_has_ended_does_not_count_any_more(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door:
        for _ in range(3):
            await request(door, "GET", url_with("/sparql", {"query": "SELECT * { ?s ?p ?o }"}), headers=bearer("reader"))
        async with websocket(endpoint(door), additional_headers=bearer("reader")) as socket:
            for number, text in enumerate(["(?x)", "(?x", "(?y)"], 1):
                await socket.send(msgspec.msgpack.encode(Subscribe(number, text)))
            while door._peer.quotas.of_client("reader").subscriptions != 2:
                await socket.recv()
        async with websocket(endpoint(door), additional_headers=bearer("reader")) as socket:
            while door._peer.quotas.of_client("reader").subscriptions:
                await socket.send(msgspec.msgpack.encode(AskReport(1)))
                await socket.recv()


async def test_a_token_with_readers_publishes_for_them_alone(tmp_path: Path) -> None:
    lines = [f"{TOKENS['writer']} publish writer {'ab' * 20}", f"{TOKENS['both']} read,publish both"]
    async with locked_door(tmp_path, lines) as door:
        peer = door._peer
        everybody = await peer.subscribe("(?x)")
        for path, body, kind in (
            ("/facts", b'[["hidden"]]', "application/json"),
            ("/facts", b'["lines"]\n', "application/x-ndjson"),
            ("/graph?default", b"<a:b> <a:c> <a:d> .", "text/turtle"),
            ("/sparql", b"INSERT DATA { <a:b> <a:c> <a:e> }", "application/sparql-update"),
        ):
            shown = bearer("writer") | {"content-type": kind}
            assert (await request(door, "POST", path, body, shown)).status in (200, 204)
        strange = await request(door, "POST", "/facts", {"tuples": [["x"]], "audience": ["cd" * 20]}, bearer("writer"))
        await request(door, "POST", "/facts", [["seen"]], bearer("both"))

        assert await read(everybody, 1) == ['+?x="seen"']
        assert sum((await peer.subscribe("(?s, ?p, ?o)")).rows().values()) == 0
        assert strange.status == 403
        async with websocket(endpoint(door), additional_headers=bearer("writer")) as socket:
            for said in (Insert(1, [("x",)]), Notify(2, [("x",)]), PublishTopic(3, "t", []), PublishEvents(4, [])):
                await socket.send(msgspec.msgpack.encode(said))
            answers = {answer.request: answer for answer in [DECODE(await socket.recv()) for _ in range(4)]}
    assert (answers[1], answers[2]) == (Done(1, 1), Done(2, 1))
    assert [isinstance(answers[number], Failed) for number in (3, 4)] == [True, True]


async def test_a_door_beyond_loopback_asks_for_tokens_or_is_said_to_be_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Peer() as peer:
        with pytest.raises(DoorClosed, match=r"would let all who reach it do what the peer may; .*--http-token-file FILE"):
            async with HttpDoor(peer, "0.0.0.0", port=0):
                pass
    async with locked_door(tmp_path, host="0.0.0.0"):
        assert "go to the HTTP door at 0.0.0.0:" in caplog.text
        assert "in plain text: whoever is on the way can read and use them" in caplog.text


async def test_pages_of_origins_that_are_named_may_talk_to_the_door(tmp_path: Path) -> None:
    page = "https://app.example.org"
    async with locked_door(tmp_path, origins=["https://APP.example.org:443"]) as door:
        asked = {"origin": page, "access-control-request-method": "GET", "access-control-request-headers": "authorization"}
        preflight = await request(door, "OPTIONS", "/watch", headers=asked)
        denied = await request(door, "GET", "/status", headers={"origin": page})
        found = await request(door, "GET", "/status", headers={"origin": page, **bearer("reader")})
        stranger = await request(door, "GET", "/status", headers={"origin": "https://evil.example", **bearer("reader")})
        async with websocket(endpoint(door), additional_headers=bearer("reader"), origin=page):  # type: ignore[arg-type]  # a str to websockets
            pass

    assert (preflight.status, preflight.headers["access-control-allow-origin"]) == (200, page)
    assert (denied.status, denied.headers["access-control-allow-origin"]) == (401, page)
    assert (found.status, found.headers["access-control-allow-origin"]) == (200, page)
    assert "access-control-allow-credentials" not in found.headers
    assert (stranger.status, "access-control-allow-origin" in stranger.headers) == (403, False)


@pytest.mark.parametrize("origin", ["app.example.org", "https://app.example.org/page", "ftp://a", "https://"])
async def test_what_is_no_origin_is_refused(origin: str) -> None:
    async with Peer() as peer:
        with pytest.raises(gsg.LocalError, match="is no origin of a page; expected one such as https://app"):
            HttpDoor(peer, port=0, origins=[origin])


def test_an_error_of_access_is_one_of_the_caller() -> None:
    assert issubclass(AccessDenied, gsg.LocalError)
    assert not AccessDenied("no").needs_token
