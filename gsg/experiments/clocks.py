"""How far the clock of another host is ahead of ours, by round trips, and how wrong that may be.

A question leaves at ``sent`` and its answer, which has the other clock's time, comes at ``received``: that time was read somewhere
between the two, so the middle is wrong by half of the round trip at most. The shortest of the last few round trips is taken, as NTP
does (RFC 5905, section 10).
"""

from __future__ import annotations

from collections import deque
from typing import Final

KEPT: Final = 16
"""Round trips of which the best is taken."""
DRIFT: Final = 1e-4
"""By how much two clocks may drift apart in a second: quartz is better than that, by far."""
UNKNOWN_US: Final = 2**31 - 1
"""The error where nothing was measured."""


class ClockOffset:
    """What another clock is ahead of ours, in microseconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[int, int, int]] = deque(maxlen=KEPT)
        """When, the offset, and its error then."""

    def measure(self, sent_us: int, received_us: int, other_us: int) -> None:
        """Take in a round trip: our clock as the question left and as the answer came, and the other clock in the answer."""
        round_trip_us = max(0, received_us - sent_us)
        self._seen.append((received_us, other_us - (sent_us + received_us) // 2, (round_trip_us + 1) // 2))

    def best(self, now_us: int) -> tuple[int, int]:
        """The offset, and by how much it may be wrong."""
        errors = ((error_us + int(DRIFT * max(0, now_us - at_us)), offset_us) for at_us, offset_us, error_us in self._seen)
        error_us, offset_us = min(errors, default=(UNKNOWN_US, 0))
        return offset_us, min(error_us, UNKNOWN_US)
