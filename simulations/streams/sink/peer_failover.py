"""Which peer a task writes to: one of them, and where that is lost for longer the next one. Pure; the clock is handed in.

    asked for ──> the peer at hand ──connected──> written to ──lost──> the same one again, for ``stay_s``
                       ^                                                    │ has passed
                       └──────────────── the next one <─────────────────────┘

Tasks of one partition begin at the same peer, in whichever batch and attempt: a peer knows the keys of events that it has told
itself, and not those of others.
"""

from __future__ import annotations

from collections.abc import Sequence


class PeerFailover:
    """The peers of one task, ``first`` of which is asked first; a peer that is lost is asked again for ``stay_s``."""

    def __init__(self, urls: Sequence[str], *, first: int, stay_s: float) -> None:
        self._urls = list(urls)
        self._at = first % len(urls)
        self._stay_s = stay_s
        self._lost_s: float | None = None
        """When the peer at hand was lost, or did not answer at first."""

    @property
    def url(self) -> str:
        """The peer at hand."""
        return self._urls[self._at]

    def note_connected(self) -> None:
        """The peer at hand answers."""
        self._lost_s = None

    def note_lost(self, now: float) -> None:
        """The peer at hand does not answer, or not any more."""
        if self._lost_s is None:
            self._lost_s = now
        if now - self._lost_s >= self._stay_s:
            # Others are asked one after the other, without waiting for each: none of them was asked before.
            self._at = (self._at + 1) % len(self._urls)
