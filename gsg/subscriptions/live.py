"""A subscription whose differences come while others work: at a peer, or at a client of one.

    open ──its maker ends it──> ended ──its reader closes it──> closed
      └───────────────────its reader closes it────────────────────┘

What has come can still be read of one that has ended, and nothing of one that is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from enum import Enum
from math import inf
from typing import Protocol, Self

from ..errors import GsgError, Overrun, Reconnected, Stale
from ..languages.rows import Change, Row
from .backlog import LIMIT, Backlog, Overflow, Pool
from .subscription import Callback, tell
from .tables import Tabular, shown

log = logging.getLogger(__name__)


class _State(Enum):
    OPEN = 1
    ENDED = 2
    CLOSED = 3


class RowSource(Protocol):
    """What makes the rows of a subscription."""

    def rows_now(self) -> Counter[Row]:
        """The rows that hold now."""

    async def close(self) -> None:
        """Its reader has closed the subscription, which had not ended."""

    def end_unread(self) -> None:
        """The subscription has ended as nobody read it, with ``overflow="error"``."""


class LiveSubscription(Tabular):
    """A standing query of :class:`gsg.Peer` or :class:`gsg.AsyncClient`. Made by their ``subscribe``.

    ``rows()`` is the answer as far as it has come. ``async for sign, row in subscription`` gives the differences, oldest first, the
    rows of the beginning included, and waits for more; it ends when the subscription is closed and raises what ended it
    otherwise. With a callback, differences go there instead, as they come. A closed subscription has no rows
    and gives nothing more.
    """

    def __init__(
        self,
        variables: tuple[str, ...],
        source: RowSource,
        *,
        callback: Callback | None = None,
        limit: int = LIMIT,
        warnings: tuple[str, ...] = (),
        number: int = 0,
        overflow: Overflow = Overflow.RESYNC,
    ) -> None:
        self.variables = variables
        """The names of a row, in order of appearance."""
        self.number = number
        """By which its peer can be asked about it, as by ``gsg explain --subscription``."""
        self.warnings = warnings
        """What whoever wrote the query should know, such as a cross product in it."""
        self.failures = 0
        """How often the callback has raised; each is logged with its subscription."""
        self._source = source
        self._callback = callback
        self._overflow = overflow
        self._backlog = Backlog(limit, overflow)
        self._news: asyncio.Event | None = None
        """There while somebody waits."""
        self._state = _State.OPEN
        self._error: GsgError | None = None
        """What has ended it."""
        self._overrun: Overrun | None = None
        self._stale: Stale | None = None
        self._reconnected: Reconnected | None = None
        self._lost_before = 0
        """What was lost on the way here."""

    def rows(self) -> Counter[Row]:
        """The rows that hold now, each with how often (more than once only where wildcards hide the difference)."""
        return Counter() if self._state is _State.CLOSED else self._source.rows_now()

    @property
    def lost(self) -> int:
        """How many differences were dropped because they were not read in time."""
        return self._lost_before + self._backlog.lost

    @property
    def pending(self) -> int:
        """Differences that have come and were not read."""
        return len(self._backlog)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        """The oldest difference; waits for one. Nothing is lost where whoever waits gives up, as with ``asyncio.timeout``."""
        if not len(self._backlog) or self._backlog.full:
            await self.wait()
        for change in self.take(1):
            return change
        raise StopAsyncIteration

    async def batch(self, most: int) -> list[Change]:
        """The oldest differences, at most so many; waits for the first, and is empty when the subscription was closed.

        Raises what else ended the subscription; and, once each, Overrun where events had to be dropped, Stale where rows may be
        out of date for some time, and Reconnected where the client has lost its peer and is back.
        """
        if not len(self._backlog) or self._backlog.full:
            await self.wait()
        return self.take(most)

    async def wait(self) -> None:
        """Wait until :meth:`take` has something to give or to raise, or the subscription has ended."""
        while not self._has_news():
            if self._news is None:
                self._news = asyncio.Event()
            await self._news.wait()
        if self._error is not None and not len(self._backlog):
            # Whoever goes on reading what has ended is not to keep everybody else waiting.
            await asyncio.sleep(0)

    def take(self, most: int, most_bytes: float = inf) -> list[Change]:
        """As :meth:`batch` of what is there, of so many bytes or one difference; empty also where there is nothing yet."""
        if self._overrun is not None:
            overrun, self._overrun = self._overrun, None
            raise overrun
        if self._stale is not None:
            stale, self._stale = self._stale, None
            raise stale
        if self._reconnected is not None:
            reconnected, self._reconnected = self._reconnected, None
            raise reconnected
        if self._error is not None and not len(self._backlog):
            raise self._error
        return self._backlog.take(most, most_bytes)

    def join_pool(self, pool: Pool | None) -> None:
        """Count what is unread in a pool that is shared with other subscriptions."""
        self._backlog.join_pool(pool)

    def _has_news(self) -> bool:
        self._end_if_full()
        problem = self._overrun or self._stale or self._reconnected
        return bool(len(self._backlog)) or problem is not None or self.has_ended

    def _end_if_full(self) -> None:
        if self._backlog.full:
            self._end_unread(self._backlog.overrun())

    def _end_unread(self, overrun: Overrun) -> None:
        if not self.has_ended:
            self.end(overrun)
            self._source.end_unread()

    async def close(self) -> None:
        """End the subscription: nothing more comes, not even what was not read. Closing twice is allowed."""
        was_open, self._state = not self.has_ended, _State.CLOSED
        self._lost_before = self.lost
        self._backlog.join_pool(None)
        self._backlog = Backlog()
        self._error = self._overrun = self._stale = self._reconnected = None
        self._wake()
        if was_open:
            await self._source.close()

    def __repr__(self) -> str:
        kind = f"LiveSubscription {self.number}" if self.number else "LiveSubscription"
        state = self._state.name.lower()
        state += f" by {type(self._error).__name__}" if self._error is not None else ""
        state += ", told by callback" if self._callback is not None else f", {self.pending:,} unread"
        return shown(kind, self.variables, state + (f", {self.lost:,} lost" if self.lost else ""))

    async def __aenter__(self) -> LiveSubscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def deliver(self, changes: Iterable[Change], *, is_first: bool = False) -> None:
        """For the maker of the subscription: differences have come; ``is_first``, rows of the first answer."""
        if self._state is _State.CLOSED:
            return
        if self._callback is None:
            self._backlog.extend(changes, is_first=is_first)
            self._end_if_full()
            self._wake()
            return
        self.failures += tell(self._callback, changes, self.variables)

    def tell_problem(self, problem: Overrun | Stale | Reconnected) -> None:
        """For the maker of the subscription: events were dropped on their way here, rows may be out of date for some time, or the
        client was without a peer for a while. The next read raises that, once."""
        if self._callback is not None:
            log.warning("subscription to %s: %s", self.variables, problem)
        elif self._state is not _State.CLOSED:
            if isinstance(problem, Overrun):
                self._overrun = problem.since(self._overrun)
            elif isinstance(problem, Reconnected):
                self._reconnected = problem
            else:
                self._stale = problem
            self._wake()

    def tell_missed(self, overrun: Overrun) -> None:
        """For the maker of the subscription: events were not kept on their way here, as nobody took them in time."""
        self._lost_before += overrun.lost
        if self._overflow is Overflow.ERROR:
            self._end_unread(overrun)
        else:
            self.tell_problem(overrun)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come; what has come can still be read."""
        return self._state is not _State.OPEN

    def end(self, error: GsgError | None) -> None:
        """For the maker of the subscription: nothing more will come, because of ``error`` if there is one."""
        if self._state is _State.CLOSED:
            return
        self._state = _State.ENDED
        self._error = error
        self._stale = None  # why it has ended says more
        self._wake()

    def _wake(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None
