"""What a channel has to post, decided without any peer: features, each with the tests of those who want events that have it.

Equal tests are one. Where one feature would have more than MAX_TESTS_AT_ONE of them it is posted once, for all who ask there: too
much comes then, and never too little. So a channel posts a bounded number of tests at each of its features.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Final

from ...tuples.terms import Term
from ...wire.messages import Test
from ..languages.expressions import TRUE, Condition
from ..languages.predicate import any_of
from .event_tests import test_of
from .features import SAID_ELSEWHERE, Crowd, required_by
from .portable import portable

MAX_TESTS_AT_ONE: Final = 64


@dataclass(frozen=True, slots=True)
class Interest:
    """Somebody's condition, as others may see it."""

    condition: Condition
    asker: str


@dataclass(frozen=True, slots=True)
class Posting:
    """A feature, and the test of an event under it."""

    feature: Term
    test: Test


class Postings:
    """The postings of one channel."""

    def __init__(self) -> None:
        self._placed: dict[Interest, tuple[Term, ...]] = {}
        """The features under which each interest is posted; it stays where it is while anybody has it."""
        self._users: Counter[Interest] = Counter()
        self._at: defaultdict[Term, Counter[tuple[Condition, str]]] = defaultdict(Counter)
        self._changed: set[Term] = set()
        self._posted: dict[Term, frozenset[Posting]] = {}

    def change(self, interest: Interest, more: int, crowd: Crowd) -> None:
        """So many more, or fewer, want something; ``crowd`` says how much is posted under a feature by others."""
        before = self._users[interest]
        self._users[interest] += more
        if not before:
            self._placed[interest] = (*required_by(interest.condition, crowd), SAID_ELSEWHERE)
        if not (before and self._users[interest]):
            self._count(interest, 1 if more > 0 else -1)
        if not self._users[interest]:
            del self._users[interest], self._placed[interest]

    def _count(self, interest: Interest, sign: int) -> None:
        test = portable(interest.condition), interest.asker
        for feature in self._placed[interest]:
            at = self._at[feature]
            at[test] += sign
            if not at[test]:
                del at[test]
            if not at:
                del self._at[feature]
            self._changed.add(feature)

    def take_changes(self) -> tuple[set[Posting], set[Posting]]:
        """What is to be posted, and then what is to be withdrawn, since this was last called."""
        to_post, to_withdraw = set[Posting](), set[Posting]()
        while self._changed:
            feature = self._changed.pop()
            before, now = self._posted.pop(feature, frozenset()), self._wanted(feature)
            if now:
                self._posted[feature] = now
            to_post |= now - before
            to_withdraw |= before - now
        return to_post, to_withdraw

    def _wanted(self, feature: Term) -> frozenset[Posting]:
        at = self._at.get(feature)
        if at is None:
            return frozenset()
        askers_of: defaultdict[Condition, set[str]] = defaultdict(set)
        for condition, asker in at:
            askers_of[condition].add(asker)
        if feature == SAID_ELSEWHERE and len(askers_of) > 1:
            # What comes from there has no source by which it is known again: it is to come by one posting.
            everybody = {asker for _, asker in at}
            askers_of = defaultdict(set, {portable(any_of(list(askers_of))): everybody})
        if len(askers_of) > MAX_TESTS_AT_ONE:
            askers_of = defaultdict(set, {TRUE: {asker for _, asker in at}})
        return frozenset(Posting(feature, test_of(askers, condition)) for condition, askers in askers_of.items())
