"""Why goals failed that were no plain no: counted for whoever runs the peer (``gsg status``), and for want of steps also logged."""

from __future__ import annotations

import logging
from collections.abc import Callable

from .errors import SHOWN_CHARACTERS

log = logging.getLogger(__name__)

WARN_EVERY_S = 60.0
"""How often the log says that goals fail for want of steps."""


class Failures:
    """Matches that failed so, since the start. ``clock`` gives seconds and never goes back."""

    __slots__ = ("_clock", "_warned_s", "exhausted", "starved", "type_faults")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.type_faults = 0
        """A goal met a term of the wrong kind."""
        self.exhausted = 0
        """They needed more steps, or longer numbers, than one evaluation may ever have."""
        self.starved = 0
        """They needed more steps than were left for their subscription at that moment (:mod:`.budget`)."""
        self._clock = clock
        self._warned_s = float("-inf")

    def starve(self, source: Callable[[], str]) -> None:
        """A match failed for want of steps that it might have had at another time; ``source`` says of which subscription."""
        self.starved += 1
        now_s = self._clock()
        if now_s - self._warned_s >= WARN_EVERY_S:
            self._warned_s = now_s
            log.warning(
                "goals of Pedro subscriptions are too costly together: %d matches failed; the last of %s",
                *(self.starved, source()[:SHOWN_CHARACTERS]),
            )
