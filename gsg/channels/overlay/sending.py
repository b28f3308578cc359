"""What a channel at a peer publishes, on its way to others: each event under those of its features that somebody asks for.

published ──bounded queue──> features and other doors' tuples ──asked for?──> the peer ──> their rendezvous
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain, groupby
from typing import Final

from dht.log_rate import LogRate

from ...background import StartTask, Worker
from ...errors import BadTerm, DoorClosed
from ...peer import Peer
from ...tuples.sizes import MAX_TUPLE_BYTES
from ...tuples.terms import Tuple
from ..encoding import encode_event
from ..events import Event
from .event_tuples import FEATURE_PLACE, tuples_for_others, tuples_under
from .features import features_of, of_channel
from .horizon import concerned_by

log = logging.getLogger(__name__)
_lost = LogRate(log)

MAX_UNSENT: Final = 100_000
"""Events that wait to be sent; one more is counted as lost, and logged."""
UNSENT_CHARACTERS: Final = 64 * 1024 * 1024
"""Characters of all of these; what happens beyond is the same."""
AT_ONCE: Final = 100
"""Events that are sent together."""
CHARACTERS_AT_ONCE: Final = 256 * 1024
"""Characters of these: others have their turn between."""
MAX_FIELDS: Final = 1_000
"""Of one event between peers, those of inner events not counted: each is a feature. Doors refuse one with more; of an application's
own it is counted as lost to others, and logged."""
MAX_COPIED_CHARACTERS: Final = 16 * 1024 * 1024
"""Characters of one event times its features, as it may have to go to each of these. What happens beyond is the same."""
MAX_BODY_BYTES: Final = MAX_TUPLE_BYTES - 4 * 1024
"""Of an event as encoded, in a tuple with its feature; what happens beyond is the same."""
_ALWAYS_FIT: Final = 100_000
"""Characters of an event that need not be measured."""
_PEER = re.compile(r"[0-9a-f]{40}")

Making = Callable[[Event], Iterable[Tuple]]


class EventSender:
    """Sends the events of one channel, in order. ``name`` is the channel's, for the log."""

    def __init__(self, peer: Peer, name: str, start_task: StartTask) -> None:
        self._peer = peer
        self._name = name
        self._unsent: deque[Event] = deque()
        """Limits: MAX_UNSENT, UNSENT_CHARACTERS."""
        self._characters = 0
        self._entered = self._handled = 0
        """How many events there were to send, and how many of them are done with."""
        self._left = False
        self._worker = Worker(start_task, self._send_pending)
        self._handled_some = asyncio.Event()
        self.sent = 0
        """Events that all rendezvous which they concern have passed on."""
        self.lost = 0
        """Events that did not reach all whom they may concern."""

    def send(self, event: Event) -> None:
        """Send an event when those before it are sent."""
        characters = event.size()
        if len(self._unsent) >= MAX_UNSENT or self._characters + characters > UNSENT_CHARACTERS:
            self._lose(event, "this channel publishes faster than its peer sends")
            return
        try:
            check_event(event)
        except BadTerm as error:
            self._lose(event, str(error))
            return
        self._entered += 1
        self._unsent.append(event)
        self._characters += characters
        self._worker.wake()

    async def all_sent(self) -> None:
        """Wait until all that was published by now was passed on by its rendezvous, or is counted as lost. Raises DoorClosed where
        the channel has left the peer."""
        entered = self._entered
        while self._handled < entered and not self._left:
            self._handled_some.clear()
            await self._handled_some.wait()
        if self._handled < entered:
            raise DoorClosed(f"{entered - self._handled:,} events were not sent, as the channel has left its peer")

    def leave(self) -> None:
        """Send nothing any more; what was not sent is lost."""
        self._left = True
        self.lost += self._entered - self._handled
        self._handled_some.set()

    async def _send_pending(self) -> None:
        while self._unsent:
            for audience, group in groupby(self._take_some(), _audience_of):
                events = list(group)
                # Of names of readers other doors know nothing: such events are for channels alone.
                others = [event for event in events if event.readers is None or audience is not None]
                failed = await asyncio.gather(
                    self._send_each(events, _under_features, audience, within=(FEATURE_PLACE,)),
                    self._send_each(others, tuples_for_others, audience),
                )
                problems = failed[0] | failed[1]
                for event in events:
                    if id(event) in problems:
                        self._lose(event, problems[id(event)])
                self.sent += len(events) - len(problems)
                self._handled += len(events)
            self._handled_some.set()

    def _take_some(self) -> list[Event]:
        some, characters = list[Event](), 0
        while self._unsent and len(some) < AT_ONCE and characters < CHARACTERS_AT_ONCE:
            some.append(self._unsent.popleft())
            characters += some[-1].size()
        self._characters -= characters
        return some

    async def _send_each(
        self, events: list[Event], make: Making, audience: tuple[str, ...] | None, *, within: tuple[int, ...] | None = None
    ) -> dict[int, str]:
        """Send events as tuples, together, or where that fails one by one. Returns what kept each from it, by its identity."""
        try:
            # Of an event's tuples mostly one or two are asked for.
            wanted = self._peer.wanted([items for event in events for items in make(event)], within=within)
            if wanted and audience != ():
                await self._peer.flash([(items, None) for items in wanted], within=within, audience=audience)
        except Exception as error:  # whatever one event brings about is not to keep the others back
            if len(events) > 1:
                failed: dict[int, str] = {}
                for event in events:
                    failed |= await self._send_each([event], make, audience, within=within)
                return failed
            return {id(event): f"{type(error).__name__}: {error}" for event in events}
        return {}

    def _lose(self, event: Event, why: str) -> None:
        self.lost += 1
        _lost.warning("channel %s: event %d did not reach all others: %s", self._name, event.number, why)


def check_event(event: Event) -> None:
    """Raise BadTerm for an event that is too large to go to other peers."""
    size = event.size()
    if len(event.fields) > MAX_FIELDS:
        problem = f"{len(event.fields):,} fields; expected at most {MAX_FIELDS:,}"
    elif size * (2 * len(event.fields) + 1) > MAX_COPIED_CHARACTERS:
        problem = f"{len(event.fields):,} fields and {size:,} characters; expected fewer of either"
    elif size > _ALWAYS_FIT and (length := len(encode_event(event).decode("latin-1").encode())) > MAX_BODY_BYTES:
        problem = f"{length:,} bytes as encoded; expected at most {MAX_BODY_BYTES:,}"
    else:
        return
    raise BadTerm(f"an event of {problem} between peers: put fields into an inner event, or publish a reference to the rest")


def _under_features(event: Event) -> list[Tuple]:
    # Whose horizon it is within is its publisher's to say, unless that one names readers.
    concerned = () if event.readers is not None else map(of_channel, concerned_by(event))
    return tuples_under(event, chain(features_of(event.fields), concerned))


def _audience_of(event: Event) -> tuple[str, ...] | None:
    """The peers that alone may read an event, where its readers are peers."""
    if event.readers is None or not all(map(_PEER.fullmatch, event.readers)):
        return None
    return tuple(sorted(event.readers))
