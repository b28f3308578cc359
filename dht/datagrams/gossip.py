"""What peers say of each other beside their probes, and how it is checked when it comes; :mod:`dht.liveness.swim` decides by it."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from ..errors import BadAnswer
from ..identity.ids import ID_BYTES, PeerId

RUMOURS = 8
"""Rumours in one datagram: at most 250 bytes."""

MAX_RUMOURS = 64
"""Rumours waiting to be said; the one said most often is dropped for a new one."""

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


class Rumours:
    """What one peer has to say of others, each so many times: to somebody else with each of its datagrams (SWIM, section 4.1)."""

    def __init__(self) -> None:
        self._of: dict[PeerId, tuple[Rumour, int]] = {}
        """The last word of each peer, with how often it is still to be said. Limit: MAX_RUMOURS; beyond, what was said most often
        goes."""
        self.times = 2
        """How often the next one is to be said."""

    def __len__(self) -> int:
        return len(self._of)

    def say(self, rumour: Rumour) -> None:
        """One more, in the place of what was said of the same peer."""
        self._of.pop(rumour.peer, None)
        if len(self._of) >= MAX_RUMOURS:
            del self._of[min(self._of, key=lambda peer: self._of[peer][1])]
        self._of[rumour.peer] = (rumour, self.times)

    def next(self, to: PeerId, most: int) -> list[Rumour]:
        """What to say to a peer now: what was said least often, and nothing of itself."""
        said: list[Rumour] = []
        for rumour, times in sorted(self._of.values(), key=lambda each: -each[1])[:RUMOURS]:
            if len(said) < most and rumour.peer != to:
                said.append(rumour)
                if times > 1:
                    self._of[rumour.peer] = (rumour, times - 1)
                else:
                    del self._of[rumour.peer]
        return said

    def of(self, peer: PeerId) -> Rumour | None:
        """What is said of a peer."""
        known = self._of.get(peer)
        return None if known is None else known[0]

    def forget(self, peer: PeerId) -> None:
        """Nothing is to be said of a peer any more."""
        self._of.pop(peer, None)


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
