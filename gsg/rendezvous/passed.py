"""What a publisher says has passed by other rendezvous, and what a rendezvous says has passed by it.

A subscriber that is fed by two rendezvous puts together what they bring of one publisher (:mod:`gsg.feeds.publisher_order`). For
that the publisher's peer numbers what it sends, and each message to one rendezvous names the last numbers that went to others
(:class:`Sent`); and each rendezvous says when asked how far it has come with a publisher (:class:`Passing`). A publisher that uses
one rendezvous names none, and nobody asks.
"""

from __future__ import annotations

from ..wire.admission import NAMED
from ..wire.messages import After, Passed
from .feed import Subscriber

NAMED_S = 30.0
"""How long after a rendezvous has acknowledged everything it is still named to others: what it forwarded may be on its way."""
PUBLISHERS = 4_096
"""Publishers whose last number a rendezvous remembers; beyond, the one unheard of for the longest is forgotten."""
WAITING = 100_000
"""Questions that wait at a rendezvous for their number to pass; beyond, they are answered at once with what has passed."""
WAITING_EACH = 1_000
"""So many of one subscriber, which has one for each publisher of whom something waits there: nobody fills the places of others. It
is as many as are answered after what is kept for a subscriber; beyond, the first are not answered. Of questions, the one that waits
for the longest is answered with what has passed, as its publisher may have died."""


class _Last:
    """How far a publisher has come with one rendezvous."""

    __slots__ = ("acknowledged", "acknowledged_s", "event", "number")

    def __init__(self, number: int, now: float) -> None:
        self.number = number
        """The last one that was sent there."""
        self.event = 0
        """The last one of an event."""
        self.acknowledged = 0
        self.acknowledged_s = now


class Sent:
    """The publisher's side: the last number that went to each rendezvous of late."""

    __slots__ = ("_last", "forgotten")

    def __init__(self) -> None:
        self.forgotten = 0
        """How often a rendezvous could not be reached: what was said of it before does not hold any more."""
        self._last: dict[bytes, _Last] = {}
        """By rendezvous. Limit: NAMED."""

    def sending(self, rendezvous: bytes, number: int, now: float, *, is_event: bool = False) -> None:
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

    def acknowledged(self, rendezvous: bytes, number: int, now: float) -> None:
        """The rendezvous has forwarded everything up to this number."""
        last = self._last.get(rendezvous)
        if last is not None and number >= last.acknowledged:
            last.acknowledged, last.acknowledged_s = number, now

    def passed(self, rendezvous: bytes, number: int, now: float) -> After:
        """Events up to this number were forwarded as they were sent; returns what they have to say of the others."""
        last = self._last.get(rendezvous)
        if last is None or number < last.number:
            self.sending(rendezvous, number, now, is_event=True)
            self.acknowledged(rendezvous, number, now)
        else:
            last.number = last.event = last.acknowledged = number
            last.acknowledged_s = now
        return self.others(rendezvous, now)

    def forget(self, rendezvous: bytes) -> None:
        """The rendezvous cannot be reached: nobody is to wait for what went there."""
        if self._last.pop(rendezvous, None) is not None:
            self.forgotten += 1

    def known(self, after: After) -> After:
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


class Passing:
    """The rendezvous' side: the last number of each publisher that has been forwarded here, and who waits for a later one."""

    __slots__ = ("_asking", "_congested", "_count", "_last", "_waiting", "answers")

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}
        """Limit: PUBLISHERS."""
        self._waiting: dict[bytes, dict[Subscriber, int]] = {}
        """By publisher: who waits for which number. Limits: WAITING together, WAITING_EACH of one subscriber."""
        self._asking: dict[Subscriber, dict[bytes, None]] = {}
        """Of whom each subscriber asks, the question that waits for the longest first. Limit as above."""
        self._count = 0
        self._congested: dict[Subscriber, dict[bytes, Passed]] = {}
        """Answers for those whose deltas are kept for now, by publisher: they come after these. Limit: WAITING_EACH of each."""
        self.answers: list[tuple[Subscriber, Passed]] = []
        """To be sent after everything that was forwarded."""

    def passed(self, publisher: bytes, number: int) -> None:
        """Everything of a publisher up to this number has been forwarded: who waits for it is answered."""
        before = self._last.pop(publisher, None)
        if before is None and len(self._last) >= PUBLISHERS:
            del self._last[next(iter(self._last))]
        # What is sent again after a failure comes with an old number.
        self._last[publisher] = number = number if before is None or number > before else before
        waiting = self._waiting.get(publisher)
        if waiting is None:
            return
        for subscriber in [subscriber for subscriber, wanted in waiting.items() if wanted <= number]:
            self._leave(publisher, subscriber)
            self._answer(subscriber, Passed(publisher, number))

    def asked(self, subscriber: Subscriber, publisher: bytes, number: int) -> None:
        """A subscriber asks to be told when everything up to a number has passed."""
        last = self._last.get(publisher, 0)
        if last >= number:
            self._answer(subscriber, Passed(publisher, last))
            return
        if subscriber in self._waiting.get(publisher, ()):
            self._leave(publisher, subscriber)
        asking = self._asking.get(subscriber)
        if asking and (len(asking) >= WAITING_EACH or self._count >= WAITING):
            oldest = next(iter(asking))
            self._leave(oldest, subscriber)
            self._answer(subscriber, Passed(oldest, self._last.get(oldest, 0)))
        if self._count >= WAITING:
            self._answer(subscriber, Passed(publisher, last))
            return
        self._asking.setdefault(subscriber, {})[publisher] = None
        self._waiting.setdefault(publisher, {})[subscriber] = number
        self._count += 1

    def _answer(self, subscriber: Subscriber, passed: Passed) -> None:
        kept = self._congested.get(subscriber)
        if kept is None:
            self.answers.append((subscriber, passed))
            return
        kept.pop(passed.publisher, None)
        if len(kept) >= WAITING_EACH:
            del kept[next(iter(kept))]
        kept[passed.publisher] = passed

    def take(self) -> list[tuple[Subscriber, Passed]]:
        """The answers that may be sent."""
        answers, self.answers = self.answers, []
        return answers

    def hold(self, subscriber: Subscriber) -> None:
        """Deltas for the subscriber are kept, so its answers are too; it has one question under way for each publisher."""
        self._congested.setdefault(subscriber, {})

    def holds(self, subscriber: Subscriber) -> bool:
        """Whether deltas for the subscriber are kept."""
        return subscriber in self._congested

    def unhold(self, subscriber: Subscriber) -> None:
        """What was kept is about to be sent."""
        self.answers.extend((subscriber, passed) for passed in self._congested.pop(subscriber, {}).values())

    def drop(self, subscriber: Subscriber) -> None:
        """The subscriber is gone, and its questions."""
        self._congested.pop(subscriber, None)
        for publisher in list(self._asking.get(subscriber, ())):
            self._leave(publisher, subscriber)

    def _leave(self, publisher: bytes, subscriber: Subscriber) -> None:
        waiting = self._waiting[publisher]
        del waiting[subscriber]
        self._count -= 1
        asking = self._asking[subscriber]
        del asking[publisher]
        if not asking:
            del self._asking[subscriber]
        if not waiting:
            del self._waiting[publisher]
