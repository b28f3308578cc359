"""The receiver: a thread in the driver's Python that subscribes at a peer and writes what it is told into the spool.

    subscribe ──the whole answer has come──> write the difference to what the spool holds ──> write changes as they come
        ^                                                                                              │
        └── the client has come to another peer, or there is room again after there was none <─────────┘

The receiver keeps no answer: what the spool adds up to is the answer. So the start of a query, the restart of a killed one,
another peer and a spool that was full are one and the same thing to it: the difference between two answers. In all of these but the
first, events in between may have been missed, and that is told each time: a query that facts match is matched by events too, and no
peer knows whether there were any.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from gsg.errors import GsgError, Overrun, Reconnected, Stale
from gsg.http.client.under_way import ROWS_FOLLOW
from gsg.languages.query import MAX_TOKENS
from gsg.tuples.terms import Term

from ..errors import BadParameter, BadSpool, SimulationError
from .columns import ColumnMaker, moment
from .held_rows import add_up, difference, no_rows
from .row_schema import check_variables
from .source_options import SourceOptions
from .spool import Spool

if TYPE_CHECKING:
    from gsg import AsyncClient
    from gsg.http.client.row_stream import ClientRowStream

log = logging.getLogger(__name__)

SEGMENT_ROWS = 65_536
"""Rows of a segment at most, or of one message: what is received while one is written makes the next one."""
LINGER_S = 0.03
"""How long the first row of a segment waits for others: a file for each row would keep a disk busy with nothing else."""
WAITING_BYTES = 64 * 1024**2
"""Changes that wait to be written. Beyond, as where Spark does not read and the spool is full, the receiver unsubscribes, and
subscribes again when there is room. An answer is not counted: the query's ``maxTokens`` bounds it. While it is compared, three
things are in memory: the answer, what the spool adds up to, and their difference, which has as many rows as both at most: 1.3 GB
where they are a million rows of 65 bytes each, and all of them differ."""
BATCH_BYTES = 4096
"""What a batch takes beside its values, about: it is counted, so that WAITING_BYTES bounds the number of changes too."""
UNREAD = 1_000_000
"""Differences that the peer keeps for the receiver: the most that may be asked for."""

EVENTS_MAY_BE_MISSED = (
    "rows of facts follow as a difference, and events in between may have been missed, if there were any: no peer can say that"
)


class EventsMissed(SimulationError):
    """Events may have been missed, and the stream was to end then."""


@dataclass(slots=True)
class _Answer:
    batches: list[pa.RecordBatch]


@dataclass(slots=True)
class _Gap:
    why: str
    at_start: bool = False


@dataclass(slots=True)
class _End:
    error: Exception | None


_Item: TypeAlias = "pa.RecordBatch | _Answer | _Gap | _End"


class Receiver:
    """Receives from :meth:`start` to :meth:`stop`. ``columns`` are the variables that Spark asked for, with their types."""

    def __init__(
        self,
        options: SourceOptions,
        spool: Spool,
        columns: Sequence[tuple[str, str]],
        schema: pa.Schema,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.answer_end: int | None = None
        """The position of the last row of the first answer of this receiver, perhaps before all of it is written."""
        self._options = options
        self._spool = spool
        self._columns = columns
        self._schema = schema
        self._clock = clock
        self._error: Exception | None = None
        self._started = threading.Event()
        """Set when there is something to cancel, or the thread is about to end."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._main: asyncio.Task[None] | None = None
        self._room_or_overflow = asyncio.Event()
        """Set when the spool may have room again, or more has come than may wait."""
        self._inbox: _Inbox | None = None
        self._stream: ClientRowStream | None = None
        self._warned_full = False
        self._thread = threading.Thread(target=self._run, name="gsg receiver", daemon=True)

    def start(self) -> None:
        """Begin, in a thread of its own."""
        self._spool.on_room = self._wake_for_room
        self._thread.start()

    def stop(self) -> None:
        """Leave the peer and end the thread: what is not written is for the next one to be told. Stopping twice is allowed."""
        if self._thread.ident is None:
            return
        self._started.wait()
        with suppress(RuntimeError):  # its loop has ended already
            if self._loop is not None and self._main is not None:
                self._loop.call_soon_threadsafe(self._main.cancel)
        self._thread.join()

    def raise_if_failed(self) -> None:
        """Raises what has ended the receiver, if something has."""
        if self._error is not None:
            raise self._error

    def has_begun(self) -> bool:
        """Whether a peer has told its answer, or the receiver has ended."""
        return self.answer_end is not None or self.has_ended()

    def has_ended(self) -> bool:
        """Whether nothing more will come."""
        return self._error is not None

    # --- in its thread --------------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with suppress(asyncio.CancelledError):
                asyncio.run(self._serve())
        except Exception as error:
            # Whoever asks for rows next is told: Spark then ends the query with it.
            self._error = error
        finally:
            self._started.set()
            self._spool.wake_waiters()

    async def _serve(self) -> None:
        self._loop, self._main = asyncio.get_running_loop(), asyncio.current_task()
        self._started.set()
        async with self._options.access.client_of_any(lambda state, what: log.info("%s: %s", state.value, what)) as client:
            gap = f"the stream was stopped; {EVENTS_MAY_BE_MISSED}" if self._spool.existed else ""
            while True:
                inbox = _Inbox(self._columns, self._options.term_format, self._schema, self._clock, self._room_or_overflow.set)
                if gap:
                    inbox.put_item(_Gap(gap, at_start=self.answer_end is None))
                await self._receive(client, inbox)
                await self._wait_for_room()
                gap = f"the spool was full for some time; {EVENTS_MAY_BE_MISSED}"

    async def _receive(self, client: AsyncClient, inbox: _Inbox) -> None:
        """Write what one subscription tells, until more has come than may wait."""
        options = self._options
        self._inbox = inbox
        self._stream = await client.stream(
            options.query, inbox, options.language, limit=UNREAD, max_tokens=options.max_tokens or MAX_TOKENS
        )
        for warning in self._stream.warnings:
            log.warning("the query: %s", warning)
        try:
            while not inbox.overflowed:
                await inbox.wait_for_item()
                # Others may come while this waits, and are written with it.
                await asyncio.sleep(LINGER_S)
                await self._write(inbox)
        finally:
            await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    async def _write(self, inbox: _Inbox) -> None:
        while (item := inbox.take_next()) is not None:
            if isinstance(item, list):
                await self._append(item)
            elif isinstance(item, _Answer):
                await self._append_answer(item.batches)
            elif isinstance(item, _Gap):
                await self._record_gap(item, inbox)
            elif item.error is not None:
                raise item.error
            else:
                raise BadSpool("the client was closed")
        inbox.warn_of_unfit()

    async def _append_answer(self, batches: list[pa.RecordBatch]) -> None:
        """The difference between what the spool holds and what the peer says."""

        def compare() -> pa.Table:
            answer = add_up(no_rows(self._schema), [pa.Table.from_batches(batches, self._schema)])
            return difference(self._spool.held_rows(), answer, moment(self._clock()), self._schema)

        changes = await asyncio.to_thread(compare)
        events = [batch for batch in (_events(one) for one in batches) if batch.num_rows]
        if self.answer_end is None:
            self.answer_end = self._spool.end + changes.num_rows + sum(one.num_rows for one in events)
            self._spool.wake_waiters()
        for start in range(0, changes.num_rows, SEGMENT_ROWS):
            await self._append(changes.slice(start, SEGMENT_ROWS).to_batches())
        if events:
            await self._append(events)

    async def _append(self, batches: list[pa.RecordBatch]) -> None:
        await self._wait_for_room()
        await asyncio.to_thread(self._spool.append, batches)

    async def _record_gap(self, gap: _Gap, inbox: _Inbox) -> None:
        log.warning("%s (query %.200s)", gap.why, self._options.query)
        if self._options.on_gap == "row":
            if self.answer_end is not None:
                await self._wait_for_room()
            # Before the first answer the row does not wait for room: Spark, with availableNow, reads only after that answer.
            await asyncio.to_thread(self._spool.append, [inbox.columns.gap_row(self._clock())])
        elif self._options.on_gap == "fail" and not gap.at_start:
            raise EventsMissed(f"{gap.why}; the option onGap asks to end then: start the query again to go on")

    def _wake_for_room(self) -> None:
        with suppress(RuntimeError):  # its loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._room_or_overflow.set)

    async def _wait_for_room(self) -> None:
        while not self._spool.has_room():
            if self._inbox is not None and self._inbox.overflowed:
                # Nothing of what it would tell is kept: the peer need not tell it.
                await self._unsubscribe()
            if not self._warned_full:
                self._warned_full = True
                log.warning(
                    "the spool %s is full: Spark reads more slowly than the peer tells; facts wait, and events may be missed "
                    "(this is said once)",
                    self._spool.folder,
                )
            self._room_or_overflow.clear()
            if not self._spool.has_room():
                await self._room_or_overflow.wait()


class _Inbox:
    """What a subscription has told and the spool does not have yet, in order: a :class:`gsg.http.client.row_stream.RowReader`."""

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        term_format: str,
        schema: pa.Schema,
        clock: Callable[[], datetime],
        on_overflow: Callable[[], object],
    ) -> None:
        self.columns = ColumnMaker(columns, term_format, schema)
        self.overflowed = False
        """Whether more has come than may wait: nothing is kept any more."""
        self._names = columns
        self._clock = clock
        self._on_overflow = on_overflow
        self._items: deque[_Item] = deque()
        """Bounded by WAITING_BYTES."""
        self._waiting_bytes = 0
        self._answer: list[pa.RecordBatch] | None = None
        """What has come of an answer that is not complete."""
        self._has_begun = False
        """Whether its rows have the variables that Spark asked for."""
        self._not_empty = asyncio.Event()
        self._unfit_warned: set[str] = set()

    async def wait_for_item(self) -> None:
        """Wait until there is something to take."""
        await self._not_empty.wait()

    def take_next(self) -> list[pa.RecordBatch] | _Answer | _Gap | _End | None:
        """The oldest: changes of one segment, or something else; None where there is nothing."""
        changes: list[pa.RecordBatch] = []
        rows = 0
        while self._items:
            item = self._items[0]
            if not isinstance(item, pa.RecordBatch):
                return changes or self._items.popleft()
            if changes and rows + item.num_rows > SEGMENT_ROWS:
                return changes
            changes.append(self._items.popleft())
            rows += item.num_rows
            self._waiting_bytes -= BATCH_BYTES + item.nbytes
        self._not_empty.clear()
        return changes or None

    def put_item(self, item: _Item) -> None:
        """Keep something until it is taken."""
        if self.overflowed:
            return
        self._items.append(item)
        if isinstance(item, pa.RecordBatch):
            self._waiting_bytes += BATCH_BYTES + item.nbytes
            if self._waiting_bytes > WAITING_BYTES:
                self.overflowed = True
                self._on_overflow()
        self._not_empty.set()

    def warn_of_unfit(self) -> None:
        """Say once of each column that has terms which are no values of its type."""
        for name, number in self.columns.unfit.items():
            if number and name not in self._unfit_warned:
                self._unfit_warned.add(name)
                log.warning("?%s has terms that are no values of its column's type: they are null (this is said once)", name)

    def begin(self, variables: tuple[str, ...], reconnected: Reconnected | None) -> None:
        """See RowReader."""
        try:
            check_variables(self._names, variables)
        except BadParameter as error:
            self.put_item(_End(error))
            return
        self.columns.set_variables(variables)
        self._has_begun = True
        self._answer = []
        if reconnected is not None:
            # What a reader of rows is to do is no advice for a user of Spark.
            self.put_item(_Gap(f"{str(reconnected).removesuffix(ROWS_FOLLOW)}{EVENTS_MAY_BE_MISSED}"))

    def receive_rows(self, signs: list[int], values: list[tuple[Term | None, ...]]) -> None:
        """See RowReader."""
        if self._has_begun and not self.overflowed:
            batch = self.columns.make_batch(signs, values, self._clock())
            if self._answer is None:
                self.put_item(batch)
            else:
                self._answer.append(batch)

    def complete(self) -> None:
        """See RowReader."""
        if self._answer is not None:
            self.put_item(_Answer(self._answer))
            self._answer = None

    def tell_problem(self, problem: Overrun | Stale) -> None:
        """See RowReader."""
        if isinstance(problem, Overrun):
            self.put_item(_Gap(str(problem)))
        else:
            log.warning("%s", problem)

    def end(self, error: GsgError | None) -> None:
        """See RowReader."""
        self.put_item(_End(error))


def _events(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of events among those of an answer: they are told besides it."""
    import pyarrow.compute as pc

    return batch.filter(pc.equal(batch.column(batch.num_columns - 2), 0))
