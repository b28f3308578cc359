"""Publishing: tuples to features, features to holders, one message per holder with all of its tuples.

A publish has two phases. Sending happens under a lock, call after call, so that the tuples of one publisher reach each
rendezvous in the order published. Waiting for the answers does not: several publishes are under way at once, as many as their
callers start.

A rendezvous that cannot be reached is dropped from every cache, its successor is looked up, and the tuples that concern it are
sent there, at most ATTEMPTS times in all. Sending twice is harmless: facts are a set, and events carry a number.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Protocol, TypeAlias

from .audiences import Audience
from .errors import GsgError, PeerUnreachable, Refused
from .exchange import ANSWER_TIMEOUT_S, Answer, Channel, Exchange, answer_of
from .features import positions
from .holders import Holders
from .interests import Interests
from .lately import KEPT_S, NOTICED_S, Lately, Said
from .messages import After, Done, Event, Flash, Message, Origin, Publish, size_bytes
from .model import Tuple, show
from .parcels import Parcel, Places, cut, sizes_of
from .passing import Sent
from .versions import Versions

log = logging.getLogger(__name__)

ATTEMPTS = 5
"""How often a tuple is sent before its publisher is told that it did not arrive."""
CONTESTED = 8
"""How often facts are sent anew when others have done the contrary at the same moment, or know of a later time."""
GOING = 10_000
"""Calls that publish facts, of which it is known what was sent after them; beyond, the oldest is forgotten."""


class _Batch(Protocol):
    """What one call publishes."""

    is_events: bool
    """Events, or facts."""

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """It is its turn to be sent. Returns the parcels that every one of them is to name, with their last numbers."""

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A parcel as it travels."""

    def acknowledged(self, parcel: Parcel) -> None:
        """Its rendezvous has answered."""


class _Facts:
    """Facts that come or go."""

    is_events = False

    def __init__(
        self, publisher: Publisher, sign: int, facts: Sequence[Tuple], versions: Versions, audience: Audience | None
    ) -> None:
        self._publisher = publisher
        self._sign = sign
        self.facts = facts
        self._versions = versions
        self._audience = audience
        self.stamp = 0
        self.is_done = False

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """Each message has a number, and names those before it only. The stamp is one, however often facts are sent."""
        if not self.stamp:
            self.stamp = self._versions.next()
            self._publisher.goes(self)
        for parcel in parcels:
            parcel.last = self._publisher.number()
        return ()

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A Publish."""
        facts = [self.facts[number] for number in parcel.numbers]
        origin = Origin(self._publisher.own_id, parcel.last, after)
        unsure, audience = self._publisher.unsure, self._audience
        return Publish(request, self._sign, facts, parcel.places, self.stamp, unsure=unsure, origin=origin, audience=audience)

    def acknowledged(self, parcel: Parcel) -> None:
        """Its holders have the facts."""


class _Events:
    """Events, which get their numbers when it is their turn: numbers and messages have one order."""

    is_events = True

    def __init__(self, publisher: Publisher, events: Sequence[tuple[Tuple, str | None]], audience: Audience | None) -> None:
        self._publisher = publisher
        self._audience = audience
        self._events = events
        self._numbered: list[Event] | None = None

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """Give the numbers, once, however often the events are sent. What is between those of one message went by others."""
        if self._numbered is None:
            self._numbered = self._publisher.numbered(self._events)
        for parcel in parcels:
            parcel.last = self._numbered[parcel.numbers[-1]].number
        return parcels

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A Flash."""
        assert self._numbered is not None, "begin() comes first"
        events = [self._numbered[number] for number in parcel.numbers]
        unsure, audience = self._publisher.unsure, self._audience
        return Flash(request, self._publisher.own_id, events, parcel.places, unsure=unsure, after=after, audience=audience)

    def acknowledged(self, parcel: Parcel) -> None:
        """The rendezvous has forwarded the events, and may die before they arrive."""
        assert self._numbered is not None, "begin() comes first"
        events = [self._numbered[number] for number in parcel.numbers]
        self._publisher.keep(parcel, Said(events, parcel.places, self._publisher.now(), self._audience))


class _Again:
    """Events of one audience that go once more, as they were numbered."""

    is_events = True

    def __init__(self, publisher: Publisher, said: Sequence[Said]) -> None:
        self._publisher = publisher
        now = publisher.now()
        self._audience = said[0].audience
        self._said_s = [one.said_s for one in said for _ in one.events]
        self._events = [
            Event(event.number, event.items, event.text, int(now - one.said_s) + 1) for one in said for event in one.events
        ]
        self.tuples = [event.items for event in self._events]
        self.places = dict(enumerate(places for one in said for places in one.places))
        self.sizes = [size_bytes(event.items) + 4 * len(event.text or "") for event in self._events]

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """They come late: nobody is to wait for them."""
        for parcel in parcels:
            parcel.last = self._events[parcel.numbers[-1]].number
        return ()

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A Flash."""
        events = [self._events[number] for number in parcel.numbers]
        return Flash(request, self._publisher.own_id, events, parcel.places, unsure=True, after=after, audience=self._audience)

    def acknowledged(self, parcel: Parcel) -> None:
        """They were kept when they were sent."""

    def said(self, numbers: Sequence[int], places: Sequence[bytes]) -> list[Said]:
        """Some of them, to be kept or sent once more."""
        return [
            Said([self._events[number]], [there], self._said_s[number], self._audience)
            for number, there in zip(numbers, places, strict=True)
        ]


InFlight: TypeAlias = tuple[Parcel, Channel, "asyncio.Future[Answer]"]


class Publisher:
    """Publishes for one peer. ``versions`` is the peer's clock of changes."""

    def __init__(self, own_id: bytes, holders: Holders, exchange: Exchange, interests: Interests, versions: Versions) -> None:
        self._versions = versions
        self.own_id = own_id
        self._holders = holders
        self._exchange = exchange
        self._interests = interests
        self._sending = asyncio.Lock()
        """Held while one batch is sent; those who wait are the callers of publish, who bound how many they are."""
        self._last = max(versions.now_us(), versions.latest)
        """The last number given. It begins with the time, or what is known of a former life where the clock is behind that: a peer
        that comes back with its id does not repeat itself."""
        self._sent = Sent()
        self._going: deque[_Facts] = deque()
        """Facts that are under way, and those that were sent since the first of these. Limit: GOING."""
        self._lately = Lately()
        self._again: list[Said] = []
        """What is to be sent once more, before anything else. Limit: that of Lately."""
        self.published = 0
        """Tuples that were acknowledged, since the start."""

    async def facts(self, sign: int, facts: Sequence[Tuple], audience: Audience | None = None) -> int:
        """Make facts true (1) or untrue (-1); returns how many changed, once every rendezvous has acknowledged.

        ``audience``: who may read them, None for everybody.
        Raises BadTerm before anything is sent, PeerUnreachable or Refused when some were not acknowledged.
        """
        changed = 0
        for _ in range(CONTESTED):
            places = {number: bytes(positions(fact)) for number, fact in enumerate(facts)}
            behind: set[int] = set()
            batch = _Facts(self, sign, facts, self._versions, audience)
            try:
                changed += await self._publish(facts, places, batch, behind=behind)
                # What was said here meanwhile is to be the last word.
                since = self._said_since(batch) if behind else ()
                facts = [facts[number] for number in sorted(behind) if facts[number] not in since]
            finally:
                self._is_done(batch)
            if not facts:
                return changed
        raise Refused(
            f"{len(facts)} facts were not acknowledged, the first of them {show(facts[0])[:80]}: others have done the contrary, "
            f"{CONTESTED} times in turn; let one publisher decide about a fact, or try again"
        )

    async def events(
        self,
        events: Sequence[tuple[Tuple, str | None]],
        *,
        via: Sequence[int] | None = None,
        audience: Audience | None = None,
    ) -> None:
        """Send events, each a tuple and the text it came as (None for none); returns once every rendezvous has forwarded them.

        ``via`` names the positions whose rendezvous to go by, for all of them alike; otherwise all positions that hold a
        constant, and where somebody may want them. ``audience`` as in :meth:`facts`.
        Raises like :meth:`facts`.
        """
        tuples = [items for items, _ in events]
        places, _ = self._interests.places(tuples, via)
        # Nobody wants what has no place to go; it is done with all the same.
        wanted = {number: there for number, there in enumerate(places) if there}
        batch = _Events(self, events, audience)
        await self._publish(tuples, wanted, batch, [0 if text is None else len(text) for _, text in events])

    def numbered(self, events: Sequence[tuple[Tuple, str | None]]) -> list[Event]:
        """The events with the numbers by which they are known wherever they arrive; each is to be sent, once."""
        made = [Event(number, items, text) for number, (items, text) in enumerate(events, self._last + 1)]
        self._last += len(made)
        return made

    def number(self) -> int:
        """The number of a message of facts."""
        self._last += 1
        return self._last

    def goes(self, batch: _Facts) -> None:
        """Facts are about to be sent, for the first time."""
        self._going.append(batch)
        if len(self._going) > GOING:
            self._going.popleft()

    def _is_done(self, batch: _Facts) -> None:
        batch.is_done = True
        while self._going and self._going[0].is_done:
            self._going.popleft()

    def _said_since(self, batch: _Facts) -> set[Tuple]:
        """The facts of all that was sent after a batch."""
        return {fact for later in self._going if later.stamp > batch.stamp for fact in later.facts}

    def passed_here(self, number: int) -> After:
        """Events up to this number go the short way: they are here. Returns what may have to come before them."""
        return self._sent.passed(self.own_id, number, self.now())

    def lost(self, channel: Channel) -> None:
        """A link is gone: what went by it and was not acknowledged is sent again, late, and nobody is to wait for it."""
        self._sent.forget(channel.contact.id)

    def keep(self, parcel: Parcel, said: Said) -> None:
        """A rendezvous has acknowledged events: should it die in the next moment, they are sent again."""
        if parcel.holder.id != self.own_id:
            self._lately.add(parcel.holder.id, said, self.now(), parcel.size_bytes)

    def gone(self, peer: bytes) -> bool:
        """A peer holds nothing any more; whether :meth:`send_again` has something to do."""
        self._again += self._lately.of(peer, self.now())
        return bool(self._again)

    async def send_again(self) -> None:
        """Send once more what a rendezvous that is gone may not have told, unless that was done before something newer."""
        async with self._sending:
            await self._send_again()

    async def _send_again(self) -> None:
        for _ in range(ATTEMPTS):
            if not self._again:
                return
            oldest_s = self.now() - KEPT_S - NOTICED_S
            again, self._again = [said for said in self._again if said.said_s >= oldest_s], []
            batches = [list(said) for _, said in groupby(again, key=lambda one: one.audience)]
            try:
                while batches:
                    await self._send_batch_again(_Again(self, batches[0]))
                    del batches[0]
            except GsgError as error:
                # Whoever publishes next is not to fail for it; it goes again before that.
                log.info("events of a rendezvous that is gone are not sent again yet: %s", error)
                return
            finally:
                self._again += [said for batch in batches for said in batch]

    async def _send_batch_again(self, batch: _Again) -> None:
        sent, missed, _ = await self._send_now(batch.tuples, batch.sizes, batch.places, batch)
        for parcel, _, answer in sent:
            for said in batch.said(parcel.numbers, parcel.places):
                size = parcel.size_bytes // len(parcel.numbers)
                self._lately.add(parcel.holder.id, said, self.now(), size, acknowledged=False)
            answer.add_done_callback(partial(self._sent_again, parcel, batch.said(parcel.numbers, parcel.places)))
        self._again += batch.said(list(missed), list(missed.values()))

    def _sent_again(self, parcel: Parcel, said: list[Said], answer: asyncio.Future[Answer]) -> None:
        if answer.cancelled() or answer.exception() is not None:
            return  # its holder is gone, and with that they are sent to the next one
        if isinstance(answer.result(), Done):
            self._sent.acknowledged(parcel.holder.id, parcel.last, self.now())
        else:
            # Refused, as for a quota: with what is published next.
            self._again += said

    @staticmethod
    def now() -> float:
        """The time, in seconds since any moment."""
        return asyncio.get_running_loop().time()

    @property
    def unsure(self) -> bool:
        """Whether a receiver may be taken for a holder that it is not: it is to look, also where something is sent again."""
        return self._holders.unsure

    @property
    def sending(self) -> bool:
        """Whether something is on its way that what comes next must not overtake."""
        return self._sending.locked()

    async def _publish(
        self,
        tuples: Sequence[Tuple],
        places: Places,
        batch: _Batch,
        texts: Sequence[int] | None = None,
        *,
        behind: set[int] | None = None,
    ) -> int:
        """Send until all are acknowledged; how many facts changed. ``behind`` gets the numbers of those that are behind."""
        sizes = sizes_of(tuples, texts)
        changed = 0
        for attempt in range(1, ATTEMPTS + 1):
            async with self._sending:
                sent, missed, problem = await self._send(tuples, sizes, places, batch)
            for parcel, channel, answer in sent:
                try:
                    done = await answer_of(channel, answer, Done)
                    changed += done.count
                    self._versions.saw(done.stamp)
                    if behind is not None:
                        behind.update(parcel.numbers[number] for number in done.behind if 0 <= number < len(parcel.numbers))
                except PeerUnreachable as error:
                    problem = error
                    self._holders.failed(parcel.holder.id, error)
                    self._sent.forget(parcel.holder.id)
                    parcel.add_to(missed)
                else:
                    self._sent.acknowledged(parcel.holder.id, parcel.last, self.now())
                    batch.acknowledged(parcel)
            if not missed:
                break
            if attempt == ATTEMPTS:
                again = (
                    "what is published again may be told twice" if batch.is_events else "facts may be published again as they are"
                )
                raise PeerUnreachable(f"{len(missed)} of {len(tuples)} tuples were not acknowledged: {problem}; {again}")
            places = missed
        self.published += len(tuples) - len(behind or ())
        return changed

    async def _send(
        self, tuples: Sequence[Tuple], sizes: Sequence[int] | None, places: Places, batch: _Batch
    ) -> tuple[list[InFlight], dict[int, bytes], PeerUnreachable | None]:
        """Send all parcels, after what is to be sent again: what was sent, what could not be, and why."""
        if self._again:
            await self._send_again()
        return await self._send_now(tuples, sizes, places, batch)

    async def _send_now(
        self, tuples: Sequence[Tuple], sizes: Sequence[int] | None, places: Places, batch: _Batch
    ) -> tuple[list[InFlight], dict[int, bytes], PeerUnreachable | None]:
        sent: list[InFlight] = []
        missed: dict[int, bytes] = {}
        problem: PeerUnreachable | None = None
        unreachable: set[bytes] = set()
        parcels = await self._parcels(tuples, sizes, places)
        named = list(batch.begin(parcels))
        for parcel in named:
            self._sent.sending(parcel.holder.id, parcel.last, self.now(), is_event=batch.is_events)
        try:
            for number, parcel in enumerate(parcels):  # noqa: B007  # where it was when it was cancelled
                if parcel.holder.id in unreachable:
                    # To call it again takes long while others wait for their turn, and what came first is not to come last.
                    parcel.add_to(missed)
                    continue
                try:
                    channel = await self._exchange.channel(parcel.holder)
                    if channel.congested:
                        await channel.drained(ANSWER_TIMEOUT_S)
                except PeerUnreachable as error:
                    problem = error
                    unreachable.add(parcel.holder.id)
                    self._holders.failed(parcel.holder.id, error)
                    self._sent.forget(parcel.holder.id)
                    parcel.add_to(missed)
                    continue
                now = self.now()
                self._sent.sending(parcel.holder.id, parcel.last, now, is_event=batch.is_events)
                after = self._sent.others(parcel.holder.id, now)
                sent.append((parcel, channel, channel.ask(partial(batch.message, parcel, after=after))))
                parcel.size_bytes = channel.sent_bytes
        except asyncio.CancelledError:
            self._give_up(named[number:])
            raise
        return sent, missed, problem

    def _give_up(self, parcels: Sequence[Parcel]) -> None:
        """Their caller has gone: what others were told comes by these will not, and nobody is to wait for it."""
        for holder, number in {parcel.holder: parcel.last for parcel in parcels}.items():
            channel = self._exchange.channel_now(holder)
            if channel is None:
                self._sent.forget(holder.id)
                continue
            # No facts, which have come when all before them has.
            origin = Origin(self.own_id, number, [])
            channel.ask(
                partial(Publish, sign=1, facts=[], places=[], stamp=self._versions.latest, origin=origin)
            ).add_done_callback(partial(self._given_up, holder.id, number))

    def _given_up(self, holder: bytes, number: int, answer: asyncio.Future[Answer]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._sent.acknowledged(holder, number, self.now())

    async def _parcels(self, tuples: Sequence[Tuple], sizes: Sequence[int] | None, places: Places) -> list[Parcel]:
        """The messages to send, in order for each holder. Without ``sizes`` all tuples together fit into one message."""
        features = [
            [(len(items), position, items[position]) for position in there]
            for number, there in places.items()
            for items in (tuples[number],)
        ]
        # Events go by few features, facts by all of theirs.
        holders = await self._holders.of({feature for some in features for feature in some})
        return cut(places, [[holders[feature] for feature in some] for some in features], sizes)
