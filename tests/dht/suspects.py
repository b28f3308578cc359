"""A view of who lives in which a peer is well or suspected, and what is read off its orders."""

from __future__ import annotations

from random import Random

from dht import Contact, PeerDied
from dht.datagrams.gossip import Word
from dht.liveness.swim import Liveness, Order, Probe

OWN = b"\xff" * 20
SIZE = 9


def contact(number: int, host: str = "10.0.0.1") -> Contact:
    return Contact(number.to_bytes(20, "big"), host, 7400)


X = contact(1)


def living(*contacts: Contact, now: float = 0.0) -> Liveness:
    """A view in which these have answered."""
    liveness = Liveness(OWN, rng=Random(1), incarnation=5)
    for each in contacts:
        liveness.answered(each, now)
    return liveness


def suspecting(now: float = 10.0, helpers: int = 3) -> Liveness:
    """A view in which X is suspected, in its incarnation 0, since ``now``."""
    liveness = living(X, *(contact(number) for number in range(2, 2 + helpers)))
    liveness.tick(now, [], SIZE)
    liveness.silent(X, now)
    liveness.nobody_vouched(X, now)
    return liveness


def deaths(orders: list[Order]) -> list[Contact]:
    return [each.contact for each in orders if isinstance(each, PeerDied)]


def probes(orders: list[Order], *, look_around: bool = False) -> list[Contact]:
    return [each.contact for each in orders if isinstance(each, Probe) and each.look_around == look_around]


def says(liveness: Liveness, peer: Contact) -> list[tuple[Word, int]]:
    """What would be said of a peer to some other."""
    return [(each.word, each.incarnation) for each in liveness.rumours(contact(99).id) if each.peer == peer.id]
