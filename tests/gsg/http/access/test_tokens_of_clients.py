"""Clients that show a token: to whom, and what becomes of those that are not let in."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from plain_http import request
from token_files import LINES, TOKENS, locked_door, written

import gsg
from gsg import AccessDenied, LocalError, Peer
from gsg.http.access.tokens import TokenFile
from gsg.http.client import ConnectionState
from gsg.http.door import HttpDoor


async def test_a_client_shows_its_token(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door, gsg.connect(door.url, token=f" {TOKENS['both']}\n") as client:
        assert await client.insert([("a", 1)]) == 1
        async with await client.subscribe("(a, ?x)") as rows:
            assert rows.number == 1
        with pytest.raises(AccessDenied, match="takes the role read, and writer has publish"):
            async with gsg.connect(door.url, token=TOKENS["writer"]) as writer:
                await writer.subscribe("(a, ?x)")


async def test_a_client_without_async_does_too(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door:

        def insert() -> int:
            with gsg.Client(door.url, token=TOKENS["writer"]) as client:
                return client.insert([("a", 1)])

        assert await asyncio.to_thread(insert) == 1


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        (None, "the WebSocket takes a token, and none was shown; show one by the header"),
        ("x" * 20, "that is no token of this peer, or not any more"),
    ],
)
async def test_whoever_is_not_let_in_is_told_why(tmp_path: Path, token: str | None, problem: str) -> None:
    async with locked_door(tmp_path) as door:
        with pytest.raises(AccessDenied) as denied:
            async with gsg.connect(door.url, token=token):
                pass

    assert str(denied.value).startswith(f"the peer at {door.url} does not let this client in: {problem}")
    assert denied.value.needs_token


@pytest.mark.parametrize("token", ["", " ", "two words", "ünsäglich"])
def test_what_can_be_no_token_is_refused_and_not_repeated(token: str) -> None:
    with pytest.raises(LocalError, match="the token is empty, or has blanks") as told:
        gsg.AsyncClient(token=token)

    assert not token.strip() or token not in str(told.value)


@pytest.mark.parametrize(
    ("options", "problem"), [({"token": b"0123456789abcdef"}, "a token that is of the type bytes; expected a str")]
)
def test_a_token_of_another_type_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(LocalError, match=problem):
        gsg.AsyncClient(**options)


async def test_what_is_no_context_of_tls_is_refused(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door:
        with pytest.raises(LocalError, match=r"tls='ca\.pem' is no SSLContext"):
            async with gsg.connect(door.url, tls="ca.pem"):  # type: ignore[arg-type]  # as it says
                pass


async def test_a_function_says_the_token_each_time(tmp_path: Path) -> None:
    said = iter([TOKENS["reader"], f"another-{TOKENS['reader']}"])
    async with locked_door(tmp_path) as door, gsg.connect(door.url, token=lambda: next(said)) as client:
        rows = await client.subscribe("(?x)")
        written(tmp_path / "tokens", [f"another-{TOKENS['reader']} read reader"])
        door._sweep()
        with pytest.raises(gsg.Reconnected):
            await anext(rows)


async def test_a_token_is_for_the_doors_that_were_given_and_for_none_that_a_peer_tells_of(tmp_path: Path) -> None:
    shown: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n")
        writer.close()
        heard.set()

    heard = asyncio.Event()
    stranger = await asyncio.start_server(listen, "127.0.0.1", 0)
    where = f"http://127.0.0.1:{stranger.sockets[0].getsockname()[1]}"
    async with stranger, Peer() as peer:
        door = HttpDoor(peer, port=0, tokens=TokenFile(written(tmp_path / "tokens")))
        async with door:
            client = gsg.AsyncClient(door.url, token=TOKENS["both"])
            async with client:
                client._connection._doors._earlier.append(where)
                await door.__aexit__(None, None, None)
                async with asyncio.timeout(30):
                    await heard.wait()

    assert b"authorization" not in shown[0].lower()


async def test_a_client_whose_token_is_taken_back_says_so_and_comes_back_when_it_holds_again(tmp_path: Path) -> None:
    states: list[tuple[ConnectionState, str]] = []
    news = asyncio.Event()

    def on_state(state: ConnectionState, why: str) -> None:
        states.append((state, why))
        news.set()

    async def until(word: str) -> None:
        while word not in states[-1][1]:
            news.clear()
            await news.wait()

    async with (
        locked_door(tmp_path) as door,
        gsg.connect(door.url, token=TOKENS["reader"], on_state=on_state) as client,
        asyncio.timeout(30),
    ):
        written(tmp_path / "tokens", LINES[1:])
        door._sweep()
        await until("that is no token of this peer")
        written(tmp_path / "tokens", LINES)
        door._sweep()
        await until("connected to")
        assert (await client.report()).peers

    assert [state.value for state, _ in states[:3]] == ["connected", "reconnecting", "reconnecting"]
    assert "the token of this client was taken back" in states[1][1]


async def test_a_peer_tells_who_subscribes_by_name(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door, gsg.connect(door.url, token=TOKENS["reader"]) as client:
        await client.subscribe("(?x)")
        [held] = await client.subscriptions()
        assert held.client.startswith("reader@127.0.0.1:")
        assert (await request(door, "GET", "/livez")).status == 200
