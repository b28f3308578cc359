"""Which number was given when, now and then: so that what is told late is told to those alone who were there."""

from __future__ import annotations

from collections import deque

MARKED_S = 0.5
"""How often it is noted."""
MARKS = 160
"""So many of these times are remembered, which is 80 s: longer than an event can be late, which is sent again for 17 s
(:mod:`gsg.publisher.resending`), goes by all holders for 15, is kept for a link that broke for 20, and waits for its turn for 5."""


class Marks:
    """Numbers that only grow, and times in seconds since any moment."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque(maxlen=MARKS)

    def given(self, number: int, now: float) -> int:
        """This number is given now; returns it."""
        if not self._marks or now - self._marks[-1][0] >= MARKED_S:
            self._marks.append((now, number))
        return number

    def was_given(self, number: int, then_s: float) -> bool:
        """Whether a number was given by then."""
        return all(number < marked for at_s, marked in self._marks if at_s > then_s)
