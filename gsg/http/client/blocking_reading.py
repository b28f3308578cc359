"""What a client for programs without ``async`` reads: the rows of a standing query, and the events of a topic or a channel."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from ...errors import DoorClosed, GsgError, Overrun, Reconnected, Stale
from ...languages.rows import Change, Row
from ...subscriptions.live import LiveSubscription
from ...subscriptions.subscription import Callback, tell
from ...subscriptions.tables import Tabular, shown
from ..client_thread import ClientThread, Wrapping
from .events import ClientEvents

log = logging.getLogger(__name__)

BATCH = 1_000
"""Differences that are fetched from the client's thread at once."""

Read = TypeVar("Read")
Wrapped = TypeVar("Wrapped")
Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


class BlockingSubscription(Tabular):
    """A standing query of :class:`gsg.Client`; what it tells and raises is what :class:`gsg.LiveSubscription` says.

    ``for sign, row in subscription`` gives the differences, oldest first, and waits for more until the subscription or the client
    is closed. With a callback they go there instead. A context manager: leaving the block ends it. Several threads may read: each
    difference goes to one of them.
    """

    def __init__(self, thread: ClientThread, live: LiveSubscription, callback: Callback | None) -> None:
        self.failures = 0
        """How often the callback has raised; each is logged with its subscription."""
        self._thread = thread
        self._live = live
        self._fetched: deque[Change] = deque()
        """Limit: BATCH for each thread that reads."""
        if callback is not None:
            thread.start(self._tell(callback))

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of a row, in order of appearance."""
        return self._live.variables

    @property
    def number(self) -> int:
        """By which its peer can be asked about it."""
        return self._live.number

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever wrote the query should know."""
        return self._live.warnings

    @property
    def lost(self) -> int:
        """How many differences were dropped because they were not read in time."""
        return self._live.lost

    @property
    def pending(self) -> int:
        """Differences that have come and were not read."""
        return self._live.pending + len(self._fetched)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come; what has come can still be read."""
        return self._live.has_ended

    def __repr__(self) -> str:
        state = "ended" if self.has_ended else "open"
        return shown(f"BlockingSubscription {self.number}", self.variables, f"{state}, {self.pending:,} unread")

    def rows(self) -> Counter[Row]:
        """The rows that hold now. Raises DoorClosed where the client is closed."""
        return self._thread.call(_soon(self._live.rows))

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        try:
            return self._fetched.popleft()
        except IndexError:
            pass
        try:
            batch = self._thread.call(self._live.batch(BATCH))
        except DoorClosed:
            raise StopIteration from None
        if not batch:
            raise StopIteration
        self._fetched.extend(batch[1:])
        return batch[0]

    def batch(self, most: int, timeout_s: float | None = None) -> list[Change]:
        """The oldest differences, at most so many; waits for the first, and is empty when the subscription was closed.

        Raises TimeoutError where none has come within ``timeout_s``, and what iterating raises.
        """
        fetched: list[Change] = []
        while self._fetched and len(fetched) < most:
            fetched.append(self._fetched.popleft())
        return fetched or self._thread.call(_within(timeout_s, lambda: self._live.batch(most)))

    def close(self) -> None:
        """End the subscription: nothing more comes. Closing twice is allowed, and where the client is closed it has ended."""
        self._fetched.clear()
        try:
            self._thread.call(self._live.close())
        except DoorClosed:
            log.debug("a subscription to %s has ended with its client", self.variables)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _tell(self, callback: Callback) -> None:
        """Hand over what comes, batch by batch: while the callback runs, the rest waits in the bounded backlog."""
        loop, live = asyncio.get_running_loop(), self._live
        while True:
            try:
                batch = await live.batch(BATCH)
            except (Overrun, Stale, Reconnected) as problem:
                log.warning("subscription to %s: %s", live.variables, problem)
                if live.has_ended:
                    return
            except GsgError as error:
                log.warning("subscription to %s has ended: %s", live.variables, error)
                return
            else:
                if not batch:
                    return
                self.failures += await loop.run_in_executor(self._thread.callbacks, tell, callback, batch, live.variables)


class BlockingEvents(Generic[Read]):
    """The events of one subscription of a topic or a channel: ``for event in events``, which waits for more until it is closed.

    What it raises is what :class:`gsg.http.client.events.ClientEvents` says. A context manager: leaving the block ends it.
    """

    def __init__(self, thread: ClientThread, events: ClientEvents[Read]) -> None:
        self._thread = thread
        self._events = events

    def __iter__(self) -> Iterator[Read]:
        return self

    def __next__(self) -> Read:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout_s: float | None = None) -> Read | None:
        """The next event; None when the subscription or the client was closed. Raises TimeoutError where none has come in time."""
        try:
            return self._thread.call(_within(timeout_s, lambda: anext(self._events, None)))
        except DoorClosed:
            return None

    def close(self) -> None:
        """End the subscription; what came before can still be read. Closing twice is allowed."""
        try:
            self._thread.call(self._events.close())
        except DoorClosed:
            log.debug("a subscription has ended with its client")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def hearing(
    verb: Callable[Concatenate[Wrapped, Parameters], Coroutine[Any, Any, ClientEvents[Read]]],
) -> Callable[Concatenate[Wrapping[Wrapped], Parameters], BlockingEvents[Read]]:
    """The verb that subscribes to events, for what is around something asynchronous."""

    @wraps(verb)
    def wait(self: Wrapping[Wrapped], /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> BlockingEvents[Read]:
        thread, wrapped = self._parts()
        return BlockingEvents(thread, thread.call(verb(wrapped, *args, **kwargs)))

    return wait


async def _soon(read: Callable[[], Answer]) -> Answer:
    return read()


async def _within(timeout_s: float | None, begin: Callable[[], Awaitable[Answer]]) -> Answer:
    async with asyncio.timeout(timeout_s):
        return await begin()
