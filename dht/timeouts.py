"""How long to wait for an answer, learned from the answers so far (RFC 6298, with one estimate for a whole socket).

A query is sent :data:`TRANSMISSIONS` times before its peer counts as dead: at 5 % loss each way one live peer in 100,000 queries
is misjudged, and a dead one is known after about seven timeouts.
"""

from __future__ import annotations

INITIAL_S = 0.5
FLOOR_S = 0.1
CEILING_S = 1.0

TRANSMISSIONS = 5
_PATIENCE = (1.0, 1.0, 1.5, 1.5, 2.0)


def patience(attempt: int) -> float:
    """How many timeouts to wait after the transmission numbered ``attempt``, from 0."""
    return _PATIENCE[attempt]


class RoundTrip:
    """A smoothed estimate of the time to an answer."""

    def __init__(self) -> None:
        self.timeout_s = INITIAL_S
        """How long to wait for an answer before sending again, in seconds."""
        self._mean_s: float | None = None
        self._deviation_s = 0.0

    def sample(self, taken_s: float) -> None:
        """An answer took so long. Only for queries that were sent once: with several it is unknown which was answered."""
        if self._mean_s is None:
            self._mean_s = taken_s
            self._deviation_s = taken_s / 2
        else:
            self._deviation_s += (abs(self._mean_s - taken_s) - self._deviation_s) / 4
            self._mean_s += (taken_s - self._mean_s) / 8
        self.timeout_s = min(CEILING_S, max(FLOOR_S, self._mean_s + 4 * self._deviation_s))
