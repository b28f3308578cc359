"""The neighbours of a peer in an overlay: a few others, over links, and who is a neighbour of one has it as a neighbour too.

They are taken from the view, and replaced the moment that one is lost (the active view of HyParView: Leitão, Pereira and Rodrigues,
DSN 2007). A peer asks until it has WANTED, and is taken by whoever has fewer than MOST. For one that has nearly none another one is
given up, but anybody may say that of itself: MAX_URGENT places go that way, and no more. Now and then one is changed for another,
so that parts that know of each other grow together, each of which has neighbours enough. A peer that has none, and knows nobody who
answers, says so (``left_alone``).

                  ┌── refused, silent ──> not asked for a while
    known ──ask──> asked ──taken──> neighbour ──lost, dropped──> known, or forgotten
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random
from typing import Final, Protocol

from dht import Contact

from ..wire.topic_messages import AskNeighbour, DropNeighbour, Mark, RefuseNeighbour, TakeNeighbour, TopicMessage
from .view import View

WANTED: Final = 5
"""Neighbours that a peer asks for."""
MOST: Final = 7
"""Neighbours that it takes; who asks then is refused, or takes the place of another one."""
MOST_ASKED: Final = 20
"""Peers of a view asked at a time by one that has no neighbour."""
FEW: Final = 2
"""Neighbours fewer than which are urgent."""
MAX_URGENT: Final = 2
"""Neighbours that took the place of another one as they were urgent. One more takes the place of the first of these."""
URGENT_S: Final = 2.0
"""How long such a one keeps its place at least: it finds others meanwhile. Whoever else is urgent by then is refused."""
CALL_AGAIN_S: Final = (1.0, 2.0, 4.0, 8.0)
"""Who is left alone says so at once, and again so long after each time while it is; then no more."""
ANSWER_S: Final = 0.4
"""How long an answer may take; then somebody else is asked, and whoever answers later is taken all the same where there is room."""
AGAIN_S: Final = 5.0
"""How long who has refused is not asked again, unless there is nobody else."""
RETRY_S: Final = 1.0
"""When to look again where nobody was left to be asked."""
OTHERS: Final = 3
"""Peers that are named to one that is refused."""
CHANGE_ROUNDS: Final = 3
"""How often one is changed."""
WOUNDED_S: Final = 2.0
"""How long after a sudden loss new neighbours are to feed us at once: events may come by nobody any more. Where one was silent for
a while, events of meanwhile were missed, and others feed us, unless few are left."""
MAX_REFUSED: Final = 64
"""Peers that are remembered for having refused; beyond, all are forgotten."""

Send = Callable[[Contact, TopicMessage], bool]
"""Sends to a peer, by a link that is made if need be; False where it was not, as the link is congested."""


class NeighbourListener(Protocol):
    """Hears of neighbours that come and go: the overlay that has them."""

    def neighbour_came(self, contact: Contact, *, lazy: bool) -> None:
        """There is one more."""

    def neighbour_went(self, peer: bytes) -> None:
        """There is one less."""

    def marks(self) -> list[Mark] | None:
        """What to tell a new one; None where that is not known yet."""

    def is_fed(self) -> bool:
        """Whether events come by some neighbour, as far as is known."""

    def spare(self) -> bytes | None:
        """The neighbour that is missed the least, if there is one."""

    def left_alone(self) -> None:
        """There were others, and now there is no neighbour, and nobody else who answers."""


class Neighbours:
    """The neighbours of one peer in the overlay ``topic``. Randomness is handed in; ``wake_at`` has :meth:`advance` called at a
    time. Where so many die that nobody of the view may live, those of ``wider``, the view of all peers, are asked as well."""

    def __init__(
        self,
        topic: str,
        view: View,
        rng: Random,
        send: Send,
        wake_at: Callable[[float], None],
        listener: NeighbourListener,
        *,
        wider: View | None = None,
    ) -> None:
        self._topic = topic
        self._view = view
        self._rng = rng
        self._send = send
        self._wake_at = wake_at
        self._listener = listener
        self._wider = wider
        self.active: dict[bytes, Contact] = {}
        """Limit: MOST."""
        self._urgent: dict[bytes, float] = {}
        """Those that took the place of another one, and since when, the first one first. Limit: MAX_URGENT."""
        self._asked: dict[bytes, float] = {}
        """Who has been asked, and until when an answer is waited for. Limit: MOST_ASKED of each view."""
        self._refused: dict[bytes, float] = {}
        """Who is not to be asked until when. Limit: MAX_REFUSED."""
        self._rounds = 0
        self._retry_s = inf
        self._lost_s = -inf
        """When a neighbour was lost last, suddenly or as one of the last."""
        self._calls = len(CALL_AGAIN_S)
        """How often it was told in a row that we are left alone; whoever has never had company is not."""
        self._call_s = -inf
        """When it may be told again."""

    def refill(self, now_s: float) -> None:
        """Ask as many as are missing."""
        self._retry_s = inf
        for peer in [peer for peer, until_s in self._asked.items() if until_s <= now_s]:
            del self._asked[peer]
            self._refuse_until(peer, now_s + AGAIN_S)
        missing = WANTED - len(self.active) - len(self._asked)
        if missing <= 0:
            return
        urgent = len(self.active) < FEW
        if not self.active:
            missing = MOST_ASKED - len(self._asked)  # of many that are known few may live
        tried = {*self.active, *self._asked}
        backing_off = [peer for peer, until_s in self._refused.items() if until_s > now_s]
        candidates = self._view.sample(missing, without={*tried, *backing_off})
        if not candidates and not self.active:
            if not self._asked:
                self._tell_alone(now_s)
            candidates = self._view.sample(missing, without=tried)
        is_wounded = now_s <= self._lost_s + WOUNDED_S
        if urgent and is_wounded and self._wider is not None:
            asked = {contact.id for contact in candidates}
            candidates += self._wider.sample(MOST_ASKED, without={*tried, *backing_off, *asked})
        lazy = not is_wounded and self._listener.is_fed()
        for contact in candidates:
            self._asked[contact.id] = now_s + ANSWER_S
            self._send(contact, AskNeighbour(self._topic, urgent, lazy))
        if self._asked:
            self._wake_at(now_s + ANSWER_S)
        if len(candidates) < missing and len(self._view) > len(self.active):
            self._retry_s = now_s + RETRY_S
            self._wake_at(self._retry_s)

    def expect_company(self) -> None:
        """There are others: who finds none of them is left alone."""
        self._calls = 0

    def _tell_alone(self, now_s: float) -> None:
        if self._calls == len(CALL_AGAIN_S):
            return
        if self._call_s <= now_s:
            self._listener.left_alone()
            self._call_s = now_s + CALL_AGAIN_S[self._calls]
            self._calls += 1
        self._retry_s = self._call_s
        self._wake_at(self._retry_s)

    def advance(self, now_s: float) -> None:
        """Do what is due."""
        if self._retry_s <= now_s or any(until_s <= now_s for until_s in self._asked.values()):
            self.refill(now_s)

    def begin_round(self, now_s: float) -> None:
        """One round more: change one neighbour now and then."""
        self._rounds += 1
        if len(self.active) < WANTED:
            self.refill(now_s)
        elif self._rounds % CHANGE_ROUNDS == 0:
            for contact in self._view.sample(1, without={*self.active, *self._asked}):
                self._asked[contact.id] = now_s + ANSWER_S
                self._wake_at(now_s + ANSWER_S)
                self._send(contact, AskNeighbour(self._topic, lazy=True, change=True))

    def is_asked(self, peer: bytes) -> bool:
        """Whether an answer of a peer is waited for."""
        return peer in self._asked

    def _refuse_until(self, peer: bytes, until_s: float) -> None:
        if len(self._refused) >= MAX_REFUSED:
            self._refused.clear()
        self._refused[peer] = until_s

    def asked(self, contact: Contact, message: AskNeighbour, now_s: float) -> None:
        """A peer wants to be a neighbour."""
        if contact.id not in self.active:
            if not self._make_room(contact.id, message, now_s):
                self._send(contact, RefuseNeighbour(self._topic, self._view.sample_known(OTHERS, (contact.id,))))
                return
            self._asked.pop(contact.id, None)
            self._take(contact, lazy=message.lazy)
        self._send(contact, TakeNeighbour(self._topic, self._listener.marks(), message.lazy))

    def _make_room(self, peer: bytes, message: AskNeighbour, now_s: float) -> bool:
        """Whether there is a place for a peer that asks, if need be that of another one."""
        if len(self.active) < (WANTED + 1 if message.change else MOST):
            return True
        spare = self._listener.spare()
        if message.change and spare is not None and len(self.active) < MOST:
            self.drop(spare)
            return True
        if not message.urgent:
            return False
        given_up = spare or self._rng.choice(list(self.active))
        if len(self._urgent) >= MAX_URGENT:
            given_up, since_s = next(iter(self._urgent.items()))
            if since_s + URGENT_S > now_s:
                return False
        self.drop(given_up)
        self._urgent[peer] = now_s
        return True

    def taken(self, contact: Contact, message: TakeNeighbour) -> bool:
        """A peer has taken us; whether it is a new neighbour."""
        self._asked.pop(contact.id, None)
        if contact.id in self.active:
            return False
        if len(self.active) >= MOST:
            self._send(contact, DropNeighbour(self._topic))
            return False
        self._take(contact, lazy=message.lazy)
        if len(self.active) > WANTED + 1 and (spare := self._listener.spare()) not in (None, contact.id):
            assert spare is not None
            self.drop(spare)
        return True

    def _take(self, contact: Contact, *, lazy: bool) -> None:
        self.active[contact.id] = contact
        self._refused.pop(contact.id, None)
        self._calls = 0
        self._listener.neighbour_came(contact, lazy=lazy)

    def refused(self, contact: Contact, message: RefuseNeighbour, now_s: float) -> None:
        """A peer has neighbours enough, or is no member."""
        if self._asked.pop(contact.id, None) is None:
            return
        self._refuse_until(contact.id, now_s + AGAIN_S)
        if not message.is_member:
            self._view.forget(contact.id)
        self.refill(now_s)

    def drop(self, peer: bytes) -> None:
        """Have a neighbour no more."""
        contact = self.active[peer]
        self._remove(peer)
        self._send(contact, DropNeighbour(self._topic))

    def _remove(self, peer: bytes) -> bool:
        """Have a neighbour no more; whether it was one."""
        self._urgent.pop(peer, None)
        if self.active.pop(peer, None) is None:
            return False
        self._listener.neighbour_went(peer)
        return True

    def dropped(self, peer: bytes, now_s: float) -> None:
        """A neighbour has us no more."""
        if self._remove(peer):
            self._refuse_until(peer, now_s + AGAIN_S)
            self.refill(now_s)

    def peer_lost(self, peer: bytes, now_s: float, *, suddenly: bool = False) -> None:
        """A peer cannot be reached: its link broke (``suddenly``), or it has said nothing for a while."""
        self._view.forget(peer)
        was_asked = self._asked.pop(peer, None) is not None
        was_active = self._remove(peer)
        if was_active and (suddenly or 2 * len(self.active) < WANTED):
            self._lost_s = now_s
        if was_active or was_asked:
            self.refill(now_s)

    def leave(self) -> None:
        """The peer leaves the overlay."""
        for contact in self.active.values():
            self._send(contact, DropNeighbour(self._topic, leaves=True))
        self.active.clear()
