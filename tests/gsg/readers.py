"""Four readers at one rendezvous: the ids that audiences are made of, and what each of them is told and shown."""

from __future__ import annotations

from place import ON, X_ON_Y, Place

import dht
from gsg.tuples.audiences import Restricted
from gsg.tuples.features import Template
from gsg.tuples.terms import Tuple
from gsg.wire.messages import Deltas

T: Tuple = ("a", ON, "b")
U: Tuple = ("a", ON, "c")
READERS = [bytes((number,)) * 20 for number in range(4)]
P, Q, R, S = READERS
PQ, QR, P_ALONE = frozenset((P, Q)), frozenset((Q, R)), frozenset((P,))
VARIANTS: list[Tuple] = [
    variant for plain in (T, U) for variant in (plain, Restricted(plain, PQ), Restricted(plain, QR), Restricted(plain, P_ALONE))
]


class Link:
    """Whoever a feed goes to: somebody who has proved an id."""

    def __init__(self, peer: bytes) -> None:
        self.contact = dht.Contact(peer, "10.0.0.1", 7400)

    def __repr__(self) -> str:
        return f"Link({self.contact.id[0]})"


class Desk(Place):
    """A rendezvous that several links of readers are fed from."""

    def __init__(self) -> None:
        super().__init__()
        self.links = {reader: Link(reader) for reader in READERS}

    def told(self) -> dict[int, list[str]]:
        """Per reader, by its number, the deltas that were sent."""
        told: dict[int, list[str]] = {}
        for link, message in self.rendezvous.take_messages():
            assert isinstance(link, Link)
            assert isinstance(message, Deltas)
            assert all(type(fact) is tuple for fact in message.facts)
            for fact, sign in zip(message.facts, message.signs, strict=True):
                told.setdefault(link.contact.id[0], []).append("+-"[sign < 0] + str(fact[-1]))
        return told

    def following(self) -> Desk:
        for link in self.links.values():
            self.follow(link, 1)  # type: ignore[arg-type]  # a link
        return self

    def seen_by(self, reader: bytes, template: Template = X_ON_Y, anchor: int = 1) -> list[Tuple]:
        """What a late subscriber is sent."""
        facts = self.follow(self.links[reader], 99, template, anchor)  # type: ignore[arg-type]  # a link
        self.rendezvous.conditions.remove(self.links[reader], 99)
        return facts
