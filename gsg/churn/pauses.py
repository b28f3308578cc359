"""A peer that was stopped for a while, by its user, its machine or too much work, is like one that has just come.

To the others it was dead, or may have been: they ended its links, so what was posted here is posted elsewhere, and took over its
keys. It has seen nothing of that. So it doubts what it knows of keys, as for a newcomer: its events go by all holders of their
keys, what comes to it goes on to these, and its facts are compared before anybody is told what they are. Nobody counts the events
that it has missed, so its subscriptions are told that they may have. Whoever it takes for dead or deaf meanwhile is another matter
(:mod:`dht.liveness.late_timers`).

The loop's clock may stop while the machine sleeps, so another one tells.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from ..placement.holders import Holders
from ..publisher.quenching import Interests
from ..rendezvous.interest import InterestLeases
from .handover import Handover

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often the time is looked at."""
AWAY_S = 5.0
"""How long a peer has to be stopped, in seconds, before others may have taken it for dead."""


class Pauses:
    """Notices those of one peer.

    ``on_away`` hears for how many seconds the peer was. ``clock`` tells seconds, also those in which the machine sleeps; None: that
    of the machine, or of a simulated network.
    """

    def __init__(
        self,
        holders: Holders,
        interests: Interests,
        leases: InterestLeases,
        handover: Handover,
        on_away: Callable[[float], None],
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._holders = holders
        self._interests = interests
        self._leases = leases
        self._handover = handover
        self._on_away = on_away
        self._clock = clock
        self.late_s = 0.0
        """By how much the last look came too late."""

    async def run(self) -> None:
        """Look until cancelled."""
        clock = _sleepless() if self._clock is None else self._clock
        while True:
            begun_s = clock()
            await asyncio.sleep(LOOK_S)
            away_s = clock() - begun_s - LOOK_S
            self.late_s = max(0.0, away_s)
            if away_s >= AWAY_S:
                log.warning("this peer was stopped for some %.0f s: others may hold its keys by now", away_s)
                self._holders.forget("this peer was stopped")
                self._interests.forget_all()
                self._leases.revoke()
                self._handover.was_stopped()
                self._on_away(away_s)


def _sleepless() -> Callable[[], float]:
    """A clock that goes on while the machine sleeps."""
    loop = asyncio.get_running_loop()
    if getattr(loop, "is_simulated", False):
        return loop.time
    # Linux has a clock of its own for this (clock_gettime(2)); elsewhere the monotonic one goes on.
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return lambda: time.clock_gettime(clock)
