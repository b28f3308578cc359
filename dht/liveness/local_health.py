"""How patient this peer is with others, and how long it suspects them (Lifeguard's local health and suspicion timeouts).

Whoever comes late itself, or finds that a suspect lives, is patient for a while: all its suspicions last longer. Only what it finds
itself counts, and once a tick, so nobody can make it deaf to deaths by what he says.
"""

from __future__ import annotations

from math import log, log10

CONFIRMATIONS = 3
"""Others who suspect the same peer, from which on waiting is no longer shortened (Lifeguard's K)."""

LONGEST, SHORTEST = 4.0, 2.0
"""How many probe periods a suspicion lasts for each power of ten of peers: with nobody's and with everybody's confirmation."""

MAX_PATIENCE = 6.0
"""How many times as long as usual a suspicion lasts at most: on a machine with twenty times the work that it can do, a peer that
has a fifth of a second's work before the next probe is silent for four seconds."""

LATE = 1.5
"""How many periods may pass between two ticks before this peer counts as late."""

CALMED = 0.98
"""How much of its patience beyond the usual is left after a tick: half in 34."""


def suspicion_s(size: int, confirmations: int, period_s: float = 1.0) -> float:
    """How long a suspected peer has to refute it, in a network of so many peers, when so many others suspect it too."""
    scale = log10(size + 1) * period_s
    shortened = log(min(confirmations, CONFIRMATIONS) + 1) / log(CONFIRMATIONS + 1)
    return scale * (LONGEST - (LONGEST - SHORTEST) * shortened)


class LocalHealth:
    """This peer's own: ``patience`` is by how much its suspicions last longer than usual."""

    def __init__(self, period_s: float) -> None:
        self.patience = 1.0
        self._period_s = period_s
        self._ticked_s: float | None = None
        self._was_wrong = False

    def suspect_answered(self) -> None:
        """A peer that was suspected lives."""
        self._was_wrong = True

    def tick(self, now: float) -> float:
        """A period has passed. How long this peer stood still, in seconds: for that no suspect is to be blamed; mostly 0.0."""
        passed_s = 0.0 if self._ticked_s is None else now - self._ticked_s
        self._ticked_s = now
        self.patience = 1.0 + CALMED * (self.patience - 1.0) + self._was_wrong
        self._was_wrong = False
        if passed_s > LATE * self._period_s:
            self.patience = max(self.patience, passed_s / self._period_s)
        self.patience = min(self.patience, MAX_PATIENCE)
        return passed_s - self._period_s if passed_s > 2 * self._period_s else 0.0
