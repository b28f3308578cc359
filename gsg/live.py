"""A subscription whose differences come while others work: at a peer, or at a client of one."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from .backlog import LIMIT, Backlog
from .errors import GsgError
from .rows import Change, Row
from .subscription import Callback

log = logging.getLogger(__name__)


class LiveSubscription:
    """A standing query of :class:`gsg.Peer` or :class:`gsg.Client`. Made by their ``subscribe``.

    ``rows()`` is the answer as far as it has come. ``async for sign, row in subscription`` gives the differences, oldest first, the
    rows of the beginning included, and waits for more; it ends when the subscription is closed and raises what ended it
    otherwise. With a callback, differences go there instead, as they come.
    """

    def __init__(
        self,
        variables: tuple[str, ...],
        *,
        rows_now: Callable[[], Counter[Row]],
        on_close: Callable[[], Awaitable[None]],
        callback: Callback | None = None,
        limit: int = LIMIT,
    ) -> None:
        self.variables = variables
        """The names of a row, in order of appearance."""
        self.failures = 0
        """How often the callback has raised; each is logged with its subscription."""
        self._rows_now = rows_now
        self._on_close = on_close
        self._callback = callback
        self._backlog = Backlog(limit)
        self._news = asyncio.Event()
        self._ended = False
        self._error: GsgError | None = None

    def rows(self) -> Counter[Row]:
        """The rows that hold now, each with how often (more than once only where wildcards hide the difference)."""
        return self._rows_now()

    @property
    def pending(self) -> int:
        """Differences that have come and were not read."""
        return len(self._backlog)

    async def __aiter__(self) -> AsyncIterator[Change]:
        while batch := await self.batch(1):
            yield batch[0]

    async def batch(self, most: int) -> list[Change]:
        """The oldest differences, at most so many; waits for the first, and is empty when the subscription was closed.

        Raises what else ended the subscription, and Overrun where events had to be dropped.
        """
        while not len(self._backlog):
            if self._ended:
                if self._error is not None:
                    raise self._error
                return []
            self._news.clear()
            await self._news.wait()
        taken: list[Change] = []
        while len(taken) < most and (change := self._backlog.popleft()) is not None:
            taken.append(change)
        return taken

    async def close(self) -> None:
        """End the subscription: nothing more comes. Closing twice is allowed."""
        if not self._ended:
            self.ended(None)
            await self._on_close()

    async def __aenter__(self) -> LiveSubscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def deliver(self, changes: Iterable[Change]) -> None:
        """For the maker of the subscription: differences have come."""
        if self._callback is None:
            self._backlog.extend(changes)
            self._news.set()
            return
        for sign, row in changes:
            try:
                self._callback(sign, row)
            except Exception:
                # One subscriber's mistake must not keep the others from their rows.
                self.failures += 1
                log.exception("callback of a subscription to %s failed on %s %s", self.variables, sign, row)

    def ended(self, error: GsgError | None) -> None:
        """For the maker of the subscription: nothing more will come, because of ``error`` if there is one."""
        self._ended = True
        self._error = error
        self._news.set()
