"""What one task of Spark writes: its rows as requests, each acknowledged by a peer before the task is done.

Facts of a window go in several requests at once, and the next window waits for all of them; events go one request after the other,
so that they keep their order. So what is under way is bounded, and Spark reads no more than peers take.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from random import SystemRandom
from typing import TYPE_CHECKING

from pyspark.sql.datasource import WriterCommitMessage

from .options import EVENTS, SinkOptions
from .outlet import Outlet
from .peer_failover import PeerFailover
from .requests import WINDOW_ROWS, EventPart, EventParts, TaskPlace, last_words, parts_of
from .row_tuples import RowShape, TupleReader

if TYPE_CHECKING:
    import pyarrow as pa

    from gsg import AsyncClient
    from gsg.tuples.terms import Tuple

UNDER_WAY = 4
"""Requests of facts of one task that are unanswered at once."""


@dataclass
class Written(WriterCommitMessage):
    """What a task has written."""

    rows: int = 0
    requests: int = 0
    changed: int = 0
    """Facts that were not so before."""


def write_task(batches: Iterator[pa.RecordBatch], options: SinkOptions, shape: RowShape, place: TaskPlace) -> Written:
    """Write the rows of a task, and return when peers have acknowledged all of them. Raises BadRow, NotTaken and BadParameter."""
    is_events = options.mode == EVENTS
    # A fact may be told by any peer; an event by the one that may have told it before.
    failover = PeerFailover(options.access.urls, first=place.partition, stay_s=options.same_peer_s if is_events else 0.0)
    outlet = Outlet(options.access, failover, max_wait_s=options.max_wait_s, rng=SystemRandom())
    reader = TupleReader(shape, options.terms, place.partition)
    return asyncio.run(TaskWriter(outlet, reader, place).write(batches, is_events=is_events))


class TaskWriter:
    """Writes what ``reader`` makes of rows by ``outlet``."""

    def __init__(self, outlet: AbstractAsyncContextManager[Outlet], reader: TupleReader, place: TaskPlace) -> None:
        self._outlet_context = outlet
        self._outlet: Outlet
        self._reader = reader
        self._place = place
        self._written = Written()
        self._parts = EventParts()
        self._free_places = asyncio.Semaphore(UNDER_WAY)

    async def write(self, batches: Iterator[pa.RecordBatch], *, is_events: bool) -> Written:
        """Write all of it."""
        write = self._write_events if is_events else self._write_facts
        try:
            async with self._outlet_context as self._outlet:
                # Spark may take its time: whoever waits for it in this thread would not answer its peer.
                while (batch := await asyncio.to_thread(next, batches, None)) is not None:
                    for first in range(0, len(batch), WINDOW_ROWS):
                        await write(batch.slice(first, WINDOW_ROWS))
                    self._written.rows += len(batch)
                for part in self._parts.flush():
                    await self._notify(part)
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return self._written

    async def _write_facts(self, batch: pa.RecordBatch) -> None:
        come, gone = last_words(*self._reader.read_tuples(batch))
        async with asyncio.TaskGroup() as requests:
            for sign, tuples in ((1, come), (-1, gone)):
                for part in parts_of(tuples):
                    await self._free_places.acquire()
                    requests.create_task(self._send_facts(sign, part))

    async def _send_facts(self, sign: int, part: list[Tuple]) -> None:
        async def ask(client: AsyncClient) -> int:
            return await (client.insert(part) if sign > 0 else client.retract(part))

        try:
            self._written.changed += await self._outlet.send_request(
                ask, f"{len(part):,} facts of partition {self._place.partition}"
            )
            self._written.requests += 1
        finally:
            self._free_places.release()

    async def _write_events(self, batch: pa.RecordBatch) -> None:
        tuples, _ = self._reader.read_tuples(batch)
        for part in self._parts.add_events(tuples):
            await self._notify(part)

    async def _notify(self, part: EventPart) -> None:
        key = part.key(self._place)

        async def ask(client: AsyncClient) -> None:
            await client.notify(part.events, key=key)

        await self._outlet.send_request(ask, f"{len(part.events):,} events of partition {self._place.partition}")
        self._written.requests += 1
