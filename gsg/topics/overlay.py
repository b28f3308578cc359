"""One overlay as one of its peers takes part in it: the view, the neighbours, the size; and for a topic its events.

The overlay of all peers has no events. Both are changed by the same rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from random import Random
from typing import Final

from dht import Contact

from ..wire.topic_messages import (
    AskNeighbour,
    DropNeighbour,
    Graft,
    Known,
    Mark,
    Marks,
    Payload,
    Prune,
    RefuseNeighbour,
    Shuffle,
    TakeNeighbour,
)
from .diffusion.diffusion import Diffusion
from .neighbours import OTHERS, Neighbours, Send
from .size import Size
from .view import SHUFFLED, VIEW, View

ALONE_S: Final = 2.0
"""How long a new member waits for another one that answers."""


class Overlay:
    """The part of the peer ``own`` in the overlay ``name``. Clock and randomness are handed in; ``send`` sends, and ``wake_at`` has
    :meth:`advance` called at a time. ``view_size`` and ``shuffled`` are as for :class:`View`, and
    ``wider`` as for :class:`Neighbours`."""

    def __init__(
        self,
        name: str,
        own: Contact,
        rng: Random,
        send: Send,
        wake_at: Callable[[float], None],
        *,
        view_size: int = VIEW,
        shuffled: int = SHUFFLED,
        wider: View | None = None,
    ) -> None:
        self.name = name
        self.view = View(own, rng, size=view_size, shuffled=shuffled)
        self.neighbours = Neighbours(name, self.view, rng, send, wake_at, self, wider=wider)
        self.size = Size(own.id)

    # --- rounds ------------------------------------------------------------

    def begin_round(self, now_s: float) -> tuple[Contact, Shuffle] | None:
        """One round more; what to send to whom."""
        self.size.begin_round()
        self.neighbours.begin_round(now_s)
        partner = self.view.begin_round()
        return None if partner is None else (partner, Shuffle(self.name, self.view.offer_to(partner.id), [self.size.tell()]))

    def answer(self, sender: Contact, shuffle: Shuffle, now_s: float) -> Shuffle:
        """Take in what another one's round has brought; what to send back."""
        self._hear(shuffle)
        told = Shuffle(self.name, self.view.answer(sender.id, shuffle.entries), [self.size.tell()])
        self._refill(now_s)
        return told

    def answered(self, sender: Contact, shuffle: Shuffle, now_s: float) -> None:
        """Take in the answer to our round."""
        self._hear(shuffle)
        self.view.answered(sender, shuffle.entries)
        self._refill(now_s)

    def _hear(self, shuffle: Shuffle) -> None:
        if shuffle.sketches:
            self.size.hear(shuffle.sketches[0])

    def _refill(self, now_s: float) -> None:
        if not self.neighbours.active:
            self.neighbours.refill(now_s)

    def learn_peers(self, contacts: Iterable[Contact], now_s: float) -> None:
        """Peers of this overlay have been heard of."""
        for contact in contacts:
            self.view.learn_peer(contact)
        self.neighbours.refill(now_s)

    def peer_lost(self, peer: bytes, now_s: float, *, suddenly: bool = False) -> None:
        """A peer cannot be reached; ``suddenly`` as for :class:`Neighbours`."""
        self.neighbours.peer_lost(peer, now_s, suddenly=suddenly)

    def advance(self, now_s: float) -> None:
        """Do what is due."""
        self.neighbours.advance(now_s)

    # --- neighbours (NeighbourListener) -------------------------------------------------

    def neighbour_came(self, contact: Contact, *, lazy: bool) -> None:
        """There is one more neighbour."""

    def neighbour_went(self, peer: bytes) -> None:
        """There is one less."""

    def marks(self) -> list[Mark] | None:
        """What to tell a new one: nothing."""
        return []

    def is_fed(self) -> bool:
        """Whether events come by some neighbour: there are none."""
        return False

    def spare(self) -> bytes | None:
        """The neighbour that is missed the least: any."""
        return None

    def left_alone(self) -> None:
        """Nobody answers: rounds and other overlays bring others."""

    def received(self, sender: Contact, message: object, now_s: float) -> None:
        """A message for this overlay."""
        match message:
            case AskNeighbour():
                self.neighbours.asked(sender, message, now_s)
            case TakeNeighbour():
                self._taken(sender, message, now_s)
            case RefuseNeighbour():
                if self.neighbours.is_asked(sender.id):  # else anybody could fill the view
                    for known in message.others[:OTHERS]:
                        self.view.learn_peer(known.contact, age=max(0, known.age) if message.is_member else None)
                self.neighbours.refused(sender, message, now_s)
            case DropNeighbour():
                if message.leaves:
                    self.peer_lost(sender.id, now_s, suddenly=True)
                else:
                    self.neighbours.dropped(sender.id, now_s)

    def _taken(self, sender: Contact, message: TakeNeighbour, now_s: float) -> None:
        self.neighbours.taken(sender, message)


class TopicOverlay(Overlay):
    """The part of a member. ``tell`` and ``tell_gap`` are as for :class:`Diffusion`; ``on_joined`` is called once, when what comes
    from now on is told; ``on_alone`` when no other member that is known answers, and others are to be met (:meth:`learn_peers`)."""

    def __init__(
        self,
        name: str,
        own: Contact,
        rng: Random,
        send: Send,
        wake_at: Callable[[float], None],
        *,
        tell: Callable[[Payload], None],
        tell_gap: Callable[[bytes, int], None],
        on_joined: Callable[[], None],
        on_alone: Callable[[], None],
        view_size: int = VIEW,
        shuffled: int = SHUFFLED,
        wider: View | None = None,
    ) -> None:
        self._send = send
        self._on_joined = on_joined
        self._on_alone = on_alone
        self.diffusion = Diffusion(name, rng, send, wake_at, tell=tell, tell_gap=tell_gap)
        super().__init__(name, own, rng, send, wake_at, view_size=view_size, shuffled=shuffled, wider=wider)
        self._wake_at = wake_at
        self._alone_s = inf

    def begin_round(self, now_s: float) -> tuple[Contact, Shuffle] | None:
        """One round more; what to send to whom."""
        self.diffusion.begin_round(now_s)
        return super().begin_round(now_s)

    def join(self, members: Iterable[Contact], now_s: float) -> None:
        """Take part, by way of some members. Where none of them has said within ALONE_S what is there, everything is told."""
        self._alone_s = now_s + ALONE_S
        self._wake_at(self._alone_s)
        self.neighbours.expect_company()
        self.learn_peers(members, now_s)

    def join_alone(self) -> None:
        """There is no other member: everything from now on is told."""
        if not self.diffusion.is_joined:
            self.diffusion.is_joined = True
            self._has_joined()

    def advance(self, now_s: float) -> None:
        """Do what is due."""
        super().advance(now_s)
        self.diffusion.advance(now_s)
        if self._alone_s <= now_s:
            self.join_alone()

    def neighbour_came(self, contact: Contact, *, lazy: bool) -> None:
        """There is one more neighbour."""
        self.diffusion.neighbour_came(contact, lazy=lazy)

    def neighbour_went(self, peer: bytes) -> None:
        """There is one less."""
        self.diffusion.neighbour_went(peer)

    def marks(self) -> list[Mark] | None:
        """What to tell a new one; None where that is not known yet."""
        return self.diffusion.marks() if self.diffusion.is_joined else None

    def is_fed(self) -> bool:
        """Whether events come by some neighbour, as far as is known."""
        return self.diffusion.is_fed

    def spare(self) -> bytes | None:
        """The neighbour that is missed the least: a lazy one."""
        return self.diffusion.spare()

    def left_alone(self) -> None:
        """No other member answers."""
        self._on_alone()

    def received(self, sender: Contact, message: object, now_s: float) -> None:
        """A message for this topic."""
        match message:
            case Payload():
                self.diffusion.received_payload(message, sender.id, now_s)
            case Marks():
                self._marked(sender, message.marks, now_s, is_new=False)
            case Graft():
                self.diffusion.grafted(sender.id, message, now_s)
            case Prune():
                self.diffusion.pruned(sender.id)
            case _:
                super().received(sender, message, now_s)

    def _taken(self, sender: Contact, message: TakeNeighbour, now_s: float) -> None:
        is_new = self.neighbours.taken(sender, message)
        # Both are to know what the other has: whoever joins now is behind, or ahead where two parts meet. Where each has asked the
        # other, both have been taken before they hear this.
        if is_new and self.diffusion.is_joined:
            self._send(sender, Marks(self.name, self.diffusion.marks()))
        if message.marks is not None:
            self._marked(sender, message.marks, now_s, is_new=is_new and not message.lazy)

    def _marked(self, sender: Contact, marks: list[Mark], now_s: float, *, is_new: bool) -> None:
        was_joined = self.diffusion.is_joined
        self.diffusion.received_marks(sender.id, marks, now_s, is_new=is_new)
        if self.diffusion.is_joined and not was_joined:
            self._has_joined()

    def _has_joined(self) -> None:
        """What is here is said to those who came meanwhile, who may wait for it as we did."""
        for contact in list(self.neighbours.active.values()):
            self._send(contact, Marks(self.name, self.diffusion.marks()))
        self._on_joined()


def not_a_member(name: str, others: list[Contact]) -> RefuseNeighbour:
    """What to say to whoever takes us for a member of a topic."""
    return RefuseNeighbour(name, [Known(contact, 0) for contact in others], is_member=False)
