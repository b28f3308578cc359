"""How far a rendezvous has come with each publisher, and who waits to hear of it.

A subscriber that is fed by several rendezvous asks those by which its publisher said that earlier messages went
(:mod:`gsg.publisher.order`); it is answered after everything that was forwarded up to there.
"""

from __future__ import annotations

from typing import TypeAlias

from ..wire.messages import Passed
from .feed import Subscriber

PUBLISHERS = 4_096
"""Publishers whose last number a rendezvous remembers; beyond, the one unheard of for the longest is forgotten."""
WAITING = 100_000
"""Questions that wait at a rendezvous for their number to pass; beyond, they are answered at once with what has passed."""
WAITING_EACH = 1_000
"""So many of one asker, which has one for each publisher of whom something waits there: nobody fills the places of others. It
is as many as are answered after what is kept for a subscriber; beyond, the first are not answered. Of questions, the one that waits
for the longest is answered with what has passed, as its publisher may have died."""


_Asker: TypeAlias = tuple[Subscriber, "bytes | None"]
"""A subscriber, and ``of`` of its question."""


class Progress:
    """The last number of each publisher that has been forwarded here, and who waits for a later one."""

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}
        """Limit: PUBLISHERS."""
        self._asking: dict[_Asker, dict[bytes, int]] = {}
        """Which number of which publisher each asker waits for, the question that waits for the longest first. Limits: WAITING
        together, WAITING_EACH of one asker."""
        self._of_held: dict[Subscriber, dict[tuple[bytes, bytes | None], Passed]] = {}
        """Answers for those whose deltas are kept for now, by publisher and ``of``: they come after these. Limit: WAITING_EACH of
        each."""
        self.answers: list[tuple[Subscriber, Passed]] = []
        """To be sent after everything that was forwarded."""

    def advance(self, publisher: bytes, number: int) -> None:
        """Everything of a publisher up to this number has been forwarded: who waits for it is answered."""
        before = self._last.pop(publisher, None)
        if before is None and len(self._last) >= PUBLISHERS:
            del self._last[next(iter(self._last))]
        # What is sent again after a failure comes with an old number.
        self._last[publisher] = number = number if before is None or number > before else before
        for asker in [one for one, asking in self._asking.items() if asking.get(publisher, number + 1) <= number]:
            self._end_question(asker, publisher)
            self._answer(asker, publisher)

    def ask(self, subscriber: Subscriber, publisher: bytes, number: int, of: bytes | None = None) -> None:
        """A subscriber asks to be told when everything up to a number has been forwarded. ``of``: for those whom it feeds as a
        head, which is no question of its own; the answer repeats it."""
        asker = subscriber, of
        if self._last.get(publisher, 0) < number:
            self._end_question(asker, publisher)
            asking, waiting = self._asking.get(asker), sum(map(len, self._asking.values()))
            if asking and (len(asking) >= WAITING_EACH or waiting >= WAITING):
                waiting -= 1
                self._end_question(asker, oldest := next(iter(asking)))
                self._answer(asker, oldest)
            if waiting < WAITING:
                self._asking.setdefault(asker, {})[publisher] = number
                return
        self._answer(asker, publisher)

    def first_wanted(self, publisher: bytes) -> int | None:
        """The first number of a publisher that anybody waits for."""
        return min((asking[publisher] for asking in self._asking.values() if publisher in asking), default=None)

    def _end_question(self, asker: _Asker, publisher: bytes) -> None:
        asking = self._asking.get(asker, {})
        if asking.pop(publisher, None) is not None and not asking:
            del self._asking[asker]

    def _answer(self, asker: _Asker, publisher: bytes) -> None:
        subscriber, of = asker
        self.answer(subscriber, Passed(publisher, self._last.get(publisher, 0), of))

    def answer(self, subscriber: Subscriber, passed: Passed) -> None:
        """Answer a subscriber after everything that was forwarded to it, what is kept for it included."""
        kept = self._of_held.get(subscriber)
        if kept is None:
            self.answers.append((subscriber, passed))
            return
        about = passed.publisher, passed.of
        kept.pop(about, None)
        if len(kept) >= WAITING_EACH:
            del kept[next(iter(kept))]
        kept[about] = passed

    def take_answers(self) -> list[tuple[Subscriber, Passed]]:
        """The answers that may be sent."""
        answers, self.answers = self.answers, []
        return answers

    def hold_answers(self, subscriber: Subscriber) -> None:
        """Deltas for the subscriber are kept, so its answers are too."""
        self._of_held.setdefault(subscriber, {})

    def holds_answers(self, subscriber: Subscriber) -> bool:
        """Whether deltas for the subscriber are kept."""
        return subscriber in self._of_held

    def release_answers(self, subscriber: Subscriber) -> None:
        """What was kept is about to be sent."""
        self.answers.extend((subscriber, passed) for passed in self._of_held.pop(subscriber, {}).values())

    def drop_subscriber(self, subscriber: Subscriber) -> None:
        """The subscriber is gone, and its questions."""
        self._of_held.pop(subscriber, None)
        for asker in [asker for asker in self._asking if asker[0] is subscriber]:
            del self._asking[asker]
