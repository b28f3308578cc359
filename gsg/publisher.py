"""Publishing: tuples to features, features to holders, one message per holder with all of its tuples.

A publish has two phases. Sending happens under a lock, call after call, so that the tuples of one publisher reach each
rendezvous in the order published. Waiting for the answers does not: several publishes are under way at once, as many as their
callers start.

A rendezvous that cannot be reached is dropped from every cache, its successor is looked up, and the tuples that concern it are
sent there, at most ATTEMPTS times in all. Sending twice is harmless: facts are a set, and events carry a number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import dht

from .errors import PeerUnreachable
from .exchange import ANSWER_TIMEOUT_S, Answer, Channel, Exchange, answer_of
from .features import positions
from .holders import Holders
from .interests import Interests
from .messages import Done, Event, Flash, Message, Publish, size_bytes
from .model import Tuple
from .placement import places_by_holder

ATTEMPTS = 5
"""How often a tuple is sent before its publisher is told that it did not arrive."""
CHUNK_TUPLES = 1_000
CHUNK_BYTES = 1024 * 1024
"""A message is cut at so many tuples or bytes, whichever comes first: a rendezvous answers others between two messages."""

Places: TypeAlias = Mapping[int, bytes]
"""By the number of a tuple in its batch, the positions under which it has yet to arrive."""


@dataclass(slots=True)
class _Parcel:
    """One message: its receiver, the tuples' numbers in the batch, and for each the positions that the receiver holds."""

    holder: dht.Contact
    numbers: list[int] = field(default_factory=list)
    places: list[bytes] = field(default_factory=list)
    size_bytes: int = 0

    def add_to(self, missed: dict[int, bytes]) -> None:
        """The parcel did not arrive."""
        for number, places in zip(self.numbers, self.places, strict=True):
            missed[number] = missed.get(number, b"") + places


MakeMessage: TypeAlias = Callable[[_Parcel, int], Message]
Sent: TypeAlias = tuple[_Parcel, Channel, "asyncio.Future[Answer]"]


class Publisher:
    """Publishes for one peer. ``clock`` gives seconds, the same moment for all peers."""

    def __init__(
        self, own_id: bytes, holders: Holders, exchange: Exchange, interests: Interests, clock: Callable[[], float]
    ) -> None:
        self._clock = clock
        self.own_id = own_id
        self._holders = holders
        self._exchange = exchange
        self._interests = interests
        self._sending = asyncio.Lock()
        """Held while one batch is sent; those who wait are the callers of publish, who bound how many they are."""
        self._events = 0
        self.published = 0
        """Tuples that were acknowledged, since the start."""

    async def facts(self, sign: int, facts: Sequence[Tuple]) -> int:
        """Make facts true (1) or untrue (-1); returns how many changed, once every rendezvous has acknowledged.

        Raises BadTerm before anything is sent, PeerUnreachable or Refused when some were not acknowledged.
        """
        stamp = int(self._clock() * 1_000_000)
        unsure = self._holders.unsure

        def make(parcel: _Parcel, request: int) -> Message:
            return Publish(request, sign, [facts[number] for number in parcel.numbers], parcel.places, stamp, unsure=unsure)

        return await self._publish(facts, {number: bytes(positions(fact)) for number, fact in enumerate(facts)}, make)

    async def events(self, events: Sequence[tuple[Tuple, str | None]], *, via: Sequence[int] | None = None) -> None:
        """Send events, each a tuple and the text it came as (None for none); returns once every rendezvous has forwarded them.

        ``via`` names the positions whose rendezvous to go by, for all of them alike; otherwise all positions that hold a
        constant, and where somebody may want them.
        Raises like :meth:`facts`.
        """
        unsure = self._holders.unsure
        numbered = self.numbered(events)

        def make(parcel: _Parcel, request: int) -> Message:
            events = [numbered[number] for number in parcel.numbers]
            return Flash(request, self.own_id, events, parcel.places, unsure=unsure)

        tuples = [items for items, _ in events]
        places, _ = self._interests.places(tuples, via)
        # Nobody wants what has no place to go; it is done with all the same.
        wanted = {number: there for number, there in enumerate(places) if there}
        await self._publish(tuples, wanted, make, [0 if text is None else len(text) for _, text in events])

    def numbered(self, events: Sequence[tuple[Tuple, str | None]]) -> list[Event]:
        """The events with the numbers by which they are known wherever they arrive; each is to be sent, once."""
        made = [Event(self._events + count, items, text) for count, (items, text) in enumerate(events, 1)]
        self._events += len(made)
        return made

    @property
    def sending(self) -> bool:
        """Whether something is on its way that what comes next must not overtake."""
        return self._sending.locked()

    async def _publish(self, tuples: Sequence[Tuple], places: Places, make: MakeMessage, texts: Sequence[int] | None = None) -> int:
        sizes = [size_bytes(items) for items in tuples]
        if texts is not None:
            sizes = [size + 4 * text for size, text in zip(sizes, texts, strict=True)]
        changed = 0
        for attempt in range(1, ATTEMPTS + 1):
            async with self._sending:
                sent, missed, problem = await self._send(tuples, sizes, places, make)
            for parcel, channel, answer in sent:
                try:
                    changed += (await answer_of(channel, answer, Done)).count
                except PeerUnreachable as error:
                    problem = error
                    self._holders.failed(parcel.holder.id, error)
                    parcel.add_to(missed)
            if not missed:
                break
            if attempt == ATTEMPTS:
                raise PeerUnreachable(f"{len(missed)} of {len(tuples)} tuples were not acknowledged: {problem}")
            places = missed
        self.published += len(tuples)
        return changed

    async def _send(
        self, tuples: Sequence[Tuple], sizes: Sequence[int], places: Places, make: MakeMessage
    ) -> tuple[list[Sent], dict[int, bytes], PeerUnreachable | None]:
        """Send all parcels: what was sent, what could not be, and why."""
        sent: list[Sent] = []
        missed: dict[int, bytes] = {}
        problem: PeerUnreachable | None = None
        for parcel in await self._parcels(tuples, sizes, places):
            try:
                channel = await self._exchange.channel(parcel.holder)
                if channel.congested:
                    await channel.drained(ANSWER_TIMEOUT_S)
            except PeerUnreachable as error:
                problem = error
                self._holders.failed(parcel.holder.id, error)
                parcel.add_to(missed)
                continue
            sent.append((parcel, channel, channel.ask(partial(make, parcel))))
        return sent, missed, problem

    async def _parcels(self, tuples: Sequence[Tuple], sizes: Sequence[int], places: Places) -> list[_Parcel]:
        """The messages to send, in order for each holder."""
        features = [
            [(len(items), position, items[position]) for position in there]
            for number, there in places.items()
            for items in (tuples[number],)
        ]
        holders = await self._holders.of(feature for some in features for feature in some)
        done: list[_Parcel] = []
        filling: dict[bytes, _Parcel] = {}
        for (number, there), some in zip(places.items(), features, strict=True):
            contacts = [holders[feature] for feature in some]
            for holder_id, positions_there in places_by_holder(there, [contact.id for contact in contacts]).items():
                parcel = filling.get(holder_id)
                if parcel is None:
                    holder = next(contact for contact in contacts if contact.id == holder_id)
                    parcel = filling[holder_id] = _Parcel(holder)
                parcel.numbers.append(number)
                parcel.places.append(positions_there)
                parcel.size_bytes += sizes[number]
                if len(parcel.numbers) >= CHUNK_TUPLES or parcel.size_bytes >= CHUNK_BYTES:
                    done.append(filling.pop(holder_id))
        return done + list(filling.values())
