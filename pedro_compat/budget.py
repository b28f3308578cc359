"""What the goals of a peer may cost together, and who goes without where that is too little.

Each evaluation is bounded by itself (:mod:`.unification`). What it takes beyond FREE_STEPS, which ordinary goals do not, is paid
from a store that all share and that fills with time. Of what is missing there each subscription that took some has a part, which
fades as the store fills. An evaluation may take half of what is left beyond its subscription's own part, so that

* one subscription alone can use all that comes in, and at first as much as one evaluation may ever take;
* of n that want more than there is each gets an n-th before long, and what is left for one that has taken nothing is about a third
  of STORED_STEPS / (n + 1) or more: whoever needs little is served beside many that need much;
* whether a goal fails for want of steps depends on how costly it is itself and how many others are, never on how costly one is.

This is the dynamic threshold by which switches share a buffer (Choudhury and Hahne 1998), for steps instead of packets.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log

from .unification import MAX_STEPS

FREE_STEPS = 200
"""Steps that every evaluation may take, whatever it and others took: about 0.2 ms."""
STORED_STEPS = 2 * MAX_STEPS
"""What the store holds when it is full: half of it is one evaluation of the costliest kind."""
STEPS_PER_S = 300_000
"""How fast it fills: about a quarter of the processor. A core of 2020 takes somewhat over a million steps a second."""
_FORGOTTEN = 50.0
"""So much faded, in powers of e, that nothing is left of any part."""


class Account:
    """The part that one subscription has of what is missing in the store."""

    __slots__ = ("_faded", "_taken")

    def __init__(self) -> None:
        self._taken = 0.0
        self._faded = 0.0

    def part(self, faded: float) -> float:
        """What is left of it when so much has faded."""
        return self._taken * exp(self._faded - faded)

    def add(self, steps: float, faded: float) -> None:
        """So many steps more were taken."""
        self._taken = self.part(faded) + steps
        self._faded = faded


class Budget:
    """The shared store. ``clock`` gives seconds and never goes back."""

    __slots__ = ("_clock", "_faded", "_filled_s", "_missing", "is_full")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.is_full = True
        """Whether an evaluation may take all that one may: nothing costly was paid for lately."""
        self._clock = clock
        self._missing = 0.0
        self._filled_s = clock()
        self._faded = 0.0

    def grant(self, account: Account | None) -> int:
        """How many steps the next evaluation of a subscription may take; None for one that has taken nothing."""
        if not self.is_full:
            self._fill()
        left = STORED_STEPS - self._missing - (0.0 if account is None else account.part(self._faded))
        return min(MAX_STEPS, FREE_STEPS + max(0, int(left / 2)))

    def pay(self, account: Account, steps: int) -> None:
        """An evaluation of the subscription with this account has taken so many."""
        if steps > FREE_STEPS:
            if self.is_full:
                self.is_full = False
                self._filled_s = self._clock()
            self._missing += steps - FREE_STEPS
            account.add(steps - FREE_STEPS, self._faded)

    def _fill(self) -> None:
        now_s = self._clock()
        came = (now_s - self._filled_s) * STEPS_PER_S
        self._filled_s = now_s
        if came >= self._missing:
            self.is_full = True
            self._missing = 0.0
            self._faded += _FORGOTTEN
        else:
            # Each part fades as what is missing does, so that together they stay what is missing.
            self._faded += log(self._missing / (self._missing - came))
            self._missing -= came
