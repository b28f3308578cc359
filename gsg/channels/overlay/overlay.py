"""A channel at a peer: it finds the channels at other peers, and the clients of other doors, by what events hold.

    async with Overlay(channel, peer) as overlay:
        channel.subscribe(print, "(= type 'error)")
        await overlay.posted()

What is published here goes to the rendezvous of those features that somebody asks for, in order; what comes from them is published
in the channel, once, however many features brought it. A channel that is at a peer passes on what is published in it, and not what
others want: channels that are linked with it are to be at peers as well.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from itertools import chain, groupby, islice
from types import TracebackType
from typing import Final, Self

from dht.log_rate import LogRate

from ...background import Worker, logging_failure
from ...errors import BadTerm, GsgError, PeerMisbehaved, PeerUnreachable, RemoteError
from ...feeds.alpha_memory import AlphaMemory
from ...peer import Peer
from ...tuples.terms import Term, Tuple
from ...wire.messages import Event as TupleEvent
from ..channel import Channel
from ..events import Event
from ..languages.expressions import TRUE, Condition
from ..values import Fields
from .event_tests import test_of
from .event_tuples import FEATURE_PLACE, event_of, place_of, source_of, tuples_for_others, tuples_under
from .features import candidates_of, features_of, of_channel
from .horizon import concerned_by
from .postings import Interest, Posting, Postings

log = logging.getLogger(__name__)
_unreadable, _lost = LogRate(log), LogRate(log)

MAX_UNSENT: Final = 100_000
UNSENT_CHARACTERS: Final = 64 * 1024 * 1024
"""Events that wait to be sent, and the characters of their texts; beyond, an event is counted as lost, and the log tells."""
AT_ONCE: Final = 100
CHARACTERS_AT_ONCE: Final = 256 * 1024
"""Events that are sent together, and their characters: others have their turn between."""
MAX_FIELDS: Final = 1_000
"""Of one event, those within others not counted, as each is a feature. One with more is refused at doors, and otherwise lost to
other peers, which is counted and logged."""
PLACED_AT_ONCE: Final = 1_000
POSTED_AT_ONCE: Final = 16
"""Interests whose features are chosen together, and questions and postings that are under way at a time."""
MAX_LOADS: Final = 10_000
"""Features of which it is remembered how much is posted there; beyond, all are asked again."""
AGAIN_S: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
"""After how long what could not be posted is tried again, each time; the last one holds from then on."""
_PEER = re.compile(r"[0-9a-f]{40}")


class Overlay:
    """Puts a channel among those of all peers while the block is entered."""

    def __init__(self, channel: Channel, peer: Peer) -> None:
        self._channel = channel
        self._peer = peer
        self._postings = Postings()
        self._changes: deque[tuple[Interest, int]] = deque()
        """Interests that came or went. Each is a subscription's, of which the channel has a limit."""
        self._loads: dict[Term, int] = {}
        """How much is posted under a feature, as its rendezvous said. Limit: MAX_LOADS."""
        self._listening: dict[Posting, AlphaMemory] = {}
        self._to_post: set[Posting] = {Posting(of_channel(channel.source), test_of(None, TRUE))}
        self._to_withdraw: set[Posting] = set()
        self._unsent: deque[Event] = deque()
        """Limits: MAX_UNSENT, UNSENT_CHARACTERS."""
        self._unsent_characters = 0
        self._entered = self._handled = self._last_lost = 0
        """How many events there were to send, how many of them are done with, and the number of the last one that was lost."""
        self._taking: Event | None = None
        """The event from the overlay that is being published here, and not to go back."""
        self._posting = Worker(self._start, self._post_changes)
        self._sender = Worker(self._start, self._send_pending)
        self._places = asyncio.Semaphore(POSTED_AT_ONCE)
        self._failures = 0
        """How often in a row something could not be posted."""
        self._again: asyncio.TimerHandle | None = None
        self._done = asyncio.Event()
        """Set when something was posted or sent."""
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()
        self.sent = 0
        """Events that were sent, and passed on by all rendezvous that they concern."""
        self.received = 0
        """Events that came from other peers, each once."""
        self.lost = 0
        """Events that could not be sent to all whom they may concern."""
        self.unreadable = 0
        """Tuples that came for the channel and are no events."""

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._channel.on_event.append(self._send)
        self._channel.on_interest.append(self._note_interest)
        for condition, asker in self._channel.interests():
            self._note_interest(condition, asker, 1)
        self._posting.wake()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._channel.on_event.remove(self._send)
        self._channel.on_interest.remove(self._note_interest)
        if self._again is not None:
            self._again.cancel()
        for task in self._running:
            task.cancel()
        await self._group.__aexit__(None, None, None)
        for memory in self._listening.values():
            self._peer.end_listening(memory)

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(logging_failure(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # One that is cancelled before its first step never came to await its work.
        task.add_done_callback(lambda _: work.close())

    async def posted(self) -> None:
        """Wait until all that is wanted here is posted: whatever is published from then on comes."""
        await self._until(lambda: not (self._changes or self._to_post or self._to_withdraw))

    async def all_sent(self) -> None:
        """Wait until all that was published by now was passed on by its rendezvous. Raises PeerUnreachable where some was not."""
        handled, entered = self._handled, self._entered
        await self._until(lambda: self._handled >= entered)
        if self._last_lost > handled:
            raise PeerUnreachable("some events did not reach all whom they may concern; what is published again may be told twice")

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self._done.clear()
            await self._done.wait()

    # --- events -----------------------------------------------------------------------------------------------------------------

    def _send(self, event: Event) -> None:
        """The channel has taken an event for the first time."""
        if event is self._taking:
            return
        self._entered += 1
        characters = event.size()
        if len(self._unsent) >= MAX_UNSENT or self._unsent_characters + characters > UNSENT_CHARACTERS:
            self._lose(event, "this channel publishes faster than its peer sends")
            return
        try:
            check_width(event.fields)
        except BadTerm as error:
            self._lose(event, str(error))
            return
        self._unsent.append(event)
        self._unsent_characters += characters
        self._sender.wake()

    async def _send_pending(self) -> None:
        while self._unsent:
            for audience, events in groupby(self._take_some(), _audience_of):
                await self._send_all(list(events), audience)
            self._done.set()

    def _take_some(self) -> list[Event]:
        some, characters = list[Event](), 0
        while self._unsent and len(some) < AT_ONCE and characters < CHARACTERS_AT_ONCE:
            some.append(self._unsent.popleft())
            characters += some[-1].size()
        self._unsent_characters -= characters
        return some

    async def _send_all(self, events: list[Event], audience: tuple[str, ...] | None) -> None:
        """Send events that are for the same peers, each under its features, and as other doors see it."""
        try:
            # Of names of readers other doors know nothing: such events are for channels alone.
            others = [event for event in events if event.readers is None or audience is not None]
            tried = await asyncio.gather(
                self._flash(_under_features(events), audience, within=(FEATURE_PLACE,)),
                self._flash([items for event in others for items in tuples_for_others(event)], audience),
                return_exceptions=True,
            )
            for failure in tried:
                if failure is not None:
                    raise failure
            self.sent += len(events)
            self._handled += len(events)
        except GsgError as error:
            if len(events) > 1:
                for event in events:
                    await self._send_all([event], audience)
                return
            self._lose(events[0], str(error))

    def _lose(self, event: Event, why: str) -> None:
        self.lost += 1
        self._handled += 1
        self._last_lost = self._handled
        self._done.set()
        _lost.warning("channel %s: event %d did not reach all others: %s", self._channel.name, event.number, why)

    async def _flash(self, tuples: list[Tuple], audience: tuple[str, ...] | None, *, within: tuple[int, ...] | None = None) -> None:
        """Send what somebody may ask for: of an event's features that is mostly one or two."""
        wanted = self._peer.wanted(tuples, within=within)
        if wanted:
            await self._peer.flash([(items, None) for items in wanted], within=within, audience=audience)

    def _hear(self, told: TupleEvent, note: int) -> None:
        """A rendezvous has brought an event, perhaps one that came by another one already."""
        try:
            source, number = source_of(told.items)
            if self._channel.has_come(source, number):
                return
            event = event_of(told.items)
            self._taking = event if event.source else self._channel.own_event(event.fields)
            self.received += 1
            self._channel.publish(self._taking)
        except (BadTerm, PeerMisbehaved) as error:
            self.unreadable += 1
            _unreadable.warning("channel %s: what came from a peer is no event: %s", self._channel.name, error)
        except GsgError as error:
            self.lost += 1
            _lost.warning("channel %s: an event from a peer is lost: %s", self._channel.name, error)
        finally:
            self._taking = None

    # --- what is wanted here ------------------------------------------------------------------------------------------------------

    def _note_interest(self, condition: Condition, asker: str, sign: int) -> None:
        self._changes.append((Interest(condition, asker), sign))
        self._posting.wake()

    async def _post_changes(self) -> None:
        while self._changes:
            await self._place_some()
        while some := list(islice(self._to_post, PLACED_AT_ONCE)):
            await asyncio.gather(*map(self._post, some))
            if not self._to_post.isdisjoint(some):
                self._again = asyncio.get_running_loop().call_later(self._pause_s(), self._posting.wake)
                return
        self._failures = 0
        # What takes the place of something is posted before that is withdrawn, so that no event is missed between.
        for posting in self._to_withdraw:
            self._peer.end_listening(self._listening.pop(posting))
        self._to_withdraw.clear()
        self._done.set()

    def _pause_s(self) -> float:
        self._failures += 1
        return AGAIN_S[min(self._failures, len(AGAIN_S)) - 1]

    async def _place_some(self) -> None:
        """Choose the features of interests that have come, and what is to be posted and withdrawn."""
        some = [self._changes.popleft() for _ in range(min(PLACED_AT_ONCE, len(self._changes)))]
        choices = {feature for interest, sign in some if sign > 0 for feature in candidates_of(interest.condition)}
        await asyncio.gather(*map(self._ask_load, choices - self._loads.keys()))
        for interest, sign in some:
            if sign > 0:
                self._postings.insert(interest, lambda feature: self._loads.get(feature, 0))
            else:
                self._postings.remove(interest)
        to_post, to_withdraw = self._postings.take_changes()
        self._to_post = (self._to_post | to_post) - to_withdraw - self._listening.keys()
        self._to_withdraw = {posting for posting in self._to_withdraw | to_withdraw if posting in self._listening} - to_post

    async def _ask_load(self, feature: Term) -> None:
        if len(self._loads) >= MAX_LOADS:
            self._loads.clear()
        with suppress(RemoteError):  # where it does not answer, it is chosen as if nothing were posted there
            async with self._places:
                load = await self._peer.load_at(*place_of(feature))
            self._loads[feature] = 0 if load is None else load.templates

    async def _post(self, posting: Posting) -> None:
        template, anchor = place_of(posting.feature)
        try:
            async with self._places:
                self._listening[posting] = await self._peer.listen(template, self._hear, anchor=anchor, test=posting.test)
            self._to_post.discard(posting)
        except RemoteError as error:
            log.warning("channel %s: %s is not posted yet, and tried again: %s", self._channel.name, posting.feature, error)


def check_width(fields: Fields) -> None:
    """Raise BadTerm for more fields than an event may have that goes to other peers."""
    if len(fields) > MAX_FIELDS:
        raise BadTerm(
            f"an event of {len(fields):,} fields; expected at most {MAX_FIELDS:,} between peers: put some into an inner event"
        )


def _under_features(events: Iterable[Event]) -> list[Tuple]:
    found: list[Tuple] = []
    for event in events:
        # Whose horizon it is within is its publisher's to say, unless that one names readers.
        concerned = () if event.readers is not None else map(of_channel, concerned_by(event))
        found += tuples_under(event, chain(features_of(event.fields), concerned))
    return found


def _audience_of(event: Event) -> tuple[str, ...] | None:
    """The peers that alone may read an event, where its readers are peers."""
    if event.readers is None or not all(map(_PEER.fullmatch, event.readers)):
        return None
    return tuple(sorted(event.readers))
