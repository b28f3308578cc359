"""Who lives, without I/O: probes, doubts, suspicions, deaths and returns.

             silent             nobody vouches               the suspicion runs out
    alive ──────────> doubted ────────────────> suspected ─────────────────────────> dead: in its grave
      ^                  │                          │                                     │
      └── answered, vouched ──── answered, or vouched once it is refuted ──── answered ───┘

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
* When our own clock stood still (a busy or sleeping machine), nobody is blamed for it.
* Who comes late itself, or finds that a suspect lives, is patient for a while: all its suspicions last longer (Lifeguard's local
  health). Only what it finds itself counts, and once a tick, so nobody can make it deaf to deaths by what he says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum
from math import ceil, log, log10
from random import Random
from typing import TypeAlias

from ..datagrams.gossip import RUMOURS, Rumour, Rumours, Word
from ..identity.contacts import Contact
from ..identity.ids import PeerId, as_int
from .incarnations import REFUTATIONS, Incarnations

HELPERS = 3
"""Others that are asked to probe a silent peer (SWIM's k)."""

CONFIRMATIONS = 3
"""Others who suspect the same peer, from which on waiting is no longer shortened (Lifeguard's K)."""

LONGEST, SHORTEST = 4.0, 2.0
"""How many probe periods a suspicion lasts for each power of ten of peers: with nobody's and with everybody's confirmation."""

MAX_PATIENCE = 6.0
"""How many times as long as usual a suspicion lasts at most: on a machine with twenty times the work that it can do, a peer that
has a fifth of a second's work before the next probe is silent for four seconds."""
LATE = 1.5
"""How many periods may pass between two ticks before this peer counts as late."""
CALMED = 0.98
"""How much of its patience beyond the usual is left after a tick: half in 34."""

MAX_RECORDS = 4096
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

DOUBT_S = 10.0
"""When a doubt or a probe has had no outcome for so long, whoever saw to it is gone: it counts as not asked."""


@dataclass(frozen=True, slots=True)
class Probe:
    """An order: ask this peer whether it lives, and report :meth:`Liveness.answered` or :meth:`Liveness.silent`.

    ``look_around`` asks for contacts as well, since nothing presses.
    """

    contact: Contact
    look_around: bool = False


@dataclass(frozen=True, slots=True)
class ProbeVia:
    """An order: let these helpers ask a silent peer, and report :meth:`Liveness.vouched` or :meth:`Liveness.nobody_vouched`."""

    contact: Contact
    helpers: tuple[Contact, ...]


@dataclass(frozen=True, slots=True)
class PeerDied:
    """A peer that was known is dead: it is in no cache any more."""

    contact: Contact


@dataclass(frozen=True, slots=True)
class PeerReturned:
    """A peer that had died answers again, or one answers in another life before anybody missed it.

    ``was_apart``: as far as known it is in the life in which we had lost it, so it was somewhere that we did not reach.
    """

    contact: Contact
    was_apart: bool = field(default=False, compare=False)


Order: TypeAlias = Probe | ProbeVia | PeerDied


class _Standing(Enum):
    ALIVE = 1
    DOUBTED = 2
    SUSPECTED = 3


@dataclass(slots=True)
class _Record:
    contact: Contact
    heard_s: float
    incarnation: int = 0
    # The highest one that it told us itself, and the last: a later life may have a clock that is behind.
    told: int | None = None
    told_last: int = 0
    # Whether it has told us of a new life, and not answered since; and when it last had.
    is_anew: bool = False
    anew_s: float = float("-inf")
    standing: _Standing = _Standing.ALIVE
    # Since when it has its standing, and when it was last asked without an outcome yet.
    since_s: float = 0.0
    asked_s: float | None = None
    # How much longer it is suspected since others said that it lives; None as long as nobody did.
    reprieve_s: float | None = None
    # Who else finds it silent; at most CONFIRMATIONS.
    blamed_by: set[PeerId] = field(default_factory=set)
    # It told us itself that it stops.
    leaves: bool = False


@dataclass(slots=True)
class _Grave:
    contact: Contact
    until_s: float
    incarnation: int
    has_left: bool
    # When it was last asked because others said that it lives: not again within DOUBT_S.
    asked_s: float = float("-inf")


def suspicion_s(size: int, confirmations: int, period_s: float = 1.0) -> float:
    """How long a suspected peer has to refute it, in a network of so many peers, when so many others suspect it too."""
    scale = log10(size + 1) * period_s
    shortened = log(min(confirmations, CONFIRMATIONS) + 1) / log(CONFIRMATIONS + 1)
    return scale * (LONGEST - (LONGEST - SHORTEST) * shortened)


class Liveness:
    """What one peer knows of others' lives. ``incarnation`` is the first one of its own life.

    Every call that learns something returns orders, to be carried out in any order and any time.
    """

    def __init__(self, own: PeerId, *, rng: Random, incarnation: int, period_s: float = 1.0) -> None:
        self.counts: Counter[str] = Counter()
        """How often something was said that is hard to believe, by its name."""
        self._incarnations = Incarnations(incarnation)
        self._own = own
        self._rng = rng
        self._period_s = period_s
        # Limit: MAX_RECORDS, and in the order of when each was heard, the longest ago first.
        self._records: dict[PeerId, _Record] = {}
        self._suspects: dict[PeerId, _Record] = {}
        # Limit: MAX_GRAVES, the oldest first.
        self._graves: dict[PeerId, _Grave] = {}
        self._rumours = Rumours()
        """What to say to whomever we speak with."""
        self._ticked_s: float | None = None
        self._patience = 1.0
        self._was_wrong = False
        """Whether a suspect answered since the last tick."""
        self._alarmed_s = float("-inf")

    # What is known

    def __len__(self) -> int:
        return len(self._records)

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

    def rumours(self, to: PeerId) -> list[Rumour]:
        """What to say to a peer with the next datagram: first what concerns itself, then what was said least often."""
        said = []
        suspect = self._suspects.get(to)
        if suspect is not None:
            said.append(Rumour(Word.SUSPECTED, to, suspect.incarnation))
        return said + self._rumours.next(to, RUMOURS - len(said))

    def farewell(self) -> list[Rumour]:
        """What to say to everybody near when this peer stops."""
        return [Rumour(Word.DEAD, self._own, self.incarnation)]

    # What happens

    def tick(self, now: float, watched: Collection[PeerId], size: int) -> list[Order]:
        """A probe period has passed. ``watched`` are the peers that we depend on, ``size`` how many peers there are, about."""
        self._rumours.times = ceil(4 * log10(size + 1))
        self._forgive_lateness(now)
        orders: list[Order] = []
        for peer, suspect in list(self._suspects.items()):
            waited_s = now - suspect.since_s - (suspect.reprieve_s or 0.0)
            if waited_s >= self._patience * suspicion_s(size, len(suspect.blamed_by), self._period_s):
                orders.append(self._bury(peer, suspect, now))
        # Suspects and those not watched stand in the order of when they were asked or heard; whoever is asked goes to the end.
        for peer in [peer for peer, each in self._suspects.items() if self._is_free(each, now)][:SUSPECTS_A_TICK]:
            self._suspects[peer] = self._suspects.pop(peer)
            orders.append(self._probe(self._suspects[peer], now))
        near = [each for each in (self._records.get(peer) for peer in watched) if each is not None and self._is_askable(each, now)]
        visits = VISITS_IN_HASTE if now - self._alarmed_s < HASTE_S else VISITS_A_TICK
        near.sort(key=lambda each: each.heard_s)
        orders += [self._probe(each, now) for each in near[:visits]]
        for each in list(self._records.values()):
            if visits == 0 or now - each.heard_s < self._period_s:
                break
            if self._is_askable(each, now):
                visits -= 1
                orders.append(self._probe(each, now, look_around=True))
        return orders

    def answered(self, contact: Contact, now: float, incarnation: int | None = None) -> PeerReturned | None:
        """A peer answered us from this address, with its incarnation where the answer has it; whether it had gone meanwhile."""
        record = self._records.pop(contact.id, None)
        returned = None
        if record is None:
            record = _Record(contact, now)
            if len(self._records) >= MAX_RECORDS:
                dropped = next(iter(self._records))
                del self._records[dropped]
                self._suspects.pop(dropped, None)
            grave = self._graves.pop(contact.id, None)
            if grave is not None:
                returned = PeerReturned(contact, incarnation is None or incarnation <= grave.incarnation + REFUTATIONS)
                record.incarnation = grave.incarnation
                self._rumours.forget(contact.id)
                if incarnation is not None and incarnation > grave.incarnation:
                    self._rumours.say(Rumour(Word.LIVES, contact.id, incarnation))
        self._was_wrong |= record.standing is _Standing.SUSPECTED
        # The order of the dict is that of hearing.
        self._records[contact.id] = record
        record.contact = contact
        record.heard_s = now
        record.asked_s = None
        record.leaves = False
        record.blamed_by.clear()
        if incarnation is not None:
            record.incarnation = incarnation
            record.is_anew |= record.told is not None and incarnation > record.told + REFUTATIONS
            record.told = incarnation if record.told is None else max(record.told, incarnation)
            record.told_last = incarnation
        # Once a period: else whoever claims a new life each time would keep everybody busy with its return.
        if record.is_anew and now - record.anew_s >= self._period_s:
            record.is_anew, record.anew_s = False, now
            returned = PeerReturned(contact)
            self._rumours.say(Rumour(Word.LIVES, contact.id, record.incarnation))
        self._clear(record, now)
        rumour = self._rumours.of(contact.id)
        if rumour is not None and rumour.word is not Word.LIVES:
            # What we said of it is wrong: say so, where its incarnation lets us.
            self._rumours.forget(contact.id)
            if record.incarnation > rumour.incarnation:
                self._rumours.say(Rumour(Word.LIVES, contact.id, record.incarnation))
        return returned

    def anew(self, peer: PeerId, life: int, now: float) -> list[Order]:
        """A peer that calls at us has proved that a later life of it began with this incarnation: once it answers, it is back.

        That it has told a higher one says nothing, except where it may be of this life: a former life may have refuted anything.
        """
        record = self._records.get(peer)
        if record is None or (record.told is not None and life <= record.told <= life + REFUTATIONS):
            return []
        record.told = record.told_last = record.incarnation = life
        record.is_anew = True
        return self._ask(record, now)

    def silent(self, contact: Contact, now: float) -> list[Order]:
        """A peer did not answer at this address, however often it was asked."""
        record = self._records.get(contact.id)
        if record is None or record.contact != contact:
            return []
        record.asked_s = None
        if record.leaves:
            return [self._bury(contact.id, record, now)]
        if record.standing is not _Standing.ALIVE:
            return []
        helpers = () if record.blamed_by else self._helpers(record)
        if not helpers:
            self._suspect(record, now)
            return []
        record.standing = _Standing.DOUBTED
        record.since_s = now
        return [ProbeVia(contact, helpers)]

    def asked_to_vouch(self, contact: Contact, asker: PeerId) -> None:
        """Another peer finds this one silent, and wants to know what we find: report it as after any probe."""
        record = self._records.get(contact.id)
        if record is not None and len(record.blamed_by) < CONFIRMATIONS:
            record.blamed_by.add(asker)

    def vouched(self, contact: Contact, incarnation: int, now: float) -> None:
        """A helper reached a peer that we could not: the fault is on our way to it. Only the helper says so (docs/security.md)."""
        record = self._records.get(contact.id)
        if record is not None and record.contact == contact and self._wants_vouching(record):
            if incarnation <= self._incarnations.believed(record.told, now):
                record.incarnation = max(record.incarnation, incarnation)
            record.heard_s = now
            self._records[contact.id] = self._records.pop(contact.id)
            self._clear(record, now)

    def nobody_vouched(self, contact: Contact, now: float) -> None:
        """No helper reached it either."""
        record = self._records.get(contact.id)
        if record is None or record.contact != contact:
            return
        if record.standing is _Standing.DOUBTED:
            self._suspect(record, now)
        elif self._wants_vouching(record):
            # In the incarnation that it is said to live in, too: others who find so may shorten the wait again.
            self._rumours.say(Rumour(Word.SUSPECTED, contact.id, record.incarnation))

    def heard(self, speaker: PeerId, rumours: Iterable[Rumour], now: float) -> list[Order]:
        """A peer that we know said this."""
        orders: list[Order] = []
        for rumour in rumours:
            if rumour.incarnation > self._incarnations.latest(now):
                self.counts["rumours of lives to come"] += 1  # lies, or some clock is wrong
            if rumour.peer == self._own:
                if rumour.word is not Word.LIVES and self._incarnations.refutes(rumour.incarnation, now):
                    self._rumours.say(Rumour(Word.LIVES, self._own, self.incarnation))
                continue
            record = self._records.get(rumour.peer)
            if record is None:
                grave = self._graves.get(rumour.peer)
                is_news = grave is not None and rumour.word is Word.LIVES and rumour.incarnation > grave.incarnation
                if grave is not None and is_news and now - grave.asked_s > DOUBT_S:
                    # It was started again, or refuted its death: see whether it answers us.
                    grave.until_s = grave.asked_s = now
                    orders.append(Probe(grave.contact))
                continue
            if rumour.word is Word.LIVES:
                if rumour.incarnation > record.incarnation:
                    orders += self._heard_that_it_lives(speaker, record, rumour, now)
            elif rumour.word is Word.DEAD and speaker == rumour.peer and rumour.incarnation >= record.told_last:
                # It takes its leave, by its own word: what others say that it has refuted meanwhile it may never have said.
                record.leaves = True
                orders += self._ask(record, now)
            elif rumour.incarnation < record.incarnation:
                self._rumours.say(Rumour(Word.LIVES, rumour.peer, record.incarnation))
            elif record.standing is not _Standing.ALIVE or now - record.heard_s > self._period_s:
                if len(record.blamed_by) < CONFIRMATIONS:
                    record.blamed_by.add(speaker)
                if record.standing is _Standing.ALIVE:
                    orders += self._ask(record, now)
        return orders

    def lost(self, contact: Contact, now: float) -> None:
        """The caller knows that a peer is dead. One that is in its grave already stays there."""
        record = self._records.get(contact.id)
        if record is None and contact.id in self._graves:
            return
        self._bury(contact.id, record or _Record(contact, now), now)

    # How it is decided

    def _heard_that_it_lives(self, speaker: PeerId, record: _Record, rumour: Rumour, now: float) -> list[Order]:
        """It is said to live in a higher incarnation than we know of."""
        believed = self._incarnations.believed(record.told, now)
        if rumour.incarnation <= believed:
            record.incarnation = rumour.incarnation
            record.blamed_by.clear()
            self._rumours.say(rumour)
        if record.standing is not _Standing.SUSPECTED:
            # Of another life: who is far away from it would ask it late.
            return self._ask(record, now) if record.told is not None and rumour.incarnation > believed else []
        orders = self._ask(record, now)
        if speaker == rumour.peer:
            # Its own datagram is sealed by itself (dht/datagrams/sealed_datagrams.py).
            self._clear(record, now)
        elif record.reprieve_s is None:
            # Once: else whoever says so again and again would keep the dead alive.
            record.reprieve_s = now - record.since_s
            if helpers := self._helpers(record):
                orders.append(ProbeVia(record.contact, helpers))
        return orders

    def _wants_vouching(self, record: _Record) -> bool:
        return record.standing is _Standing.DOUBTED or record.reprieve_s is not None

    def _helpers(self, record: _Record) -> tuple[Contact, ...]:
        """Some of those who are nearest to a peer, who watch it too and so hear at first hand that it is silent."""
        point = as_int(record.contact.id)
        others = [each.contact for each in self._records.values() if each.standing is _Standing.ALIVE and each is not record]
        others.sort(key=lambda each: as_int(each.id) ^ point)
        near = others[: 3 * HELPERS]
        return tuple(self._rng.sample(near, min(HELPERS, len(near))))

    def _suspect(self, record: _Record, now: float) -> None:
        record.standing = _Standing.SUSPECTED
        record.since_s = now
        self._suspects[record.contact.id] = record
        self._alarmed_s = now
        self._rumours.say(Rumour(Word.SUSPECTED, record.contact.id, record.incarnation))

    def _clear(self, record: _Record, now: float) -> None:
        """It lives."""
        record.standing = _Standing.ALIVE
        record.since_s = now
        record.reprieve_s = None
        self._suspects.pop(record.contact.id, None)

    def _bury(self, peer: PeerId, record: _Record, now: float) -> PeerDied:
        self._records.pop(peer, None)
        self._suspects.pop(peer, None)
        self._alarmed_s = now
        self._graves.pop(peer, None)
        self._graves[peer] = _Grave(record.contact, now + GRAVE_S, record.incarnation, record.leaves)
        if len(self._graves) > MAX_GRAVES:
            del self._graves[next(iter(self._graves))]
        self._rumours.say(Rumour(Word.DEAD, peer, record.incarnation))
        return PeerDied(record.contact)

    def _ask(self, record: _Record, now: float) -> list[Order]:
        return [self._probe(record, now)] if self._is_free(record, now) else []

    def _probe(self, record: _Record, now: float, *, look_around: bool = False) -> Order:
        record.asked_s = now
        return Probe(record.contact, look_around)

    def _is_free(self, record: _Record, now: float) -> bool:
        return record.asked_s is None or now - record.asked_s > DOUBT_S

    def _is_askable(self, record: _Record, now: float) -> bool:
        if record.standing is _Standing.DOUBTED and now - record.since_s > DOUBT_S:
            self._clear(record, now)
        return record.standing is _Standing.ALIVE and self._is_free(record, now)

    def _forgive_lateness(self, now: float) -> None:
        self._incarnations.passed(now)
        passed_s = 0.0 if self._ticked_s is None else now - self._ticked_s
        self._ticked_s = now
        self._patience = 1.0 + CALMED * (self._patience - 1.0) + self._was_wrong
        self._was_wrong = False
        if passed_s > LATE * self._period_s:
            self._patience = max(self._patience, passed_s / self._period_s)
        self._patience = min(self._patience, MAX_PATIENCE)
        if passed_s > 2 * self._period_s:
            for suspect in self._suspects.values():
                suspect.since_s += passed_s - self._period_s
