"""Events of a topic that one subscriber has not read yet: bounded, and never silently short."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

from ..errors import GsgError, Overrun
from ..tuples.terms import Term

LIMIT: Final = 10_000
LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Events, and bytes of them as they travel, that wait for one subscriber; beyond, the oldest go and the next read says how many."""


@dataclass(frozen=True, slots=True)
class TopicEvent:
    """What was published to a topic: its values, and by whom, with the publisher's number for it."""

    topic: str
    values: tuple[Term, ...]
    publisher: bytes
    number: int


@dataclass(slots=True)
class Losses:
    """How many events a reader was not given, and why, as far as that is known.

    ``lost`` in all, of which so many are known to have been ``unread`` in a backlog that was full, and ``missing`` at all
    members. 0 in all where nobody knows how many, and whether.
    """

    lost: int = 0
    unread: int = 0
    missing: int = 0

    def add(self, lost: int, *, unread: int = 0, missing: int = 0) -> None:
        """So many more."""
        self.lost += lost
        self.unread += unread
        self.missing += missing

    def overrun(self) -> Overrun:
        """These, to be raised."""
        return Overrun(str(self), lost=self.lost, unread=self.unread, missing=self.missing)

    def __str__(self) -> str:
        either = "they were not read in time, or no member has them any more"
        if not self.lost:
            return f"events of the topic may have been lost: {either}"
        told = f"{self.lost:,} events of the topic were lost" if self.lost > 1 else "an event of the topic was lost"
        if self.unread == self.lost:
            return f"{told}: not read in time"
        if self.missing == self.lost:
            return f"{told}: no member has {'them' if self.lost > 1 else 'it'} any more"
        if self.unread + self.missing == self.lost:
            return f"{told}: {self.unread:,} not read in time, and no member has {self.missing:,} any more"
        return f"{told}: {either}"


class Backlog:
    """Read by one reader, filled by the topic."""

    def __init__(self, *, limit: int = LIMIT, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._events: deque[tuple[TopicEvent, int]] = deque()
        self._bytes = 0
        self._losses: Losses | None = None
        """What was lost, or may have been, of which the reader was not told."""
        self._interruption: GsgError | None = None
        """What the next read raises, once."""
        self._why: GsgError | None = None
        """What has ended it, where that was no end in order."""
        self._news = asyncio.Event()
        self._is_closed = False

    def put(self, event: TopicEvent, size_bytes: int) -> None:
        """Keep an event, which takes so many bytes as it travels; beyond a limit the oldest go, and are counted as lost."""
        self._events.append((event, size_bytes))
        self._bytes += size_bytes
        while len(self._events) > self._limit or (self._bytes > self._limit_bytes and len(self._events) > 1):
            self._bytes -= self._events.popleft()[1]
            self.lose(1, unread=1)
        self._news.set()

    def lose(self, count: int, *, unread: int = 0, missing: int = 0) -> None:
        """So many events will not come; 0 where nobody knows how many, and whether. Of these so many are known to have been unread
        for too long, and so many that no member has them any more."""
        self._losses = self._losses or Losses()
        self._losses.add(count, unread=unread, missing=missing)
        self._news.set()

    def interrupt(self, problem: GsgError) -> None:
        """The next read raises this, once, and the one after it goes on."""
        self._interruption = problem
        self._news.set()

    def close(self, why: GsgError | None = None) -> None:
        """Nothing more comes; what is there can be read, and then why, where that is a problem."""
        self._is_closed = True
        self._why = self._why or why
        self._news.set()

    def take(self, most: int, most_bytes: int) -> list[TopicEvent]:
        """The events that wait, at most ``most`` of them and about ``most_bytes``, without waiting for more; none where some were
        lost before them, which the next :meth:`__anext__` raises."""
        taken: list[TopicEvent] = []
        while self._events and self._losses is None and len(taken) < most and most_bytes > 0:
            event, size_bytes = self._events.popleft()
            self._bytes -= size_bytes
            most_bytes -= size_bytes
            taken.append(event)
        return taken

    async def __anext__(self) -> TopicEvent:
        """The next event. Raises Overrun once where some were lost before it, what has interrupted it, StopAsyncIteration at the
        end."""
        while True:
            if self._losses is not None:
                losses, self._losses = self._losses, None
                raise losses.overrun()
            if self._interruption is not None:
                interruption, self._interruption = self._interruption, None
                raise interruption
            if self._events:
                event, size_bytes = self._events.popleft()
                self._bytes -= size_bytes
                return event
            if self._is_closed:
                raise self._why or StopAsyncIteration
            self._news.clear()
            await self._news.wait()
