"""Subscriptions that are told as server-sent events, and outlive the connection of their client for a while.

    told ──its client leaves──> kept ──comes back within KEPT_S──> told
      │                          └──KEPT_S, or MAX_KEPT others──> closed
      └──the subscription ends, the door closes──> closed

While one is kept, its differences wait in the subscription's bounded backlog, as those of a slow reader do. So a client that comes
back is told what it may not have got, and then what has changed meanwhile: the difference to what it holds. Where that is not known
any more it is told so, and begins with a snapshot.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Hashable
from typing import Final

import msgspec
from msgspec import Struct

from ...errors import GsgError, Overrun, Stale, TooLarge
from ...languages.rows import Change
from ...monitoring.logs.fields import time_text
from ...subscriptions.backlog import Pool
from ...subscriptions.live import LiveSubscription
from ..failures import failed
from ..protocol import BYTES_PER_MESSAGE, MAX_MESSAGE_BYTES
from ..serving.clients import ended
from . import stream_events
from .event_text import HEARTBEAT, Place, Sent, SentBytes, event
from .form import row_of
from .messages import problem_object
from .terms import WRITERS, TermForm

KEPT_S: Final = 60.0
"""How long a subscription waits for its client to come back."""
MAX_KEPT: Final = 256
"""Subscriptions that wait so; with one more, the one that has waited for the longest is closed."""
HEARTBEAT_S: Final = 15.0
"""After so long without an event a comment is sent: proxies end what says nothing, often after 30 s or 60 s."""
RETRY_MS: Final = 2_000
"""When a browser is to come back after it lost the connection."""
ROWS_AT_ONCE: Final = 200
"""Rows that are written before others have their turn: about two milliseconds."""
ENDED: Final = "ended"
"""The id of a stream's last event: whoever comes back with it is told to stay away, or browsers would ask again for ever."""

_encode = msgspec.json.Encoder().encode


class Stream:
    """One of them. ``question``: what was asked by whom, which whoever comes back has to ask again."""

    def __init__(
        self,
        question: Hashable,
        subscription: LiveSubscription,
        terms: TermForm,
        together: SentBytes,
        on_close: Callable[[], None],
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.question = question
        self.subscription = subscription
        # Whoever knows it may have the rows, so it is not to be guessed.
        self.name = secrets.token_urlsafe(16)
        self.reader: asyncio.Future[None] | None = None
        """Who writes it to its client, if that is there."""
        self.has_ended = False
        """Whether the last event was written."""
        self._on_close = on_close
        self._write = WRITERS[terms]
        self._clock = clock
        self._sent = Sent(self.name, together)
        self._stored = subscription.pending
        """Rows of the first answer that are to come."""
        self._is_up_to_date = False

    def since(self, number: int) -> list[bytes] | None:
        """What was written behind an event; None where that is not known."""
        return self._sent.since(number)

    def snapshot(self, because: str = "") -> bytes:
        """How it begins."""
        live = self.subscription
        return self._sent.add("snapshot", _encode(stream_events.Snapshot(live.variables, live.number, live.warnings, because)))

    def resumed(self) -> bytes:
        """How it goes on."""
        return event("resumed", _encode(stream_events.Resumed(self.subscription.variables, self.subscription.number)))

    async def parts(self) -> AsyncIterator[bytes]:
        """What there is to tell, in parts of some events, until it ends; a heartbeat where there is nothing for long."""
        live = self.subscription
        while not self.has_ended:
            # What came and went again while the client was slow is not pending any more.
            self._stored = min(self._stored, live.pending)
            if not self._is_up_to_date and not self._stored:
                self._is_up_to_date = True
                yield self._sent.add("up_to_date", _encode(stream_events.UpToDate(time_text(self._clock()))))
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await live.wait()
            except TimeoutError:
                yield HEARTBEAT
                continue
            yield self._next()
            await asyncio.sleep(0)

    def _next(self) -> bytes:
        live = self.subscription
        try:
            batch = live.take(min(self._stored or ROWS_AT_ONCE, ROWS_AT_ONCE), BYTES_PER_MESSAGE)
            if not batch and live.has_ended:
                return self._end(None)
            self._stored = max(0, self._stored - len(batch))
            return self._rows(batch)
        except Overrun as error:
            return self._end(error) if live.has_ended else self._sent.add("overrun", _problem(stream_events.Overrun, error))
        except Stale as error:
            return self._sent.add("stale", _problem(stream_events.Stale, error))
        except GsgError as error:
            return self._end(error)

    def _rows(self, batch: list[Change]) -> bytes:
        at, rows = time_text(self._clock()), []
        for change in batch:
            row = _encode(stream_events.Row(*row_of(change, self._write), at))
            if len(row) > MAX_MESSAGE_BYTES:
                raise TooLarge(
                    f"the subscription has ended because of a row of {len(row):,} bytes; expected at most {MAX_MESSAGE_BYTES:,}: "
                    "subscribe to fewer of its names, or publish references to what is long"
                )
            rows.append(self._sent.add("row", row))
        return b"".join(rows)

    def _end(self, error: GsgError | None) -> bytes:
        self.has_ended = True
        return event("ended", _encode(stream_events.Ended()) if error is None else _problem(stream_events.Ended, error), ENDED)

    async def close(self) -> None:
        """End the subscription, and forget what was told."""
        self._sent.forget()
        on_close, self._on_close = self._on_close, lambda: None
        on_close()
        await self.subscription.close()


def ended_because(error: GsgError) -> bytes:
    """The event of a stream that ends for a while: its client may come back with the id that it has."""
    return event("ended", _problem(stream_events.Ended, error))


def _problem(kind: Callable[[Struct], Struct], error: GsgError) -> bytes:
    return _encode(kind(problem_object(failed(0, error))))


class Streams:
    """Those of one door."""

    def __init__(self, unread: Pool, *, clock: Callable[[], float] = time.time) -> None:
        """``unread``: shared by all who are sent rows, for those that wait."""
        self._unread = unread
        self._clock = clock
        self._sent = SentBytes()
        self._open: dict[str, Stream] = {}
        """By name. Limit: the clients of the door, and MAX_KEPT."""
        self._kept: dict[str, asyncio.TimerHandle] = {}
        """Those that wait for their client, for the longest first. Limit: MAX_KEPT."""
        self._closing: set[asyncio.Task[None]] = set()
        """Those whose time is over, until they are closed."""

    def begin(
        self, question: Hashable, subscription: LiveSubscription, terms: TermForm, on_close: Callable[[], None] = lambda: None
    ) -> Stream:
        """A stream for a subscription that was just made; ``on_close`` is called when it is closed."""
        subscription.join_pool(self._unread)
        made = Stream(question, subscription, terms, self._sent, on_close, clock=self._clock)
        self._open[made.name] = made
        return made

    async def find(self, place: Place, question: Hashable) -> Stream | None:
        """The stream that a client comes back to, which is not closed meanwhile; None where it is not known, or another's."""
        stream = self._open.get(place.stream)
        if stream is None or stream.question != question or stream.has_ended:
            return None
        kept = self._kept.pop(stream.name, None)
        if kept is not None:
            kept.cancel()
        if stream.reader is not None:
            # The client is back before its old connection is known to be lost: what went there may be lost, and no more is to go.
            await ended(stream.reader)
        return stream

    async def leave(self, stream: Stream, reader: asyncio.Future[None]) -> None:
        """A reader of it is gone: it is kept for a while, unless it has ended or has another reader by now."""
        if stream.reader is not reader or stream.name not in self._open:
            return
        stream.reader = None
        if stream.has_ended:
            await self.close(stream)
            return
        loop = asyncio.get_running_loop()
        self._kept[stream.name] = loop.call_later(KEPT_S, self._close_later, stream)
        if len(self._kept) > MAX_KEPT:
            oldest = next(iter(self._kept))
            await self.close(self._open[oldest])

    async def close(self, stream: Stream) -> None:
        """End it for good."""
        kept = self._kept.pop(stream.name, None)
        if kept is not None:
            kept.cancel()
        self._open.pop(stream.name, None)
        await stream.close()

    async def close_all(self) -> None:
        """The door is closed."""
        for stream in list(self._open.values()):
            await self.close(stream)
        await asyncio.gather(*self._closing)

    def _close_later(self, stream: Stream) -> None:
        task = asyncio.ensure_future(self.close(stream))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
