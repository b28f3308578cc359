"""Turns of clients that have sent more than one turn carries out: one after the other, and not all before anybody else is read.

Each time the event loop comes round the first that wait have theirs, for about TURN_S together. So whoever sends little, and is
served as it comes, waits for one such turn and not for one of each client that floods the door.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

TURN_S = 0.01
"""How long one turn takes, about, and how long those take together that the event loop has at once."""


class FairTurns:
    """Those of one door, first come, first served. Bounded by its clients, each of which waits for one turn at most."""

    __slots__ = ("_due", "_waiting", "clock")

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        """Seconds as they go by within a turn: an event loop's time may stand still until it comes round."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._due = False
        """Whether the loop was told already."""

    def queue_turn(self, turn: Callable[[], None]) -> None:
        """Have this turn when it is due."""
        self._waiting.append(turn)
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_soon(self._have_turns)

    def _have_turns(self) -> None:
        ends_s = self.clock() + TURN_S
        try:
            # A client that has more again waits behind the others, and for the next time.
            for _ in range(len(self._waiting)):
                self._waiting.popleft()()
                if self.clock() >= ends_s:
                    break
        finally:
            self._due = bool(self._waiting)
            if self._due:
                asyncio.get_running_loop().call_soon(self._have_turns)
