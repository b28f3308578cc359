"""What a participant of an experiment and its facilitator say to each other: frozen structs, which messages.py lists.

Only the participant asks (gsg/experiments): nobody is told to do anything by a peer that it has not asked.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TypeAlias

import msgspec

import dht


class ActKind(IntEnum):
    """What a participant is told to do."""

    SUBSCRIBE = 1
    LEAVE = 2
    PUBLISH = 3
    COUNT = 4
    END = 5
    """As if it were killed."""


class RowKind(IntEnum):
    """What a row of a participant's log says."""

    SUBSCRIBED = 1
    LEFT = 2
    PUBLISHED = 3
    TOLD = 4
    MISSED = 5
    """Events that it was told as a gap: ``number`` of them."""
    COUNTED = 6
    VIEW = 7
    FAILED = 8
    """The act of this ``number`` could not be done."""


class _Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    pass


class Act(_Message, frozen=True):
    """Something to be done at a time of the facilitator's clock. ``event`` is the number of an event, or of a count."""

    number: int
    at_us: int
    do: ActKind
    topic: str = ""
    event: int = 0


class Row(_Message, frozen=True):
    """A row of a participant's log, at a time of its own clock."""

    what: RowKind
    at_us: int
    topic: str = ""
    publisher: bytes = b""
    number: int = 0
    payloads: int = 0
    """Payloads, and messages of any other kind about topics, that came by links since the peer was started."""
    small: int = 0
    view: list[bytes] = []
    """The peers in its view of the overlay of all."""


class TakePart(_Message, tag=70, frozen=True):
    """I take part, and this is my log since you last heard of it. Answered by Orders.

    ``offset_us`` is what your clock is ahead of mine, give or take ``error_us``; ``first`` is the number of the first row, and
    ``done`` that of the last act that I have.
    """

    request: int
    done: int
    first: int
    rows: list[Row]
    offset_us: int = 0
    error_us: int = 0


class Orders(_Message, tag=71, frozen=True):
    """What to do and when. ``now_us`` is the facilitator's clock as it answers, ``neighbours`` whom to begin with."""

    request: int
    now_us: int
    acts: list[Act] = []
    neighbours: list[dht.Contact] = []
    is_over: bool = False


ExperimentMessage: TypeAlias = TakePart | Orders
