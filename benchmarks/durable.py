"""What it costs that facts are on disk before they are acknowledged.

    python -m benchmarks.durable                  in the working directory's file system
    python -m benchmarks.durable --folder /mnt/x  elsewhere

One peer, and three in one process of which each holds every fact, with data directories and without; facts of three terms are
inserted in groups by one caller, and one by one by a hundred callers at once. The floor is a bare file to which a group's bytes are
written, with one fsync for each group.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path

import click

import gsg
from benchmarks.machine import machine

GROUPS = (1, 100, 1_000)
CALLERS = 100
FACT_BYTES = 100
"""About what a fact and its marks take."""


def facts(numbers: Sequence[int]) -> list[tuple[object, ...]]:
    """Facts that differ in one term, as many do."""
    return [(f"subject-{number}", gsg.Symbol("predicate"), number % 1_000) for number in numbers]


async def insert(peer: gsg.Peer, group: int, callers: int, for_s: float) -> float:
    """Facts a second."""
    numbers = count()
    began_s = time.perf_counter()

    async def call() -> int:
        done = 0
        while time.perf_counter() - began_s < for_s:
            done += await peer.insert(facts([next(numbers) for _ in range(group)]))
        return done

    done = sum(await asyncio.gather(*(call() for _ in range(callers))))
    return done / (time.perf_counter() - began_s)


async def peers(size: int, folder: Path | None, group: int, callers: int, for_s: float) -> tuple[float, float]:
    """Facts a second through so many peers, and facts in a transaction of the first of them."""
    async with AsyncExitStack() as stack:
        running: list[gsg.Peer] = []
        for number in range(size):
            join = [running[0].contact.address] if running else []
            data = None if folder is None else Path(stack.enter_context(tempfile.TemporaryDirectory(dir=folder))) / str(number)
            running.append(await stack.enter_async_context(gsg.Peer(join=join, data=data)))
        while any(len(peer.shares()) < size for peer in running):  # noqa: ASYNC110  # nothing tells when all know all
            await asyncio.sleep(0.1)
        rate = await insert(running[0], group, callers, for_s)
        (first, *_) = await running[0].status()
        counts = {one.name: one.count for one in first.counts}
        return rate, counts.get("disk_facts_written", 0) / (counts.get("disk_writes", 0) or 1)


def floor(folder: Path, group: int, for_s: float) -> float:
    """Facts a second that a file takes, one fsync for each group."""
    payload = os.urandom(group * FACT_BYTES)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        done, began_s = 0, time.perf_counter()
        while time.perf_counter() - began_s < for_s:
            file.write(payload)
            os.fsync(file.fileno())
            done += group
        return done / (time.perf_counter() - began_s)


@click.command()
@click.option("--folder", type=click.Path(file_okay=False, path_type=Path), default=Path(), help="Whose file system is measured.")
@click.option("--seconds", default=4.0, show_default=True, help="How long each figure is measured.")
def main(folder: Path, seconds: float) -> None:
    """Facts a second, durable and not."""
    click.echo(f"facts a second, {machine()}\n")
    click.echo(f"{'peers':>5}  {'in a call':>9}  {'callers':>7}  {'memory':>9}  {'disk':>9}  {'a fsync':>7}  {'bare file':>9}")
    for size in (1, 3):
        for group, callers in (*((group, 1) for group in GROUPS), (1, CALLERS)):
            memory, _ = asyncio.run(peers(size, None, group, callers, seconds))
            disk, together = asyncio.run(peers(size, folder, group, callers, seconds))
            bare = floor(folder, group, seconds / 4)
            click.echo(f"{size:>5}  {group:>9,}  {callers:>7}  {memory:>9,.0f}  {disk:>9,.0f}  {together:>7,.0f}  {bare:>9,.0f}")


if __name__ == "__main__":
    main()
