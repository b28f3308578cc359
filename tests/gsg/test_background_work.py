"""Work beside what is under way: one task for work of one kind, and long work in turn with others."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count

import pytest

from gsg.background import SLICE_S, Worker, in_turns


async def test_work_is_done_by_one_task_and_once_more_where_it_is_woken_meanwhile() -> None:
    started: list[Coroutine[None, None, None]] = []
    done: list[str] = []

    async def work() -> None:
        done.append("work")
        if len(done) == 1:
            worker.wake()

    worker = Worker(started.append, work)
    worker.wake()
    worker.wake()
    [task] = started
    await task
    assert done == ["work", "work"]
    worker.wake()
    await started[1]

    assert done == ["work"] * 3


async def test_work_that_fails_is_begun_anew_when_it_is_woken() -> None:
    started: list[Coroutine[None, None, None]] = []
    problems = iter([ValueError("a defect"), None])

    async def work() -> None:
        if (problem := next(problems)) is not None:
            raise problem

    worker = Worker(started.append, work)
    worker.wake()
    with pytest.raises(ValueError, match="a defect"):
        await started[0]
    worker.wake()

    await started[1]


@pytest.mark.parametrize(("step_s", "turns"), [(0.0, 0), (SLICE_S, 5), (SLICE_S / 2, 2)], ids=["at once", "each slow", "in pairs"])
async def test_others_have_their_turn_when_a_slice_is_over(step_s: float, turns: int) -> None:
    ticks = count()
    had: list[int] = []

    async def other() -> None:
        while True:
            await asyncio.sleep(0)
            had.append(1)

    beside = asyncio.create_task(other())
    await asyncio.sleep(0)

    items = [item async for item in in_turns(range(5), lambda: step_s * next(ticks))]
    beside.cancel()

    assert (items, len(had)) == (list(range(5)), turns)


async def test_others_have_their_turn_after_so_many_items_whatever_the_clock_says() -> None:
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(0)
            await asyncio.sleep(0)

    task = asyncio.create_task(others())
    async for _ in in_turns(range(10), lambda: 0.0, most=2):
        pass
    task.cancel()

    assert len(turns) == 5
