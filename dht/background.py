"""The tasks of whoever is entered by ``async with``: they end as it is left, and a failure in one ends nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, TypeVar

from .errors import DhtError

log = logging.getLogger(__name__)

FAILED = "background work failed"
"""The count of what was begun in the background and not finished."""

T = TypeVar("T")


class BackgroundTasks:
    """Those of one owner. Limit: that of what it starts."""

    def __init__(self, counts: Counter[str]) -> None:
        self.is_open = False
        """Whether more may be started."""
        self._counts = counts
        self._group = asyncio.TaskGroup()
        # Those that still run; closing cancels them. A dict, since a set's order is not repeatable.
        self._running: dict[asyncio.Task[Any], None] = {}  # Any: whatever the work returns

    def __len__(self) -> int:
        return len(self._running)

    async def open(self) -> None:
        """Let tasks be started from now on."""
        await self._group.__aenter__()
        self.is_open = True

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T | None]:
        """Do the work in a task of its own, which returns None where it fails: that is logged and counted."""
        task = self._group.create_task(self._guarded(work))
        self._running[task] = None
        task.add_done_callback(lambda done: self._running.pop(done))
        # A task that is cancelled before its first step never came to await its work.
        task.add_done_callback(lambda _: work.close())
        return task

    async def _guarded(self, work: Coroutine[Any, Any, T]) -> T | None:
        try:
            return await work
        except Exception:
            # In a TaskGroup any exception ends all tasks, and with them whoever entered their owner: a defect of ours must not.
            self.count_failure()
            return None

    def count_failure(self) -> None:
        """Log and count the exception that is being handled."""
        self._counts[FAILED] += 1
        log.exception(FAILED)

    async def outcome(self, task: asyncio.Task[T], closed: DhtError) -> T:
        """What a task returns, which goes on when its caller is cancelled. Raises ``closed`` where closing has ended the task."""
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # The caller's own cancellation is passed on; that of the task is news.
            current = asyncio.current_task()
            if task.cancelled() and not self.is_open and (current is None or not current.cancelling()):
                raise closed from None
            raise

    def cancel_all(self) -> None:
        """Start no more, and cancel those that run."""
        self.is_open = False
        for task in list(self._running):
            task.cancel()

    async def close(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Cancel all, and wait until they have ended; the arguments are those of ``__aexit__``."""
        self.cancel_all()
        # The group would wrap the caller's own error; only cancellation, which may be the group's doing, is its affair.
        if kind is not None and issubclass(kind, asyncio.CancelledError):
            await self._group.__aexit__(kind, error, trace)
        else:
            await self._group.__aexit__(None, None, None)
