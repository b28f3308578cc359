"""Reports in a real browser: narrow and wide, light and dark, with the keyboard, and as those hear them who do not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe
from browsers import browser, needs_browser

from simulations.churn import lifetime_runs
from simulations.churn import runs as churn
from simulations.churn.lifetime_cases import LifetimesRequest
from simulations.dissemination import runs as dissemination
from simulations.dissemination.cases import DisseminationRequest
from simulations.engine.experiment import run
from simulations.engine.sweep import in_one_thread
from simulations.load_balance.balance import InOneThread
from simulations.load_balance.experiments import BalanceRequest, balance
from simulations.routing import runs as routing
from simulations.subscribers.experiments import in_one_thread as all_in_one_thread
from simulations.subscribers.experiments import subscribers
from simulations.subscribers.request import SubscribersRequest

pytestmark = [needs_browser, pytest.mark.waits]

WIDTHS = (390, 800, 1280)
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
SWATCHES = """[...document.querySelectorAll('.swatch')].map(each => each.getBoundingClientRect()).filter(each => each.width)
    .map(each => each.width + ' x ' + each.height)"""
CUT = """[...document.querySelectorAll('.plot svg text')].filter(each => {
    const inner = each.getBoundingClientRect(), outer = each.closest('.plot').getBoundingClientRect();
    return inner.width && (inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1);
}).map(each => each.textContent)"""
OVER_EACH_OTHER = """[...document.querySelectorAll('.plot svg')].flatMap(plot => {
    const boxes = [...plot.querySelectorAll('.ends text')].map(each => [each.textContent, each.getBoundingClientRect()]);
    return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
        .filter(([_, b]) => a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom)
        .map(([other]) => one + ' over ' + other));
})"""


def _balance(out: Path) -> None:
    strategies = ("predicate", "random", "rarest", "hot-split-10", "grid-10+demand", "hot-split-10+demand+virtual-8")
    asked = BalanceRequest(peers=60, tuples=2_000, subscriptions=100, strategies=strategies, seeds=2)
    balance(asked, InOneThread, out)


def _churn(out: Path) -> None:
    asked = churn.ChurnRequest(peers=(60,), tuples=2_000, subscriptions=100, strategies=("rarest", "random"), epochs=3, runs=2)
    run(churn.experiment(asked), in_one_thread, out)


def _lifetimes(out: Path) -> None:
    asked = LifetimesRequest(peers=(60,), tuples=2_000, subscriptions=100, replicas=(1, 3), days=1, runs=2)
    run(lifetime_runs.experiment(asked), in_one_thread, out)


def _routing(out: Path) -> None:
    run(routing.experiment(routing.RoutingRequest(peers=(300,), lookups=50, runs=2)), in_one_thread, out)


def _dissemination(out: Path) -> None:
    asked = DisseminationRequest(agents=(20, 40), views=(4, 8), exchanged=4, settle=2, rounds=4, events=2, runs=1)
    run(dissemination.experiment(asked), in_one_thread, out)


def _subscribers(out: Path) -> None:
    asked = SubscribersRequest(peers=30, tuples=2_000, subscriptions=200, growth="100,1000", joins=10, seeds=2)
    subscribers(asked, all_in_one_thread, out)


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [_balance, _churn, _lifetimes, _routing, _dissemination, _subscribers],
    ids=lambda make: make.__name__.strip("_"),
)
async def test_a_report_fits_every_screen_and_can_be_read_by_all(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path)
    wrong: list[Any] = []
    sizes: set[str] = set()

    async with browser() as chromium:
        for scheme in ("light", "dark"):
            page = await chromium.new_page(color_scheme=scheme)
            page.on("console", lambda said: wrong.append(said.text))
            page.on("request", lambda asked: wrong.append(asked.url) if not asked.url.startswith("file:") else None)
            await page.goto((tmp_path / "report.html").as_uri())
            await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            for width in WIDTHS:
                await page.set_viewport_size({"width": width, "height": 900})
                wrong.extend((width, scheme, found) for found in [await page.evaluate(OVERFLOW)] if found > 0)
                wrong.extend((width, scheme, "cut", found) for found in await page.evaluate(CUT))
                wrong.extend((width, scheme, found) for found in await page.evaluate(OVER_EACH_OTHER))
                sizes |= set(await page.evaluate(SWATCHES))
        # This takes seconds, so it is done in one scheme, the dark one; test_palette.py computes the contrasts of both.
        for violation in (await Axe().run(page)).response["violations"]:
            if violation["impact"] in ("serious", "critical"):
                wrong.append((violation["id"], [node["html"][:160] for node in violation["nodes"]]))

    assert wrong == []
    assert sizes == {"30 x 12"}


async def test_a_wide_table_is_scrolled_with_the_keyboard_and_its_first_column_stays(tmp_path: Path) -> None:
    _balance(tmp_path)

    async with browser() as chromium:
        page = await chromium.new_page(viewport={"width": 800, "height": 900})
        await page.goto((tmp_path / "report.html").as_uri())
        box = page.get_by_role("region", name="Strategies", exact=True)
        await box.focus()
        for _ in range(5):
            await page.keyboard.press("ArrowRight")
        await page.wait_for_function("document.activeElement.scrollLeft > 30")
        first = await box.locator("tbody th").first.bounding_box()
        around = await box.bounding_box()

    assert first is not None
    assert around is not None
    assert abs(first["x"] - around["x"]) <= 1


async def test_plots_are_dark_on_dark_paper_and_a_point_says_its_values(tmp_path: Path) -> None:
    _routing(tmp_path)
    colour = "getComputedStyle(document.querySelector('.plot svg .ends text')).fill"

    async with browser() as chromium:
        found = {}
        for scheme in ("light", "dark"):
            page = await chromium.new_page(color_scheme=scheme)
            await page.goto((tmp_path / "report.html").as_uri())
            found[scheme] = await page.evaluate(colour)
        title = await page.locator(".plot svg circle title").first.text_content()
        hit = await page.evaluate(
            """() => {
                const spot = document.querySelector('.plot svg circle');
                spot.scrollIntoView();
                const box = spot.getBoundingClientRect();
                return document.elementFromPoint((box.left + box.right) / 2, (box.top + box.bottom) / 2).tagName;
            }"""
        )

    assert found == {"light": "rgb(27, 31, 36)", "dark": "rgb(230, 237, 243)"}
    assert title is not None
    assert title.startswith("k = 2\npeers (count): 10\nhops in the mean (peers asked): ")
    assert hit == "circle"
