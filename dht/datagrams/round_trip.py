"""How long to wait for an answer, learned from the answers so far (RFC 6298, with one estimate for a whole socket).

A query is sent several times before its peer counts as silent, which is not yet dead (:mod:`dht.liveness.swim`). The times to wait
after each transmission are multiples of the estimate:

* a lookup's answer has nobody to stand in for it, so it is asked for often: at 5 % loss each way, one live peer in 10,000 queries
  is passed over, and a dead one costs three estimates, while others are asked after one; whoever was silent for one of them is
  asked again quickly, and each transmission has an estimate's time for its answer;
* a probe has helpers, so it is sent again once;
* a helper's own probe takes as long as ours, before it can say what came of it.
"""

from __future__ import annotations

INITIAL_S = 0.5
FLOOR_S = 0.1
CEILING_S = 1.0

FOR_LOOKUP = (1.0, 0.5, 0.5, 1.0)
FOR_PROBE = (1.0, 1.5)
FOR_HELPER = (4.0, 4.0)


class RoundTrip:
    """A smoothed estimate of the time to an answer."""

    def __init__(self) -> None:
        self.timeout_s = INITIAL_S
        """How long to wait for an answer before sending again, in seconds."""
        self._mean_s: float | None = None
        self._deviation_s = 0.0

    def sample(self, taken_s: float) -> None:
        """An answer to one transmission took so long.

        Those to repeated transmissions and late ones count too, or an overloaded network would never be seen: each answer says
        which transmission it answers, as timestamps do in TCP (RFC 7323, section 4).
        """
        if self._mean_s is None:
            self._mean_s = taken_s
            self._deviation_s = taken_s / 2
        else:
            self._deviation_s += (abs(self._mean_s - taken_s) - self._deviation_s) / 4
            self._mean_s += (taken_s - self._mean_s) / 8
        self.timeout_s = min(CEILING_S, max(FLOOR_S, self._mean_s + 4 * self._deviation_s))
