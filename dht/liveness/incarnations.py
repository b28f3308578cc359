"""Incarnations: the numbers that tell a peer's lives from each other, and void what was said of it before it refuted that.

A life begins with the milliseconds of its first moment, and each refutation adds one. A peer's own word of its incarnation, which
comes with its answers, is believed at once; what others say of it only as far as here. A peer may begin with any number, as clocks
differ: where others say a higher one than is believed of a peer that has told us one, or that is suspected, it is asked, unless it
was just now (:mod:`dht.liveness.swim`).
"""

from __future__ import annotations

from ..datagrams.gossip import MAX_INCARNATION

REFUTATIONS = 100
"""By how much its incarnation may have risen between two answers of a peer for it to be in the same life: one for each suspicion
that it has refuted. Others' word of more is not believed."""

LIVES_APART = REFUTATIONS + 1
"""By how much the first incarnation of a life is above the one before at least, whatever the clock says, to be seen as another."""


class Incarnations:
    """Our own, in one life: ``present``, which began as ``first``."""

    def __init__(self, first: int) -> None:
        self.present = first
        self._first = first
        self._began_s = float("inf")

    def tick(self, now: float) -> None:
        """It is ``now``, on a clock that only goes on; this life began when it was said for the first time."""
        self._began_s = min(self._began_s, now)

    def latest(self, now: float) -> int:
        """The highest that a life can have come to by now, by our clock as it stood when this life began.

        Ours are never raised beyond: whoever makes up a suspicion of the highest of all would leave us none to refute the next
        with. This limit grows as time does, and so do the first incarnations of our lives to come.
        """
        return self._first + int(1000 * max(0.0, now - self._began_s)) + REFUTATIONS

    def refutes(self, incarnation: int, now: float) -> bool:
        """Whether a rumour that we are not alive in this incarnation is to be refuted; the present one is raised above it then."""
        if not self.present <= incarnation <= self.latest(now):
            return False
        self.present = min(incarnation + 1, MAX_INCARNATION)
        return True

    def believed(self, told: int | None, now: float) -> int:
        """The highest of another peer that is believed at others' word, where ``told`` is what it told us itself."""
        return self.latest(now) if told is None else told + REFUTATIONS
