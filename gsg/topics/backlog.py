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


class Backlog:
    """Read by one reader, filled by the topic."""

    def __init__(self, *, limit: int = LIMIT, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit
        self._limit_bytes = limit_bytes
        self._events: deque[tuple[TopicEvent, int]] = deque()
        self._bytes = 0
        self._lost = 0
        self._gap = False
        """Whether some were lost, or may have been, of which the reader was not told."""
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
            self._lost += 1
            self._gap = True
        self._news.set()

    def lose(self, count: int) -> None:
        """So many events will not come; 0 where nobody knows how many, and whether."""
        self._lost += count
        self._gap = True
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
        while self._events and not self._gap and len(taken) < most and most_bytes > 0:
            event, size_bytes = self._events.popleft()
            self._bytes -= size_bytes
            most_bytes -= size_bytes
            taken.append(event)
        return taken

    async def __anext__(self) -> TopicEvent:
        """The next event. Raises Overrun once where some were lost before it, StopAsyncIteration at the end."""
        while True:
            if self._gap:
                lost, self._lost, self._gap = self._lost, 0, False
                why = "they were not read in time, or no member has them any more"
                what = f"{lost:,} events of the topic were lost" if lost else "events of the topic may have been lost"
                raise Overrun(f"{what}: {why}", lost=lost)
            if self._events:
                event, size_bytes = self._events.popleft()
                self._bytes -= size_bytes
                return event
            if self._is_closed:
                raise self._why or StopAsyncIteration
            self._news.clear()
            await self._news.wait()
