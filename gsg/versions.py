"""The times of changes: which of two changes of one fact is the later one, wherever they were made.

A hybrid logical clock (Kulkarni and others 2014, "Logical physical clocks"): microseconds of the peer's clock where that moves on,
and one more than the latest time seen where it does not. So a change that somebody makes after having heard of another is later
than it, whatever the clocks of the peers say.
"""

from __future__ import annotations

from collections.abc import Callable

from .errors import Refused

MAX_AHEAD_S = 100 * 365 * 24 * 3600
"""How far ahead of our clock, and of all times seen, one may be that another peer tells; one that is farther is nonsense. It is so
far because a machine without a battery may begin in 1970, and is to take what the others say all the same."""
CLOCKS_APART_S = 30.0
"""How far apart the clocks of peers may be that were all stopped, so that whoever is back first is right when it speaks for all."""


class Versions:
    """The clock of one peer. ``clock`` gives seconds since any moment that peers agree on, as far as their clocks are right."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.latest = 0
        """The latest time that was given or seen, in microseconds."""

    def now_us(self) -> int:
        """The time by the peer's own clock, in microseconds."""
        return int(self._clock() * 1_000_000)

    def next(self) -> int:
        """A time that is later than all that were given or seen."""
        self.latest = max(self.now_us(), self.latest + 1)
        return self.latest

    def resume(self, latest: int) -> None:
        """This peer was stopped, and knew of this time then.

        Where all were stopped, the first that is back acknowledges changes while nobody is there who knows what was said before,
        and by whose clock. So what it says is to be later by CLOCKS_APART_S than its own clock, and than the time that it knew of,
        since others may have gone on from there before they were stopped too; until its clock has caught up.
        """
        self.latest = max(self.latest, max(latest, self.now_us()) + int(CLOCKS_APART_S * 1_000_000))

    def outrun(self, kept: int) -> bool:
        """Whether :meth:`resume` may make too little of a time that is kept, by the latest one, or by a clock that is set back."""
        apart_us = int(CLOCKS_APART_S * 1_000_000)
        return self.latest > max(kept, self.now_us() + apart_us) or self.now_us() > kept + apart_us

    def reached(self) -> int:
        """The latest time, or that of the peer's own clock where this is later."""
        return max(self.latest, self.now_us())

    def saw(self, stamp: int) -> None:
        """Another peer knows of this time. Raises Refused for one that is out of reason."""
        if stamp > self.latest:
            if stamp > self.reached() + MAX_AHEAD_S * 1_000_000:
                raise Refused(
                    f"stamp {stamp} is more than {MAX_AHEAD_S} s ahead of this peer's clock; set the clocks of both peers"
                )
            self.latest = stamp
