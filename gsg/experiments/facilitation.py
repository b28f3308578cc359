"""A facilitator at a peer: the shell around :class:`Facilitator`, which writes its log to Parquet."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from random import Random
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import dht

from ..background import logging_failure
from ..monitoring.trace_recorder import Parts, RowWriter
from ..wire.experiment_messages import Orders, TakePart
from . import log as columns
from .facilitator import Facilitator, Stage
from .plan import SECOND_US, Plan

if TYPE_CHECKING:
    from ..peer import Peer

log = logging.getLogger(__name__)

ADVANCE_S: Final = 0.25
"""How often it is looked whether something is due."""
LAST_WORDS_S: Final = 1.0
"""How long it is tried to say that the experiment is cut short."""


class Facilitation:
    """An async context manager. Entering raises Unsupported without pyarrow, LocalError for a folder that cannot be written to.

    ``say`` is told of each stage, in a sentence, one after another; what it raises as OSError is nothing, as where nobody reads.
    """

    def __init__(
        self,
        peer: Peer,
        folder: Path,
        plan: Plan,
        rng: Random,
        say: Callable[[str], Awaitable[None]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._testbed = peer.testbed
        self._folder = folder
        self._clock = clock
        self._ahead_s = time.time() - clock()
        """What the wall clock is ahead of the other one. It is read once: who sets the clock does not move what is logged."""
        self._writer = RowWriter(partial(Parts, folder, peer.contact.id, columns=columns.schema, name="log"), self._now_s)
        self._plan = plan
        self._rng = rng
        self._say = say
        self._facilitator: Facilitator
        self._tasks: list[asyncio.Task[None]] = []
        self._said: asyncio.Queue[str] = asyncio.Queue()
        """What is still to be said. Limit: the stages of a plan."""
        self._is_written = False
        self.over = asyncio.Event()
        """Set when the experiment has ended, and its log is written."""

    async def __aenter__(self) -> Self:
        self._writer.start()
        self._facilitator = Facilitator(self._plan, self._rng, self._write, self._now_us(), self._entered)
        self._testbed.on_report = self._report
        self._group = asyncio.TaskGroup()
        await self._group.__aenter__()
        self._tasks = [self._group.create_task(logging_failure(work)) for work in (self._advance(), self._tell())]
        await asyncio.sleep(0)  # until both have begun: work that is cancelled before is told as never awaited
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._testbed.on_report = None
        for task in self._tasks:
            task.cancel()
        await self._group.__aexit__(None, None, None)
        self._finish()
        if (stage := self._facilitator.stage) is not Stage.OVER:
            said = f"the experiment is cut short while {stage.name.lower()}; what came until now is logged in {self._folder}"
            log.info("experiment: %s", said)
            # Nobody may read any more, or not now.
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self._say(f"experiment: {said}")

    def _now_s(self) -> float:
        return self._ahead_s + self._clock()

    def _now_us(self) -> int:
        return int(self._now_s() * SECOND_US)

    def _report(self, sender: dht.Contact, report: TakePart) -> Orders:
        return self._facilitator.report(sender, report, self._now_us())

    def _write(self, entry: columns.Entry) -> None:
        self._writer.put(tuple(entry), entry.size_bytes())

    def _entered(self, said: str) -> None:
        log.info("experiment: %s", said)
        self._said.put_nowait(f"experiment: {said}")

    async def _tell(self) -> None:
        while True:
            said = await self._said.get()
            with contextlib.suppress(OSError):
                await self._say(said)

    async def _advance(self) -> None:
        """The last reports come while participants are told that it is over; the log is finished a little later."""
        while self._facilitator.stage is not Stage.OVER:
            await asyncio.sleep(ADVANCE_S)
            self._facilitator.advance(self._now_us())
        await asyncio.to_thread(self._finish)
        told = f"{self._facilitator.lost:,} rows lost" if self._facilitator.lost else "all rows are there"
        self._entered(f"the log is in {self._folder} ({told}); gsg simulate dissemination --log {self._folder} reads it")
        self.over.set()

    def _finish(self) -> None:
        if not self._is_written:
            self._writer.stop()
            self._is_written = True
