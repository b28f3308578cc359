"""Whose turn it is to send: one caller after the other, in the order in which they came, as what a publisher says has one order.

A *patient* turn waits while ROUNDS others of its kind are under way, that is, not answered yet, so that more may join it meanwhile
(:mod:`gsg.publisher.coalescing`): what comes faster than it is answered goes in few messages, and what comes slowly goes at once.
It waits no longer than PATIENCE_S, as whoever does not answer is not to keep others waiting; nor where somebody waits behind it.

    waiting ──nobody sends, and it need not be patient any more──> here ──leave──> gone
"""

from __future__ import annotations

import asyncio
from collections import deque

ROUNDS = 2
"""So many rounds may be under way before what comes next is patient."""
PATIENCE_S = 0.02
"""How long it is, several times what a round takes among peers that are near and not overloaded."""


class Turn:
    """A place in the line."""

    __slots__ = ("is_here", "is_patient", "waiter")

    def __init__(self, *, is_patient: bool) -> None:
        self.is_patient = is_patient
        self.is_here = False
        """Whether it is this one's turn, or was."""
        self.waiter: asyncio.Future[None] | None = None
        """Of whoever waits for it: one at a time."""


class Turns:
    """The line of one publisher."""

    def __init__(self) -> None:
        self._waiting: deque[Turn] = deque()
        """Those who wait are the callers of publish, who bound how many they are."""
        self._sending = False
        self._rounds = 0
        self._due: asyncio.TimerHandle | None = None
        """When the only one that waits has been patient for long enough. It ends with that turn, or where the turn is left."""

    @property
    def taken(self) -> bool:
        """Whether somebody sends, or waits to."""
        return self._sending or bool(self._waiting)

    def line_up(self, *, is_patient: bool = False) -> Turn:
        """A place behind all that wait; it may be here at once."""
        turn = Turn(is_patient=is_patient)
        self._waiting.append(turn)
        self._look()
        return turn

    def is_last(self, turn: Turn) -> bool:
        """Whether a turn waits, and nobody behind it."""
        return bool(self._waiting) and self._waiting[-1] is turn

    async def wait(self, turn: Turn) -> None:
        """Wait until it is this one's turn; who is cancelled has it still, and leaves it or lets another one wait for it."""
        if not turn.is_here:
            turn.waiter = asyncio.get_running_loop().create_future()
            await turn.waiter

    def leave_turn(self, turn: Turn) -> None:
        """The turn is over, or nobody wants it any more."""
        if turn.is_here:
            self._sending = False
        else:
            self._waiting.remove(turn)
            if self._due is not None:
                # It was the only one that waits, and its patience is nobody else's.
                self._due.cancel()
                self._due = None
        self._look()

    def begin_round(self) -> None:
        """A round is under way."""
        self._rounds += 1

    def end_round(self) -> None:
        """All of a round was answered, or given up."""
        self._rounds -= 1
        self._look()

    def _look(self, *, is_due: bool = False) -> None:
        if self._sending or not self._waiting:
            return
        turn = self._waiting[0]
        if turn.is_patient and self._rounds >= ROUNDS and len(self._waiting) == 1 and not is_due:
            if self._due is None:
                self._due = asyncio.get_running_loop().call_later(PATIENCE_S, self._is_due)
            return
        if self._due is not None:
            self._due.cancel()
            self._due = None
        self._waiting.popleft()
        self._sending = turn.is_here = True
        if turn.waiter is not None and not turn.waiter.done():
            turn.waiter.set_result(None)

    def _is_due(self) -> None:
        self._due = None
        self._look(is_due=True)
