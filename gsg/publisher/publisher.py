"""Publishing: tuples to features, features to holders, one message per holder with all of its tuples.

A publish has two phases. Sending happens in turn (:mod:`gsg.publisher.turns`), call after call, so that the tuples of one
publisher reach each rendezvous in the order published; small calls of facts that wait go together
(:mod:`gsg.publisher.coalescing`). Waiting for the answers does not: several publishes are under way at once, as many as their
callers start.

A rendezvous that cannot be reached is dropped from every cache, its successor is looked up, and the tuples that concern it are
sent there, at most ATTEMPTS times in all. Sending twice is harmless: facts are a set, and events carry a number.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, islice
from time import perf_counter, time
from typing import TypeAlias

from dht.liveness.late_timers import Timer

from ..errors import GsgError, PeerUnreachable, Refused
from ..placement.holders import Holders
from ..storage.clock import HybridClock
from ..tuples.audiences import Audience
from ..tuples.features import positions
from ..tuples.long_constants import remains_of
from ..tuples.sizes import total_bytes
from ..tuples.terms import Tuple, show
from ..wire.exchange import ANSWER_TIMEOUT_S, Answer, Exchange, PeerLink, answer_of
from ..wire.messages import After, Done, Origin, Publish
from ..wire.status_messages import Count
from ..wire.trace_context import EVENT, NO_SPANS, Span, Spans, kind_of
from .batches import Again, Batch, Events, Facts, SendRecord
from .coalescing import Coalescing
from .keyed_events import KeyedEvents
from .parcels import Parcel, Places, cut, sizes_of
from .quenching import SILENT_S, Interests
from .resending import KEPT_S, NOTICED_S, Said
from .turns import Turn, Turns

log = logging.getLogger(__name__)

ATTEMPTS = 5
"""How often a tuple is sent before its publisher is told that it did not arrive."""
CONTESTED = 8
"""How often facts are sent anew when others have done the contrary at the same moment, or know of a later time."""

SILENT_AGAIN_S = 0.05
"""How often it is looked whether anybody asks for an event whose rendezvous is silent: until that is known, or it has answered,
or is dead."""

InFlight: TypeAlias = tuple[Parcel, PeerLink, "asyncio.Future[Answer]"]


class Publisher:
    """Publishes for one peer. ``clock`` is the peer's clock of changes, ``keyed`` has the keys of its clients' events, and
    ``wall_clock`` says when one came."""

    def __init__(
        self,
        own_id: bytes,
        holders: Holders,
        exchange: Exchange,
        interests: Interests,
        clock: HybridClock,
        *,
        keyed: KeyedEvents | None = None,
        wall_clock: Callable[[], float] = time,
    ) -> None:
        self.record = SendRecord(own_id, holders, clock)
        self._clock = clock
        self._holders = holders
        self._exchange = exchange
        self._interests = interests
        self._turns = Turns()
        """Of the batches, one of which is sent at a time."""
        self._coalescing = Coalescing(self._turns, self.record, self._carry_out)
        self._again: list[Said] = []
        """What is to be sent once more, before anything else. Limit: that of what is kept of late."""
        self.keyed = KeyedEvents() if keyed is None else keyed
        self.wall_clock = wall_clock
        self.published = 0
        """Tuples that were acknowledged, since the start."""
        self.on_facts: Callable[[int, Sequence[Tuple]], None] | None = None
        """Hears of facts and their sign before they are sent."""
        self.clock = perf_counter
        """Tells how long calls take. That of uvloop goes by milliseconds."""
        self.on_acknowledged: Callable[[float], None] | None = None
        """Hears how many seconds a call took until all was acknowledged."""
        self.spans: Spans = NO_SPANS

    async def facts(self, sign: int, facts: Sequence[Tuple], audience: Audience | None = None, *, span: Span | None = None) -> int:
        """Make facts true (1) or untrue (-1); returns how many changed, once every rendezvous has acknowledged.

        ``audience``: who may read them, None for everybody. ``span``: that of the call of which these are a part.
        Raises BadTerm before anything is sent, PeerUnreachable or Refused when some were not acknowledged.
        """
        if span is None:
            with self.spans.publish(kind_of(sign), len(facts)) as span:
                return await self.facts(sign, facts, audience, span=span)
        begun_s = self.clock()
        size_bytes = total_bytes(facts)
        if self.on_facts is not None:
            self.on_facts(sign, facts)
        changed = 0
        for _ in range(CONTESTED):
            share = await self._coalescing.publish_facts(sign, facts, size_bytes, audience, span.context)
            try:
                share.check()
                changed += share.changed
                facts = share.behind
                if facts:
                    # What was said here meanwhile is to be the last word.
                    since = self.record.said_since(share.batch)
                    facts = [fact for fact in facts if remains_of(fact) not in since]
            finally:
                self.record.end_call(share.batch)
            if not facts:
                self._tell_acknowledged(begun_s)
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
        within: Sequence[int] | None = None,
        places: Sequence[bytes] | None = None,
        audience: Audience | None = None,
        span: Span | None = None,
    ) -> None:
        """Send events, each a tuple and the text it came as (None for none); returns once every rendezvous has forwarded them.

        ``via`` names the positions whose rendezvous to go by, for all of them alike; otherwise all positions that hold a
        constant, or those ``within`` which alone somebody asks, and where somebody may want them. ``places`` are those positions
        for each event, where they are known already. ``audience`` and ``span`` as in :meth:`facts`.
        Raises like :meth:`facts`.
        """
        if span is None:
            with self.spans.publish(EVENT, len(events)) as span:
                await self.events(events, via=via, within=within, places=places, audience=audience, span=span)
                return
        begun_s = self.clock()
        tuples = [items for items, _ in events]
        if places is None:
            places, _ = self._interests.places(tuples, via, within=within)
        # Nobody wants what has no place to go; it is done with all the same.
        wanted = {number: there for number, there in enumerate(places) if there}
        batch = Events(self.record, events, audience, span.context)
        texts = [0 if text is None else len(text) for _, text in events]
        sizes = sizes_of(tuples, total_bytes(tuples) + 4 * sum(texts), texts)
        missed, problem = await self._publish(tuples, sizes, wanted, batch)
        if missed:
            again = "what is published again may be told twice"
            raise PeerUnreachable(f"{len(missed)} of {len(tuples)} tuples were not acknowledged: {problem}; {again}")
        self.published += len(tuples)
        self._tell_acknowledged(begun_s)

    def _tell_acknowledged(self, begun_s: float) -> None:
        if self.on_acknowledged is not None:
            self.on_acknowledged(self.clock() - begun_s)

    def note_passed_here(self, number: int) -> After:
        """Events up to this number go the short way: they are here. Returns what may have to come before them."""
        return self.record.sent.note_passed(self.record.own_id, number, self.record.now())

    def forget_link(self, link: PeerLink) -> None:
        """A link is gone: what went by it and was not acknowledged is sent again, late, and nobody is to wait for it."""
        self.record.sent.forget_rendezvous(link.contact.id)

    def take_back_from(self, peer: bytes) -> bool:
        """A peer holds nothing any more; whether :meth:`send_again` has something to do."""
        self._again += self.record.recent.take_last_of(peer, self.record.now())
        return bool(self._again)

    def counts(self) -> list[Count]:
        """What limits may have cost, for ``gsg status``."""
        return [Count("events_not_sent_again", self.record.recent.lost)]

    async def send_again(self) -> None:
        """Send once more what a rendezvous that is gone may not have told, unless that was done before something newer."""
        turn = self._turns.line_up()
        try:
            await self._turns.wait(turn)
            await self._send_again()
        finally:
            self._turns.leave_turn(turn)

    async def _send_again(self) -> None:
        for _ in range(ATTEMPTS):
            if not self._again:
                return
            oldest_s = self.record.now() - KEPT_S - NOTICED_S
            again, self._again = [said for said in self._again if said.said_s >= oldest_s], []
            batches = [list(said) for _, said in groupby(again, key=lambda one: one.audience)]
            try:
                while batches:
                    await self._send_batch_again(Again(self.record, batches[0]))
                    del batches[0]
            except GsgError as error:
                # Whoever publishes next is not to fail for it; it goes again before that.
                log.info("events of a rendezvous that is gone are not sent again yet: %s", error)
                return
            finally:
                self._again += [said for batch in batches for said in batch]

    async def _send_batch_again(self, batch: Again) -> None:
        sent, missed, _ = await self._send(batch.tuples, batch.sizes, batch.places, batch)
        for parcel, _, answer in sent:
            for said in batch.said_of(parcel.numbers, parcel.places):
                size = parcel.size_bytes // len(parcel.numbers)
                self.record.recent.keep_events(parcel.holder.id, said, self.record.now(), size, acknowledged=False)
            answer.add_done_callback(partial(self._sent_again, parcel, batch.said_of(parcel.numbers, parcel.places)))
        self._again += batch.said_of(list(missed), list(missed.values()))

    def _sent_again(self, parcel: Parcel, said: list[Said], answer: asyncio.Future[Answer]) -> None:
        if answer.cancelled() or answer.exception() is not None:
            return  # its holder is gone, and with that they are sent to the next one
        if isinstance(answer.result(), Done):
            self.record.sent.acknowledge(parcel.holder.id, parcel.last, self.record.now())
        else:
            # Refused, as for a quota: with what is published next.
            self._again += said

    @property
    def sending(self) -> bool:
        """Whether something is on its way that what comes next must not overtake."""
        return self._turns.taken

    async def _carry_out(self, batch: Facts, turn: Turn | None) -> None:
        """Send facts at this turn, or the next one, until all are acknowledged. Raises PeerUnreachable and Refused."""
        facts = batch.facts
        places = {number: positions(fact) for number, fact in enumerate(facts)}
        sizes = sizes_of(facts, batch.size_bytes)
        batch.missed, batch.problem = await self._publish(facts, sizes, places, batch, turn)
        self.published += len(facts) - len(batch.behind.union(batch.missed))

    async def _publish(
        self,
        tuples: Sequence[Tuple],
        sizes: Sequence[int] | None,
        places: Places,
        batch: Batch,
        turn: Turn | None = None,
    ) -> tuple[Places, PeerUnreachable | None]:
        """Send until all are acknowledged, or ATTEMPTS times; what was not in the end, and why."""
        for _ in range(ATTEMPTS):
            turn = turn or self._turns.line_up()
            try:
                await self._turns.wait(turn)
                if self._again:
                    await self._send_again()
                sent, missed, problem = await self._send(tuples, sizes, places, batch)
            finally:
                self._turns.leave_turn(turn)
                turn = None
            for at, (parcel, link, answer) in enumerate(sent):
                silence = None
                if batch.is_events and not answer.done():
                    silence = Timer(SILENT_S, partial(self._end_unasked, parcel, tuples, answer))
                try:
                    done = await answer_of(link, answer, Done, shared=True)
                except PeerUnreachable as error:
                    problem = error
                    answer.cancel()
                    self._holders.failed(parcel.holder.id, error)
                    self.record.sent.forget_rendezvous(parcel.holder.id)
                    parcel.add_to(missed)
                except BaseException:
                    # Whoever sent for several may be refused, or go: what becomes of the others' facts is heard all the same.
                    for late, _, its_answer in sent[at:]:
                        its_answer.add_done_callback(partial(self._heard, late, batch))
                    raise
                else:
                    self._acknowledged(parcel, batch, done)
                finally:
                    if silence is not None:
                        silence.cancel()
            if not missed:
                break
            places = missed
        return missed, problem

    def _end_unasked(self, parcel: Parcel, tuples: Sequence[Tuple], answer: asyncio.Future[Answer]) -> None:
        """A rendezvous is silent: nobody is to wait for it with events that nobody asks for, as soon as the others have said so."""
        if answer.done():
            return
        events = ((tuples[number], there) for number, there in zip(parcel.numbers, parcel.places, strict=True))
        is_unasked = self._interests.nobody_asks(events)
        if is_unasked:
            answer.set_result(Done(0))
        elif is_unasked is None:
            Timer(SILENT_AGAIN_S, partial(self._end_unasked, parcel, tuples, answer))

    def _heard(self, parcel: Parcel, batch: Batch, answer: asyncio.Future[Answer]) -> None:
        """The answer to a parcel for which nobody waits any more."""
        if not answer.cancelled() and answer.exception() is None and isinstance(done := answer.result(), Done):
            self._acknowledged(parcel, batch, done)

    def _acknowledged(self, parcel: Parcel, batch: Batch, done: Done) -> None:
        self._clock.see_stamp(done.stamp)
        self.record.sent.acknowledge(parcel.holder.id, parcel.last, self.record.now())
        batch.acknowledged(parcel, done)

    async def _send(
        self, tuples: Sequence[Tuple], sizes: Sequence[int] | None, places: Places, batch: Batch
    ) -> tuple[list[InFlight], dict[int, bytes], PeerUnreachable | None]:
        """Send all parcels: what was sent, what could not be, and why."""
        sent: list[InFlight] = []
        missed: dict[int, bytes] = {}
        problem: PeerUnreachable | None = None
        unreachable: set[bytes] = set()
        parcels = await self._parcels(tuples, sizes, places)
        named = list(batch.begin(parcels))
        for parcel in named:
            self.record.sent.note_sending(parcel.holder.id, parcel.last, self.record.now(), is_event=batch.is_events)
        try:
            for number, parcel in enumerate(parcels):  # noqa: B007  # where it was when it was cancelled
                if parcel.holder.id in unreachable:
                    # To call it again takes long while others wait for their turn, and what came first is not to come last.
                    parcel.add_to(missed)
                    continue
                try:
                    link = await self._exchange.link(parcel.holder)
                    if link.congested:
                        await link.drained(ANSWER_TIMEOUT_S)
                except PeerUnreachable as error:
                    problem = error
                    unreachable.add(parcel.holder.id)
                    self._holders.failed(parcel.holder.id, error)
                    self.record.sent.forget_rendezvous(parcel.holder.id)
                    parcel.add_to(missed)
                    continue
                now = self.record.now()
                self.record.sent.note_sending(parcel.holder.id, parcel.last, now, is_event=batch.is_events)
                after = self.record.sent.others(parcel.holder.id, now)
                sent.append((parcel, link, link.ask(partial(batch.message, parcel, after=after))))
                parcel.size_bytes = link.sent_bytes
        except asyncio.CancelledError:
            # What has left is answered all the same: it is not to be named for ever, and events of it are kept like any other.
            for parcel, _, answer in sent:
                answer.add_done_callback(partial(self._heard, parcel, batch))
            self._give_up(named[number:])
            raise
        return sent, missed, problem

    def _give_up(self, parcels: Sequence[Parcel]) -> None:
        """Their caller has gone: what others were told comes by these will not, and nobody is to wait for it."""
        for holder, number in {parcel.holder: parcel.last for parcel in parcels}.items():
            link = self._exchange.link_now(holder)
            if link is None:
                self.record.sent.forget_rendezvous(holder.id)
                continue
            # No facts, which have come when all before them has.
            origin = Origin(self.record.own_id, number, [])
            link.ask(partial(Publish, sign=1, facts=[], places=[], stamp=self._clock.latest, origin=origin)).add_done_callback(
                partial(self._given_up, holder.id, number)
            )

    def _given_up(self, holder: bytes, number: int, answer: asyncio.Future[Answer]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self.record.sent.acknowledge(holder, number, self.record.now())

    async def _parcels(self, tuples: Sequence[Tuple], sizes: Sequence[int] | None, places: Places) -> list[Parcel]:
        """The messages to send, in order for each holder. Without ``sizes`` all tuples together fit into one message."""
        features = [
            (len(items), position, items[position])
            for number, there in places.items()
            for items in (tuples[number],)
            for position in there
        ]
        # Many tuples have features in common.
        holders = await self._holders.primaries_of(dict.fromkeys(features))
        each = map(holders.__getitem__, features)
        return cut(places, [list(islice(each, len(there))) for there in places.values()], sizes)
