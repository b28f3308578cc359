"""What goes in one batch of a publisher: facts, events, or events once more; each says how its parcels travel."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from itertools import accumulate
from typing import Protocol

from ..errors import PeerUnreachable
from ..placement.holders import Holders
from ..storage.clock import CLOCKS_APART_S, HybridClock
from ..tuples.audiences import Audience
from ..tuples.features import HOME
from ..tuples.long_constants import Remains, remains_of
from ..tuples.sizes import size_bytes
from ..tuples.terms import Tuple
from ..wire.messages import After, Done, Event, Flash, Message, Origin, Part, Publish
from ..wire.waiting import late
from .order import SentNumbers
from .parcels import Parcel
from .resending import RecentlyAcknowledged, Said

UNDER_WAY = 10_000
UNDER_WAY_FACTS = 100_000
"""Batches of facts, of which it is known what was sent after them; beyond, the oldest is forgotten."""


class Batch(Protocol):
    """What one call publishes, or several together."""

    is_events: bool
    """Events, or facts."""

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """It is its turn to be sent. Returns the parcels that every one of them is to name, with their last numbers."""

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A parcel as it travels."""

    def acknowledged(self, parcel: Parcel, done: Done) -> None:
        """Its rendezvous has answered."""


class Facts:
    """Facts that come or go, with their length as encoded. ``calls`` says how many there are of each call, where several go
    together, in order, and ``traces`` the context of each; ``stamp`` is that of another batch in which they went before.
    """

    is_events = False

    def __init__(
        self,
        record: SendRecord,
        sign: int,
        facts: Sequence[Tuple],
        size_bytes: int,
        audience: Audience | None,
        *,
        calls: Sequence[int] = (),
        stamp: int = 0,
        traces: Sequence[bytes | None] = (None,),
    ) -> None:
        self._record = record
        self._sign = sign
        self.facts = facts
        self.size_bytes = size_bytes
        self.said: Sequence[Remains] = ()
        """What would remain of them, in their place once all calls are done."""
        self._audience = audience
        self.stamp = stamp
        self._ends = list(accumulate(calls))
        self._traces = traces
        self._calls = len(calls) or 1
        """How many are not done with it: so long it is known what was said after it."""
        self._goes = False
        self._forgotten = 0
        """What :attr:`gsg.publisher.order.SentNumbers.forgotten` was when the parts were made."""
        self._count = 0
        self._changed: set[int] = set()
        """The facts that changed, by number; of one call alone it is enough how many. Bounded by the facts, as the next."""
        self.behind: set[int] = set()
        """The facts, by number, to which the contrary has happened later."""
        self.missed: Collection[int] = ()
        """The facts, by number, that did not arrive everywhere, in the end."""
        self.problem: PeerUnreachable | None = None
        """Why not."""

    @property
    def is_done(self) -> bool:
        """Whether all of its calls are."""
        return self._calls <= 0

    def end_call(self) -> None:
        """One of its calls is done with it."""
        self._calls -= 1

    def remember_remains(self) -> None:
        """All of its calls are done, and only what was said is to be known yet."""
        self.said, self.facts = list(map(remains_of, self.facts)), ()

    def stamp_once(self) -> None:
        """It is its turn: what comes after it is later. The stamp is one, however often facts are sent."""
        if not self._goes:
            self._goes = True
            self.stamp = self.stamp or self._record.clock.next_stamp()
            self._record.begin_facts(self)

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """Each message has a number, and names those before it only; of several calls, what it has of each of them."""
        self.stamp_once()
        if len(self._ends) < 2:
            for parcel in parcels:
                parcel.last = self._record.next_number()
            return ()
        # As if each call were sent by itself: a subscriber puts them in order, whichever rendezvous they come by.
        self._forgotten = self._record.sent.forgotten
        pieces: list[tuple[int, int, int]] = []
        for at, parcel in enumerate(parcels):
            of_each = Counter(bisect_right(self._ends, number) for number in parcel.numbers)
            pieces += [(call, at, facts) for call, facts in of_each.items()]
        for call, at, facts in sorted(pieces):
            parcel = parcels[at]
            parcel.last = self._record.next_number()
            parcel.parts.append(Part(facts, parcel.last, self._record.name_others(parcel), self._traces[call]))
        return parcels

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A Publish."""
        facts = [self.facts[number] for number in parcel.numbers]
        after, trace = ([], None) if parcel.parts else (after, self._traces[0])
        origin = Origin(self._record.own_id, parcel.last, after, trace)
        unsure, audience, parts = self._record.unsure, self._audience, parcel.parts
        if parts and self._record.sent.forgotten != self._forgotten:
            # Nobody is to wait for what was to go to a rendezvous that could not be reached meanwhile.
            still_known = self._record.sent.still_known
            parts = [Part(part.facts, part.number, still_known(part.after), part.trace) for part in parts]
        return Publish(request, self._sign, facts, parcel.places, self.stamp, False, unsure, origin, audience, parts)

    def acknowledged(self, parcel: Parcel, done: Done) -> None:
        """Its holders have the facts, except those that are behind."""
        self.behind.update(parcel.numbers[at] for at in done.behind if 0 <= at < len(parcel.numbers))
        if len(self._ends) < 2:
            self._count += done.count
            return
        same = {*done.unchanged, *done.behind}
        for at, (number, there) in enumerate(zip(parcel.numbers, parcel.places, strict=True)):
            if HOME in there and at not in same:
                self._changed.add(number)

    def changed(self, numbers: range) -> int:
        """How many of some facts changed."""
        return sum(number in self._changed for number in numbers) if len(self._ends) > 1 else self._count


class Events:
    """Events, which get their numbers when it is their turn: numbers and messages have one order."""

    is_events = True

    def __init__(
        self,
        record: SendRecord,
        events: Sequence[tuple[Tuple, str | None]],
        audience: Audience | None,
        trace: bytes | None = None,
    ) -> None:
        self._record = record
        self._trace = trace
        self._audience = audience
        self._events = events
        self._numbered: list[Event] | None = None

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """Give the numbers, once, however often the events are sent. What is between those of one message went by others."""
        if self._numbered is None:
            self._numbered = self._record.number_events(self._events)
            if self._record.on_sending is not None and self._numbered:
                self._record.on_sending(self._numbered[-1].number)
        for parcel in parcels:
            parcel.last = self._numbered[parcel.numbers[-1]].number
        return parcels

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A Flash."""
        assert self._numbered is not None, "begin() comes first"
        events = [self._numbered[number] for number in parcel.numbers]
        unsure, audience, trace = self._record.unsure, self._audience, self._trace
        own_id, places = self._record.own_id, parcel.places
        return Flash(request, own_id, events, places, unsure=unsure, after=after, audience=audience, trace=trace)

    def acknowledged(self, parcel: Parcel, done: Done) -> None:
        """The rendezvous has forwarded the events, and may die before they arrive."""
        assert self._numbered is not None, "begin() comes first"
        events = [self._numbered[number] for number in parcel.numbers]
        self._record.keep_events(parcel, Said(events, parcel.places, self._record.now(), self._audience))


class Again:
    """Events of one audience that go once more, as they were numbered."""

    is_events = True

    def __init__(self, record: SendRecord, said: Sequence[Said]) -> None:
        self._record = record
        self._audience = said[0].audience
        self._said_s = [one.said_s for one in said for _ in one.events]
        self._events = [event for one in said for event in one.events]
        self.tuples = [event.items for event in self._events]
        self.places = dict(enumerate(places for one in said for places in one.places))
        self.sizes = [size_bytes(event.items) + 4 * len(event.text or "") for event in self._events]

    def begin(self, parcels: Sequence[Parcel]) -> Sequence[Parcel]:
        """They come late: nobody is to wait for them."""
        for parcel in parcels:
            parcel.last = self._events[parcel.numbers[-1]].number
        return ()

    def message(self, parcel: Parcel, request: int, after: After) -> Message:
        """A Flash, which says how late they are as it goes: to reach its holder may have taken seconds."""
        now = self._record.now()
        events = [late(self._events[number], now - self._said_s[number]) for number in parcel.numbers]
        return Flash(request, self._record.own_id, events, parcel.places, unsure=True, after=after, audience=self._audience)

    def acknowledged(self, parcel: Parcel, done: Done) -> None:
        """They were kept when they were sent."""

    def said_of(self, numbers: Sequence[int], places: Sequence[bytes]) -> list[Said]:
        """Some of them, to be kept or sent once more."""
        return [
            Said([self._events[number]], [there], self._said_s[number], self._audience)
            for number, there in zip(numbers, places, strict=True)
        ]


class SendRecord:
    """What one publisher has said: the numbers and stamps that it gave, what went to which rendezvous, what is under way, and what
    may have to go once more. ``clock`` is its peer's clock of changes."""

    def __init__(self, own_id: bytes, holders: Holders, clock: HybridClock) -> None:
        self.own_id = own_id
        self.clock = clock
        self._holders = holders
        self.last = max(clock.now_us(), clock.latest + int(CLOCKS_APART_S * 1_000_000) if clock.latest else 0)
        """The last number given. It begins with the time, or where the clock is behind a former life with what is kept of that,
        which may be so much older than its last number: a peer that comes back with its id does not repeat itself."""
        self.sent = SentNumbers()
        self.recent = RecentlyAcknowledged()
        self.under_way: deque[Facts] = deque()
        """Facts that are under way, and those that were sent since the first of these: of those what would remain, so that no long
        text waits for the first. Limits: UNDER_WAY, and UNDER_WAY_FACTS of those."""
        self._remaining_facts = 0
        self.on_events: Callable[[Sequence[Event]], None] | None = None
        """Hears of events before they are sent."""
        self.on_sending: Callable[[int], None] | None = None
        """Hears of the last number of each call's events that go by messages."""

    @property
    def unsure(self) -> bool:
        """Whether a receiver may be taken for a holder that it is not: it is to look, also where something is sent again."""
        return self._holders.unsure

    @staticmethod
    def now() -> float:
        """The time, in seconds since any moment."""
        return asyncio.get_running_loop().time()

    def next_number(self) -> int:
        """The number of a message of facts."""
        self.last += 1
        return self.last

    def number_events(self, events: Sequence[tuple[Tuple, str | None]]) -> list[Event]:
        """The events with the numbers by which they are known wherever they arrive; each is to be sent, once."""
        made = [Event(number, items, text) for number, (items, text) in enumerate(events, self.last + 1)]
        self.last += len(made)
        if self.on_events is not None:
            self.on_events(made)
        return made

    def name_others(self, parcel: Parcel) -> After:
        """A parcel is about to be sent: what comes before its last number by other rendezvous."""
        now = self.now()
        self.sent.note_sending(parcel.holder.id, parcel.last, now)
        return self.sent.others(parcel.holder.id, now)

    def keep_events(self, parcel: Parcel, said: Said) -> None:
        """A rendezvous has acknowledged events: should it die in the next moment, they are sent again."""
        if parcel.holder.id != self.own_id:
            self.recent.keep_events(parcel.holder.id, said, self.now(), parcel.size_bytes)

    def begin_facts(self, batch: Facts) -> None:
        """Facts are about to be sent, for the first time."""
        self.under_way.append(batch)
        if len(self.under_way) > UNDER_WAY:
            self._forget_oldest()

    def end_call(self, batch: Facts) -> None:
        """One call is done with the facts that it has sent, alone or with others."""
        batch.end_call()
        while self.under_way and self.under_way[0].is_done:
            self._forget_oldest()
        if self.under_way and batch.is_done and self.under_way[0].stamp < batch.stamp:
            batch.remember_remains()
            self._remaining_facts += len(batch.said)
            while self._remaining_facts > UNDER_WAY_FACTS:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        self._remaining_facts -= len(self.under_way.popleft().said)

    def said_since(self, batch: Facts) -> set[Remains]:
        """What would remain of the facts of all that was sent after a batch."""
        since = [later for later in self.under_way if later.stamp > batch.stamp]
        return {remains for later in since for remains in (later.said or map(remains_of, later.facts))}
