"""The page of a peer in Chromium: its size, its first paint, how soon a row is there, and whether it stays responsive.

    .venv/bin/python -m benchmarks.page [--seconds 10] [--rate 10000] [--held 100000] [--json]

Two peers in processes of their own: the page is one's, and tuples are published at the other. The browser has the same cores. Every
change is counted by the page; where one is missing the run ends with status 1. The longest task is what a browser counts as such
(https://www.w3.org/TR/longtasks-1/): for so long somebody who types sees nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import shutil
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import gsg
import gsg.http.page
from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import machine
from gsg.cli.processes import peers

if TYPE_CHECKING:
    from playwright.async_api import Page

FILES = Path(gsg.http.page.__file__).with_name("files")
YASGUI_KB = 1_012 + 56
"""@zazuko/yasgui 4.6.2 as its package ships it, minified script and style: an editor and a table for SPARQL, without live rows."""
WANTED_KB, WANTED_TASK_MS, WANTED_ROW_MS = 350, 200, 1_000
ROWS = 20
"""Rows whose way is timed one by one."""
BATCH = 100
UNDER_WAY = 8
"""Requests of a publisher at once."""
PATIENCE_S = 60.0
QUERY = "(?x, ^on, ?y)"
ON = gsg.Symbol("on")

WATCH_TASKS = """() => {
    window.tasks = [];
    const keep = (list) => tasks.push(...list.getEntries().map(({ duration }) => duration));
    new PerformanceObserver(keep).observe({ type: "longtask" });
}"""
TASKS = "() => tasks.splice(0)"
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
SCROLL = """async () => {
    const box = document.querySelector(".table");
    for (let at = 0; at < 60; at += 1) {
        box.scrollTop = (box.scrollHeight / 60) * at;
        await new Promise(requestAnimationFrame);
    }
}"""
COUNTED = "([sign, count]) => document.querySelector(`.counts .${sign} b`)?.textContent.replace(/\\D/g, '') === String(count)"


@dataclass
class Figure:
    """One line of the report."""

    name: str
    value: float
    unit: str
    wanted: str = ""
    good: bool = True
    note: str = ""


async def measure(page: Page, url: str, client: gsg.AsyncClient, options: argparse.Namespace) -> list[Figure]:
    """All figures, one after the other."""
    figures = [size()]
    await page.goto(f"{url}/#/query?{urlencode({'q': QUERY, 'watch': '1'})}")
    await page.get_by_text("up to date", exact=True).wait_for()
    figures.append(Figure("first paint", await page.evaluate(PAINT), "ms"))
    await page.evaluate(WATCH_TASKS)
    figures.append(await row_latency(page, client))
    figures += await flood(page, client, options)
    figures += await scrolling(page, client, options.held)
    return figures


def playwright_timeout() -> type[Exception]:
    """What playwright raises, which is no TimeoutError of Python."""
    from playwright.async_api import TimeoutError as NotInTime

    return NotInTime


def size() -> Figure:
    """All files, as a browser gets them compressed."""
    kilobytes = sum(len(gzip.compress(file.read_bytes())) for file in FILES.iterdir()) / 1_000
    raw = sum(file.stat().st_size for file in FILES.iterdir()) / 1_000
    note = f"{raw:,.0f} kB as they lie; YASGUI {YASGUI_KB:,} kB"
    return Figure("size, compressed", kilobytes, "kB", f"{WANTED_KB} kB", kilobytes <= WANTED_KB, note)


async def row_latency(page: Page, client: gsg.AsyncClient) -> Figure:
    """From publishing at one peer until the row stands in the other's page."""
    found = []
    for number in range(ROWS):
        begun_s = time.perf_counter()
        await client.insert([("latency", ON, number)])
        await page.locator("tbody tr").nth(number + 1).wait_for(state="attached")
        found.append(1_000 * (time.perf_counter() - begun_s))
    await client.retract([("latency", ON, number) for number in range(ROWS)])
    late = max(found)
    return Figure(
        "row published at another peer, until it is seen",
        median(found),
        "ms",
        f"{WANTED_ROW_MS} ms",
        late <= WANTED_ROW_MS,
        f"at most {late:.0f} ms",
    )


async def flood(page: Page, client: gsg.AsyncClient, options: argparse.Namespace) -> list[Figure]:
    """Events, then facts that come and go, at a rate."""
    figures = []
    for what, sign, publish in (("events", "event", client.notify), ("facts that come and go", "plus", _coming_and_going(client))):
        before = int(
            (await page.locator(f".counts .{sign} b").all_text_contents() or ["0"])[0].translate(str.maketrans("", "", "+!, "))
        )
        await page.evaluate(TASKS)
        begun_s = time.perf_counter()
        count = await _at_rate(publish, options.rate, options.seconds)
        rows = count if sign == "event" else count // 2
        try:
            await page.wait_for_function(COUNTED, arg=[sign, before + rows], timeout=1_000 * PATIENCE_S)
        except playwright_timeout():
            raise WrongDelivery(f"the page has not counted {rows:,} {what} within {PATIENCE_S:.0f} s") from None
        reached = count / (time.perf_counter() - begun_s)
        tasks = await page.evaluate(TASKS)
        longest = max(tasks, default=0.0)
        figures.append(Figure(f"{what}, until all are counted", reached, "rows/s", f"{options.rate:,} rows/s"))
        figures.append(
            Figure(
                "longest task meanwhile",
                longest,
                "ms",
                f"{WANTED_TASK_MS} ms",
                longest <= WANTED_TASK_MS,
                f"{len(tasks)} above 50 ms",
            )
        )
    return figures


def _coming_and_going(client: gsg.AsyncClient) -> Callable[[list[Any]], Awaitable[object]]:  # Any: a tuple
    async def publish(tuples: list[Any]) -> None:  # Any: as above
        half = tuples[: len(tuples) // 2]
        await client.insert(half)
        await client.retract(half)

    return publish


async def _at_rate(publish: Callable[[list[Any]], Awaitable[object]], rate: int, seconds: float) -> int:  # Any: a tuple
    begun_s, numbers = time.perf_counter(), iter(range(0, int(rate * seconds), BATCH))

    async def send() -> None:
        for start in numbers:
            await asyncio.sleep(max(0.0, start / rate - (time.perf_counter() - begun_s)))
            await publish([("flood", ON, start + number) for number in range(BATCH)])

    async with asyncio.TaskGroup() as group:
        for _ in range(UNDER_WAY):
            group.create_task(send())
    return len(range(0, int(rate * seconds), BATCH)) * BATCH


async def scrolling(page: Page, client: gsg.AsyncClient, held: int) -> list[Figure]:
    """A table of very many rows, from its first to its last."""
    for start in range(0, held, 1_000):
        await client.insert([("held", ON, number) for number in range(start, min(start + 1_000, held))])
    await page.get_by_text(f"{held:,} rows hold").wait_for(timeout=1_000 * PATIENCE_S)
    await page.evaluate(TASKS)
    await page.evaluate(SCROLL)
    tasks = await page.evaluate(TASKS)
    longest = max(tasks, default=0.0)
    return [Figure(f"longest task while {held:,} rows scroll", longest, "ms", f"{WANTED_TASK_MS} ms", longest <= WANTED_TASK_MS)]


async def run(options: argparse.Namespace) -> list[Figure]:
    """Start peers and a browser, and measure."""
    from playwright.async_api import async_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium is installed; apt-get install chromium")
    async with (
        peers(2) as [one, other],
        gsg.connect(other.url) as client,
        async_playwright() as driver,
    ):
        browser = await driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            return await measure(await browser.new_page(), one.url, client, options)
        finally:
            await browser.close()


def main() -> int:
    """Status 1 where the page did not count all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long it floods (10)")
    parser.add_argument("--rate", type=int, default=10_000, help="rows a second (10,000)")
    parser.add_argument("--held", type=int, default=100_000, help="rows of the table that scrolls (100,000)")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    options = parser.parse_args()
    figures = run_checked(run(options))
    if options.json:
        print(json.dumps({"machine": machine(), "figures": [asdict(figure) for figure in figures]}, indent=2))
        return 0
    print(machine())
    for figure in figures:
        wanted = f"   wanted {figure.wanted}{'' if figure.good else ': NOT REACHED'}" if figure.wanted else ""
        print(f"{figure.name:<50}{figure.value:>12,.0f} {figure.unit:<7}{wanted}{f'   ({figure.note})' if figure.note else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
