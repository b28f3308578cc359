"""A publish that came to another than the primary of its keys, as while these change hands: what is others' goes on to them.

    a key is ours          carried out here, and told to its other holders
    a key is another's     forwarded; the publisher is answered when all have answered
       that one has gone   we are next: carried out here

What is forwarded is taken as it is, so two peers who disagree do not pass it back and forth. Events are forwarded elsewhere
(:mod:`gsg.churn.forward_events`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import dht

from ..background import StartTask
from ..errors import GsgError, PeerUnreachable
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..rendezvous.changes import Held
from ..rendezvous.rendezvous import Rendezvous
from ..replication.changes import Replication
from ..tuples.terms import Tuple
from ..wire.exchange import Exchange, PeerLink, answer_of, show
from ..wire.messages import Done, Failed, Message, Publish
from .forward_queue import Admitted, ForwardQueue, Sending

log = logging.getLogger(__name__)

Shares: TypeAlias = dict[dht.Contact, tuple[list[int], list[bytes]]]
"""For each other holder: numbers of tuples, and the positions that are its own."""


class FactForwarding:
    """That of one peer; ``flush`` sends what a change here has caused."""

    def __init__(
        self,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        replication: Replication,
        responsibility: Responsibility,
        start_task: StartTask,
        flush: Callable[[], None],
    ) -> None:
        self._holders = holders
        self._rendezvous = rendezvous
        self._replication = replication
        self._responsibility = responsibility
        self._start_task = start_task
        self._flush = flush
        self._queue = ForwardQueue(holders, exchange)

    def forward(self, link: PeerLink, message: Publish) -> Held | None:
        """Carry out a Publish; None when some of it was forwarded, and the answer comes when those are answered."""
        entries = message.entries
        places, kept, shares = self._sort(entries, message.places)
        origin, origins = message.origin, message.by_call()
        stamp = message.stamp
        if shares:
            self._queue.check_room(link.frame_bytes, shares)
        held = self._replication.make(message.sign, entries, places, stamp, origins)
        if not shares:
            return held
        for number in {*held.behind, *self._rendezvous.held.behind(message.sign, entries, kept, stamp)}:
            kept[number] = b""
        for some, said in origins:
            theirs = entries[some.start : some.stop], kept[some.start : some.stop]
            self._rendezvous.publish(message.sign, *theirs, stamp=stamp, as_holder=False, origin=said)

        def make(numbers: list[int], theirs: list[bytes]) -> Callable[[int], Publish]:
            facts, parts = [message.facts[number] for number in numbers], message.parts_of(numbers)
            return lambda request: Publish(
                request, message.sign, facts, theirs, stamp, forwarded=True, origin=origin, audience=message.audience, parts=parts
            )

        async def instead(numbers: list[int], theirs: list[bytes]) -> Done:
            facts, origins = [entries[number] for number in numbers], make(numbers, theirs)(0).by_call()
            kept = self._replication.make(message.sign, facts, theirs, stamp, origins)
            if kept.everywhere is not None:
                await kept.everywhere()
            return Done(0, kept.changed, kept.latest, kept.behind, kept.unchanged)

        admitted = self._queue.enqueue(link.frame_bytes, shares)
        self._start_task(self._forward(link, message.request, shares, admitted, held, make, instead))
        return None

    def _sort(self, tuples: Sequence[Tuple], places: Sequence[bytes]) -> tuple[list[bytes], list[bytes], Shares]:
        """For each tuple its positions that are ours, and those that are not and still have something here; the others' shares."""
        ours: list[bytes] = []
        kept: list[bytes] = []
        shares: Shares = {}
        other_primary = self._responsibility.other_primary
        for number, (items, there) in enumerate(zip(tuples, places, strict=True)):
            arity = len(items)
            holders = [other_primary((arity, position, items[position])) for position in there]
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
                key = (arity, position, items[position])
                # A key that we hold too comes back from its primary.
                if self._rendezvous.holds_key(key) and not self._responsibility.is_ours(key):
                    more.append(position)
            for holder, their in theirs.items():
                numbers, their_places = shares.setdefault(holder, ([], []))
                numbers.append(number)
                their_places.append(bytes(their))
            ours.append(bytes(own))
            kept.append(bytes(more))
        return ours, kept, shares

    async def _forward(
        self,
        link: PeerLink,
        request: int,
        shares: Shares,
        admitted: list[Admitted],
        held: Held,
        make: Callable[[list[int], list[bytes]], Callable[[int], Message]],
        instead: Callable[[list[int], list[bytes]], Awaitable[Done]],
    ) -> None:
        """Pass on what is others', then answer. Where a holder has gone already, we are next: it is carried out here."""
        # Tasks begin in order, those of several messages too: each waits for its turn with its holder.
        sent = await asyncio.gather(*(self._send(one, make(*share)) for one, share in zip(admitted, shares.values(), strict=True)))
        changed, latest = held.changed, held.latest
        behind, unchanged = set[int](), list(held.unchanged)
        try:
            for (holder, (numbers, theirs)), answer in zip(shares.items(), sent, strict=True):
                try:
                    done = None if answer is None else await answer_of(*answer, Done)
                except GsgError as error:
                    log.info("kept what belongs to %s: %s", show(holder), error)
                    if isinstance(error, PeerUnreachable):
                        self._holders.failed(holder.id, error)
                    done = None
                if done is None:
                    done = await instead(numbers, theirs)
                changed += done.count
                latest = max(latest, done.stamp)
                behind.update(numbers[number] for number in done.behind if 0 <= number < len(numbers))
                unchanged += [numbers[number] for number in done.unchanged if 0 <= number < len(numbers)]
            if held.everywhere is not None:
                await held.everywhere()
        except GsgError as error:
            self._flush()
            link.send(Failed(request, str(error)))
            return
        self._flush()
        link.send(Done(request, changed, max(latest, held.latest), sorted(behind.union(held.behind)), unchanged))

    async def _send(self, admitted: Admitted, make: Callable[[int], Message]) -> Sending | None:
        """Send a request, whose answer is to come; not where the holder cannot be reached."""
        try:
            return await self._queue.send(admitted, make)
        except PeerUnreachable as error:
            log.info("kept what belongs to %s: %s", show(admitted.holder), error)
            return None
