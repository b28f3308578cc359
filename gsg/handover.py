"""Keys change hands when peers come and leave: facts go to the new holder, feeds are told to follow, late messages are passed on.

    newcomer is the holder of a key now      facts sent and acknowledged ──> its feeds told Moved ──> all gone: facts dropped here
    a publish for it comes here all the same    carried out here while feeds remain, and forwarded to the holder
    a condition for it comes here               answered NotHere

For SETTLING_S after a peer was discovered, each message is checked for keys that are another's by now: publishers and subscribers
learn of a newcomer within that time. What is forwarded is taken as it is, so two peers who disagree do not pass it back and forth.
A peer that leaves in order does the same with all its keys. A peer that dies does not: until keys have three holders, its facts
die with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeAlias

import dht

from .errors import GsgError, PeerUnreachable
from .exchange import Channel, Exchange, answer_of, show
from .features import Key
from .holders import UNSURE_S, Holders
from .intake import StartTask
from .messages import Done, Flash, HandOver, InsertCondition, Message, NotHere, Publish, parts
from .model import Tuple
from .placement import NOWHERE
from .rendezvous import Rendezvous

log = logging.getLogger(__name__)

SETTLING_S = UNSURE_S
"""How long after a peer was discovered its neighbours look for keys that are its own."""
LEAVING_S = 10.0
"""How long leaving may take; what was not handed over by then is lost, and said to be."""
FOLLOWING_S = 2.0
"""How long a peer that leaves waits for its feeds to be set up elsewhere."""
FOLLOW_LOOK_S = 0.02
SWEEP_S = 1.0
"""Pause between looks for keys that were handed over and that no feed needs here any more."""
CHUNK_FACTS = 1_000
KEYS_PER_TURN = 500
"""Keys whose holder is looked up before others get their turn."""

Parcels: TypeAlias = dict[dht.Contact, tuple[list[int], list[bytes]]]
"""For each other holder: numbers of tuples, and the positions that are its own."""


class Handover:
    """Decides and carries out what changes hands at one peer. ``flush`` sends what a change here has caused."""

    def __init__(
        self,
        own: dht.Contact,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        *,
        start_task: StartTask,
        flush: Callable[[], None],
    ) -> None:
        self._own = own
        self._holders = holders
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._start_task = start_task
        self._flush = flush
        self._settled_at_s = 0.0
        self._working = False
        self._forwarding = asyncio.Lock()
        """Held while the parcels of one message are sent, so that messages are passed on in the order in which they came."""
        self._again = asyncio.Event()
        """Set when keys may have to be handed over, once more."""
        self.leaving = False
        """Whether this peer is about to stop: it takes nothing from others any more."""

    @property
    def settling(self) -> bool:
        """Whether messages are to be checked for keys that are another's by now."""
        return self.leaving or asyncio.get_running_loop().time() < self._settled_at_s

    def newcomer(self) -> None:
        """A peer was discovered: some keys may be its own."""
        self._settled_at_s = asyncio.get_running_loop().time() + SETTLING_S
        self._rendezvous.remember_retractions()
        self._again.set()
        if not self._working and not self.leaving:
            self._working = True
            self._start_task(self._hand_over_until_settled())

    def look_again(self) -> None:
        """Something came from a peer that takes us for the holder: if it is wrong, its keys are to be passed on."""
        if self._working:
            self._again.set()

    def elsewhere(self, key: Key) -> dht.Contact | None:
        """The holder of a key, if it is not this peer."""
        holder = self._holders.other_than_us(key) if self.leaving else self._holders.now(key)
        return None if holder is None or holder.id == self._own.id else holder

    # --- messages that came to a former holder -----------------------------------------------------------------------------

    def publish(self, channel: Channel, message: Publish) -> Done | None:
        """Carry out a Publish; None when parts of it were forwarded, and the answer comes when those are answered."""
        places, kept, parcels = self._sort(message.facts, message.places)
        changed = self._rendezvous.publish(message.sign, message.facts, places, stamp=message.stamp)
        if not parcels:
            return Done(message.request, changed)
        self._rendezvous.publish(message.sign, message.facts, kept, stamp=message.stamp, as_holder=False)

        def make(numbers: list[int], theirs: list[bytes]) -> Callable[[int], Message]:
            facts = [message.facts[number] for number in numbers]
            return lambda request: Publish(request, message.sign, facts, theirs, message.stamp, forwarded=True)

        def instead(numbers: list[int], theirs: list[bytes]) -> int:
            facts = [message.facts[number] for number in numbers]
            return self._rendezvous.publish(message.sign, facts, theirs, stamp=message.stamp)

        self._start_task(self._forward(channel, message.request, parcels, changed, make, instead))
        return None

    def flash(self, channel: Channel, message: Flash) -> Done | None:
        """Carry out a Flash, like :meth:`publish`."""
        places, kept, parcels = self._sort([event.items for event in message.events], message.places)
        here = [own + more for own, more in zip(places, kept, strict=True)]
        self._rendezvous.flash(message.publisher, message.events, here, message.after)
        if not parcels:
            return Done(message.request)

        def make(numbers: list[int], theirs: list[bytes]) -> Callable[[int], Message]:
            events = [message.events[number] for number in numbers]
            return lambda request: Flash(request, message.publisher, events, theirs, forwarded=True, after=message.after)

        def instead(numbers: list[int], theirs: list[bytes]) -> int:
            self._rendezvous.flash(message.publisher, [message.events[number] for number in numbers], theirs, message.after)
            return 0

        self._start_task(self._forward(channel, message.request, parcels, 0, make, instead))
        return None

    def not_here(self, message: InsertCondition) -> NotHere | None:
        """The answer to a condition whose key is another's by now; None when it is ours, or for the rendezvous to refuse."""
        pattern = message.template.pattern
        if message.anchor == NOWHERE or not 0 <= message.anchor < len(pattern):
            return None
        constant = pattern[message.anchor]
        holder = None if constant is None else self.elsewhere((len(pattern), message.anchor, constant))
        return None if holder is None else NotHere(message.request, holder, self.leaving)

    def _sort(self, tuples: Sequence[Tuple], places: Sequence[bytes]) -> tuple[list[bytes], list[bytes], Parcels]:
        """For each tuple its positions that are ours, and those that are not and still have something here; the others' parcels."""
        ours: list[bytes] = []
        kept: list[bytes] = []
        parcels: Parcels = {}
        elsewhere = self.elsewhere
        for number, (items, there) in enumerate(zip(tuples, places, strict=True)):
            arity = len(items)
            holders = [elsewhere((arity, position, items[position])) for position in there]
            if not any(holders):
                ours.append(there)
                kept.append(b"")
                continue
            own, more = bytearray(), bytearray()
            theirs: dict[dht.Contact, bytearray] = {}
            for position, holder in zip(there, holders, strict=True):
                if holder is None:
                    own.append(position)
                    continue
                theirs.setdefault(holder, bytearray()).append(position)
                if self._rendezvous.holds((arity, position, items[position])):
                    more.append(position)
            for holder, their in theirs.items():
                numbers, their_places = parcels.setdefault(holder, ([], []))
                numbers.append(number)
                their_places.append(bytes(their))
            ours.append(bytes(own))
            kept.append(bytes(more))
        return ours, kept, parcels

    async def _forward(
        self,
        channel: Channel,
        request: int,
        parcels: Parcels,
        changed: int,
        make: Callable[[list[int], list[bytes]], Callable[[int], Message]],
        instead: Callable[[list[int], list[bytes]], int],
    ) -> None:
        """Pass on what is others', then answer. Where an holder has gone already, we are next: it is carried out here."""
        sent: list[tuple[dht.Contact, list[int], list[bytes], Awaitable[Done]]] = []
        async with self._forwarding:
            for holder, (numbers, theirs) in parcels.items():
                sent.append((holder, numbers, theirs, await self._send(holder, make(numbers, theirs))))
        for holder, numbers, theirs, answer in sent:
            try:
                changed += (await answer).count
            except GsgError as error:
                log.info("kept what belongs to %s: %s", show(holder), error)
                if isinstance(error, PeerUnreachable):
                    self._holders.failed(holder.id, error)
                changed += instead(numbers, theirs)
        self._flush()
        channel.send(Done(request, changed))

    async def _send(self, holder: dht.Contact, make: Callable[[int], Message]) -> Awaitable[Done]:
        """Send a request; the result is its answer, or raises why there is none."""
        try:
            channel = await self._exchange.channel(holder)
        except PeerUnreachable as error:
            return _raising(error)
        return answer_of(channel, channel.ask(make), Done)

    # --- keys that change hands -------------------------------------------------------------------------------------------

    async def _hand_over_until_settled(self) -> None:
        """Hand over what is others', again whenever a peer was discovered meanwhile, and drop what nobody needs here."""
        try:
            while self.settling and not self.leaving:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SWEEP_S):
                        await self._again.wait()
                if self._again.is_set():
                    self._again.clear()
                    await self._hand_over()
                else:
                    self._drop_what_has_moved()
        finally:
            self._working = False
            self._rendezvous.forget_retractions()

    async def leave(self) -> None:
        """Hand over everything: this peer is about to stop."""
        self.leaving = True
        try:
            async with asyncio.timeout(LEAVING_S):
                self._again.set()
                while self._again.is_set():
                    # Once more where a new holder turned out to be gone: somebody else is next.
                    self._again.clear()
                    await self._hand_over()
                deadline_s = asyncio.get_running_loop().time() + FOLLOWING_S
                while self._rendezvous.followed() and asyncio.get_running_loop().time() < deadline_s:  # noqa: ASYNC110  # many feeds
                    await asyncio.sleep(FOLLOW_LOOK_S)
        except TimeoutError:
            log.warning("not everything was handed over within %.0f s: the facts that only this peer held are lost", LEAVING_S)

    async def _hand_over(self) -> None:
        moving: dict[dht.Contact, list[Key]] = {}
        for number, key in enumerate(self._rendezvous.all_keys()):
            if number % KEYS_PER_TURN == KEYS_PER_TURN - 1:
                await asyncio.sleep(0)
            # A key that has moved already is its new holder's to pass on: what is left of it here may be old.
            holder = None if self._rendezvous.has_moved(key) else self.elsewhere(key)
            if holder is not None:
                moving.setdefault(holder, []).append(key)
        for holder, keys in moving.items():
            try:
                await self._move(holder, keys)
            except GsgError as error:
                log.info("keys not handed over to %s: %s", show(holder), error)
                if isinstance(error, PeerUnreachable):
                    self._holders.failed(holder.id, error)
                    self._again.set()

    async def _move(self, holder: dht.Contact, keys: list[Key]) -> None:
        """Send the facts of keys to their holder, and the feeds after them."""
        channel = await self._exchange.channel(holder)
        start = 0
        while start < len(keys):
            # From reading a key's facts to sending them nothing else runs, so whatever is forwarded later comes after them.
            chunk: list[Key] = []
            history: list[tuple[int, Tuple, int]] = []
            places: list[bytes] = []
            while start < len(keys) and len(history) < CHUNK_FACTS:
                key = keys[start]
                start += 1
                chunk.append(key)
                of_key = self._rendezvous.history(key)
                history.extend(of_key)
                places.extend([bytes((key[1],))] * len(of_key))
            answers = [
                channel.ask(partial(_hand_over, history[part], places[part]))
                for part in parts([fact for _, fact, _ in history], CHUNK_FACTS)
            ]
            for answer in answers:
                await answer_of(channel, answer, Done)
            self._rendezvous.move(chunk, holder, leaves=self.leaving)
            self._flush()

    def _drop_what_has_moved(self) -> None:
        for key in self._rendezvous.moved_keys():
            if self.elsewhere(key) is None:
                self._rendezvous.keep(key)
            else:
                self._rendezvous.drop_if_unused(key)
        self._flush()


async def _raising(error: PeerUnreachable) -> Done:
    raise error


def _hand_over(history: list[tuple[int, Tuple, int]], places: list[bytes], request: int) -> Message:
    signs, facts, stamps = (list(column) for column in zip(*history, strict=True))
    return HandOver(request, signs, facts, places, stamps)
