"""Events that rendezvous acknowledged of late: what one of them had still to tell when it died is sent again.

A rendezvous acknowledges an event when it has forwarded it, and may die before it has arrived at the subscribers. So a publisher
keeps for a moment what each has acknowledged. When one is gone, what it acknowledged in its last KEPT_S goes to the other holders,
before anything newer does; who has heard of it knows it again by its number, and each event says how late it is, so that who
subscribed since does not hear of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from ..tuples.audiences import Audience
from ..wire.messages import Event
from ..wire.waiting import BoundedQueue, Room

KEPT_S = 2.0
"""How long before a rendezvous was last heard of it may have acknowledged what had not left it yet."""
NOTICED_S = 15.0
"""Within this time it is noticed that a peer has died; what is older is forgotten."""
EVENTS = 8_192
EVENTS_BYTES = 4 * 1024 * 1024
"""So much is kept; beyond, the oldest goes, and is counted should its rendezvous die in the next moment."""
GATHERED_S = 0.1
BEYOND = 4_096
"""What goes for want of room is counted for so long together, and so many of these counts are kept; beyond, the oldest goes."""


@dataclass(frozen=True, slots=True)
class Said:
    """Events, each with the positions under which they went to one rendezvous."""

    events: Sequence[Event]
    places: Sequence[bytes]
    said_s: float
    """When they were acknowledged for the first time."""
    audience: Audience | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    rendezvous: bytes
    at_s: float
    size_bytes: int
    said: Said
    acknowledged: bool


class RecentlyAcknowledged:
    """What the rendezvous of one publisher have acknowledged of late."""

    def __init__(self) -> None:
        self._kept: BoundedQueue[_Kept] = BoundedQueue(Room(EVENTS_BYTES, each_bytes=0), EVENTS)
        self._beyond: deque[tuple[bytes, float, int]] = deque()
        """What went for want of room: whose it was, when the first of it was acknowledged, and how many events. Limit: BEYOND."""
        self.lost = 0
        """Events that may have been lost: a rendezvous that is gone acknowledged them in its last KEPT_S, and there was no room."""

    def __len__(self) -> int:
        """How many messages of events are kept."""
        return len(self._kept)

    def keep_events(self, rendezvous: bytes, said: Said, now: float, size_bytes: int, *, acknowledged: bool = True) -> None:
        """A rendezvous has acknowledged events, or was sent them again, which it need not have heard."""
        while not self._kept.fits(size_bytes, len(said.events)):
            self._count_beyond(self._kept.popleft())
        self._append(_Kept(rendezvous, now, size_bytes, said, acknowledged))
        while now - next(iter(self._kept)).at_s > KEPT_S + NOTICED_S:
            self._kept.popleft()

    def _append(self, kept: _Kept) -> None:
        self._kept.append(kept, kept.size_bytes, len(kept.said.events))

    def take_last_of(self, rendezvous: bytes, now: float) -> list[Said]:
        """What a rendezvous that is gone acknowledged in its last moments, in order; it is not kept for it any more."""
        own: list[_Kept] = []
        for _ in range(len(self._kept)):
            kept = self._kept.popleft()
            if kept.rendezvous == rendezvous:
                own.append(kept)
            else:
                self._append(kept)
        lived_s = max((kept.at_s for kept in own if kept.acknowledged), default=0.0)
        beyond = [(at_s, events) for whose, at_s, events in self._beyond if whose == rendezvous]
        last_s = max([lived_s, *(at_s for at_s, _ in beyond)])
        self.lost += sum(events for at_s, events in beyond if last_s - at_s <= KEPT_S)
        self._beyond = deque(each for each in self._beyond if each[0] != rendezvous)
        return [
            kept.said
            for kept in own
            if now - kept.said.said_s <= KEPT_S + NOTICED_S and (lived_s - kept.at_s <= KEPT_S or not kept.acknowledged)
        ]

    def _count_beyond(self, kept: _Kept) -> None:
        """There is no room any more for something."""
        whose, at_s, events = self._beyond[-1] if self._beyond else (b"", 0.0, 0)
        if whose == kept.rendezvous and kept.at_s - at_s <= GATHERED_S:
            self._beyond[-1] = whose, at_s, events + len(kept.said.events)
            return
        if len(self._beyond) >= BEYOND:
            self._beyond.popleft()
        self._beyond.append((kept.rendezvous, kept.at_s, len(kept.said.events)))
