"""How many members an overlay has, told by gossip: one :mod:`sketch` an epoch.

Who leaves stays in a sketch, so it is begun again after EPOCH_ROUNDS rounds; a later epoch that is heard of is taken over
(Jelasity and Montresor, "Epidemic-style proactive aggregation in large overlay networks", ICDCS 2004, section 4). What counts is
the sketch of the epoch that is over, until the next one has had time to reach everybody.
"""

from __future__ import annotations

from typing import Final

from ..wire.topic_messages import Sketch
from .sketch import EMPTY, estimate, joined, packed, unpacked, with_thing

EPOCH_ROUNDS: Final = 14
"""Some 2 log2(N) exchanges reach all of 10,000."""
SPREAD_ROUNDS: Final = 10
"""Rounds of an epoch after which its own sketch counts."""
MAX_EPOCH: Final = 1 << 62
"""Epochs are counted modulo this, and a later one is less than half of it ahead: whoever claims a high one does not use them up
(serial numbers: RFC 1982, section 3)."""


class Size:
    """The count that one member takes part in. ``things``: what it counts, by default itself."""

    def __init__(self, *things: bytes) -> None:
        self._things = list(things)
        self.epoch = 0
        self._rounds = 0
        self._sketch = EMPTY
        self._last: bytes | None = None
        """Of the epoch that is over."""
        self._begin()

    def _begin(self) -> None:
        self._rounds = 0
        self._sketch = EMPTY
        for thing in self._things:
            self._sketch = with_thing(self._sketch, thing, self.epoch)

    def count_as(self, things: list[bytes]) -> None:
        """Count other things from the next epoch on, and new ones at once."""
        for thing in things:
            if thing not in self._things:
                self._sketch = with_thing(self._sketch, thing, self.epoch)
        self._things = list(things)

    def begin_round(self) -> None:
        """One round more."""
        self._rounds += 1
        if self._rounds >= EPOCH_ROUNDS:
            self._advance((self.epoch + 1) % MAX_EPOCH)

    def _advance(self, epoch: int) -> None:
        if self._rounds >= SPREAD_ROUNDS:
            self._last = self._sketch
        self.epoch = epoch
        self._begin()

    def tell(self) -> Sketch:
        """The sketch to send to another member."""
        return Sketch(self.epoch, packed(self._sketch))

    def hear(self, told: Sketch) -> None:
        """Take in the sketch of another member; one that is malformed, or of an earlier epoch, is passed over."""
        if not 0 <= told.epoch < MAX_EPOCH or (told.epoch - self.epoch) % MAX_EPOCH >= MAX_EPOCH // 2:
            return
        sketch = unpacked(told.registers)
        if sketch is None:
            return
        if told.epoch != self.epoch:
            self._advance(told.epoch)
        self._sketch = joined(self._sketch, sketch)

    @property
    def estimate(self) -> float:
        """How many there are, about: 4.6 % in one standard deviation beyond some hundred, better for fewer."""
        counted = self._sketch if self._last is None or self._rounds >= SPREAD_ROUNDS else self._last
        return estimate(counted)
