"""How long an event that a neighbour has spoken of is waited for before it is asked for.

Where the wait is shorter than the spread of arrivals, events are asked for that are under way, and the tree of
:mod:`diffusion` never settles. So the lateness of events, from the mark to the event itself, is measured as TCP measures round
trips: its mean and its deviation, smoothed (RFC 6298, section 2).
"""

from __future__ import annotations

from typing import Final

LEAST_S: Final = 0.35
"""With the first marks, half a second after it was published: by then an event has come over any tree of some thousand members with
hops of 10 to 50 ms, also from the edge of one to the other. Whoever asks before grows the tree where none was missing."""
MOST_S: Final = 1.0
_MEAN_SHARE: Final = 1 / 8
_DEVIATION_SHARE: Final = 1 / 4
"""The weights of a new measurement."""


class Arrivals:
    """The lateness of events, in seconds. Of each source one event is waited for at a time."""

    def __init__(self) -> None:
        self._mean_s = self._deviation_s = 0.0
        self._announced: dict[bytes, tuple[int, float]] = {}
        """Limit: the sources that :class:`Diffusion` knows."""

    @property
    def patience_s(self) -> float:
        """How long to wait."""
        return min(MOST_S, max(LEAST_S, self._mean_s + 4 * self._deviation_s))

    def announced(self, source: bytes, number: int, now_s: float) -> None:
        """A neighbour has this event, and this peer has not."""
        if source not in self._announced:
            self._announced[source] = number, now_s

    def arrived(self, source: bytes, number: int, now_s: float, *, was_asked_for: bool) -> None:
        """An event has come. One that was asked for says nothing: it came late because it was."""
        announced = self._announced.get(source)
        if announced is not None and number >= announced[0]:
            del self._announced[source]
            if not was_asked_for:
                late_s = now_s - announced[1]
                self._deviation_s += _DEVIATION_SHARE * (abs(late_s - self._mean_s) - self._deviation_s)
                self._mean_s += _MEAN_SHARE * (late_s - self._mean_s)

    def forget(self, source: bytes) -> None:
        """Nothing of this source is waited for."""
        self._announced.pop(source, None)
