"""A peer that was stopped for a while, by its user, its machine or too much work, is like one that has just come.

To the others it was dead, or may have been: they ended its links, so what was posted here is posted elsewhere, and took over its
keys. It has seen nothing of that. So it doubts what it knows of keys, as for a newcomer: its events go by all holders of their
keys, what comes to it goes on to these, and its facts are compared before anybody is told what they are. Whoever it takes for dead
or deaf meanwhile is another matter (:mod:`dht.lateness`).

A machine that sleeps may stop its clocks as well, and then nobody here notices.
"""

from __future__ import annotations

import asyncio
import logging

from dht.lateness import late_s

from .handover import Handover
from .holders import Holders
from .interests import Interests, Told

log = logging.getLogger(__name__)

LOOK_S = 1.0
"""How often the time is looked at."""
AWAY_S = 5.0
"""How long a peer has to be stopped, in seconds, before others may have taken it for dead."""


class Pauses:
    """Notices those of one peer."""

    def __init__(self, holders: Holders, interests: Interests, told: Told, handover: Handover) -> None:
        self._holders = holders
        self._interests = interests
        self._told = told
        self._handover = handover

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            due_s = asyncio.get_running_loop().time() + LOOK_S
            await asyncio.sleep(LOOK_S)
            if (away_s := late_s(due_s)) >= AWAY_S:
                log.warning("this peer was stopped for some %.0f s: others may hold its keys by now", away_s)
                self._holders.forget("this peer was stopped")
                self._interests.forget()
                self._told.newcomer()
                self._handover.came_back()
