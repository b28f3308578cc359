"""Who lives, without I/O: probes, doubts, suspicions, deaths and returns. The states of a peer's life are in members.py.

The protocol is SWIM (Das, Gupta and Motivala 2002, "SWIM: Scalable Weakly-consistent Infection-style process group Membership"),
with the suspicion that others' words shorten of Lifeguard (Dadgar, Phillips and Currey 2018). What differs: an overlay's peer
watches those that it depends on, its neighbours among the ids and whom it has links with, not everybody. The rules:

* A peer's own answer to our own question is believed at once, whatever is said about it.
* What others say never kills and never doubts: it makes us ask ourselves. If we find silence too, each of them shortens the wait.
* Everybody says only what it found itself, so nobody can speak for many; refutations alone are passed on.
* A peer that hears of its own suspicion says that it lives, with a higher incarnation: what was said of lower ones is void.
* A refutation passed on is not signed by its peer, so unlike SWIM's it clears nobody: the suspect is asked anew, by us and through
  others, and its suspicion begins anew, once. So the silent die in time, unless one who is asked to vouch for them lies. A doubt
  stays as it is: helpers decide. How far others are believed about incarnations is in :mod:`dht.liveness.incarnations`.
* What comes by a link while a peer is suspected shows that it lives, however late it answers probes
  (:mod:`dht.liveness.failure_detector`).
* When our own clock stood still (a busy or sleeping machine), nobody is blamed for it (:mod:`dht.liveness.local_health`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from math import ceil, log10
from random import Random

from ..datagrams.gossip import RUMOURS_PER_DATAGRAM, GossipQueue, Rumour, Status
from ..identity.contacts import Contact
from ..identity.ids import PeerId, as_int
from .incarnations import REFUTATIONS, Incarnations
from .local_health import CONFIRMATIONS, LocalHealth, suspicion_s
from .members import DOUBT_S, Grave, Member, MemberState
from .orders import Order, PeerDied, PeerReturned, Probe, ProbeVia

HELPERS = 3
"""Others that are asked to probe a silent peer (SWIM's k)."""

MAX_MEMBERS = 4096
"""Living peers remembered, more than a routing table holds; the one heard of longest ago is dropped for a new one."""

GRAVE_S = 30.0
"""How long what others say about a dead peer is not believed, in seconds; its own word is, at once."""

MAX_GRAVES = 1024
"""Dead peers remembered; the oldest is dropped for a new one."""

SUSPECTS_A_TICK = 4
"""Suspected peers that are asked again in one tick, in turn: each hears of its suspicion, to refute it."""

VISITS_A_TICK, VISITS_IN_HASTE, HASTE_S = 1, 4, 20.0
"""Watched peers, and as many others, heard of longest ago, that are asked in one tick, and in the seconds after a suspicion: deaths
come in crowds."""


class Swim:
    """What one peer knows of others' lives. ``incarnation`` is the first one of its own life.

    ``counts`` says how often others said what is hard to believe, by its name. ``on_suspected`` hears of each peer that is
    suspected from now on, with True, and of each that is found to live after all, with False; it must not call back.

    Every call that learns something returns orders, to be carried out in any order and any time.
    """

    def __init__(
        self,
        own: PeerId,
        *,
        rng: Random,
        incarnation: int,
        period_s: float = 1.0,
        counts: Counter[str] | None = None,
        on_suspected: Callable[[Contact, bool], None] = lambda contact, is_suspected: None,
    ) -> None:
        self.counts = Counter[str]() if counts is None else counts
        self._on_suspected = on_suspected
        self._incarnations = Incarnations(incarnation)
        self._own = own
        self._rng = rng
        self._period_s = period_s
        # Limit: MAX_MEMBERS, and in the order of when each was heard, the longest ago first.
        self._members: dict[PeerId, Member] = {}
        # Those of them that are suspected, in the order of when each was asked.
        self._suspects: dict[PeerId, Member] = {}
        # Limit: MAX_GRAVES, the oldest first.
        self._graves: dict[PeerId, Grave] = {}
        self._gossip = GossipQueue()
        self._health = LocalHealth(period_s)
        self._alarmed_s = float("-inf")

    # What is known

    def __len__(self) -> int:
        return len(self._members)

    @property
    def incarnation(self) -> int:
        """Which of our lives this is: higher in each, and at each refutation."""
        return self._incarnations.present

    def suspects(self, peer: PeerId) -> bool:
        """Whether this peer is suspected to be dead: it did not answer, and nobody else could reach it either."""
        return peer in self._suspects

    def suspicions(self) -> list[tuple[Contact, float]]:
        """Whoever is suspected to be dead, and since when."""
        return [(suspect.contact, suspect.since_s) for suspect in self._suspects.values()]

    @property
    def avoids_any(self) -> bool:
        """Whether there may be a contact that is not worth asking."""
        return bool(self._suspects or self._graves)

    def avoids(self, contact: Contact, now: float) -> bool:
        """Whether a contact that somebody else names is not worth asking: it is suspected, or died lately at that address."""
        suspect = self._suspects.get(contact.id)
        if suspect is not None:
            return suspect.contact == contact
        grave = self._graves.get(contact.id)
        return grave is not None and grave.contact.address == contact.address and grave.until_s > now

    def has_left(self, peer: PeerId) -> bool:
        """Whether a peer that is dead took its leave, as one does that stops."""
        return (grave := self._graves.get(peer)) is not None and grave.has_left

    def take_rumours(self, to: PeerId) -> list[Rumour]:
        """What to send to a peer with the next datagram: first what concerns itself, then the rumours sent least often."""
        taken = []
        suspect = self._suspects.get(to)
        if suspect is not None:
            taken.append(Rumour(Status.SUSPECTED, to, suspect.incarnation))
        return taken + self._gossip.take_rumours(to, RUMOURS_PER_DATAGRAM - len(taken))

    def farewell_rumours(self) -> list[Rumour]:
        """What to send to everybody near when this peer stops."""
        return [Rumour(Status.DEAD, self._own, self.incarnation)]

    # What happens

    def tick(self, now: float, watched: Collection[PeerId], size: int) -> list[Order]:
        """A probe period has passed. ``watched`` are the peers that we depend on, ``size`` how many peers there are, about."""
        self._gossip.times = ceil(4 * log10(size + 1))
        self._incarnations.tick(now)
        stood_still_s = self._health.tick(now)
        orders: list[Order] = []
        for peer, suspect in list(self._suspects.items()):
            suspect.since_s += stood_still_s
            waited_s = now - suspect.since_s - suspect.reprieve_s
            if waited_s >= self._health.patience * suspicion_s(size, len(suspect.blamed_by), self._period_s):
                orders.append(self._bury(peer, suspect, now))
        # Suspects and those not watched stand in the order of when they were asked or heard; whoever is asked goes to the end.
        for peer in [peer for peer, each in self._suspects.items() if each.may_be_asked(now)][:SUSPECTS_A_TICK]:
            self._suspects[peer] = self._suspects.pop(peer)
            orders.append(self._probe(self._suspects[peer], now))
        near = [
            each for each in (self._members.get(peer) for peer in watched) if each is not None and self._may_be_visited(each, now)
        ]
        visits = VISITS_IN_HASTE if now - self._alarmed_s < HASTE_S else VISITS_A_TICK
        near.sort(key=lambda each: each.heard_s)
        orders += [self._probe(each, now) for each in near[:visits]]
        for each in list(self._members.values()):
            if visits == 0 or now - each.heard_s < self._period_s:
                break
            if self._may_be_visited(each, now):
                visits -= 1
                orders.append(self._probe(each, now, look_around=True))
        return orders

    def report_answer(self, contact: Contact, now: float, incarnation: int | None = None) -> PeerReturned | None:
        """A peer answered us from this address, with its incarnation where the answer has it; whether it had gone meanwhile."""
        returned = None
        member = self._members.pop(contact.id, None)
        if member is None:
            member = Member(contact, now)
            if len(self._members) >= MAX_MEMBERS:
                dropped = next(iter(self._members))
                del self._members[dropped]
                self._suspects.pop(dropped, None)
            grave = self._graves.pop(contact.id, None)
            if grave is not None:
                returned = PeerReturned(contact, incarnation is None or incarnation <= grave.incarnation + REFUTATIONS)
                member.incarnation = grave.incarnation
                self._gossip.drop_rumour(contact.id)
                if incarnation is not None and incarnation > grave.incarnation:
                    self._gossip.queue_rumour(Rumour(Status.ALIVE, contact.id, incarnation))
        elif member.is_suspected:
            self._health.suspect_answered()
        # The order of the dict is that of hearing.
        self._members[contact.id] = member
        member.contact = contact
        member.heard_s = now
        member.asked_s = None
        member.leaves = False
        member.blamed_by.clear()
        if incarnation is not None:
            member.incarnation = incarnation
            member.has_new_life |= member.told is not None and incarnation > member.told + REFUTATIONS
            member.told = incarnation if member.told is None else max(member.told, incarnation)
            member.told_last = incarnation
        # Once a period: else whoever claims a new life each time would keep everybody busy with its return.
        if member.has_new_life and now - member.new_life_s >= self._period_s:
            member.has_new_life, member.new_life_s = False, now
            returned = PeerReturned(contact)
            self._gossip.queue_rumour(Rumour(Status.ALIVE, contact.id, member.incarnation))
        self._clear(member, now)
        rumour = self._gossip.rumour_about(contact.id)
        if rumour is not None and rumour.status is not Status.ALIVE:
            # What we said of it is wrong: say so, where its incarnation lets us.
            self._gossip.drop_rumour(contact.id)
            if member.incarnation > rumour.incarnation:
                self._gossip.queue_rumour(Rumour(Status.ALIVE, contact.id, member.incarnation))
        return returned

    def report_new_life(self, peer: PeerId, life: int, now: float) -> list[Order]:
        """A peer that calls at us has proved that a later life of it began with this incarnation: once it answers, it is back.

        That it has told a higher one says nothing, except where it may be of this life: a former life may have refuted anything.
        """
        member = self._members.get(peer)
        if member is None or (member.told is not None and life <= member.told <= life + REFUTATIONS):
            return []
        member.told = member.told_last = member.incarnation = life
        member.has_new_life = True
        return self._ask(member, now)

    def report_silent(self, contact: Contact, now: float) -> list[Order]:
        """A peer did not answer at this address, however often it was asked."""
        member = self._members.get(contact.id)
        if member is None or member.contact != contact:
            return []
        member.asked_s = None
        if member.leaves:
            return [self._bury(contact.id, member, now)]
        if member.state is not MemberState.ALIVE:
            return []
        helpers = () if member.blamed_by else self._helpers(member)
        if not helpers:
            self._suspect(member, now)
            return []
        member.enter(MemberState.DOUBTED, now)
        return [ProbeVia(contact, helpers)]

    def report_asked_to_vouch(self, contact: Contact, asker: PeerId) -> None:
        """Another peer finds this one silent, and wants to know what we find: report it as after any probe."""
        member = self._members.get(contact.id)
        if member is not None:
            _blame(member, asker)

    def report_vouched(self, contact: Contact, incarnation: int, now: float) -> None:
        """A helper reached a peer that we could not: the fault is on our way to it. Only the helper says so (docs/security.md)."""
        member = self._members.get(contact.id)
        if member is not None and member.contact == contact and member.wants_vouching:
            if incarnation <= self._incarnations.believed(member.told, now):
                member.incarnation = max(member.incarnation, incarnation)
            member.heard_s = now
            self._members[contact.id] = self._members.pop(contact.id)
            self._clear(member, now)

    def report_not_vouched(self, contact: Contact, now: float) -> None:
        """No helper reached it either."""
        member = self._members.get(contact.id)
        if member is None or member.contact != contact:
            return
        if member.state is MemberState.DOUBTED:
            self._suspect(member, now)
        elif member.state is MemberState.DISPUTED:
            # In the incarnation that it is said to live in, too: others who find so may shorten the wait again.
            self._gossip.queue_rumour(Rumour(Status.SUSPECTED, contact.id, member.incarnation))

    def report_dead(self, contact: Contact, now: float) -> None:
        """The caller knows that a peer is dead. One that is in its grave already stays there."""
        member = self._members.get(contact.id)
        if member is None and contact.id in self._graves:
            return
        self._bury(contact.id, member or Member(contact, now), now)

    # What others say

    def hear_rumours(self, speaker: PeerId, rumours: Iterable[Rumour], now: float) -> list[Order]:
        """A peer that we know sent these."""
        orders: list[Order] = []
        for rumour in rumours:
            if rumour.incarnation > self._incarnations.latest(now):
                self.counts["rumours of lives to come"] += 1  # lies, or some clock is wrong
            member = self._members.get(rumour.peer)
            if rumour.peer == self._own:
                if rumour.status is not Status.ALIVE and self._incarnations.refutes(rumour.incarnation, now):
                    self._gossip.queue_rumour(Rumour(Status.ALIVE, self._own, self.incarnation))
            elif member is None:
                orders += self._hear_of_dead(rumour, now)
            elif rumour.status is Status.ALIVE:
                if rumour.incarnation > member.incarnation:
                    orders += self._hear_alive(speaker, member, rumour, now)
            elif rumour.status is Status.DEAD and speaker == rumour.peer and rumour.incarnation >= member.told_last:
                # It takes its leave, by its own word: what others say that it has refuted meanwhile it may never have said.
                member.leaves = True
                orders += self._ask(member, now)
            elif rumour.incarnation < member.incarnation:
                self._gossip.queue_rumour(Rumour(Status.ALIVE, rumour.peer, member.incarnation))
            elif member.state is not MemberState.ALIVE:
                _blame(member, speaker)
            elif now - member.heard_s > self._period_s:
                _blame(member, speaker)
                orders += self._ask(member, now)
        return orders

    def _hear_of_dead(self, rumour: Rumour, now: float) -> list[Order]:
        """This is said of a peer that is dead, or that we never knew."""
        grave = self._graves.get(rumour.peer)
        is_news = grave is not None and rumour.status is Status.ALIVE and rumour.incarnation > grave.incarnation
        if grave is None or not is_news or now - grave.asked_s <= DOUBT_S:
            return []
        # It was started again, or refuted its death: see whether it answers us.
        grave.until_s = grave.asked_s = now
        return [Probe(grave.contact)]

    def _hear_alive(self, speaker: PeerId, member: Member, rumour: Rumour, now: float) -> list[Order]:
        """A peer is said to live in a higher incarnation than we know of."""
        believed = self._incarnations.believed(member.told, now)
        if rumour.incarnation <= believed:
            member.incarnation = rumour.incarnation
            member.blamed_by.clear()
            self._gossip.queue_rumour(rumour)
        if not member.is_suspected:
            # It may be in another life, of which peers far away from it hear late unless they ask.
            return self._ask(member, now) if member.told is not None and rumour.incarnation > believed else []
        orders = self._ask(member, now)
        if speaker == rumour.peer:
            # Its own datagram is sealed by itself (dht/datagrams/sealed_datagrams.py).
            self._clear(member, now)
        elif member.state is MemberState.SUSPECTED:
            # Once: else whoever says so again and again would keep the dead alive.
            member.enter(MemberState.DISPUTED, now)
            if helpers := self._helpers(member):
                orders.append(ProbeVia(member.contact, helpers))
        return orders

    # How it is decided

    def _helpers(self, member: Member) -> tuple[Contact, ...]:
        """Some of those who are nearest to a peer, who watch it too and so hear at first hand that it is silent."""
        point = as_int(member.contact.id)
        others = [each.contact for each in self._members.values() if each.state is MemberState.ALIVE and each is not member]
        others.sort(key=lambda each: as_int(each.id) ^ point)
        near = others[: 3 * HELPERS]
        return tuple(self._rng.sample(near, min(HELPERS, len(near))))

    def _suspect(self, member: Member, now: float) -> None:
        member.enter(MemberState.SUSPECTED, now)
        self._suspects[member.contact.id] = member
        self._on_suspected(member.contact, True)
        self._alarmed_s = now
        self._gossip.queue_rumour(Rumour(Status.SUSPECTED, member.contact.id, member.incarnation))

    def _clear(self, member: Member, now: float) -> None:
        member.enter(MemberState.ALIVE, now)
        if self._suspects.pop(member.contact.id, None) is not None:
            self._on_suspected(member.contact, False)

    def _bury(self, peer: PeerId, member: Member, now: float) -> PeerDied:
        self._members.pop(peer, None)
        self._suspects.pop(peer, None)
        self._alarmed_s = now
        self._graves.pop(peer, None)
        self._graves[peer] = Grave(member.contact, now + GRAVE_S, member.incarnation, member.leaves)
        if len(self._graves) > MAX_GRAVES:
            del self._graves[next(iter(self._graves))]
        self._gossip.queue_rumour(Rumour(Status.DEAD, peer, member.incarnation))
        return PeerDied(member.contact)

    def _ask(self, member: Member, now: float) -> list[Order]:
        return [self._probe(member, now)] if member.may_be_asked(now) else []

    def _probe(self, member: Member, now: float, *, look_around: bool = False) -> Order:
        member.asked_s = now
        return Probe(member.contact, look_around)

    def _may_be_visited(self, member: Member, now: float) -> bool:
        if member.state is MemberState.DOUBTED and now - member.since_s > DOUBT_S:
            self._clear(member, now)
        return member.state is MemberState.ALIVE and member.may_be_asked(now)


def _blame(member: Member, accuser: PeerId) -> None:
    if len(member.blamed_by) < CONFIRMATIONS:
        member.blamed_by.add(accuser)
