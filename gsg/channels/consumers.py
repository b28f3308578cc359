"""Consumers that an application need not write: a log file that rotates, a table, and a stream to be iterated over."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from logging import INFO, LogRecord
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Final

from ..errors import DoorClosed, GsgError, LocalError, Overrun
from .events import Event
from .notation import to_json

LOG_BYTES: Final = 10 * 1024 * 1024
"""Of a log file; the next one is begun then."""
LOG_FILES: Final = 5
"""Older log files that are kept; beyond, the oldest is deleted."""
UNREAD: Final = 10_000
UNREAD_CHARACTERS: Final = 16 * 1024 * 1024
"""Events that a stream keeps for its reader, and the characters of them all; what happens then the stream's ``overflow`` says."""


class _Handler(RotatingFileHandler):
    def handleError(self, record: LogRecord) -> None:  # noqa: N802  # as logging calls it
        """Raise what went wrong, for the channel to count, where logging would print it."""
        raise sys.exception() or RuntimeError("a log record was not written")


class LogFile:
    """Writes each event as one line of JSON, with its source and number. Raises OSError."""

    def __init__(self, path: str | Path, *, max_bytes: int = LOG_BYTES, kept: int = LOG_FILES) -> None:
        self._handler = _Handler(path, maxBytes=max_bytes, backupCount=kept, encoding="utf-8")

    def publish(self, event: Event) -> None:
        """Write an event. Raises OSError."""
        line = to_json({"source": event.source, "number": event.number, "event": event.fields})
        self._handler.emit(LogRecord("gsg.channels", INFO, "", 0, line, (), None))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()


class Table:
    """Inserts each event into a table of an SQLite database: source, number, and the event as JSON, of which SQLite's own functions
    read fields (``json_extract(event, '$.type')``). An event that is there already is not inserted again."""

    def __init__(self, path: str | Path, table: str = "events") -> None:
        self._name = '"' + table.replace('"', '""') + '"'
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute(
            f"CREATE TABLE IF NOT EXISTS {self._name} (source TEXT, number INTEGER, event TEXT, PRIMARY KEY (source, number))"
        )

    def publish(self, event: Event) -> None:
        """Insert an event."""
        row = event.source, event.number, to_json(event.fields)
        self._connection.execute(f"INSERT OR IGNORE INTO {self._name} VALUES (?, ?, ?)", row)  # a quoted name

    def close(self) -> None:
        """Close the database."""
        self._connection.close()


@dataclass(slots=True)
class Unread:
    """What several streams hold together, and how much that may be: beyond, the largest of them is at its limit."""

    limit: int
    """Of the characters of all their events."""
    characters: int = 0
    streams: set[Stream] = field(default_factory=set)
    """Those that hold any. Bounded by whoever makes them."""

    def make_room(self) -> None:
        """Let the largest stream do what it does at its limit, until no more is held than may be."""
        while self.characters > self.limit and self.streams:
            max(self.streams, key=Stream.held).overflow()


class Stream:
    """Keeps events for one reader: ``async for event in stream``.

    ``overflow`` says what happens when ``limit`` events are unread, or UNREAD_CHARACTERS of them, or more than several streams may
    hold ``together``: ``drop_oldest`` (counted as :attr:`dropped`) or ``error``: the reader reads what is there, and then Overrun
    is raised. Raises LocalError for another one.
    """

    def __init__(self, *, limit: int = UNREAD, overflow: str = "error", together: Unread | None = None) -> None:
        if overflow not in ("error", "drop_oldest") or limit < 1:
            raise LocalError(
                f"a stream with limit={limit} and overflow={overflow!r}; expected at least 1, and error or drop_oldest"
            )
        self._limit = limit
        self.drops_oldest = overflow == "drop_oldest"
        self._unread: deque[Event] = deque()
        self._characters = 0
        self._together = Unread(UNREAD_CHARACTERS) if together is None else together
        self._news = asyncio.Event()
        self._ended: Exception | None = None
        self._interruption: GsgError | None = None
        """What the next read raises, once."""
        self.dropped = 0
        """Events that the reader was too slow for."""

    def publish(self, event: Event) -> None:
        """Keep an event for the reader."""
        if self._ended is not None:
            self.dropped += 1
            if isinstance(self._ended, Overrun):
                self._ended.lost = self.dropped
            return
        self._unread.append(event)
        self._count(event.size())
        self._news.set()
        while len(self._unread) > self._limit or (self._characters > UNREAD_CHARACTERS and len(self._unread) > 1):
            self.overflow()
        self._together.make_room()

    def overflow(self) -> None:
        """What is to happen at the limit: the oldest event goes, or the newest and no more come."""
        self.dropped += 1
        if self.drops_oldest:
            self._count(-self._unread.popleft().size())
            return
        self._count(-self._unread.pop().size())
        unread = f"{len(self._unread):,} events of {self._characters:,} characters were unread"
        self._ended = self._ended or Overrun(f"{unread}; read faster, or with overflow='drop_oldest'", lost=1)

    def held(self) -> int:
        """The characters of the events that are unread."""
        return self._characters

    def _count(self, more: int) -> None:
        self._characters += more
        self._together.characters += more
        if self._unread:
            self._together.streams.add(self)
        else:
            self._together.streams.discard(self)

    def interrupt(self, problem: GsgError) -> None:
        """The next read raises this, once, and the one after it goes on."""
        self._interruption = problem
        self._news.set()

    def close(self) -> None:
        """End the iteration, once what is there was read."""
        self._ended = self._ended or DoorClosed("the stream was closed")
        self._news.set()

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while self._interruption is not None or not self._unread:
            if self._interruption is not None:
                interruption, self._interruption = self._interruption, None
                raise interruption
            if self._ended is not None:
                if isinstance(self._ended, DoorClosed):
                    raise StopAsyncIteration
                raise self._ended
            self._news.clear()
            await self._news.wait()
        return self.take()

    def take(self) -> Event:
        """The oldest event that is unread, of one at least."""
        event = self._unread.popleft()
        self._count(-event.size())
        return event

    def __len__(self) -> int:
        return len(self._unread)
