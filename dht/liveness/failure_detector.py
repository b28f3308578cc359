"""Carries out what :mod:`dht.liveness.swim` orders: a thin shell with the clock, the tasks and the datagrams.

Every ``period_s`` a neighbour, or a peer that ``depends_on`` names, is probed, whoever was heard of longest ago; the suspected are
asked again; and contacts heard of longest ago are asked for others that we may not know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import Protocol

from ..background import BackgroundTasks
from ..datagrams.datagrams import Datagrams
from ..datagrams.gossip import Rumour
from ..datagrams.round_trip import FOR_PROBE
from ..errors import BadAnswer
from ..identity.contacts import Contact
from ..identity.ids import PeerId, random_id
from .neighbourhood import Neighbourhood, estimated_size
from .orders import Order, PeerDied, PeerReturned, Probe, ProbeVia
from .swim import Swim

MAX_WATCHED = 128
"""Peers that ``depends_on`` may name; of more, the others are only asked when they have not been heard of for long."""

MAX_VOUCHED = 64
"""Silent peers probed for others at once; a further one is not vouched for, and counted."""

MAX_ASKERS = 64
"""Peers that wait for what one such probe finds, each for its last question; a further one is told nothing, and counted."""


class PeerListener(Protocol):
    """Whoever is told which peers live."""

    def peer_answered(self, contact: Contact, incarnation: int | None = None) -> None:
        """A peer answered from this address."""

    def peer_died(self, contact: Contact) -> None:
        """A peer is dead."""

    def heard_of(self, contact: Contact) -> None:
        """Another peer said that this one is there."""


@dataclass(eq=False)
class FailureDetector:
    """Asks and answers who lives; ``swim`` decides, ``listener`` hears of it."""

    datagrams: Datagrams
    listener: PeerListener
    tasks: BackgroundTasks
    swim: Swim
    rng: Random
    period_s: float
    depends_on: Callable[[], Iterable[PeerId]]
    heard_s: Callable[[PeerId], float]
    neighbourhood: Neighbourhood = field(default_factory=Neighbourhood)
    # Limit: MAX_VOUCHED; each leaves when its probe has ended. By asker what answers it; limit: MAX_ASKERS.
    _vouching: dict[Contact, dict[PeerId, Callable[[int | None], None]]] = field(default_factory=dict)

    # What goes on in the background

    async def run(self) -> None:
        """Probe others until cancelled."""
        while True:
            await asyncio.sleep(self.period_s)
            try:
                self._probe_due()
            except Exception:
                self.tasks.count_failure()

    def _probe_due(self) -> None:
        nearest = self.neighbourhood.nearest
        watched = dict.fromkeys(each.id for each in nearest)
        watched.update(dict.fromkeys(islice(self.depends_on(), MAX_WATCHED)))
        for contact, since_s in self.swim.suspicions():
            # Busy machines answer probes late, and do their work all the same: what comes by a link was said by one that lives.
            if self.heard_s(contact.id) > since_s:
                self.datagrams.counts["suspects that were heard by links"] += 1
                self.listener.peer_answered(contact)
        size = estimated_size(self.datagrams.id, nearest, len(self.datagrams.table.contacts()))
        self._carry_out(self.swim.tick(self._now(), watched, size))

    def send_farewell(self) -> None:
        """Tell the neighbours that this peer stops, so that nobody waits for it."""
        for neighbour in self.neighbourhood.nearest:
            self.datagrams.send_rumours(neighbour, self.swim.incarnation, self.swim.farewell_rumours())

    def _carry_out(self, orders: Iterable[Order]) -> None:
        # As this peer stops, nothing more is started, whatever others say.
        for order in orders if self.tasks.is_open else ():
            match order:
                case Probe(contact, look_around):
                    self.tasks.start(self._look_around(contact) if look_around else self.probe(contact))
                case ProbeVia():
                    self.tasks.start(self._ask_helpers(order))
                case PeerDied(contact):
                    self.listener.peer_died(contact)

    # What queries report

    def report_answer(self, contact: Contact, incarnation: int | None = None) -> PeerReturned | None:
        """A peer answered from this address."""
        return self.swim.report_answer(contact, self._now(), incarnation)

    def report_new_life(self, peer: PeerId, life: int) -> None:
        """A peer has proved that it is in a later life than before."""
        self._carry_out(self.swim.report_new_life(peer, life, self._now()))

    def report_dead(self, contact: Contact) -> None:
        """Somebody else found this peer dead."""
        self.swim.report_dead(contact, self._now())

    def report_absent(self, contact: Contact, instead: PeerId | None) -> None:
        """A peer did not answer at its address, but this other one did, or nobody."""
        if instead is None:
            self._carry_out(self.swim.report_silent(contact, self._now()))
        else:
            # Another peer has taken the address over.
            self.listener.peer_died(contact)
            self.listener.peer_answered(Contact(instead, contact.host, contact.port))

    def worth_asking(self, contacts: list[Contact]) -> list[Contact]:
        """Contacts that others name, without those that are not worth asking."""
        swim = self.swim
        if not swim.avoids_any:
            return contacts  # nearly always, and lookups hear of hundreds
        now = self._now()
        return [each for each in contacts if not swim.avoids(each, now)]

    async def probe(self, contact: Contact) -> int | None:
        """Ask a peer whether it lives; its incarnation if so."""
        try:
            answer = await self.datagrams.ask_probe(contact)
        except BadAnswer:
            return None
        if answer is not None and answer[0] == contact.id:
            self.listener.peer_answered(contact, answer[1])
            return answer[1]
        self.report_absent(contact, None if answer is None else answer[0])
        return None

    async def _look_around(self, contact: Contact) -> None:
        """Ask a peer who is near a random point: whether it lives, and whom we do not know yet."""
        try:
            answer = await self.datagrams.ask_closest(contact.address, random_id(self.rng), waits=FOR_PROBE)
        except BadAnswer:
            return
        if answer is None or answer[0] != contact.id:
            self.report_absent(contact, None if answer is None else answer[0])
            return
        self.listener.peer_answered(contact)
        for each in self.worth_asking(answer[1]):
            if self.datagrams.table.contacts().get(each.id) is None:
                self.listener.heard_of(each)

    async def _ask_helpers(self, order: ProbeVia) -> None:
        answers = await asyncio.gather(*(self.datagrams.ask_vouch(helper, order.contact) for helper in order.helpers))
        lives = [each for each in answers if each is not None]
        if lives:
            self.datagrams.counts["peers that only others reach"] += 1
            self.swim.report_vouched(order.contact, max(lives), self._now())
        else:
            self.swim.report_not_vouched(order.contact, self._now())

    # What others say and ask

    def incarnation_and_rumours(self, to: PeerId) -> tuple[int, list[Rumour]]:
        """What to send beside a probe: rumours only to peers that we know, since each is sent a few times only."""
        return self.swim.incarnation, self.swim.take_rumours(to) if to in self.datagrams.table.contacts() else []

    def hear_rumours(self, speaker: Contact, rumours: list[Rumour]) -> None:
        """A peer sent these; strangers are not listened to."""
        if rumours and self.datagrams.table.contacts().get(speaker.id) == speaker:
            self._carry_out(self.swim.hear_rumours(speaker.id, rumours, self._now()))

    def vouch_for(self, asker: PeerId, contact: Contact, answer: Callable[[int | None], None]) -> None:
        """Somebody cannot reach this peer: see whether we can, and answer with its incarnation or None."""
        waiting = self._vouching.get(contact)
        if waiting is not None and (asker in waiting or len(waiting) < MAX_ASKERS):
            waiting[asker] = answer
        elif waiting is not None or not self.tasks.is_open or len(self._vouching) >= MAX_VOUCHED:
            self.datagrams.counts["peers not vouched for"] += 1
        else:
            self._vouching[contact] = {asker: answer}
            self.swim.report_asked_to_vouch(contact, asker)
            self.tasks.start(self._vouch(contact))

    async def _vouch(self, contact: Contact) -> None:
        try:
            incarnation = await self.probe(contact)
        finally:
            waiting = self._vouching.pop(contact)
        for answer in waiting.values():
            answer(incarnation)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
