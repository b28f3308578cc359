"""What a peer does beside answering: a failure there ends nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import TypeAlias, TypeVar

from .errors import RemoteError

StartTask: TypeAlias = Callable[[Coroutine[None, None, None]], object]
"""Begins work beside what is under way; whoever hands this in ends the work when it leaves."""

SLICE_S = 0.005
"""How long one slice takes, about: one test more is begun before it is over, and a test is bounded by whoever compiles it."""
DEFECT = "this peer failed on it; its log says more"
"""What whoever sent a message is told where it brought out a defect of ours."""

log = logging.getLogger(__name__)

Item = TypeVar("Item")


class Worker:
    """Work of one kind, done by one task while there is a reason for it; ``start_task`` owns the task.

    idle ──wake──> working ──done──> idle
                      └──wake──> working, and once more
    """

    def __init__(self, start_task: StartTask, work: Callable[[], Coroutine[None, None, None]]) -> None:
        self._start_task = start_task
        self._work = work
        self._is_woken = self._is_working = False

    def wake(self) -> None:
        """There is something to do, at once or when what is being done is done."""
        self._is_woken = True
        if not self._is_working:
            self._is_working = True
            self._start_task(self._run())

    async def _run(self) -> None:
        try:
            while self._is_woken:
                self._is_woken = False
                await self._work()
        finally:
            self._is_working = False


async def in_turns(items: Iterable[Item], clock: Callable[[], float] | None = None, *, most: int = 0) -> AsyncIterator[Item]:
    """The items one by one; others have their turn whenever what is done with them has taken a slice of time, and where ``most`` is
    given after so many of them: in simulated time, which stands still meanwhile, too."""
    clock = asyncio.get_running_loop().time if clock is None else clock
    ends_s = clock() + SLICE_S
    for number, item in enumerate(items, 1):
        yield item
        if number % most == 0 if most else clock() >= ends_s:
            await asyncio.sleep(0)
            ends_s = clock() + SLICE_S


async def logging_failure(work: Coroutine[None, None, None]) -> None:
    """Do the work; say what came of it where it failed."""
    try:
        await work
    except RemoteError as error:
        log.info("given up: %s", error)
    except Exception:
        # In a TaskGroup any exception ends all tasks (HOUSE_STYLE, section 5): a defect of ours in one must not.
        log.exception("background work failed")
