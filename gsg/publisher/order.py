"""What a publisher says of its other messages: each one to a rendezvous names the last numbers that went to others.

A subscriber that is fed by two rendezvous puts together what they bring of one publisher (:mod:`gsg.feeds.publisher_order`). For
that the publisher's peer numbers what it sends, and each rendezvous says when asked how far it has come with a publisher
(:mod:`gsg.rendezvous.progress`). A publisher that uses one rendezvous names none, and nobody asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..wire.admission import NAMED
from ..wire.messages import After

NAMED_S = 30.0
"""How long after a rendezvous has acknowledged everything it is still named to others: what it forwarded may be on its way."""


@dataclass(slots=True)
class _Last:
    """How far a publisher has come with one rendezvous."""

    number: int
    """The last one that was sent there."""
    acknowledged_s: float
    event: int = 0
    """The last one of an event."""
    acknowledged: int = 0


class SentNumbers:
    """The last number that went to each rendezvous of late."""

    def __init__(self) -> None:
        self.forgotten = 0
        """How often a rendezvous could not be reached: what was said of it before does not hold any more."""
        self._last: dict[bytes, _Last] = {}
        """By rendezvous. Limit: NAMED."""

    def note_sending(self, rendezvous: bytes, number: int, now: float, *, is_event: bool = False) -> None:
        """A message up to this number, of events or of facts, is about to be sent."""
        last = self._last.get(rendezvous)
        if last is None:
            if len(self._last) >= NAMED:
                del self._last[min(self._last, key=lambda one: _by_age(self._last[one]))]
            last = self._last[rendezvous] = _Last(number, now)
        if number > last.number:
            last.number = number
        if is_event and number > last.event:
            last.event = number

    def acknowledge(self, rendezvous: bytes, number: int, now: float) -> None:
        """The rendezvous has forwarded everything up to this number."""
        last = self._last.get(rendezvous)
        if last is not None and number >= last.acknowledged:
            last.acknowledged, last.acknowledged_s = number, now

    def note_passed(self, rendezvous: bytes, number: int, now: float) -> After:
        """Events up to this number were forwarded as they were sent; returns what they have to say of the others."""
        last = self._last.get(rendezvous)
        if last is None or number < last.number:
            self.note_sending(rendezvous, number, now, is_event=True)
            self.acknowledge(rendezvous, number, now)
        else:
            last.number = last.event = last.acknowledged = number
            last.acknowledged_s = now
        return self.others(rendezvous, now)

    def forget_rendezvous(self, rendezvous: bytes) -> None:
        """The rendezvous cannot be reached: nobody is to wait for what went there."""
        if self._last.pop(rendezvous, None) is not None:
            self.forgotten += 1

    def still_known(self, after: After) -> After:
        """What was said of other rendezvous, without those that could not be reached since."""
        return [one for one in after if one[0] in self._last]

    def others(self, rendezvous: bytes, now: float) -> After:
        """What a message to one rendezvous says of the others; nothing while only that one is used."""
        if len(self._last) == 1 and rendezvous in self._last:
            return []
        named: After = []
        for one, last in list(self._last.items()):
            if last.acknowledged >= last.number and now - last.acknowledged_s > NAMED_S:
                del self._last[one]
            elif one != rendezvous:
                named.append((one, last.number, last.event))
        return named


def _by_age(last: _Last) -> tuple[bool, float]:
    return last.acknowledged < last.number, last.acknowledged_s
