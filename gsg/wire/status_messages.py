"""What peers ask each other about themselves, as a part of :mod:`gsg.wire.messages`."""

from __future__ import annotations

import msgspec

from ..tuples.features import Key
from ..tuples.terms import Tuple


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class AskStatus(_Message, tag=14, frozen=True):
    """How are you?"""

    request: int


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


class AskReached(_Message, tag=72, frozen=True):
    """What lies under a key at you, and whom would a fact reach by it?"""

    request: int
    key: Key
    fact: Tuple | None = None
    """Without one, nobody is named."""


class TemplatesOf(_Message, frozen=True):
    """How many templates of a subscriber a fact meets."""

    peer: bytes
    address: str
    templates: int


class Reached(_Message, tag=73, frozen=True):
    """What lies there, and whom it would reach; ``is_cut`` where there are more than are named."""

    request: int
    facts: int
    templates: int
    subscribers: list[TemplatesOf] = []  # msgspec gives each its own
    is_cut: bool = False
