"""The times of changes: which of two changes of one fact is the later one, wherever they were made.

A hybrid logical clock (Kulkarni and others 2014, "Logical physical clocks"): microseconds of the peer's clock where that moves on,
and one more than the latest time seen where it does not. So a change that somebody makes after having heard of another is later
than it, whatever the clocks of the peers say.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import Refused

MAX_AHEAD_S = 366 * 24 * 3600
"""How far ahead of our clock a time may be that another peer tells; one that is farther is nonsense, as a wrong bit makes it. By
our clock alone, and not by times that were seen: so peers whose clocks are about right agree on what they refuse, and one that is
just let pass here is let pass by all of them as soon as their clocks say the same."""
MAX_AHEAD_OF_UNSET_S = 100 * 365 * 24 * 3600
"""The same, from the latest time seen, where our clock cannot be right: a machine without a battery may begin in 1970, and is to
take what the others say all the same."""
RIGHT_FROM_S = 1_735_689_600
"""A clock that is earlier than this, the beginning of 2025, has not been set."""
CLOCKS_APART_S = 30.0
"""How far apart the clocks of peers may be that were all stopped, so that whoever is back first is right when it speaks for all."""


class HybridClock:
    """The clock of one peer. ``clock`` gives seconds since any moment that peers agree on, as far as their clocks are right."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.latest = 0
        """The latest time that was given or seen, in microseconds."""

    def now_us(self) -> int:
        """The time by the peer's own clock, in microseconds."""
        return int(self._clock() * 1_000_000)

    def next_stamp(self) -> int:
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

    def limit_us(self) -> int:
        """Times that are later are nonsense, also on our own disk: from there they would be refused by all others."""
        now_us = self.now_us()
        if now_us >= RIGHT_FROM_S * 1_000_000:
            return now_us + MAX_AHEAD_S * 1_000_000
        return max(self.latest, now_us) + MAX_AHEAD_OF_UNSET_S * 1_000_000

    def reached(self) -> int:
        """The latest time, or that of the peer's own clock where this is later."""
        return max(self.latest, self.now_us())

    def see_stamp(self, stamp: int) -> None:
        """Another peer knows of this time. Raises Refused for one that is out of reason."""
        if stamp > self.latest:
            if stamp > (limit_us := self.limit_us()):
                raise Refused(
                    f"stamp {stamp} is beyond {limit_us}, the latest that the clock of this peer lets pass; set the clocks of both "
                    "peers, and start the one again whose clock was wrong"
                )
            self.latest = stamp
