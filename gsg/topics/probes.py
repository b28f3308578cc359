"""Which neighbours are silent: one by which nothing has come for a while is asked, and found silent where no answer comes.

Whoever is cut off by neighbours that stand still hears of no event, and so of nothing that is missing: it has to ask. Neighbours of
all overlays are asked together, by peer and not by topic; where something comes anyway nobody is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from dht import Contact

from ..wire.topic_messages import Probe

PROBE_S: Final = 0.5
"""How long a neighbour may say nothing before it is asked, and how long its answer may take at least."""
LATE_S: Final = 0.2
"""If our own clock calls us later than this, a silence says nothing of others."""
MOST_PROBES: Final = 64
"""Neighbours asked at a time; where more say nothing, they are asked in turns, and it takes longer to find one silent."""


class Probes:
    """The probes that one peer sends. ``send(contact, message)`` sends; a neighbour may say nothing for ``probe_s``."""

    def __init__(self, send: Callable[[Contact, Probe], bool], *, probe_s: float = PROBE_S) -> None:
        self._send = send
        self._probe_s = probe_s
        self._heard_s: dict[bytes, float] = {}
        """When each neighbour said something last. Limit: the neighbours."""
        self._asked_s: dict[bytes, float] = {}
        """Who has been asked, and when; limit as above."""
        self._due_s = 0.0

    def heard(self, peer: bytes, now_s: float) -> None:
        """Something has come from a peer."""
        if peer in self._heard_s:
            self._heard_s[peer] = now_s
            self._asked_s.pop(peer, None)

    def probe(self, neighbours: Iterable[Contact], now_s: float) -> list[bytes]:
        """Ask the neighbours from which nothing came for ``probe_s``; returns the ids of those that were asked a ``probe_s`` ago
        and have not answered. To be called every ``probe_s``."""
        is_late = self._due_s and now_s > self._due_s + LATE_S
        self._due_s = now_s + self._probe_s
        heard_s = self._heard_s
        self._heard_s = {contact.id: heard_s.get(contact.id, now_s) for contact in neighbours}
        self._asked_s = {peer: asked_s for peer, asked_s in self._asked_s.items() if peer in self._heard_s}
        silent = [] if is_late else [peer for peer, asked_s in self._asked_s.items() if asked_s + 0.99 * self._probe_s <= now_s]
        left = MOST_PROBES
        for contact in sorted(neighbours, key=lambda each: self._heard_s[each.id]):
            if left and contact.id not in self._asked_s and self._heard_s[contact.id] + 0.99 * self._probe_s <= now_s:
                left -= 1
                self._asked_s[contact.id] = now_s
                self._send(contact, Probe())
        if is_late:
            self._asked_s = dict.fromkeys(self._asked_s, now_s)
        return silent
