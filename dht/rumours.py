"""What peers say of each other beside their probes, and how it is checked when it comes; :mod:`dht.liveness` decides by it."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from .errors import BadAnswer
from .identity import ID_BYTES, PeerId

RUMOURS = 8
"""Rumours in one datagram: at most 250 bytes."""

MAX_INCARNATION = 2**53
"""Milliseconds since 1970 are far below; whoever claims more lies."""


class Word(IntEnum):
    """What is said of a peer."""

    LIVES = 0
    SUSPECTED = 1
    DEAD = 2


class Rumour(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Something said of a peer in one of its lives, by whoever sends it."""

    word: Word
    peer: PeerId
    incarnation: int


def rumours_from(raw: object) -> list[Rumour]:
    """The rumours in a decoded datagram. Raises BadAnswer when they are anything else."""
    if not isinstance(raw, list | tuple) or len(raw) > RUMOURS:
        raise BadAnswer(f"{raw!r:.80} is no list of rumours; expected at most {RUMOURS}")
    try:
        rumours = msgspec.convert(raw, list[Rumour])
    except msgspec.ValidationError as error:
        raise BadAnswer(f"{raw!r:.80} is no list of rumours ({error})") from None
    for each in rumours:
        if len(each.peer) != ID_BYTES:
            raise BadAnswer(f"{each.peer!r:.80} is no peer id; expected {ID_BYTES} bytes")
        incarnation_from(each.incarnation)
    return rumours


def incarnation_from(raw: object) -> int:
    """The incarnation in a decoded datagram. Raises BadAnswer when it is anything else."""
    if type(raw) is not int or not 0 <= raw <= MAX_INCARNATION:
        raise BadAnswer(f"{raw!r:.80} is no incarnation; expected 0 to {MAX_INCARNATION}")
    return raw
