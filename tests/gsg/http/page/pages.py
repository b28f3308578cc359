"""The page of a peer in a real browser."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from browsers import browser

from gsg import Peer
from gsg.http.door import HttpDoor

if TYPE_CHECKING:
    from playwright.async_api import Page


class Shown:
    """A page, and what its browser has to say of it."""

    def __init__(self, page: Page, door: HttpDoor) -> None:
        self.page = page
        self.door = door
        self.console: list[str] = []
        self.taken: bytes | None = None
        """A picture, where one had to be taken before what it shows had ended."""
        self.elsewhere: list[str] = []
        """Requests to other origins."""
        page.on("console", lambda said: self.console.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        page.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        if not url.startswith(("about:", self.door.url, self.door.url.replace("http", "ws"), "data:")):
            self.elsewhere.append(url)

    async def open(self, screen: str = "query", **parameters: str) -> None:
        """Show a screen."""
        said = f"?{urlencode(parameters)}" if parameters else ""
        # From one address of the page to another it would not be loaded again.
        await self.page.goto("about:blank")
        await self.page.goto(f"{self.door.url}/#/{screen}{said}")
        await self.page.get_by_text("connected", exact=True).wait_for()

    async def watch(self, query: str) -> None:
        """Watch a query until its first answer is there."""
        await self.open("query", q=query, watch="1")
        await self.page.get_by_text("up to date", exact=True).wait_for()


@asynccontextmanager
async def page_of(door: HttpDoor, **options: Any) -> AsyncIterator[Shown]:
    """The page of a door's peer; it says nothing on the console, and asks nobody else."""
    async with browser() as chromium:
        context = await chromium.new_context(**options)
        shown = Shown(await context.new_page(), door)
        yield shown
        assert not shown.console, shown.console
        assert not shown.elsewhere, shown.elsewhere


@asynccontextmanager
async def two_peers() -> AsyncIterator[tuple[HttpDoor, Peer]]:
    """The door of one peer, and another peer of its network."""
    async with Peer() as first, Peer(join=[first.contact.address]) as second, HttpDoor(first, port=0) as door:
        yield door, second
