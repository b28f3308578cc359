"""Why goals failed that were no plain no: counted for whoever runs the peer (``gsg status``), and for want of steps also logged."""

from __future__ import annotations

import logging
from collections.abc import Callable

from gsg.wire.status_messages import Count

from ..errors import SHOWN_CHARACTERS

log = logging.getLogger(__name__)

WARN_EVERY_S = 60.0
"""How often the log says that goals fail for want of steps."""


class Failures:
    """Matches that failed in another way than by a plain no, since the start. ``clock`` gives seconds and never goes back."""

    __slots__ = ("_clock", "_warned_s", "exhausted", "type_faults")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.type_faults = 0
        """A goal met a term of the wrong kind."""
        self.exhausted = 0
        """They needed more steps, or longer numbers, than one evaluation may have."""
        self._clock = clock
        self._warned_s = float("-inf")

    def count_exhausted(self, source: Callable[[], str]) -> None:
        """A match failed because it needed more than one evaluation may have; ``source`` says of which subscription."""
        self.exhausted += 1
        now_s = self._clock()
        if now_s - self._warned_s >= WARN_EVERY_S:
            self._warned_s = now_s
            log.warning(
                "goals of Pedro subscriptions need more steps than one may take: %d matches failed; the last of %s",
                *(self.exhausted, source()[:SHOWN_CHARACTERS]),
            )

    def counts(self) -> list[Count]:
        """Under the names that ``gsg status`` shows."""
        return [Count("pedro_goals_mistyped", self.type_faults), Count("pedro_goals_exhausted", self.exhausted)]
