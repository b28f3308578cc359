"""Walks through what lies at a peer: whoever waits is answered, also where one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator

import pytest

from gsg.background import DEFECT
from gsg.monitoring.shared_walk import AT_ONCE, SharedWalk


def long_walk(*, fails: bool) -> Iterator[int | None]:
    for _ in range(2 * AT_ONCE):
        yield None
    if fails:
        raise ValueError("a defect")
    yield 7


@pytest.mark.parametrize(("fails", "expected"), [(False, [7, 7]), (True, [DEFECT, DEFECT])])
async def test_all_who_wait_are_answered_at_the_end(fails: bool, expected: list[object]) -> None:
    tasks: list[asyncio.Task[None]] = []

    def start(work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        tasks.append(asyncio.ensure_future(work))
        return tasks[-1]

    told: list[object] = []
    walks = SharedWalk(lambda: long_walk(fails=fails), lambda: 0.0, start)  # type: ignore[arg-type]  # as background.py starts it
    walks.ask(told.append, told.append)
    walks.ask(told.append, told.append)
    assert told == []
    await asyncio.wait(tasks)

    assert told == expected
    assert len(tasks) == 1
    assert isinstance(tasks[0].exception(), ValueError) is fails
