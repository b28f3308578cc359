"""Tasks of one owner: a failure ends nothing else, closing ends all, and who waits for one is told what became of it."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from dht import NotOpen
from dht.background import FAILED, BackgroundTasks


async def fail() -> int:
    raise ValueError("no")


async def wait_for_ever() -> None:
    await asyncio.Event().wait()


async def test_a_failure_is_counted_and_ends_nothing_else() -> None:
    counts: Counter[str] = Counter()
    tasks = BackgroundTasks(counts)
    await tasks.open()
    other = tasks.start(asyncio.sleep(0, "well"))

    assert await tasks.start(fail()) is None
    assert await other == "well"
    await tasks.close(None, None, None)

    assert counts == {FAILED: 1}


async def test_closing_ends_all_and_who_waits_is_told() -> None:
    tasks = BackgroundTasks(Counter())
    await tasks.open()
    waiting = asyncio.ensure_future(tasks.outcome(tasks.start(wait_for_ever()), NotOpen("closed")))
    await asyncio.sleep(0)

    await tasks.close(None, None, None)

    with pytest.raises(NotOpen, match="closed"):
        await waiting
    assert len(tasks) == 0
    assert not tasks.is_open


async def test_a_caller_that_is_cancelled_leaves_the_task_to_others() -> None:
    tasks = BackgroundTasks(Counter())
    await tasks.open()
    task = tasks.start(wait_for_ever())
    waiting = asyncio.ensure_future(tasks.outcome(task, NotOpen("closed")))
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert not task.done()
    await tasks.close(None, None, None)
