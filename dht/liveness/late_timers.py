"""Whether a timer is late. Then it says nothing of others: this side was stopped, or its machine was.

After a pause the timers that are overdue are called before anything is read that has come meanwhile. So whoever takes silence for
death, deafness or loss by a timer looks here first, and waits once more. That cannot go on for ever: each time takes another pause.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

LATE_S = 0.5
"""How late a timer is, in seconds, that was not called because nobody was there. A busy machine is late by less, mostly."""
AGAIN = 3
"""How often a timer waits once more; then it counts, however late: a machine that is always late is to hear of the dead as well."""
MOMENT_S = 0.001
"""What is waited at least, in seconds: by rounding a time may be a little before itself."""


def late_s(due_s: float) -> float:
    """By how much a timer that is called now is too late, by the loop's clock; 0.0 where that is no more than usual."""
    passed_s = asyncio.get_running_loop().time() - due_s
    return passed_s if passed_s > LATE_S else 0.0


class Timer:
    """Calls back after a time; where that would be late, after as long once more, AGAIN times at most."""

    __slots__ = ("_again", "_callback", "_due_s", "_handle", "_within_s")

    def __init__(self, within_s: float, callback: Callable[[], object]) -> None:
        self._within_s = within_s
        self._callback = callback
        self._again = AGAIN
        self._start()

    def cancel(self) -> None:
        """Do not call back."""
        self._handle.cancel()

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        self._due_s = loop.time() + self._within_s
        self._handle = loop.call_at(self._due_s, self._due)

    def _due(self) -> None:
        if self._again and late_s(self._due_s):
            self._again -= 1
            self._start()
        else:
            self._callback()


class AwakeClock:
    """The loop's time without the waits in which this side was stopped."""

    __slots__ = ("_away_s", "_noticed_s")

    def __init__(self) -> None:
        self._away_s = 0.0
        self._noticed_s = float("-inf")

    def now(self) -> float:
        """The time, in seconds."""
        return asyncio.get_running_loop().time() - self._away_s

    async def wait(self, futures: Collection[asyncio.Future[Any]], until_s: float, *, return_when: str) -> None:  # Any: whatever
        """As :func:`asyncio.wait`, until a time of this clock. Where that comes too late, none of the wait counts."""
        loop = asyncio.get_running_loop()
        begun_s = loop.time()
        due_s = max(until_s + self._away_s, begun_s + MOMENT_S)
        await asyncio.wait(futures, timeout=due_s - begun_s, return_when=return_when)
        if late_s(due_s):
            # All who wait hear of one pause, and it counts once.
            self._away_s += loop.time() - max(begun_s, self._noticed_s)
            self._noticed_s = loop.time()
