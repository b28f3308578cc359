"""What one participant has still to tell its facilitator, and still to do: no sockets, and times are handed in.

Rows are numbered, and stay until an answer shows that they have come: what is told twice, since an answer was lost, is taken once.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from ..errors import PeerMisbehaved
from ..wire.experiment_messages import Act, Orders, Row, TakePart
from .clocks import ClockOffset
from .plan import LARGEST, PREFIX

MAX_ROWS: Final = 20_000
"""Rows that wait; beyond, the oldest go, which the facilitator sees by their numbers."""
ROWS_A_REPORT: Final = 500
"""Rows of one report; the rest goes with the next."""
MAX_ACTS: Final = 1_000
"""Acts that wait for their time; beyond, one is passed over."""
MAX_LEAD_US: Final = 3600 * 1_000_000
"""How far ahead an act may lie; beyond, it is passed over."""


class Participant:
    """A participant of an experiment. Times are microseconds of its own clock."""

    def __init__(self) -> None:
        self.clock = ClockOffset()
        """How far the facilitator's clock is ahead."""
        self._rows: deque[Row] = deque(maxlen=MAX_ROWS)
        self._first = 1
        """The number of the first row that waits."""
        self._told = 0
        """Rows of the report that is on its way."""
        self._last_act = 0
        self.waiting = 0
        """Acts that were handed out and are not done. Limit: MAX_ACTS."""

    def note(self, row: Row) -> None:
        """Keep a row for the next reports."""
        if len(self._rows) == MAX_ROWS:
            self._first += 1
            self._told = max(0, self._told - 1)
        self._rows.append(row)

    @property
    def has_much(self) -> bool:
        """Whether more waits than one report takes."""
        return len(self._rows) > ROWS_A_REPORT

    def report(self, request: int, now_us: int) -> TakePart:
        """The report to send now: the first rows that wait, at most ROWS_A_REPORT."""
        rows = [self._rows[place] for place in range(min(len(self._rows), ROWS_A_REPORT))]
        self._told = len(rows)
        return TakePart(request, self._last_act, self._first, rows, *self.clock.best(now_us))

    def answered(self, orders: Orders, sent_us: int, now_us: int) -> list[tuple[int, Act]]:
        """The answer to a report: what to do in addition, each at a time of our clock. A topic that is none of an experiment is
        none of the facilitator's business. Raises PeerMisbehaved for a clock that is none: the report is told again."""
        if not 0 <= orders.now_us < LARGEST:
            raise PeerMisbehaved(
                f"the facilitator's clock says {orders.now_us}; expected microseconds since 1970, below {LARGEST:,}"
            )
        for _ in range(self._told):
            self._rows.popleft()
        self._first += self._told
        self._told = 0
        self.clock.measure(sent_us, now_us, orders.now_us)
        offset_us, _ = self.clock.best(now_us)
        found = []
        for act in orders.acts:
            if act.number <= self._last_act:
                continue
            self._last_act = act.number
            at_us = act.at_us - offset_us
            if self.waiting < MAX_ACTS and at_us <= now_us + MAX_LEAD_US and act.topic.startswith(PREFIX):
                self.waiting += 1
                found.append((at_us, act))
        return found
