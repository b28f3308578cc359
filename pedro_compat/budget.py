"""What the goals of a peer may cost together, so that many costly ones stall it no more than one.

Each evaluation is bounded by itself (:mod:`.unification`). What it takes beyond FREE_STEPS, which ordinary goals do not, is paid
from a store that all share and that fills with time: about a quarter of the processor. While the store is empty a goal gets
FREE_STEPS; one that needs more fails, and is counted as exhausted. Whoever needs little is always served.
"""

from __future__ import annotations

from collections.abc import Callable

from .unification import MAX_STEPS

FREE_STEPS = 200
"""Steps that every evaluation may take, whatever others took: about 0.2 ms."""
STORED_STEPS = MAX_STEPS
"""What the store holds when it is full: one evaluation of the costliest kind at once."""
STEPS_PER_S = 300_000
"""How fast it fills. A core of 2020 takes somewhat over a million steps a second."""


class Budget:
    """The shared store. ``clock`` gives seconds and never goes back."""

    __slots__ = ("_clock", "_filled_s", "_steps", "is_full")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.is_full = True
        """Whether an evaluation may take all that one may: nothing costly was paid for lately."""
        self._clock = clock
        self._steps = float(STORED_STEPS)
        self._filled_s = clock()

    def grant(self) -> int:
        """How many steps the next evaluation may take."""
        if not self.is_full:
            now_s = self._clock()
            self._steps = min(STORED_STEPS, self._steps + (now_s - self._filled_s) * STEPS_PER_S)
            self._filled_s = now_s
            self.is_full = self._steps >= STORED_STEPS
        return min(MAX_STEPS, FREE_STEPS + max(0, int(self._steps)))

    def pay(self, steps: int) -> None:
        """An evaluation has taken so many."""
        if steps > FREE_STEPS:
            if self.is_full:
                self.is_full = False
                self._filled_s = self._clock()
            self._steps -= steps - FREE_STEPS
