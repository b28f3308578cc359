"""What one member knows of one source of a topic (:mod:`gsg.topics.diffusion.diffusion`)."""

from __future__ import annotations

from math import inf

from ...wire.topic_messages import Payload


class Source:
    """One source's events. ``told``: all up to here were told; what is kept of them begins at ``low``."""

    __slots__ = (
        "asked",
        "asked_to",
        "born_s",
        "events",
        "fed_before",
        "fed_by",
        "gap_s",
        "graft_s",
        "heard_s",
        "held",
        "low",
        "missed_s",
        "told",
    )

    def __init__(self, told: int, now_s: float) -> None:
        self.told = told
        self.low = told + 1
        self.events: dict[int, Payload] = {}
        self.held: dict[int, Payload] = {}
        """What waits for earlier ones."""
        self.born_s: dict[int, float] = {}
        """When the events in both were published, or a little later, by our clock."""
        self.heard_s = now_s
        self.missed_s = self.graft_s = self.gap_s = inf
        """Since when events are missing, when they are asked for next, and when they are given up."""
        self.fed_by: bytes | None = None
        self.fed_before: bytes | None = None
        """The neighbours that brought the last event first, and the one before that."""
        self.asked: set[bytes] = set()
        """Neighbours that were asked in this round of asking."""
        self.asked_to = 0
        """The last number that was asked for; 0 where nothing was."""
