"""Events while keys change hands: by all holders of their keys, so that whoever stands by there hears what no other is fed.

A peer that came may be the primary of a key before its feeds have followed, and one that died may be taken for it by whoever has
not noticed. So for a while an event passes at whichever peer it comes to, if anything is posted there under its key, and goes on to
every other holder as this peer knows them, to be taken as it is; except where this peer is the primary, has been here for long, and
has nothing posted under the key: then nobody else has. What passes here does so in slices (:mod:`gsg.rendezvous.time_slices`).

Its publisher is answered when each of them has answered or turned out to be gone, or after SLOW_S once one has; where nobody is
left, it passes here, and where only holders are that take nothing, or do not answer within HANGING_S, its publisher is told so.
Subscribers know an event again by publisher and number.

What goes on to each holder goes in the order in which it came here, and names this peer as one by which its publisher's events go,
so that those who hear of both keep the order (:mod:`gsg.feeds.publisher_order`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

import dht
from dht.liveness.late_timers import AGAIN, late_s

from ..background import DEFECT, SLICE_S, StartTask
from ..errors import GsgError, PeerUnreachable
from ..placement.holders import Holders
from ..placement.responsibility import Responsibility
from ..rendezvous.matching import EventBatch
from ..rendezvous.rendezvous import Rendezvous
from ..rendezvous.time_slices import TimeSlices
from ..wire.exchange import Exchange, Leaving, LinkBroke, PeerLink, answer_of, show
from ..wire.messages import After, Done, Failed, Flash, Message
from ..wire.waiting import later
from .forward_queue import Admitted, ForwardQueue

log = logging.getLogger(__name__)

FULL_S = 5.0
"""How long a link that takes no more is waited for; then its holder has not passed the events, nor those that wait behind them."""
SLOW_S = 0.5
"""How long a holder that does not answer is waited for where another one, or this peer, has passed the events."""
HANGING_S = 15.0
"""The same where nobody has: shorter than ANSWER_TIMEOUT_S, for which their publisher waits, or this peer were taken for dead."""

Shares: TypeAlias = "dict[dht.Contact, dict[int, bytearray]]"
"""For each other holder: by number of an event in its message, the positions under which it is to pass there."""


class Taken(Enum):
    """Whether another holder has taken events."""

    YES = 1
    NO = 2
    """It lives, or may, and has not taken them as far as known."""
    GONE = 3


class EventForwarding:
    """Passes events on to the other holders of their keys.

    ``time_slices`` has those that pass here, ``answer`` tells their publisher after they have been forwarded, ``flush`` sends what
    passed here; the peer owns the tasks.
    """

    def __init__(
        self,
        responsibility: Responsibility,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        time_slices: TimeSlices,
        start_task: StartTask,
        answer: Callable[[PeerLink, Done], None],
        flush: Callable[[], None],
    ) -> None:
        self._own_id = exchange.own.contact.id
        self._responsibility = responsibility
        self._holders = holders
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._time_slices = time_slices
        self._start_task = start_task
        self._answer_done = answer
        self._flush = flush
        self._queue = ForwardQueue(holders, exchange, full_s=FULL_S)
        self._late = asyncio.Lock()
        """Held by whoever has its turn of those whose events pass here after all, as nobody else has taken them: slices of many at
        once would keep the peer as busy as no slices. Those that wait are bounded by the requests that other holders have not
        answered, of which a link has so many at most (:mod:`gsg.wire.exchange`)."""

    def forward(self, link: PeerLink, message: Flash) -> None:
        """Carry out a Flash; where others are concerned, the answer comes when those have answered.

        Raises Refused where too much waits to go on to them.
        """
        came_s = _now()
        here, counts, shares = self._sort(message)
        if not shares:
            self._time_slices.forward(link, message, lambda: self._answer_done(link, Done(message.request)), here)
            return
        self._queue.check_room(link.frame_bytes, shares)
        last = message.events[-1].number
        named = [(self._own_id, last, last), *message.after]
        passing: list[asyncio.Future[Taken]] = []
        admitted = self._queue.enqueue(link.frame_bytes, shares)
        for one, share in zip(admitted, shares.values(), strict=True):
            # Tasks begin in order, those of several messages too: each waits for its turn with its holder.
            passing.append(asyncio.get_running_loop().create_future())
            self._start_task(self._pass_on(one, _share(message, share, named), passing[-1]))
        self._time_slices.forward(
            link, message, lambda: self._start_task(self._answer(link, message, came_s, here, counts, shares, passing)), here
        )

    def _sort(self, message: Flash) -> tuple[list[bytes], list[bytes], Shares]:
        """For each event the positions under which it passes here, and those of them that count; and what goes on.

        Where this peer is new and nothing is posted yet, that an event has passed here says nothing.
        """
        here: list[bytes] = []
        counts: list[bytes] = []
        is_new = self._responsibility.is_new
        shares: Shares = {}
        for number, (event, there) in enumerate(zip(message.events, message.places, strict=True)):
            items = event.items
            arity = len(items)
            own, sure = bytearray(), bytearray()
            for position in there:
                key = (arity, position, items[position])
                holders = self._responsibility.holders_of(key)
                others = [holder for holder in holders if holder.id != self._own_id]
                listened = self._rendezvous.conditions.has_listeners(key)
                # Not where others hold the key and nobody here is concerned.
                if listened or not others or len(others) < len(holders):
                    own.append(position)
                    if listened or not others or not is_new:
                        sure.append(position)
                if not listened and holders and holders[0].id == self._own_id and not is_new:
                    continue
                for holder in others:
                    shares.setdefault(holder, {}).setdefault(number, bytearray()).append(position)
            here.append(bytes(own))
            counts.append(bytes(sure))
        return here, counts, shares

    async def _answer(
        self,
        link: PeerLink,
        message: Flash,
        came_s: float,
        here: list[bytes],
        counts: list[bytes],
        shares: Shares,
        passing: list[asyncio.Future[Taken]],
    ) -> None:
        """Answer the publisher when the events have passed."""
        sure = here == message.places and not self._responsibility.is_new
        done, slow = await asyncio.wait(passing, timeout=SLOW_S)
        if not sure:
            # Since they came: what passes here first may take long as well.
            done, slow = await _until_taken(done, slow, came_s + HANGING_S)
        # Whoever has them has passed them; then who is slow is on the way to it.
        of_slow = Taken.YES if sure or any(taken.result() is Taken.YES for taken in done) else Taken.NO
        outcomes = [of_slow if taken in slow else taken.result() for taken in passing]
        have = [set(own) for own in counts]
        for share, outcome in zip(shares.values(), outcomes, strict=True):
            for number, positions in share.items() if outcome is Taken.YES else ():
                have[number].update(positions)
        left = [bytes(set(there) - had) for there, had in zip(message.places, have, strict=True)]
        if any(left):
            try:
                await self._pass_here(message, came_s, left)
            except Exception:
                # A defect of ours is no reason to leave whoever sent the events waiting.
                log.exception("events from %s were not passed on", show(link.contact))
                link.send(Failed(message.request, DEFECT))
                return
        self._flush()
        # Whoever lives and has not taken them may be the only one where they are asked for.
        lacking = [
            show(holder)
            for (holder, share), outcome in zip(shares.items(), outcomes, strict=True)
            if outcome is Taken.NO and any(set(share[at]).intersection(left[at]) for at in share)
        ]
        if lacking:
            why = f"{', '.join(lacking)} did not take events while keys change hands, and nobody else has them; publish them again"
            link.send(Failed(message.request, why))
        else:
            link.send(Done(message.request))

    async def _pass_here(self, message: Flash, came_s: float, places: list[bytes]) -> None:
        """Events pass here late, under these places, in slices between which others have their turn."""
        async with self._late:
            events = later(message.events, _now() - came_s)
            batch = EventBatch(self._rendezvous, message.publisher, events, places, message.after, message.audience)
            while not batch.forward(SLICE_S):
                self._flush()
                await asyncio.sleep(0)

    async def _pass_on(self, admitted: Admitted, make: Callable[[int], Message], taken: asyncio.Future[Taken]) -> None:
        """Send events to a holder and wait for its answer; ``taken`` is whether it has them."""
        outcome = Taken.NO
        try:
            outcome = await self._outcome(admitted, make)
        except GsgError as error:
            log.info("events not passed on to %s: %s", show(admitted.holder), error)
        finally:
            taken.set_result(outcome)

    async def _outcome(self, admitted: Admitted, make: Callable[[int], Message]) -> Taken:
        holder, is_sent = admitted.holder, False
        try:
            sending = await self._queue.send(admitted, make)
            is_sent = True
            await answer_of(*sending, Done)
        except TimeoutError:
            log.info("events not passed on to %s, which reads too slowly", show(holder))
            return Taken.NO
        except PeerUnreachable as error:
            log.info("events not passed on to %s: %s", show(holder), error)
            if isinstance(error, LinkBroke):
                return await self._whether_gone(holder)
            if is_sent:
                self._holders.failed(holder.id, error)
            # Who leaves has handed over what it had, to those that are told as well.
            return Taken.NO if is_sent and not isinstance(error, Leaving) else Taken.GONE
        return Taken.YES

    async def _whether_gone(self, holder: dht.Contact) -> Taken:
        """Whether a holder can be reached by another link than the one that broke: then it lives."""
        if self._holders.contact_of(holder.id) is None:
            return Taken.GONE
        try:
            await self._exchange.link(holder)
        except PeerUnreachable as error:
            self._holders.failed(holder.id, error)
            return Taken.GONE
        return Taken.NO


async def _until_taken(
    done: set[asyncio.Future[Taken]], slow: set[asyncio.Future[Taken]], until_s: float
) -> tuple[set[asyncio.Future[Taken]], set[asyncio.Future[Taken]]]:
    """Wait until then while no other holder has taken the events: who has answered, and who has not."""
    times_late = 0
    while slow and not any(taken.result() is Taken.YES for taken in done):
        more, slow = await asyncio.wait(slow, timeout=max(0.0, until_s - _now()), return_when=asyncio.FIRST_COMPLETED)
        done |= more
        if not more:
            if times_late == AGAIN or not late_s(until_s):
                break
            # This side was stopped, or busy: answers may have come that lie unread.
            times_late += 1
            until_s = _now() + SLOW_S
    return done, slow


def _share(message: Flash, share: dict[int, bytearray], after: After) -> Callable[[int], Flash]:
    """Some of the events of a message, as they go on, which may be seconds after they came here."""
    events = [message.events[number] for number in share]
    places = [bytes(positions) for positions in share.values()]
    came_s = _now()

    def make(request: int) -> Flash:
        going = list(later(events, _now() - came_s))
        publisher, audience, trace = message.publisher, message.audience, message.trace
        return Flash(request, publisher, going, places, forwarded=True, after=after, audience=audience, trace=trace)

    return make


def _now() -> float:
    return asyncio.get_running_loop().time()
