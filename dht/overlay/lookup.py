"""Finding the k peers closest to a target, without I/O (Kademlia, section 2.3).

    start ──> Send* ──> received │ slow │ timed_out ──> Send* ... ──> result

There is no barrier between rounds: each answer may send the next queries at once. The rules:

* At most ``alpha`` queries are in flight, always to the closest candidates not yet asked, and only while they are among the k
  closest that may still be alive. A query that is *slow* (its first transmission went unanswered) stops counting, and so does its
  peer: whoever would be among the k closest without it is asked as well, so that of several dead none is waited for after another.
* The result is there when the k closest candidates that did not fail have all answered. Only those that answered are in it.
* An id may be offered at several addresses; the next is tried when one fails.
* Of one address block only the ``per_block`` closest that may be alive count (:mod:`dht.datagrams.address_blocks`).
* ``max_asked`` bounds the work: forged contacts could otherwise be offered without end.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from ..datagrams.address_blocks import PER_BLOCK, BlockShares, limit_per_block
from ..identity.contacts import Contact
from ..identity.ids import PeerId, as_int

K = 20
"""How many peers a lookup finds (Kademlia's k)."""

ALPHA = 6
"""How many queries are in flight at once (Kademlia's alpha)."""

MAX_ASKED = 200
"""Queries that one lookup sends at most; a network of a million peers needs about 40."""

MAX_ADDRESSES = 3
"""Addresses that one id is tried at, in the order heard."""


@dataclass(frozen=True, slots=True)
class Send:
    """An order: ask this contact which peers it knows closest to the lookup's target."""

    contact: Contact


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome: the closest peers that answered, closest first. ``complete`` is False when ``max_asked`` ended the search."""

    contacts: tuple[Contact, ...]
    complete: bool
    asked: int


class _State(Enum):
    HEARD = 1
    ASKED = 2
    SLOW = 3
    ANSWERED = 4
    FAILED = 5


@dataclass(slots=True)
class _Candidate:
    distance: int
    contact: Contact
    state: _State = _State.HEARD
    others: list[Contact] = field(default_factory=list)
    heard: int = 1

    def __lt__(self, other: _Candidate) -> bool:
        return self.distance < other.distance


class Lookup:
    """One search for the ``k`` peers closest to ``target``, beginning at ``seeds``; ``own`` is never asked nor found."""

    def __init__(
        self,
        target: bytes,
        seeds: Iterable[Contact],
        *,
        own: PeerId,
        k: int = K,
        alpha: int = ALPHA,
        max_asked: int = MAX_ASKED,
        per_block: int = PER_BLOCK,
    ) -> None:
        self.target = target
        self.k = k
        self._goal = as_int(target)
        self._own = own
        self._alpha = alpha
        self._max_asked = max_asked
        self._per_block = per_block
        self._asked = 0
        # Bounded by max_asked answers of k contacts each.
        self._by_id: dict[PeerId, _Candidate] = {}
        self._ordered: list[_Candidate] = []
        self._in_flight = 0
        self.result: Found | None = None
        """What was found, or None while the search goes on."""
        for contact in seeds:
            self._hear(contact)

    def start(self) -> list[Send]:
        """The first queries; with no seeds the result is there at once and is empty."""
        return self._next()

    def received(self, peer: PeerId, contacts: Iterable[Contact]) -> list[Send]:
        """A peer answered with validated contacts."""
        candidate = self._awaited(peer, _State.ASKED, _State.SLOW)
        if candidate is None:
            return []
        self._settle(candidate, _State.ANSWERED)
        for contact in contacts:
            self._hear(contact)
        return self._next()

    def slow(self, peer: PeerId) -> list[Send]:
        """A peer did not answer the first transmission: it may still, but others are asked meanwhile."""
        candidate = self._awaited(peer, _State.ASKED)
        if candidate is None:
            return []
        self._settle(candidate, _State.SLOW)
        return self._next()

    def timed_out(self, peer: PeerId) -> list[Send]:
        """A peer did not answer at all, or not with an answer."""
        candidate = self._awaited(peer, _State.ASKED, _State.SLOW)
        if candidate is None:
            return []
        if candidate.others:
            self._settle(candidate, _State.HEARD)
            candidate.contact = candidate.others.pop(0)
        else:
            self._settle(candidate, _State.FAILED)
        return self._next()

    def _awaited(self, peer: PeerId, *states: _State) -> _Candidate | None:
        candidate = self._by_id.get(peer)
        return candidate if self.result is None and candidate is not None and candidate.state in states else None

    def _settle(self, candidate: _Candidate, state: _State) -> None:
        if candidate.state is _State.ASKED:
            self._in_flight -= 1
        candidate.state = state

    def _hear(self, contact: Contact) -> None:
        if contact.id == self._own:
            return
        known = self._by_id.get(contact.id)
        if known is None:
            made = _Candidate(as_int(contact.id) ^ self._goal, contact)
            self._by_id[contact.id] = made
            insort(self._ordered, made)
        elif known.contact != contact and contact not in known.others and known.heard < MAX_ADDRESSES:
            known.heard += 1
            if known.state is _State.FAILED:
                known.contact = contact
                known.state = _State.HEARD
            elif known.state is not _State.ANSWERED:
                known.others.append(contact)

    def _next(self) -> list[Send]:
        sends = []
        waiting = False
        alive = lively = 0
        shares = BlockShares(self._per_block)
        for candidate in self._ordered:
            if candidate.state is _State.FAILED or not shares.count_peer(candidate.contact.host):
                continue
            if candidate.state is _State.HEARD:
                if self._asked >= self._max_asked:
                    continue
                if self._in_flight < self._alpha:
                    candidate.state = _State.ASKED
                    self._in_flight += 1
                    self._asked += 1
                    sends.append(Send(candidate.contact))
            waiting = waiting or (alive < self.k and candidate.state is not _State.ANSWERED)
            alive += 1
            lively += candidate.state is not _State.SLOW
            if lively == self.k:
                break
        if not waiting:
            answered = list(
                limit_per_block((each.contact for each in self._ordered if each.state is _State.ANSWERED), self._per_block)
            )
            self.result = Found(tuple(answered[: self.k]), self._asked < self._max_asked, self._asked)
        return sends
