"""Carries out what :mod:`dht.liveness.swim` orders: a thin shell with the clock, the tasks and the datagrams.

Every ``period_s`` a neighbour, or a peer that ``depends_on`` names, is probed, whoever was heard of longest ago; the suspected are
asked again; and contacts heard of longest ago are asked for others that we may not know.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from itertools import islice
from random import Random
from typing import Any, Protocol

from ..background import failed
from ..datagrams.datagrams import Queries
from ..datagrams.gossip import Rumour
from ..datagrams.round_trip import FOR_PROBE
from ..errors import BadAnswer
from ..identity.contacts import Contact
from ..identity.ids import PeerId, random_id
from .neighbourhood import Neighbourhood, estimated_size
from .swim import Liveness, Order, PeerDied, PeerReturned, Probe, ProbeVia

MAX_WATCHED = 128
"""Peers that ``depends_on`` may name; of more, the others are only asked when they have not been heard of for long."""

MAX_VOUCHED = 64
"""Silent peers probed for others at once; a further one is not vouched for, and counted."""

MAX_ASKERS = 64
"""Peers that wait for what one such probe finds, each for its last question; a further one is told nothing, and counted."""


class Watched(Protocol):
    """Who is told what came of the watching."""

    def lives(self, contact: Contact, incarnation: int | None = None) -> None:
        """A peer answered from this address."""

    def died(self, contact: Contact) -> None:
        """A peer is dead."""

    def named(self, contact: Contact) -> None:
        """A peer said that this one is there."""


class Watching:
    """Asks and answers who lives; ``liveness`` decides, ``told`` hears of it."""

    def __init__(
        self,
        own: PeerId,
        told: Watched,
        *,
        rng: Random,
        incarnation: int,
        period_s: float,
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],  # Any: whatever the work returns
        depends_on: Callable[[], Iterable[PeerId]],
        heard_s: Callable[[PeerId], float],
    ) -> None:
        self.liveness = Liveness(own, rng=rng, incarnation=incarnation, period_s=period_s)
        self.neighbourhood = Neighbourhood()
        self._own = own
        self._told = told
        self._rng = rng
        self._period_s = period_s
        self._start = start
        self._depends_on = depends_on
        self._heard_s = heard_s
        self._queries: Queries
        self._counts: Counter[str]
        self._stopped = False
        # Limit: MAX_VOUCHED; each leaves when its probe has ended. By asker what answers it; limit: MAX_ASKERS.
        self._vouching: dict[Contact, dict[PeerId, Callable[[int | None], None]]] = {}

    def attach(self, queries: Queries) -> None:
        """The socket is open."""
        self._queries = queries
        self._counts = self.liveness.counts = queries.counts

    def stop(self) -> None:
        """Start nothing more, whatever others say."""
        self._stopped = True

    # What goes on in the background

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await asyncio.sleep(self._period_s)
            try:
                self._look()
            except Exception:
                failed(self._counts)

    def _look(self) -> None:
        nearest = self.neighbourhood.nearest
        watched = dict.fromkeys(each.id for each in nearest)
        watched.update(dict.fromkeys(islice(self._depends_on(), MAX_WATCHED)))
        for contact, since_s in self.liveness.suspicions():
            # Busy machines answer probes late, and do their work all the same: what comes by a link was said by one that lives.
            if self._heard_s(contact.id) > since_s:
                self._counts["suspects that were heard by links"] += 1
                self._told.lives(contact)
        size = estimated_size(self._own, nearest, len(self._queries.router.all()))
        self.carry_out(self.liveness.tick(self._now(), watched, size))

    def say_farewell(self) -> None:
        """Tell the neighbours that this peer stops, so that nobody waits for it."""
        for neighbour in self.neighbourhood.nearest:
            self._queries.tell(neighbour, self.liveness.incarnation, self.liveness.farewell())

    def carry_out(self, orders: Iterable[Order]) -> None:
        """Do as ordered."""
        for order in orders if not self._stopped else ():
            match order:
                case Probe(contact, look_around):
                    self._start(self._look_around(contact) if look_around else self._probe(contact))
                case ProbeVia():
                    self._start(self._ask_helpers(order))
                case PeerDied(contact):
                    self._told.died(contact)

    # What queries report

    def answered(self, contact: Contact, incarnation: int | None = None) -> PeerReturned | None:
        """A peer answered from this address."""
        return self.liveness.answered(contact, self._now(), incarnation)

    def anew(self, peer: PeerId, life: int) -> None:
        """A peer has proved that it is in a later life than before."""
        self.carry_out(self.liveness.anew(peer, life, self._now()))

    def silent(self, contact: Contact) -> None:
        """A peer did not answer at this address."""
        self.carry_out(self.liveness.silent(contact, self._now()))

    def worth_asking(self, contacts: list[Contact]) -> list[Contact]:
        """Contacts that others name, without those that are not worth asking."""
        liveness = self.liveness
        if not liveness.avoids_any:
            return contacts  # nearly always, and lookups hear of hundreds
        now = self._now()
        return [each for each in contacts if not liveness.avoids(each, now)]

    def lost(self, contact: Contact) -> None:
        """Somebody else found this peer dead."""
        self.liveness.lost(contact, self._now())

    async def _probe(self, contact: Contact) -> int | None:
        """Ask a peer whether it lives; its incarnation if so."""
        try:
            answer = await self._queries.ask_probe(contact)
        except BadAnswer:
            return None
        if answer is not None and answer[0] == contact.id:
            self._told.lives(contact, answer[1])
            return answer[1]
        self.absent(contact, None if answer is None else answer[0])
        return None

    async def _look_around(self, contact: Contact) -> None:
        """Ask a peer who is near a random point: whether it lives, and whom we do not know yet."""
        try:
            answer = await self._queries.ask_closest(contact.address, random_id(self._rng), waits=FOR_PROBE)
        except BadAnswer:
            return
        if answer is None or answer[0] != contact.id:
            self.absent(contact, None if answer is None else answer[0])
            return
        self._told.lives(contact)
        for each in self.worth_asking(answer[1]):
            if self._queries.router.all().get(each.id) is None:
                self._told.named(each)

    def absent(self, contact: Contact, instead: PeerId | None) -> None:
        """A peer did not answer at its address, but this other one did, or nobody."""
        if instead is None:
            self.silent(contact)
        else:
            # Another peer has taken the address over.
            self._told.died(contact)
            self._told.lives(Contact(instead, contact.host, contact.port))

    async def _ask_helpers(self, order: ProbeVia) -> None:
        answers = await asyncio.gather(*(self._queries.ask_vouch(helper, order.contact) for helper in order.helpers))
        lives = [each for each in answers if each is not None]
        if lives:
            self._counts["peers that only others reach"] += 1
            self.liveness.vouched(order.contact, max(lives), self._now())
        else:
            self.liveness.nobody_vouched(order.contact, self._now())

    # What others say and ask

    def incarnation_and_rumours(self, to: PeerId) -> tuple[int, list[Rumour]]:
        """What to say beside a probe: rumours only to peers that we know, since each is said a few times only."""
        known = to in self._queries.router.all()
        return self.liveness.incarnation, self.liveness.rumours(to) if known else []

    def heard(self, speaker: Contact, rumours: list[Rumour]) -> None:
        """A peer said this; strangers are not listened to."""
        if rumours and self._queries.router.all().get(speaker.id) == speaker:
            self.carry_out(self.liveness.heard(speaker.id, rumours, self._now()))

    def vouch_for(self, asker: PeerId, contact: Contact, answer: Callable[[int | None], None]) -> None:
        """Somebody cannot reach this peer: see whether we can, and answer with its incarnation or None."""
        waiting = self._vouching.get(contact)
        if waiting is not None and (asker in waiting or len(waiting) < MAX_ASKERS):
            waiting[asker] = answer
        elif waiting is not None or self._stopped or len(self._vouching) >= MAX_VOUCHED:
            self._counts["peers not vouched for"] += 1
        else:
            self._vouching[contact] = {asker: answer}
            self.liveness.asked_to_vouch(contact, asker)
            self._start(self._vouch(contact))

    async def _vouch(self, contact: Contact) -> None:
        try:
            lives = await self._probe(contact)
        finally:
            waiting = self._vouching.pop(contact)
        for answer in waiting.values():
            answer(lives)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
