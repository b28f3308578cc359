"""What the page shows of the space, of networks, of peers and of their log, in a real browser."""

from __future__ import annotations

import logging
import re

import pytest
from browsers import needs_browser
from pages import page_of, two_peers
from playwright.async_api import expect

from gsg import IRI, Peer, Symbol
from gsg.http.door import HttpDoor
from gsg.monitoring.logs.kept import KeptLog
from gsg.wire.status_messages import Count

pytestmark = [needs_browser, pytest.mark.waits]

ON = Symbol("on")


async def test_the_constants_of_the_space_are_listed_and_lead_to_what_they_are_in() -> None:
    async with two_peers() as (door, other), page_of(door) as shown:
        await other.insert([("lamp", ON, number) for number in range(3)])
        await other.insert([(IRI("http://example.org/a#x"), IRI("http://example.org/a#knows"), IRI("http://example.org/a#y"))])
        await shown.open("space")
        on = shown.page.get_by_role("row").filter(has=shown.page.get_by_role("rowheader", name="on", exact=True))
        await expect(on.get_by_role("cell")).to_have_text(["(*, ■, *)", "3", "", "0", "watch"])

        rows = shown.page.get_by_role("region", name="Rows that hold")
        for name, link, cells in (("knows", "watch", ["x", "y", "why"]), ("x", "around it", ["knows", "y", "", "", "why"])):
            named = shown.page.get_by_role("rowheader", name=name, exact=True)
            await shown.page.get_by_role("row").filter(has=named).get_by_text(link).click()
            await expect(rows.get_by_role("cell")).to_have_text(cells)
            await shown.page.get_by_role("link", name="Space").click()
            await shown.page.get_by_role("heading", name="The space").wait_for()


async def test_one_step_back_leads_to_what_was_watched_before(door: HttpDoor) -> None:
    await door._peer.insert([("lamp", ON, 7), ("fan", Symbol("in"), "hall")])
    async with page_of(door) as shown:
        await shown.watch("(?x, ^on, ?y)")
        await shown.page.evaluate("location.hash = '#/query?q=' + encodeURIComponent('(?x, ^in, ?y)') + '&watch=1'")
        rows = shown.page.get_by_role("region", name="Rows that hold")
        await expect(rows.get_by_role("cell")).to_have_text(["fan", "hall", "why"])
        await shown.page.go_back()
        await expect(rows.get_by_role("cell")).to_have_text(["lamp", "7", "why"])
        await shown.page.get_by_role("link", name="Peers").click()
        await shown.page.get_by_role("link", name="Query").click()
        assert "on" in shown.page.url


ODD = [
    *("a \"quoted\" 'text' \\ of\ntwo lines", "5", 5.0, -0.0, 1e300, True, 2**60),
    *(Symbol("odd 'name'"), Symbol("B1"), IRI("x:y?z=1&w"), "x" * 500),
]


async def test_whatever_a_constant_is_its_link_leads_to_where_it_is(door: HttpDoor) -> None:
    await door._peer.insert([(number, ON, constant) for number, constant in enumerate(ODD)])
    async with page_of(door) as shown:
        await shown.open("space")
        of_last = shown.page.get_by_role("row").filter(has_text="(*, *, ■)")
        await expect(of_last).to_have_count(len(ODD))
        links = of_last.get_by_role("link", name="watch")
        await expect(links).to_have_count(len(ODD) - 1)  # of a long text a hash is known
        for link in [await each.get_attribute("href") for each in await links.all()]:
            await shown.page.goto("about:blank")
            await shown.page.goto(f"{door.url}/{link}")
            await shown.page.get_by_text("up to date", exact=True).wait_for()
            await expect(shown.page.locator(".counts")).to_contain_text("1 row holds")


async def test_the_way_of_a_tuple_ends_at_those_who_would_hear_of_it() -> None:
    async with two_peers() as (door, other), page_of(door, reduced_motion="reduce") as shown:
        await other.subscribe("(?x, ^on, ?y) FILTER ?y > 5")
        await shown.open("space", part="publish")
        for value, words in ((7, "1 peer would hear of it."), (3, "Nobody has subscribed to it.")):
            await shown.page.get_by_label("Tuples").fill(f"(lamp, ^on, {value})")
            await shown.page.get_by_role("button", name="Which way would it go?").click()
            await shown.page.get_by_text(words).wait_for()
        await expect(shown.page.locator(".steps > li")).to_have_count(3)
        # To one rendezvous or both, and from each of these a copy to the other.
        await expect(shown.page.locator(".leap").nth(1)).to_be_attached()
        assert await shown.page.locator(".leap").count() in (2, 4)


async def test_the_network_of_a_subscription_is_drawn_and_its_counts_move() -> None:
    async with two_peers() as (door, other), page_of(door) as shown:
        await door._peer.subscribe("(?x, ^on, ?y), (?y, ^left-of, ?z)")
        await shown.open("subscriptions")
        await shown.page.get_by_title("Its Rete network").click()
        memory = shown.page.get_by_role("button", name="alpha memory, (?x, on, ?y)")
        await expect(memory).to_have_accessible_name("alpha memory, (?x, on, ?y), 0 tuples")
        await other.insert([("a", ON, "b"), ("b", Symbol("left-of"), "c")])
        await expect(memory).to_have_accessible_name("alpha memory, (?x, on, ?y), 1 tuple")
        await expect(shown.page.get_by_role("button", name="subscription")).to_have_accessible_name(re.compile("1 row$"))

        await memory.press("Enter")
        await shown.page.get_by_text("Watch what matches its pattern").click()
        await shown.page.get_by_text("(?v1, on, ?v3)").wait_for()
        await expect(shown.page.get_by_role("region", name="Rows that hold").get_by_role("cell")).to_have_text(["a", "b", "why"])


async def test_a_key_is_found_on_the_ring_and_a_peer_that_has_gone_is_told_of() -> None:
    async with two_peers() as (door, other), page_of(door) as shown:
        await shown.open("peers")
        await shown.page.get_by_text("2 peers").wait_for()
        await shown.page.get_by_label("Tuple or pattern").fill("(*, ^on, 7)")
        await shown.page.get_by_role("button", name="Find its keys").click()
        await expect(shown.page.locator(".ring g.key")).to_have_count(2)
        await shown.page.get_by_label("Tuple or pattern").fill("(*, ^on")
        await shown.page.get_by_role("button", name="Find its keys").click()
        await shown.page.get_by_text("line 1, column 8: expected , or )").wait_for()

        await other.__aexit__(None, None, None)
        await shown.page.get_by_text("1 peer", exact=True).wait_for()
        await expect(shown.page.locator(".ring g.gone")).to_have_count(1)
        await expect(shown.page.locator(".membership li").first).to_contain_text("went")


async def test_a_figure_of_trouble_that_grows_is_shown_with_what_to_do(door: HttpDoor) -> None:
    failures = 0
    door._peer.counters.add(lambda: [Count("disk_failures", failures)])
    async with page_of(door) as shown:
        await shown.open("peers")
        await shown.page.get_by_text("Nothing: every peer answers").wait_for()
        failures = 2
        item = shown.page.locator(".needs li")
        await expect(item).to_contain_text("disk_failures 2 at")
        await expect(item).to_contain_text("critical")
        await expect(item).to_contain_text("look at the disk")


async def test_the_log_of_the_peer_is_read_as_it_grows(door: HttpDoor) -> None:
    handler, log = KeptLog(), logging.getLogger("gsg.test")
    logging.getLogger().addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        async with page_of(door) as shown:
            log.info("something came")
            await shown.open("log")
            await shown.page.get_by_text("something came").wait_for()
            log.warning("<b>something</b> is wrong")
            await shown.page.get_by_text("<b>something</b> is wrong").wait_for()
            await shown.page.get_by_label("Level at least").select_option("WARNING")
            await expect(shown.page.get_by_text("something came")).to_have_count(0)
    finally:
        log.setLevel(logging.NOTSET)
        logging.getLogger().removeHandler(handler)


async def test_events_of_a_topic_are_listed_as_they_come() -> None:
    async with two_peers() as (door, other), page_of(door) as shown:
        await shown.open("space", part="topics")
        await shown.page.get_by_label("Topic or filter").fill("house/+")
        await shown.page.get_by_role("button", name="Watch", exact=True).click()
        await shown.page.get_by_text("house/+: 0 events").wait_for()
        async with Peer(join=[other.contact.address]) as third:
            await third.topic("house/door").publish("rang", 2)
            await expect(shown.page.get_by_role("log").get_by_role("listitem")).to_contain_text(["house/door rang 2"])


async def test_a_flood_of_events_is_counted_and_the_latest_are_listed(door: HttpDoor) -> None:
    async with page_of(door) as shown:
        await shown.watch("(?x, ^on, ?y)")
        for start in range(0, 20_000, 1_000):
            await door._peer.notify([("flood", ON, number) for number in range(start, start + 1_000)])
        await expect(shown.page.locator(".counts .event b")).to_have_text("!20,000", timeout=60_000)
        await shown.page.get_by_role("tab", name="Changes").click()
        await expect(shown.page.get_by_role("log").get_by_role("listitem")).to_have_count(500)
        await shown.page.get_by_text("19,500 more have come than are listed here").wait_for()


async def test_a_hundred_thousand_rows_scroll_and_few_are_made(door: HttpDoor) -> None:
    async with page_of(door) as shown:
        await door._peer.insert([("held", ON, number) for number in range(100_000)])
        await shown.watch("(?x, ^on, ?y)")
        await expect(shown.page.locator(".counts")).to_contain_text("100,000 rows hold", timeout=60_000)
        table = shown.page.get_by_role("region", name="Rows that hold")
        await expect(table.get_by_role("table")).to_have_attribute("aria-rowcount", "100001")
        await table.evaluate("box => { box.scrollTop = box.scrollHeight; }")
        await expect(table.get_by_role("row").last).to_have_attribute("aria-rowindex", "100001")
        assert await table.get_by_role("row").count() < 100
