"""Whom a request says that it was meant for: pages whose names were made to mean this machine are not served."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect as websocket
from websockets.exceptions import InvalidStatus

from gsg import LocalError, Peer
from gsg.http.door import HttpDoor
from gsg.http.serving.hosts import Hosts

LOOPBACK = Hosts("127.0.0.1", ["gsg.example.org"])


def status(host: str | None = "localhost", *origins: str, target: str = "/v1", hosts: Hosts = LOOPBACK) -> int:
    """The status of a request's answer, 200 where it is served."""
    headers = [] if host is None else [(b"host", host.encode())]
    headers += [(b"origin", origin.encode()) for origin in origins]
    refusal = hosts.refusal(target.encode(), headers)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8470",
        "LocalHost:8470",
        "localhost.:8470",
        "localhost:",
        "127.0.0.1:8470",
        "127.0.0.2",
        "192.0.2.7:8470",
        "[::1]:8470",
        "[::ffff:127.0.0.1]",
        "[FE80::1%25eth0]:8470",
        "gsg.example.org:443",
        "GSG.Example.org.",
    ],
)
def test_names_of_the_peer_and_addresses_are_served(host: str) -> None:
    assert status(host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8470",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8470",
        "evil-localhost",
        "app.localhost:8470",
        "gsg.example.org.evil.example",
        "www.gsg.example.org",
        "example.org",
    ],
)
def test_other_names_are_refused_as_not_this_peers(host: str) -> None:
    assert status(host) == status(host, f"http://{host}") == 421


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        " ",
        ":8470",
        ".",
        "localhost:99999",
        "localhost:0",
        "localhost:80a",
        "localhost:-1",
        "user@localhost",
        "user:word@localhost",
        "localhost, evil.example",
        "localhost evil.example",
        "localhost/evil",
        "localhost\x00",
        "[::1",
        "[127.0.0.1]",
        "::1",
        "[evil.example]",
        "127.1",
        "2130706433",
        "evil..example",
        "a" * 300,
        "évil",
    ],
    ids=repr,
)
def test_what_is_no_host_is_refused(host: str | None) -> None:
    assert status(host) == 400


def test_a_request_with_two_hosts_is_refused() -> None:
    refusal = LOOPBACK.refusal(b"/v1", [(b"host", b"localhost"), (b"host", b"evil.example")])

    assert refusal is not None
    assert refusal == (400, "2 Host headers in a request; expected one, the address or name of this peer")


@pytest.mark.parametrize("target", ["http://evil.example/v1", "http://localhost/v1", "evil.example:443", "*"])
def test_a_target_that_names_a_host_is_refused(target: str) -> None:
    assert status("localhost", target=target) == 400


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8470", "http://localhost:8470"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("gsg.example.org", "https://gsg.example.org"),
        ("gsg.example.org:443", "https://GSG.example.org."),
        ("[::1]:8470", "http://[0:0::1]:8470"),
    ],
)
def test_pages_of_the_peer_itself_are_served(host: str, origin: str) -> None:
    assert status(host, origin) == 200


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8470", "http://localhost:3000"),
        ("localhost:8470", "http://127.0.0.1:8470"),
        ("localhost:8470", "http://localhost"),
        ("localhost:80", "https://localhost"),
        ("127.0.0.1:8470", "http://evil.example:8470"),
        ("localhost:8470", "http://localhost:8470.evil.example"),
        ("localhost:8470", "http://evil.example@localhost:8470"),
        ("localhost:8470", "http://localhost:8470/"),
        ("localhost:8470", "file://"),
        ("localhost:8470", "chrome-extension://localhost:8470"),
        ("localhost:8470", "null"),
        ("localhost:8470", ""),
    ],
)
def test_pages_of_others_are_refused(host: str, origin: str) -> None:
    assert status(host, origin) == 403


def test_a_request_with_two_origins_is_refused() -> None:
    assert status("localhost", "http://localhost", "http://localhost") == 403


@given(st.text(max_size=40))
def test_whatever_a_host_is_it_is_served_only_where_it_is_an_address_or_one_of_the_names(host: str) -> None:
    refusal = LOOPBACK.refusal(b"/", [(b"host", host.encode("utf-8", "surrogatepass"))])

    named = host.strip().lower().partition(":")[0].removesuffix(".") in ("localhost", "gsg.example.org")
    digits = set(host.strip().lower()) <= set("0123456789abcdef.:[]%")
    assert refusal is not None or named or digits
    assert refusal is None or refusal.reason.isprintable()


def test_a_door_answers_to_the_name_that_it_is_bound_to() -> None:
    assert status("peer7.lan:8470", hosts=Hosts("peer7.lan")) == 200
    assert status("peer8.lan:8470", hosts=Hosts("peer7.lan")) == 421


@pytest.mark.parametrize("name", ["", "a b", "http://gsg.example.org", "gsg.example.org:8470", "*", "*.example.org"])
def test_a_name_that_is_none_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(LocalError, match=r"is no name of a host; expected one as it stands in the URL, without a port"):
        Hosts("127.0.0.1", [name])


@pytest.mark.waits
async def test_a_page_that_was_rebound_to_the_peer_is_told_how_the_name_may_be_let_in(
    door: HttpDoor, caplog: pytest.LogCaptureFixture
) -> None:
    evil = f"evil.example:{door.port}"
    for path in ("/v1", "/status", "/", "/nowhere"):
        with pytest.raises(InvalidStatus) as refused:
            await websocket(f"ws://{evil}{path}", host=door.host, port=door.port, origin=f"http://{evil}", proxy=None)  # type: ignore[arg-type]

        assert refused.value.response.status_code == 421
        body = bytes(refused.value.response.body).decode()
        assert body == (
            "this peer is not known as evil.example, which may be the name of a page that means it harm: ask it by its address or "
            "as localhost, or start it with --http-host evil.example if the name is its own\n"
        )
    assert "a client at 127.0.0.1:" in caplog.text


@pytest.mark.waits
async def test_a_door_answers_to_the_names_that_it_is_given() -> None:
    async with Peer() as peer, HttpDoor(peer, port=0, names=["gsg.example.org"]) as door:
        there = {"host": door.host, "port": door.port, "proxy": None}
        async with websocket(f"ws://gsg.example.org:{door.port}/v1", **there) as socket:  # type: ignore[arg-type]
            await socket.send(json.dumps([6, 1]))
            assert json.loads(await socket.recv())[:2] == [16, 1]


@pytest.mark.waits
async def test_a_door_that_is_open_to_others_says_so(caplog: pytest.LogCaptureFixture) -> None:
    async with Peer() as peer, HttpDoor(peer, "0.0.0.0", port=0, open_to_all=True) as door:
        assert f"the HTTP door at 0.0.0.0:{door.port} serves whoever reaches it, without a token" in caplog.text
    caplog.clear()
    async with Peer() as peer, HttpDoor(peer, port=0):
        assert caplog.text == ""
