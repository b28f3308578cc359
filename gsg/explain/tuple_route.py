"""How a tuple travels: by which keys, to which rendezvous, and from there to whom. Data; gsg/monitoring/inspection.py makes it."""

from __future__ import annotations

import msgspec

import dht


class RouteSubscriber(msgspec.Struct, frozen=True):
    """A peer that would hear of a tuple, and by how many of its templates."""

    id: str
    """In hexadecimal."""
    address: str
    templates: int


class RouteKey(msgspec.Struct, frozen=True):
    """One of the keys of a tuple: that of the constant at a position."""

    position: int
    constant: str
    key: str
    """The 160 bits of its place on the ring, in hexadecimal."""
    holders: tuple[dht.Contact, ...]
    """The peers closest to it, the primary first: its rendezvous."""
    facts: int | None = None
    """That lie under it at the primary, as are ``templates``; None where that did not answer."""
    templates: int | None = None
    subscribers: tuple[RouteSubscriber, ...] | None = None
    """Who would hear of the tuple by this key; None where that is not known: of a pattern, and where the primary did not say."""
    is_partial: bool = False
    """Whether there are more of them than are named."""
    problem: str = ""
    """Why the primary did not answer."""


class TupleRoute(msgspec.Struct, frozen=True):
    """The route of a tuple, or of what a pattern has of one."""

    keys: tuple[RouteKey, ...]
