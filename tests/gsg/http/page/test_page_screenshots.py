"""Pictures of each screen, as docs/page.md shows them: `make screenshots` writes them there.

A run of the tests writes them too, elsewhere, so that a screen that cannot be shown is seen at once.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from browsers import needs_browser
from pages import Shown, page_of
from playwright.async_api import expect

from gsg import Peer, Symbol
from gsg.cli import processes
from gsg.http.door import HttpDoor
from gsg.monitoring.logs.kept import KeptLog

pytestmark = [needs_browser, pytest.mark.waits]

ROOT = Path(__file__).resolve().parents[4]
DOCUMENT = ROOT / "docs" / "page.md"
FOLDER = os.environ.get("GSG_SCREENSHOTS")
ROOMS = {"kitchen": 21.5, "hall": 19.0, "attic": 17.25, "cellar": 12.0, "study": 22.75}
TEMPERATURE, WINDOW, CLOSED = map(Symbol, ("temperature", "window", "closed"))
COLD = "(?room, ^temperature, ?degrees),\nNOT { (?room, ^window, ^closed) }\nFILTER ?degrees > 15"


async def query(shown: Shown, other: Peer) -> None:
    await shown.watch(COLD)
    await other.insert([(Symbol("study"), TEMPERATURE, ROOMS["study"])])
    await shown.page.get_by_role("row").filter(has_text="study").wait_for()


async def changes(shown: Shown, other: Peer) -> None:
    await query(shown, other)
    await other.insert([(Symbol("hall"), WINDOW, CLOSED)])
    await shown.page.get_by_role("row").filter(has_text="hall").wait_for(state="detached")
    await shown.page.get_by_role("tab", name="Changes").click()
    await shown.page.get_by_role("listitem").first.wait_for()


async def why(shown: Shown, other: Peer) -> None:
    await query(shown, other)
    row = shown.page.get_by_role("row").filter(has_text="kitchen")
    await row.get_by_role("button", name="Why does this row hold?").click()
    await shown.page.get_by_text("One way to make it").wait_for()


async def why_not(shown: Shown, other: Peer) -> None:
    await query(shown, other)
    await shown.page.get_by_text("A row is missing?").click()
    await shown.page.get_by_label("?room", exact=True).fill("cellar")
    await shown.page.get_by_role("button", name="Why not?").click()
    await shown.page.get_by_text("nothing is left here").first.wait_for()


async def chart(shown: Shown, other: Peer) -> None:
    await shown.watch("(?room, ^temperature, ?degrees)")
    for number in range(8):
        for at, (room, degrees) in enumerate(ROOMS.items()):
            await other.notify([(Symbol(room), TEMPERATURE, degrees + (number * (at + 2)) % 5 / 2)])
        counted = shown.page.locator(".counts .event b")
        await expect(counted).to_have_text(f"!{len(ROOMS) * (number + 1)}")
    await shown.page.get_by_role("tab", name="Chart").click()
    await shown.page.locator("canvas").wait_for()


async def mistake(shown: Shown, other: Peer) -> None:
    await shown.open("query", q="(?room, ^temperature, ?degrees),\nFILTER ?degrees >", watch="1")
    await shown.page.get_by_role("alert").wait_for()


async def space(shown: Shown, other: Peer) -> None:
    await shown.open("space")
    await shown.page.get_by_role("rowheader").first.wait_for()


async def way(shown: Shown, other: Peer) -> None:
    await other.subscribe("(?room, ^temperature, ?degrees) FILTER ?degrees > 20")
    await shown.open("space", part="publish")
    await shown.page.get_by_role("button", name="Which way would it go?").click()
    await shown.page.get_by_text("would hear of it").wait_for()


async def network(shown: Shown, other: Peer) -> None:
    await shown.door._peer.subscribe(COLD)
    await shown.open("subscriptions")
    await shown.page.get_by_title("Its Rete network").click()
    await shown.page.get_by_role("button", name="NOT, ").press("Enter")


async def peers(shown: Shown, other: Peer) -> None:
    await shown.open("peers")
    await shown.page.get_by_text("4 peers").wait_for()
    await shown.page.get_by_label("Tuple or pattern").fill("(*, ^temperature, 21.5)")
    await shown.page.get_by_role("button", name="Find its keys").click()
    await shown.page.locator(".keys li").first.wait_for()


async def log(shown: Shown, other: Peer) -> None:
    # The log is a process's: those of these peers would be mixed.
    async with processes.peers(3) as running:
        await shown.page.goto(f"{running[0].url}/#/log")
        await shown.page.get_by_text("peers have come").first.wait_for()
        picture = await shown.page.screenshot(full_page=True)
        # What a browser says of a peer that has ended is as it should be.
        await shown.page.goto("about:blank")
    shown.taken = picture
    shown.elsewhere.clear()


PICTURES: dict[str, Callable[[Shown, Peer], Awaitable[None]]] = {
    each.__name__: each for each in (query, changes, chart, why, why_not, mistake, space, way, network, peers, log)
}


@pytest.mark.parametrize("name", PICTURES)
async def test_each_screen_can_be_shown(name: str, tmp_path: Path) -> None:
    # What `gsg peer` installs, with what it tells of other peers.
    handler, loggers = KeptLog(), [logging.getLogger("gsg"), logging.getLogger("dht")]
    logging.getLogger().addHandler(handler)
    for logger in loggers:
        logger.setLevel(logging.INFO)
    try:
        async with (
            Peer() as first,
            HttpDoor(first, port=0) as door,
            Peer(join=[first.contact.address]) as other,
            Peer(join=[first.contact.address]),
            Peer(join=[other.contact.address]),
        ):
            await first.insert([(Symbol(room), TEMPERATURE, degrees) for room, degrees in ROOMS.items() if room != "study"])
            await first.insert([(Symbol("cellar"), WINDOW, CLOSED)])
            async with page_of(door, viewport={"width": 1280, "height": 820}, reduced_motion="reduce") as shown:
                await PICTURES[name](shown, other)
                picture = shown.taken or await shown.page.screenshot(full_page=True)
    finally:
        logging.getLogger().removeHandler(handler)
        for logger in loggers:
            logger.setLevel(logging.NOTSET)

    (Path(FOLDER) if FOLDER else tmp_path).joinpath(f"{name}.png").write_bytes(picture)
    assert len(picture) > 10_000  # a page on which nothing is has less


def test_the_document_shows_all_of_them() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(page/(\w+)\.png\)", DOCUMENT.read_text("utf-8"))

    assert sorted(shown) == sorted(PICTURES)
    assert [name for name in shown if not (DOCUMENT.parent / "page" / f"{name}.png").is_file()] == []
