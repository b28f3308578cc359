"""Events that rendezvous bring: each listener hears of each once, and each joins once with the facts of its moment.

    arrived ──acknowledged──> its turn comes (:mod:`gsg.feeds.ordered_delivery`) ──> told to listeners ──> joined

An event may come by every holder of its key, and again after a failure; what was told already is told nobody again
(:mod:`gsg.feeds.seen_events`). Who asked after it was published does not hear of it, however late it comes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from math import inf
from typing import Protocol

from ..errors import PeerMisbehaved
from ..placement.rules import NOWHERE
from ..wire.exchange import PeerLink
from ..wire.messages import Event, Happened
from ..wire.trace_context import EVENT, NO_SPAN, NO_SPANS, Spans
from .acknowledging import Acknowledger
from .alpha_memory import AlphaMemory
from .seen_events import SeenEvents

log = logging.getLogger(__name__)


class Joins(Protocol):
    """The joins of a peer's queries."""

    def join_event(self, event: Event, memories: Sequence[AlphaMemory], said_s: float) -> None:
        """An event of these memories joins with the facts of this moment; no query that was asked after ``said_s`` hears of it."""

    def tell_rows(self) -> None:
        """Tell the queries of the rows that were made since they were told last."""


class IncomingEvents:
    """The events that one peer receives. ``memory_of(link, number)`` is the memory that a feed keeps."""

    def __init__(self, memory_of: Callable[[PeerLink, int], AlphaMemory | None], joins: Joins) -> None:
        self.alone = True
        """Whether there was never another peer: everything comes once then."""
        self.acknowledger = Acknowledger()
        self._memory_of = memory_of
        self._joins = joins
        self._seen = SeenEvents()
        self.on_told: Callable[[bytes, Sequence[Event]], None] | None = None
        """Hears of a publisher's events whose rows are told now, where they came by a message."""
        self.spans: Spans = NO_SPANS

    def accept(self, link: PeerLink, message: Happened) -> bool:
        """Acknowledge what a link has brought. Whether it is to be told, in its turn: some feed of it comes by this link, as nobody
        else is to say what was published, and what comes before it. Raises PeerMisbehaved."""
        if len(message.feeds) != len(message.events):
            raise PeerMisbehaved(f"{len(message.events)} events with {len(message.feeds)} lists of feeds; expected as many")
        self.acknowledger.count_message(link)
        memory_of = self._memory_of
        for feeds in message.feeds:
            for number in feeds:
                if memory_of(link, number) is not None:
                    return True  # nearly always the first
        return False

    def tell_all(self, link: PeerLink, message: Happened) -> None:
        """It is the turn of events: as :meth:`tell` for each of them, but each query hears of its rows at once."""
        if message.trace is None:
            self._tell_all(link, message)
        else:
            with self.spans.deliver(message.trace, EVENT, len(message.events)):
                self._tell_all(link, message)

    def _tell_all(self, link: PeerLink, message: Happened) -> None:
        for event, numbers in zip(message.events, message.feeds, strict=True):
            try:
                self._tell(link, message.publisher, event, numbers)
            except Exception:
                # A defect of ours in one listener must not keep the others waiting.
                log.exception("an event was not carried out")
        self._joins.tell_rows()
        if self.on_told is not None:
            self.on_told(message.publisher, message.events)

    def tell(self, link: PeerLink, publisher: bytes, event: Event, feeds: Sequence[int]) -> None:
        """It is the turn of an event that some feeds match: listeners hear, and it joins with the facts of this moment, once."""
        self._tell(link, publisher, event, feeds)
        self._joins.tell_rows()

    def hold(self, link: PeerLink, message: Happened, event: Event, feeds: Sequence[int]) -> Callable[[], None]:
        """What is to be done when it is the turn of an event of a message that has come already, and some feeds match.

        Whoever listens now hears of it then, also where it has ended by then: it was said before. A query that is asked until then
        does not.
        """
        came_s = asyncio.get_running_loop().time()
        # Not the message: it may have a thousand more, which are not to stay for this one.
        publisher, trace = message.publisher, message.trace
        memories = self._memories_of(link, feeds)

        def tell() -> None:
            # A query that has ended has no rows any more.
            still = [memory for memory in memories if memory.on_event is not None or memory.users]
            with NO_SPAN if trace is None else self.spans.deliver(trace, EVENT, 1):
                self._tell_memories(publisher, event, still, came_s)
                self._joins.tell_rows()
            if self.on_told is not None:
                self.on_told(publisher, (event,))

        return tell

    def _memories_of(self, link: PeerLink, feeds: Sequence[int]) -> list[AlphaMemory]:
        return [memory for number in feeds if (memory := self._memory_of(link, number)) is not None]

    def _tell(self, link: PeerLink, publisher: bytes, event: Event, feeds: Sequence[int]) -> None:
        if len(feeds) == 1:
            # Nearly always, so it is made short.
            only = self._memory_of(link, feeds[0])
            if only is None:
                return
            if only.on_event is not None and self.alone:
                only.on_event(event, only.note)
                return
            memories = [only]
        else:
            memories = self._memories_of(link, feeds)
        self._tell_memories(publisher, event, memories)

    def _tell_memories(self, publisher: bytes, event: Event, memories: list[AlphaMemory], came_s: float = inf) -> None:
        """Tell whom an event concerns; ``came_s`` is when it came here, where that was not now."""
        said_s = came_s
        if event.late_s > 0:
            said_s = min(said_s, asyncio.get_running_loop().time()) - (event.late_s - 1)
            memories = [memory for memory in memories if memory.since_s <= said_s]
        # Newest first, those without constants last: the order in which Pedro serves its subscriptions.
        memories.sort(key=_pedro_order)
        listeners: Sequence[AlphaMemory] = [memory for memory in memories if memory.on_event is not None]
        is_joined = len(listeners) < len(memories)
        if listeners and not self.alone:
            # A listener may stand by where it is fed, for a moment.
            listeners = self._seen.unheard_by(publisher, event.number, list(dict.fromkeys(listeners)))
        for memory in listeners:
            assert memory.on_event is not None, "a listener"
            memory.on_event(event, memory.note)
        if is_joined and self._seen.is_new(publisher, event.number):
            self._joins.join_event(event, memories, said_s)


def _pedro_order(memory: AlphaMemory) -> tuple[bool, int]:
    return memory.anchor == NOWHERE, -memory.number
