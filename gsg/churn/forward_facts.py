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
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from msgspec.structs import replace

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
from ..wire.messages import Done, Failed, Publish
from .forward_queue import Admitted, ForwardQueue

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
        stamp, origins = message.stamp, message.by_call()
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
        admitted = self._queue.enqueue(link.frame_bytes, shares)
        self._start_task(self._forward(link, message, shares, admitted, held))
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

    async def _forward(self, link: PeerLink, message: Publish, shares: Shares, admitted: list[Admitted], held: Held) -> None:
        """Pass on what is others', then answer. Where a holder has gone already, we are next: it is carried out here."""
        requests = [partial(_forwarded, message, *share) for share in shares.values()]
        # Tasks begin in order, those of several messages too: each waits for its turn with its holder.
        outcomes = await asyncio.gather(*map(self._pass_on, admitted, requests), return_exceptions=True)
        changed, latest = held.changed, held.latest
        behind, unchanged = set[int](), list(held.unchanged)
        try:
            for (numbers, _), done in zip(shares.values(), outcomes, strict=True):
                if isinstance(done, BaseException):
                    raise done
                changed += done.count
                latest = max(latest, done.stamp)
                behind.update(numbers[number] for number in done.behind if 0 <= number < len(numbers))
                unchanged += [numbers[number] for number in done.unchanged if 0 <= number < len(numbers)]
            if held.everywhere is not None:
                await held.everywhere()
        except GsgError as error:
            self._flush()
            link.send(Failed(message.request, str(error)))
            return
        self._flush()
        link.send(Done(message.request, changed, max(latest, held.latest), sorted(behind.union(held.behind)), unchanged))

    async def _pass_on(self, admitted: Admitted, make: Callable[[int], Publish]) -> Done:
        """Pass on a holder's share, or carry it out here where the holder does not. Raises PeerUnreachable and Refused."""
        is_sent = False
        try:
            sending = await self._queue.send(admitted, make)
            is_sent = True
            return await answer_of(*sending, Done)
        except GsgError as error:
            log.info("kept what belongs to %s: %s", show(admitted.holder), error)
            # Where it could not be sent, the queue has told that.
            if is_sent and isinstance(error, PeerUnreachable):
                self._holders.failed(admitted.holder.id, error)
        share = make(0)
        held = self._replication.make(share.sign, share.entries, share.places, share.stamp, share.by_call())
        if held.everywhere is not None:
            await held.everywhere()
        return Done(0, held.changed, held.latest, held.behind, held.unchanged)


def _forwarded(message: Publish, numbers: Sequence[int], places: list[bytes], request: int) -> Publish:
    """A holder's share of a message, as it goes on."""
    facts, parts = [message.facts[number] for number in numbers], message.parts_of(numbers)
    return replace(message, request=request, facts=facts, places=places, forwarded=True, unsure=False, parts=parts)
