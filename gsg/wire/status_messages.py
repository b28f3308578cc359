"""What peers ask each other about themselves, as a part of :mod:`gsg.wire.messages`."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..tuples.long_constants import ShortTerm
from ..tuples.terms import MAX_ARITY

MOST_CONSTANTS = 1_000
"""Constants of one answer about the vocabulary; a question for more is answered with so many."""
_Count = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]
"""No more than programs in JavaScript hold exactly; so the sum of a thousand peers fits 64 bits."""
_Place = Annotated[int, msgspec.Meta(ge=0, le=MAX_ARITY)]


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class AskStatus(_Message, tag=14, frozen=True):
    """How are you? With ``vocabulary``: under which constants do facts lie with you, of so many at most?

    The second is a field of the first, since a peer of an earlier version would end the link by which a message comes that it does
    not know. It passes over the field and answers PeerStatus, which says its version.
    """

    request: int
    vocabulary: int = 0


class Count(_Message, frozen=True):
    """How often something has happened; see :mod:`gsg.monitoring.status`."""

    name: str
    count: int


class PeerStatus(_Message, tag=15, frozen=True):
    """What a peer holds and has done; counts since it started."""

    request: int
    peer: bytes
    address: str
    facts: int
    """Distinct facts held."""
    entries: int
    """Facts under keys: a fact held under two keys counts twice."""
    keys: int
    templates: int
    feeds: int
    standby: int
    """Templates that stand by for when the peer that feeds their subscribers dies; they count among neither of those."""
    links: int
    published: int
    """Tuples that clients published through this peer."""
    sent_messages: int
    sent_bytes: int
    matched: int
    """Tuples forwarded to subscribers."""
    counts: list[Count] = []  # msgspec gives each its own
    """What else was counted: by its doors, and by the tests of conditions."""
    # Peers of earlier versions do not say the rest, and pass over it.
    version: str = ""
    started_s: float = 0.0
    """When, in seconds since 1970, by its clock."""
    memory_bytes: int = 0
    """0 where the system does not say."""
    disk_bytes: int = 0
    """The length of what its data directory has, as is ``disk_free_bytes`` what is free there; 0 without one."""
    disk_free_bytes: int = 0


class SilentPeer(_Message, frozen=True):
    """A peer that is known, and does not say how it is."""

    peer: bytes
    address: str
    why: str


class MembershipChange(_Message, frozen=True):
    """What one peer has noticed of another one. It tells its clients of that, and no other peers."""

    at_s: Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]
    """When, in seconds since 1970, by its clock: before the year 10000, after which Python can write no time."""
    peer: bytes
    address: str
    """Empty where it was not known any more."""
    what: str
    """``came``; ``suspected``, as it does not answer and others do not reach it either; ``back``: it lives after all, or again;
    ``went``."""
    why: str


class ConstantCount(_Message, frozen=True):
    """What lies under a key: facts that everybody may read, and the templates of subscriptions."""

    arity: _Place
    position: _Place
    constant: ShortTerm
    """Of a long one its hash is known alone (gsg/tuples/long_constants.py)."""
    facts: _Count
    templates: _Count


class ArityCount(_Message, frozen=True):
    """The tuples of one arity: facts that everybody may read, each once, and the keys under which there are any, or templates."""

    arity: _Place
    facts: _Count
    keys: _Count


class Vocabulary(_Message, tag=38, frozen=True):
    """What a peer is the primary of: the constants with the most facts, and how much there is in all."""

    request: int
    constants: Annotated[list[ConstantCount], msgspec.Meta(max_length=MOST_CONSTANTS)]
    """The one with the most facts first, and among equals by their texts."""
    totals: Annotated[list[ArityCount], msgspec.Meta(max_length=MAX_ARITY)]
    """By arity."""
