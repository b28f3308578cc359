"""A view of who lives in which a peer is well or suspected, and what is read off its orders."""

from __future__ import annotations

from random import Random
from typing import Any

from dht import Contact, PeerDied
from dht.datagrams.gossip import Status
from dht.liveness.orders import Order, Probe
from dht.liveness.swim import Swim

OWN = b"\xff" * 20
SIZE = 9


def contact(number: int, host: str = "10.0.0.1") -> Contact:
    return Contact(number.to_bytes(20, "big"), host, 7400)


X = contact(1)


def living(*contacts: Contact, now: float = 0.0, **options: Any) -> Swim:  # Any: keywords of Swim
    """A view in which these have answered."""
    swim = Swim(OWN, rng=Random(1), incarnation=5, **options)
    for each in contacts:
        swim.report_answer(each, now)
    return swim


def suspecting(now: float = 10.0, helpers: int = 3, **options: Any) -> Swim:  # Any: keywords of Swim
    """A view in which X is suspected, in its incarnation 0, since ``now``."""
    swim = living(X, *(contact(number) for number in range(2, 2 + helpers)), **options)
    swim.tick(now, [], SIZE)
    swim.report_silent(X, now)
    swim.report_not_vouched(X, now)
    return swim


def deaths(orders: list[Order]) -> list[Contact]:
    return [each.contact for each in orders if isinstance(each, PeerDied)]


def probes(orders: list[Order], *, look_around: bool = False) -> list[Contact]:
    return [each.contact for each in orders if isinstance(each, Probe) and each.look_around == look_around]


def says(swim: Swim, peer: Contact) -> list[tuple[Status, int]]:
    """What would be said of a peer to some other."""
    return [(each.status, each.incarnation) for each in swim.take_rumours(contact(99).id) if each.peer == peer.id]
