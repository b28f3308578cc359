"""Gossip: what peers tell each other of others beside their probes, how it is queued, and how it is checked when it comes.

One item is a rumour, as in "rumor mongering" (Demers et al. 1987, "Epidemic algorithms for replicated database maintenance").
:mod:`dht.liveness.swim` decides by them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

import msgspec

from ..errors import BadAnswer
from ..identity.ids import ID_BYTES, PeerId

RUMOURS_PER_DATAGRAM = 8
"""At most 250 bytes together."""

MAX_QUEUED = 64
"""Rumours waiting to be sent; the one sent most often is dropped for a new one."""

MAX_INCARNATION = 2**53
"""Milliseconds since 1970 are far below; whoever claims more lies."""


class Status(IntEnum):
    """What a rumour says of a peer."""

    ALIVE = 0
    SUSPECTED = 1
    DEAD = 2


class Rumour(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The status of a peer in one of its lives, as whoever sends it has found."""

    status: Status
    peer: Annotated[PeerId, msgspec.Meta(min_length=ID_BYTES, max_length=ID_BYTES)]
    incarnation: Annotated[int, msgspec.Meta(ge=0, le=MAX_INCARNATION)]


_Rumours = Annotated[list[Rumour], msgspec.Meta(max_length=RUMOURS_PER_DATAGRAM)]


class GossipQueue:
    """The rumours that one peer sends, each so many times: to another peer with each of its datagrams (SWIM, section 4.1)."""

    def __init__(self) -> None:
        self._queued: dict[PeerId, tuple[Rumour, int]] = {}
        """The last rumour of each peer, with how often it is still to be sent. Limit: MAX_QUEUED; beyond, the one sent most often
        goes."""
        self.times = 2
        """How often the next one is to be sent."""

    def __len__(self) -> int:
        return len(self._queued)

    def queue_rumour(self, rumour: Rumour) -> None:
        """Send this from now on, in the place of what was sent of the same peer."""
        self._queued.pop(rumour.peer, None)
        if len(self._queued) >= MAX_QUEUED:
            del self._queued[min(self._queued, key=lambda peer: self._queued[peer][1])]
        self._queued[rumour.peer] = (rumour, self.times)

    def take_rumours(self, to: PeerId, limit: int) -> list[Rumour]:
        """What to send to a peer now: the rumours sent least often, and none of itself."""
        taken: list[Rumour] = []
        for rumour, times in sorted(self._queued.values(), key=lambda each: -each[1])[:RUMOURS_PER_DATAGRAM]:
            if len(taken) < limit and rumour.peer != to:
                taken.append(rumour)
                if times > 1:
                    self._queued[rumour.peer] = (rumour, times - 1)
                else:
                    del self._queued[rumour.peer]
        return taken

    def rumour_about(self, peer: PeerId) -> Rumour | None:
        """What is sent of a peer, if anything."""
        return self._queued.get(peer, (None, 0))[0]

    def drop_rumour(self, peer: PeerId) -> None:
        """Send nothing of a peer any more."""
        self._queued.pop(peer, None)


def rumours_from(raw: object) -> list[Rumour]:
    """The rumours in a decoded datagram. Raises BadAnswer when they are anything else."""
    try:
        return msgspec.convert(raw, _Rumours)
    except msgspec.ValidationError as error:
        raise BadAnswer(f"{raw!r:.80} is no list of at most {RUMOURS_PER_DATAGRAM} rumours ({error})") from None


def incarnation_from(raw: object) -> int:
    """The incarnation in a decoded datagram. Raises BadAnswer when it is anything else."""
    if type(raw) is not int or not 0 <= raw <= MAX_INCARNATION:
        raise BadAnswer(f"{raw!r:.80} is no incarnation; expected 0 to {MAX_INCARNATION}")
    return raw
