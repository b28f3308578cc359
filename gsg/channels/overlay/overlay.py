"""A channel at a peer: it finds the channels at other peers, and the clients of other doors, by what events hold.

    async with Overlay(channel, peer) as overlay:
        channel.subscribe(print, "(= type 'error)")
        await overlay.posted()

What is published here goes to the rendezvous of those features that somebody asks for, in order (sending.py); what is wanted here
is posted with them (posting.py), and what comes from them is published in the channel, once, however many features brought it. A
channel that is at a peer passes on what is published in it, and not what others want: channels that are linked with it are to be at
peers as well.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from types import TracebackType
from typing import Self

from dht.log_rate import LogRate

from ...background import logging_failure
from ...errors import BadTerm, GsgError, PeerMisbehaved
from ...peer import Peer
from ...wire.messages import Event as TupleEvent
from ..channel import Channel
from ..events import Event
from ..languages.expressions import FALSE, TRUE, Condition
from .event_tests import test_of
from .event_tuples import event_of, source_of
from .features import of_channel
from .posting import InterestPoster
from .postings import Interest, Posting
from .sending import EventSender

log = logging.getLogger(__name__)
_unreadable, _refused = LogRate(log), LogRate(log)


class Overlay:
    """Puts a channel among those of all peers while the block is entered."""

    def __init__(self, channel: Channel, peer: Peer) -> None:
        self._channel = channel
        self._taking: Event | None = None
        """The event from the overlay that is being published here, and not to go back."""
        self._said_last: TupleEvent | None = None
        """What a client of another door said last."""
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        own = Posting(of_channel(channel.source), test_of(None, TRUE))
        self._poster = InterestPoster(peer, self._hear, channel.name, self._start, own)
        self._sender = EventSender(peer, channel.name, self._start)
        self.received = 0
        """Events that came from other peers, each once."""
        self.refused = 0
        """Of these, those that the channel did not take."""
        self.unreadable = 0
        """Tuples that came for the channel and are no events."""

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._channel.on_event.append(self._send)
        self._channel.on_interest.append(self._note_interest)
        for condition, asker in self._channel.interests():
            self._note_interest(condition, asker, 1)
        self._poster.begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._channel.on_event.remove(self._send)
        self._channel.on_interest.remove(self._note_interest)
        for task in self._running:
            task.cancel()
        try:
            await self._group.__aexit__(None, None, None)
        finally:
            self._sender.leave()
            self._poster.leave()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(logging_failure(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # One that is cancelled before its first step never came to await its work.
        task.add_done_callback(lambda _: work.close())

    @property
    def sent(self) -> int:
        """Events that all rendezvous which they concern have passed on."""
        return self._sender.sent

    @property
    def lost(self) -> int:
        """Events that did not reach all whom they may concern."""
        return self._sender.lost

    async def posted(self) -> None:
        """Wait until all that is wanted here is posted: whatever is published from then on comes. Raises DoorClosed."""
        await self._poster.posted()

    async def all_sent(self) -> None:
        """Wait until all that was published by now was passed on by its rendezvous, or is counted as :attr:`lost`. Raises
        DoorClosed."""
        await self._sender.all_sent()

    def _send(self, event: Event) -> None:
        if event is not self._taking:
            self._sender.send(event)

    def _note_interest(self, condition: Condition, asker: str, sign: int) -> None:
        if condition != FALSE:
            self._poster.note_interest(Interest(condition, asker), sign)

    def _hear(self, told: TupleEvent, note: int) -> None:
        """A rendezvous has brought an event, perhaps one that came by another one already."""
        try:
            source, number = source_of(told.items)
            if self._channel.has_come(source, number):
                return
            event = event_of(told.items)
            if not event.source:
                # While one posting takes the place of another, both of them bring it.
                if told is self._said_last:
                    return
                self._said_last = told
            self._taking = event if event.source else self._channel.own_event(event.fields)
            self.received += 1
            self._channel.publish(self._taking)
        except (BadTerm, PeerMisbehaved) as error:
            self.unreadable += 1
            _unreadable.warning("channel %s: what came from a peer is no event: %s", self._channel.name, error)
        except GsgError as error:
            self.refused += 1
            _refused.warning("channel %s: an event from a peer is lost: %s", self._channel.name, error)
        finally:
            self._taking = None
