"""What pages of others can do to a peer through the browser of whoever reads them: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from browsers import browser, needs_browser
from plain_http import request
from token_files import TOKENS, bearer, locked_door

from gsg.http.door import HttpDoor

pytestmark = [needs_browser, pytest.mark.waits]

EVIL = "evil.example"
ATTACKS = """async (door) => {
    const told = {};
    const tried = async (name, work) => { try { told[name] = await work(); } catch (error) { told[name] = error.name; } };
    const text = async (answer) => `${answer.type} ${answer.status} ${(await answer.text()).slice(0, 40)}`;
    await tried("read", async () => text(await fetch(`${door}/status`, { credentials: "include" })));
    await tried("publish", async () => text(await fetch(`${door}/facts`, {
        method: "POST", headers: { "content-type": "application/json" }, body: '[["evil"]]', credentials: "include" })));
    // What a form can send needs no leave of the other side, and its answer is hidden: nothing must come of it.
    for (const type of ["text/plain", "application/x-www-form-urlencoded"])
        await tried(type, async () => text(await fetch(`${door}/facts`, {
            method: "POST", mode: "no-cors", headers: { "content-type": type }, body: '[["evil"]]', credentials: "include" })));
    await tried("update", async () => text(await fetch(`${door}/sparql`, {
        method: "POST", mode: "no-cors", headers: { "content-type": "application/x-www-form-urlencoded" },
        body: "update=INSERT+DATA+%7B+%3Ca%3Ab%3E+%3Ca%3Ab%3E+%3Ca%3Ab%3E+%7D", credentials: "include" })));
    const opened = (socket) => new Promise((done) => {
        socket.onopen = () => done("open");
        socket.onmessage = () => done("message");
        socket.onerror = () => done("error"); });
    await tried("websocket", () => opened(new WebSocket(`${door.replace("http", "ws")}/v1`)));
    await tried("events", () => opened(new EventSource(`${door}/watch?query=(%3Fx)`, { withCredentials: true })));
    return told;
}"""


@asynccontextmanager
async def serving(port: int = 0) -> AsyncIterator[int]:
    """A server of somebody else's, whose page is empty; its port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<!doctype html><title>somebody else's</title>"
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(page)
        writer.write(head + page)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", port) as server:
        yield server.sockets[0].getsockname()[1]


async def published(door: HttpDoor) -> int:
    """How many facts the peer has."""
    return (await door._peer.subscribe("(?x)")).pending + (await door._peer.subscribe("(?x, ?y, ?z)")).pending


async def test_a_page_of_another_site_can_neither_read_nor_publish(door: HttpDoor) -> None:
    async with serving() as port, browser(EVIL) as chromium:
        page = await chromium.new_page()
        await page.goto(f"http://{EVIL}:{port}/")
        told: dict[str, Any] = await page.evaluate(ATTACKS, door.url)

    assert await published(door) == 0
    assert (told["read"], told["publish"]) == ("TypeError", "TypeError")
    assert (told["websocket"], told["events"]) == ("error", "error")
    assert {told["text/plain"], told["application/x-www-form-urlencoded"], told["update"]} <= {"opaque 0 ", "TypeError"}


async def test_a_page_whose_name_was_made_to_mean_this_machine_is_told_that_it_is_not_known(door: HttpDoor) -> None:
    async with browser(EVIL) as chromium:
        page = await chromium.new_page()
        # Its name means the door from now on, so to the browser whatever it asks for is of its own origin.
        answer = await page.goto(f"http://{EVIL}:{door.port}/status")
        assert answer is not None
        told: dict[str, Any] = await page.evaluate(ATTACKS, f"http://{EVIL}:{door.port}")

    assert answer.status == 421
    assert await published(door) == 0
    assert told["read"].startswith(f"basic 421 this peer is not known as {EVIL}"[:46])
    assert told["publish"].startswith("basic 421")
    assert (told["websocket"], told["events"]) == ("error", "error")


async def test_a_login_is_of_use_to_no_page_of_another_port_or_name(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door, serving() as port, browser(EVIL) as chromium:
        page = await chromium.new_page()
        await page.goto(f"{door.url}/")
        status = await page.evaluate(
            "async (token) => (await fetch('/login', { method: 'POST', headers: { authorization: `Bearer ${token}` } })).status",
            TOKENS["operator"],
        )
        mine = await page.evaluate("async () => (await fetch('/status')).status")
        cookies = await page.evaluate("document.cookie")
        told = {}
        # Another port of the same host is the same site to a browser, which sends cookies there; another name is none.
        for where in (f"http://127.0.0.1:{port}/", f"http://{EVIL}:{port}/"):
            await page.goto(where)
            told[where] = await page.evaluate(ATTACKS, door.url)
        assert await published(door) == 0

    assert (status, mine, cookies) == (204, 200, "")
    for each in told.values():
        assert (each["read"], each["publish"], each["websocket"], each["events"]) == ("TypeError", "TypeError", "error", "error")


async def test_a_page_of_an_origin_that_was_named_may_show_a_token(tmp_path: Path) -> None:
    async with (
        serving() as port,
        locked_door(tmp_path, origins=[f"http://app.example:{port}"]) as door,
        browser("app.example") as one,
    ):
        page = await one.new_page()
        await page.goto(f"http://app.example:{port}/")
        count = await page.evaluate(
            """async ([door, token]) => (await (await fetch(`${door}/facts`, {
                method: "POST", body: '[["seen"]]',
                headers: { "content-type": "application/json", authorization: `Bearer ${token}` } })).json()).count""",
            [door.url, TOKENS["both"]],
        )
        refused = await page.evaluate("async (door) => (await (await fetch(`${door}/status`)).json()).kind", door.url)

        assert (count, refused) == (1, "AccessDenied")
        assert (await request(door, "GET", "/status", headers=bearer("reader"))).status == 200
