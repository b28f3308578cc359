"""Events while keys change hands: by all holders of their keys, so that whoever stands by there hears what no other is fed.

A peer that came may be the primary of a key before its feeds have followed, and one that died may be taken for it by whoever has
not noticed. So for a while an event passes at whichever peer it comes to, if anything is posted there under its key, and goes on to
every other holder as this peer knows them, to be taken as it is; except where this peer is the primary, has been here for long, and
has nothing posted under the key: then nobody else has. Its publisher is answered when each of them has answered or turned out to be
gone, or after SLOW_S once one has; where nobody is left, it passes here, and where only holders are that take nothing, its
publisher is told so. Subscribers know an event again by publisher and number.

What goes on to each holder goes in the order in which it came here, and names this peer as one by which its publisher's events go,
so that those who hear of both keep the order (:mod:`gsg.ordering`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum
from typing import TypeAlias

import dht

from .errors import GsgError, PeerUnreachable
from .exchange import Channel, Exchange, Leaving, LinkBroke, answer_of, show
from .handover import Handover
from .holders import Holders
from .messages import After, Done, Failed, Flash, Message
from .onward import Admitted, Onward
from .rendezvous import Rendezvous
from .standbys import StartTask

log = logging.getLogger(__name__)

FULL_S = 5.0
"""How long a link that takes no more is waited for; then its holder has not passed the events, nor those that wait behind them."""
SLOW_S = 0.5
"""How long a holder that does not answer is waited for where another one, or this peer, has passed the events."""

Parcels: TypeAlias = "dict[dht.Contact, dict[int, bytearray]]"
"""For each other holder: by number of an event in its message, the positions under which it is to pass there."""


class Passed(Enum):
    """Whether events have passed at another holder."""

    YES = 1
    NO = 2
    """It lives, and has not taken them."""
    GONE = 3


class Spreading:
    """Passes events on to the other holders of their keys. ``flush`` sends what passed here; the peer owns the tasks."""

    def __init__(
        self,
        handover: Handover,
        holders: Holders,
        exchange: Exchange,
        rendezvous: Rendezvous,
        start_task: StartTask,
        flush: Callable[[], None],
    ) -> None:
        self._own = exchange.own.contact
        self._handover = handover
        self._holders = holders
        self._exchange = exchange
        self._rendezvous = rendezvous
        self._start_task = start_task
        self._flush = flush
        self._onward = Onward(holders, exchange, full_s=FULL_S)

    def flash(self, channel: Channel, message: Flash) -> Done | None:
        """Carry out a Flash; None when others are concerned, and the answer comes when those have answered."""
        here, counts, parcels = self._sort(message)
        if parcels:
            self._onward.check(channel.frame_bytes, parcels)
        self._rendezvous.flash(message.publisher, message.events, here, message.after, message.audience)
        if not parcels:
            return Done(message.request)
        last = message.events[-1].number
        named = [(self._own.id, last, last), *message.after]
        passing: list[asyncio.Future[Passed]] = []
        admitted = self._onward.admit(channel.frame_bytes, parcels)
        for one, parcel in zip(admitted, parcels.values(), strict=True):
            # Tasks begin in order, those of several messages too: each waits for its turn with its holder.
            passing.append(asyncio.get_running_loop().create_future())
            self._start_task(self._pass_on(one, _part(message, parcel, named), passing[-1]))
        self._start_task(self._answer(channel, message, here, counts, parcels, passing))
        return None

    def _sort(self, message: Flash) -> tuple[list[bytes], list[bytes], Parcels]:
        """For each event the positions under which it passes here, and those of them that count; and what goes on.

        Where this peer is new and nothing is posted yet, that an event has passed here says nothing.
        """
        here: list[bytes] = []
        counts: list[bytes] = []
        is_new = self._handover.is_new
        parcels: Parcels = {}
        for number, (event, there) in enumerate(zip(message.events, message.places, strict=True)):
            items = event.items
            arity = len(items)
            own, sure = bytearray(), bytearray()
            for position in there:
                key = (arity, position, items[position])
                holders = self._handover.holders(key)
                others = [holder for holder in holders if holder.id != self._own.id]
                listened = self._rendezvous.has_listeners(key)
                # Not where others hold the key and nobody here is concerned.
                if listened or not others or len(others) < len(holders):
                    own.append(position)
                    if listened or not others or not is_new:
                        sure.append(position)
                if not listened and holders[:1] == (self._own,) and not is_new:
                    continue
                for holder in others:
                    parcels.setdefault(holder, {}).setdefault(number, bytearray()).append(position)
            here.append(bytes(own))
            counts.append(bytes(sure))
        return here, counts, parcels

    async def _answer(
        self,
        channel: Channel,
        message: Flash,
        here: list[bytes],
        counts: list[bytes],
        parcels: Parcels,
        passing: list[asyncio.Future[Passed]],
    ) -> None:
        """Answer the publisher when the events have passed."""
        sure = here == message.places and not self._handover.is_new
        done, slow = await asyncio.wait(passing, timeout=SLOW_S)
        while slow and not sure and not any(passed.result() is Passed.YES for passed in done):
            more, slow = await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        have = [set(own) for own in counts]
        for parcel, passed in zip(parcels.values(), passing, strict=True):
            for number, positions in parcel.items() if passed in slow or passed.result() is Passed.YES else ():
                have[number].update(positions)
        left = [bytes(set(there) - had) for there, had in zip(message.places, have, strict=True)]
        if any(left):
            self._rendezvous.flash(message.publisher, message.events, left, message.after, message.audience)
        self._flush()
        # Whoever lives and has not taken them may be the only one where they are asked for.
        lacking = [
            show(holder)
            for (holder, parcel), passed in zip(parcels.items(), passing, strict=True)
            if passed not in slow and passed.result() is Passed.NO and any(set(parcel[at]).intersection(left[at]) for at in parcel)
        ]
        if lacking:
            why = f"{', '.join(lacking)} did not take events while keys change hands, and nobody else has them; publish them again"
            channel.send(Failed(message.request, why))
        else:
            channel.send(Done(message.request))

    async def _pass_on(self, admitted: Admitted, make: Callable[[int], Message], passed: asyncio.Future[Passed]) -> None:
        """Send events to a holder and wait for its answer; ``passed`` is whether they have passed there."""
        holder = admitted.holder
        left: LinkBroke | Leaving | None = None
        try:
            await answer_of(*await self._onward.send(admitted, make), Done)
            passed.set_result(Passed.YES)
        except TimeoutError:
            log.info("events not passed on to %s, which reads too slowly", show(holder))
        except PeerUnreachable as error:
            log.info("events not passed on to %s: %s", show(holder), error)
            passed.set_result(Passed.GONE)
            if isinstance(error, (LinkBroke, Leaving)):
                left = error
        except GsgError as error:
            log.info("events not passed on to %s: %s", show(holder), error)
        finally:
            if not passed.done():
                passed.set_result(Passed.NO)
        if left is not None:
            self._holders.failed(holder.id, left)


def _part(message: Flash, parcel: dict[int, bytearray], after: After) -> Callable[[int], Message]:
    """Some of the events of a message, as they go on."""
    events = [message.events[number] for number in parcel]
    places = [bytes(positions) for positions in parcel.values()]
    return lambda request: Flash(request, message.publisher, events, places, forwarded=True, after=after, audience=message.audience)
