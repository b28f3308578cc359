"""The page in a real browser: what somebody sees who watches, publishes, makes mistakes and loses the peer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.async_playwright import Axe
from browsers import needs_browser
from pages import Shown, page_of, two_peers
from token_files import TOKENS, locked_door

from gsg import Peer, Symbol
from gsg.http.door import HttpDoor
from gsg.monitoring.logs.kept import KeptLog

pytestmark = [needs_browser, pytest.mark.waits]

ON = Symbol("on")
MARKED = """() => {
    const mark = document.querySelector('.editor').shadowRoot.querySelector('.cm-lintRange-error, .cm-lintPoint-error');
    const line = mark.closest('.cm-line'), before = document.createRange();
    before.setStart(line, 0);
    before.setEndBefore(mark);
    return [[...line.parentElement.querySelectorAll('.cm-line')].indexOf(line) + 1, before.toString().length + 1, mark.textContent];
}"""
SCREENS = {
    "query": "Watch",
    "space": "facts of 3 terms",
    "space?part=publish": "Insert",
    "space?part=topics": "The channel of this peer",
    "subscriptions": "Nobody subscribes",
    "peers": "Share of keys",
    "log": "No such record",
}
"""With what each has to be there for it to be complete."""


async def test_rows_come_and_go_as_another_peer_publishes() -> None:
    async with two_peers() as (door, other), page_of(door) as shown:
        await shown.watch("(?x, ^on, ?y)")
        await other.insert([("lamp", ON, 7)])
        row = shown.page.get_by_role("row").filter(has_text="lamp")
        await row.wait_for()
        assert await row.get_by_role("cell").all_text_contents() == ["lamp", "7", "why"]

        await other.retract([("lamp", ON, 7)])
        await row.wait_for(state="detached")
        await shown.page.get_by_role("tab", name="Changes").click()
        changes = shown.page.get_by_role("log").get_by_role("listitem")
        assert ["stopped being true" in each for each in await changes.all_text_contents()] == [True, False]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("(?x, ^on, ?y)\nFILTER ?z >", (2, 12, "")),
        ("(?x, ^on, ?y)\nFILTER ?y >> 3", (2, 12, ">")),
        ("SELECT * WHERE {\n  ?x <on> ?y\n  FILTER nothing\n}", (3, 10, "nothing")),
    ],
)
async def test_a_mistake_is_underlined_where_the_peer_has_found_it(door: HttpDoor, query: str, place: tuple[int, int, str]) -> None:
    line, column, _ = place
    async with page_of(door) as shown:
        await shown.open("query", q=query, watch="1")
        await shown.page.get_by_role("alert").filter(has_text=f"line {line}, column {column}").wait_for()
        marked = await shown.page.evaluate(MARKED)

    assert tuple(marked) == place


async def test_why_a_row_holds_and_another_does_not(door: HttpDoor) -> None:
    async with page_of(door) as shown:
        await door._peer.insert([("lamp", ON, 7), ("lamp", Symbol("in"), "hall")])
        await shown.watch("(?x, ^on, ?y), (?x, ^in, ?z)")
        await shown.page.get_by_role("button", name="Why does this row hold?").click()
        dialog = shown.page.get_by_role("dialog")
        await dialog.get_by_text('("lamp", on, 7)').wait_for()
        await shown.page.keyboard.press("Escape")

        await shown.page.get_by_text("A row is missing?").click()
        await shown.page.get_by_label("?x", exact=True).fill('"fan"')
        await shown.page.get_by_role("button", name="Why not?").click()
        await dialog.get_by_text("nothing is left here").first.wait_for()
        assert "(?x, on, ?y)" in " ".join(await dialog.all_text_contents())


async def test_a_peer_that_is_lost_is_said_and_the_page_goes_on_when_it_is_back() -> None:
    async with Peer() as peer, HttpDoor(peer, port=0) as door, page_of(door) as shown:
        await peer.insert([("lamp", ON, 7)])
        await shown.watch("(?x, ^on, ?y)")
        await door.__aexit__(None, None, None)
        await shown.page.get_by_text("The peer does not answer.").wait_for()
        # What a browser says of connections that are refused is as it should be.
        async with HttpDoor(peer, port=door.port):
            await peer.insert([("fan", ON, 8)])
            await shown.page.get_by_role("row").filter(has_text="fan").wait_for()
            assert await shown.page.get_by_text("The peer does not answer.").count() == 0
        shown.console.clear()


async def test_a_peer_that_asks_for_a_token_is_given_one(tmp_path: Path) -> None:
    async with locked_door(tmp_path) as door, page_of(door) as shown:
        await shown.page.goto(f"{door.url}/")
        await shown.page.get_by_label("Token").fill("nonsense-0123456789")
        await shown.page.get_by_role("button", name="Sign in").click()
        await shown.page.get_by_text("that is no token of this peer").wait_for()
        shown.console.clear()  # the browser says that this was answered 401
        await shown.page.get_by_label("Token").fill(TOKENS["both"])
        await shown.page.get_by_role("button", name="Sign in").click()
        await shown.page.get_by_text("connected", exact=True).wait_for()

        await shown.page.goto("about:blank")
        await shown.page.goto(f"{door.url}/#token={TOKENS['both']}")
        await shown.page.get_by_text("connected", exact=True).wait_for()
        assert "token" not in shown.page.url


async def test_what_is_published_in_the_page_is_in_the_space(door: HttpDoor) -> None:
    async with page_of(door) as shown:
        live = await door._peer.subscribe("(?x, ^on, ?y)")
        await shown.open("space", part="publish")
        await shown.page.get_by_label("Tuples").fill('("lamp", ^on, 7)\n(fan, ^on, -1.5)')
        await shown.page.get_by_role("button", name="Insert").click()
        await shown.page.get_by_text("2 became true").wait_for()
        await shown.page.get_by_label("Tuples").fill("(lamp, ^on")
        await shown.page.get_by_role("button", name="Insert").click()
        await shown.page.get_by_text("line 1, column 11: expected , or )").wait_for()

    assert sorted(str(row) for row in live.rows()) == ['?x="lamp" ?y=7', "?x=fan ?y=-1.5"]


async def test_subscriptions_of_the_peer_are_listed_and_can_be_ended(door: HttpDoor) -> None:
    async with page_of(door) as shown:
        live = await door._peer.subscribe("(?x, ^on, ?y)")
        await shown.open("subscriptions")
        await shown.page.get_by_text("1 subscription", exact=True).wait_for()
        shown.page.on("dialog", lambda asked: asked.accept())
        await shown.page.get_by_role("button", name="end").click()
        await shown.page.get_by_text("0 subscriptions").wait_for()

    assert live.has_ended


@pytest.fixture
def kept_log() -> Iterator[KeptLog]:
    """What ``gsg peer`` installs."""
    handler = KeptLog()
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)


async def settled(shown: Shown, screen: str) -> None:
    name, _, part = screen.partition("?part=")
    await shown.open(name, **({"part": part} if part else {}))
    await shown.page.get_by_text(SCREENS[screen]).first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_everybody_can_use_each_screen_at_each_width(door: HttpDoor, scheme: str, kept_log: KeptLog) -> None:
    await door._peer.insert([("lamp", ON, number) for number in range(50)])
    wrong = []
    async with page_of(door, color_scheme=scheme) as shown:
        for width in (390, 800, 1280, 1920):
            await shown.page.set_viewport_size({"width": width, "height": 800})
            for screen in SCREENS:
                await settled(shown, screen)
                found = await shown.page.evaluate("document.documentElement.scrollWidth - innerWidth")
                wrong += [(screen, width, "overflow", found)] if found > 0 else []
        for screen in SCREENS:
            await settled(shown, screen)
            for violation in (await Axe().run(shown.page)).response["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    wrong.append((screen, violation["id"], [node["html"][:120] for node in violation["nodes"]]))

    assert wrong == []


async def test_a_query_is_watched_with_the_keyboard_alone(door: HttpDoor) -> None:
    await door._peer.insert([("lamp", ON, 7)])
    async with page_of(door) as shown:
        await shown.open("query", q="(?x, ^on, ?y)")
        for _ in range(40):
            await shown.page.keyboard.press("Tab")
            if await shown.page.evaluate("document.activeElement.textContent") == "Watch":
                break
        await shown.page.keyboard.press("Enter")
        await shown.page.get_by_role("row").filter(has_text="lamp").wait_for()
        async with asyncio.timeout(30):
            while await shown.page.evaluate("document.activeElement.getAttribute('aria-label')") != "Why does this row hold?":
                await shown.page.keyboard.press("Tab")
        await shown.page.keyboard.press("Enter")
        await shown.page.get_by_role("dialog").get_by_text("One way to make it").wait_for()
