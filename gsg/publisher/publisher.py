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
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby, islice
from typing import TypeAlias

from ..errors import GsgError, PeerUnreachable, Refused
from ..placement.holders import Holders
from ..storage.clock import CLOCKS_APART_S, HybridClock
from ..tuples.audiences import Audience
from ..tuples.features import positions
from ..tuples.long_constants import Remains, remains_of
from ..tuples.sizes import total_bytes
from ..tuples.terms import Tuple, show
from ..wire.exchange import ANSWER_TIMEOUT_S, Answer, Exchange, PeerLink, answer_of
from ..wire.messages import After, Count, Done, Event, Origin, Publish
from .batches import Again, Batch, Events, Facts
from .coalescing import Together
from .order import SentNumbers
from .parcels import Parcel, Places, cut, sizes_of
from .quenching import Interests
from .resending import KEPT_S, NOTICED_S, Lately, Said
from .turns import Turn, Turns

log = logging.getLogger(__name__)

ATTEMPTS = 5
"""How often a tuple is sent before its publisher is told that it did not arrive."""
CONTESTED = 8
"""How often facts are sent anew when others have done the contrary at the same moment, or know of a later time."""
GOING = 10_000
GOING_FACTS = 100_000
"""Batches of facts, of which it is known what was sent after them; beyond, the oldest is forgotten."""


InFlight: TypeAlias = tuple[Parcel, PeerLink, "asyncio.Future[Answer]"]


class Publisher:
    """Publishes for one peer. ``versions`` is the peer's clock of changes."""

    def __init__(self, own_id: bytes, holders: Holders, exchange: Exchange, interests: Interests, versions: HybridClock) -> None:
        self._versions = versions
        self.own_id = own_id
        self._holders = holders
        self._exchange = exchange
        self._interests = interests
        self._turns = Turns()
        """Of the batches, one of which is sent at a time."""
        self._together = Together(self._turns, partial(Facts, self), self._carry_out)
        self._last = max(versions.now_us(), versions.latest + int(CLOCKS_APART_S * 1_000_000) if versions.latest else 0)
        """The last number given. It begins with the time, or where the clock is behind a former life with what is kept of that,
        which may be so much older than its last number: a peer that comes back with its id does not repeat itself."""
        self._sent = SentNumbers()
        self._going: deque[Facts] = deque()
        """Facts that are under way, and those that were sent since the first of these: of those what would remain, so that no long
        text waits for the first. Limits: GOING, and GOING_FACTS of those."""
        self._going_facts = 0
        self._lately = Lately()
        self._again: list[Said] = []
        """What is to be sent once more, before anything else. Limit: that of Lately."""
        self.published = 0
        """Tuples that were acknowledged, since the start."""
        self.on_facts: Callable[[int, Sequence[Tuple]], None] | None = None
        self.on_events: Callable[[Sequence[Event]], None] | None = None
        """Hear of facts and their sign, and of events, before they are sent."""

    async def facts(self, sign: int, facts: Sequence[Tuple], audience: Audience | None = None) -> int:
        """Make facts true (1) or untrue (-1); returns how many changed, once every rendezvous has acknowledged.

        ``audience``: who may read them, None for everybody.
        Raises BadTerm before anything is sent, PeerUnreachable or Refused when some were not acknowledged.
        """
        size_bytes = total_bytes(facts)
        if self.on_facts is not None:
            self.on_facts(sign, facts)
        changed = 0
        for _ in range(CONTESTED):
            share = await self._together.say(sign, facts, size_bytes, audience)
            try:
                share.check()
                changed += share.changed
                facts = share.behind
                if facts:
                    # What was said here meanwhile is to be the last word.
                    since = self._said_since(share.batch)
                    facts = [fact for fact in facts if remains_of(fact) not in since]
            finally:
                self._is_done(share.batch)
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
        batch = Events(self, events, audience)
        texts = [0 if text is None else len(text) for _, text in events]
        sizes = sizes_of(tuples, total_bytes(tuples) + 4 * sum(texts), texts)
        missed, problem = await self._publish(tuples, sizes, wanted, batch)
        if missed:
            again = "what is published again may be told twice"
            raise PeerUnreachable(f"{len(missed)} of {len(tuples)} tuples were not acknowledged: {problem}; {again}")
        self.published += len(tuples)

    def numbered(self, events: Sequence[tuple[Tuple, str | None]]) -> list[Event]:
        """The events with the numbers by which they are known wherever they arrive; each is to be sent, once."""
        made = [Event(number, items, text) for number, (items, text) in enumerate(events, self._last + 1)]
        self._last += len(made)
        if self.on_events is not None:
            self.on_events(made)
        return made

    def number(self) -> int:
        """The number of a message of facts."""
        self._last += 1
        return self._last

    def named_after(self, parcel: Parcel) -> After:
        """What comes before the last number of a parcel by other rendezvous."""
        now = self.now()
        self._sent.sending(parcel.holder.id, parcel.last, now)
        return self._sent.others(parcel.holder.id, now)

    @property
    def forgotten(self) -> int:
        """How often a rendezvous could not be reached; when it changes, :meth:`known` is to be asked of what was said before."""
        return self._sent.forgotten

    def known(self, after: After) -> After:
        """What was said of other rendezvous, without those that could not be reached since."""
        return self._sent.known(after)

    def stamp(self) -> int:
        """A time for facts that is later than all before."""
        return self._versions.next_stamp()

    def goes(self, batch: Facts) -> None:
        """Facts are about to be sent, for the first time."""
        self._going.append(batch)
        if len(self._going) > GOING:
            self._forget_oldest()

    def _is_done(self, batch: Facts) -> None:
        batch.over()
        while self._going and self._going[0].is_done:
            self._forget_oldest()
        if self._going and batch.is_done and self._going[0].stamp < batch.stamp:
            batch.remember_remains()
            self._going_facts += len(batch.said)
            while self._going_facts > GOING_FACTS:
                self._forget_oldest()

    def _forget_oldest(self) -> None:
        self._going_facts -= len(self._going.popleft().said)

    def _said_since(self, batch: Facts) -> set[Remains]:
        """What would remain of the facts of all that was sent after a batch."""
        since = [later for later in self._going if later.stamp > batch.stamp]
        return {remains for later in since for remains in (later.said or map(remains_of, later.facts))}

    def passed_here(self, number: int) -> After:
        """Events up to this number go the short way: they are here. Returns what may have to come before them."""
        return self._sent.passed(self.own_id, number, self.now())

    def lost(self, link: PeerLink) -> None:
        """A link is gone: what went by it and was not acknowledged is sent again, late, and nobody is to wait for it."""
        self._sent.forget(link.contact.id)

    def keep(self, parcel: Parcel, said: Said) -> None:
        """A rendezvous has acknowledged events: should it die in the next moment, they are sent again."""
        if parcel.holder.id != self.own_id:
            self._lately.add(parcel.holder.id, said, self.now(), parcel.size_bytes)

    def gone(self, peer: bytes) -> bool:
        """A peer holds nothing any more; whether :meth:`send_again` has something to do."""
        self._again += self._lately.of(peer, self.now())
        return bool(self._again)

    def counts(self) -> list[Count]:
        """What limits may have cost, for ``gsg status``."""
        return [Count("events_not_sent_again", self._lately.lost)]

    async def send_again(self) -> None:
        """Send once more what a rendezvous that is gone may not have told, unless that was done before something newer."""
        turn = self._turns.line_up()
        try:
            await self._turns.wait(turn)
            await self._send_again()
        finally:
            self._turns.leave(turn)

    async def _send_again(self) -> None:
        for _ in range(ATTEMPTS):
            if not self._again:
                return
            oldest_s = self.now() - KEPT_S - NOTICED_S
            again, self._again = [said for said in self._again if said.said_s >= oldest_s], []
            batches = [list(said) for _, said in groupby(again, key=lambda one: one.audience)]
            try:
                while batches:
                    await self._send_batch_again(Again(self, batches[0]))
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
                self._turns.leave(turn)
                turn = None
            for at, (parcel, link, answer) in enumerate(sent):
                try:
                    done = await answer_of(link, answer, Done, shared=True)
                except PeerUnreachable as error:
                    problem = error
                    answer.cancel()
                    self._holders.failed(parcel.holder.id, error)
                    self._sent.forget(parcel.holder.id)
                    parcel.add_to(missed)
                except BaseException:
                    # Whoever sent for several may be refused, or go: what becomes of the others' facts is heard all the same.
                    for late, _, its_answer in sent[at:]:
                        its_answer.add_done_callback(partial(self._heard, late, batch))
                    raise
                else:
                    self._acknowledged(parcel, batch, done)
            if not missed:
                break
            places = missed
        return missed, problem

    def _heard(self, parcel: Parcel, batch: Batch, answer: asyncio.Future[Answer]) -> None:
        """The answer to a parcel for which nobody waits any more."""
        if not answer.cancelled() and answer.exception() is None and isinstance(done := answer.result(), Done):
            self._acknowledged(parcel, batch, done)

    def _acknowledged(self, parcel: Parcel, batch: Batch, done: Done) -> None:
        self._versions.see_stamp(done.stamp)
        self._sent.acknowledged(parcel.holder.id, parcel.last, self.now())
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
            self._sent.sending(parcel.holder.id, parcel.last, self.now(), is_event=batch.is_events)
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
                    self._sent.forget(parcel.holder.id)
                    parcel.add_to(missed)
                    continue
                now = self.now()
                self._sent.sending(parcel.holder.id, parcel.last, now, is_event=batch.is_events)
                after = self._sent.others(parcel.holder.id, now)
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
                self._sent.forget(holder.id)
                continue
            # No facts, which have come when all before them has.
            origin = Origin(self.own_id, number, [])
            link.ask(partial(Publish, sign=1, facts=[], places=[], stamp=self._versions.latest, origin=origin)).add_done_callback(
                partial(self._given_up, holder.id, number)
            )

    def _given_up(self, holder: bytes, number: int, answer: asyncio.Future[Answer]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._sent.acknowledged(holder, number, self.now())

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
