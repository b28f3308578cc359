"""Auto: whichever matcher is best for the conditions and events that it sees, and why.

What is best depends on how often conditions change, how many there are, how many different sets of fields events have, and how
much conditions have in common (Filman and Lee, section "Which is best?"). The rule below is that of the measured table in
docs/channels.md. Another matcher is filled while the first goes on, a few conditions with each event, and takes over when it has
all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ..languages.expressions import Condition
from ..languages.relations import Relations
from ..values import Fields
from .bitmap import Bitmap
from .compile import Compile
from .matcher import Matcher

PERIOD: Final = 512
"""Events after which it is looked at what is best."""
HYSTERESIS: Final = 3
"""How often in a row another matcher has to be better before it takes over."""
FILLED: Final = 32
"""Conditions that go into the next matcher with each event."""
MATCHERS: Final[dict[str, Callable[[Relations], Matcher]]] = {"bitmap": Bitmap, "compile": Compile}
"""Those between which is chosen: each of the others is nowhere more than 20 % better than the better one of these."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen in a period."""

    conditions: int
    events: int
    changes: int
    field_sets: int
    """Different sets of fields of its events."""


def best_for(seen: Seen) -> tuple[str, str]:
    """The name of the best matcher, and why."""
    events = max(seen.events, 1)
    if seen.changes > events / 50:
        return "compile", f"{seen.changes} changes in {seen.events} events: sets of conditions would be made anew too often"
    if seen.conditions > 20_000:
        return "compile", f"{seen.conditions:,} conditions: their sets are long"
    if seen.field_sets > events / 8:
        return "compile", f"{seen.field_sets} different sets of fields in {seen.events} events: few are seen again"
    return "bitmap", f"{seen.conditions:,} conditions, few changes, and sets of fields that come again"


class Auto:
    """The matcher that changes with what it sees."""

    def __init__(self, relations: Relations, on_change: Callable[[str, str], None] = lambda name, why: None) -> None:
        self._relations = relations
        self._on_change = on_change
        self.name = "compile"
        """Of the matcher in use."""
        self.why = "nothing was seen yet"
        self._matcher: Matcher = Compile(relations)
        self._next: Matcher | None = None
        self._next_name, self._next_why = "", ""
        self._waiting: dict[int, Condition] = {}
        """What is not in the next matcher yet."""
        self._conditions: dict[int, Condition] = {}
        self._votes = 0
        self._events = self._changes = 0
        self._field_sets: set[frozenset[str]] = set()
        """Of this period; limit: PERIOD."""

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        self._changes += 1
        self._conditions[number] = condition
        self._matcher.insert(number, condition)
        if self._next is not None:
            self._waiting[number] = condition

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        del self._conditions[number]
        self._changes += 1
        self._matcher.remove(number)
        if self._next is not None and self._waiting.pop(number, None) is None:
            self._next.remove(number)

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        self._events += 1
        self._field_sets.add(frozenset(fields))
        if self._events >= PERIOD:
            self._look()
        if self._next is not None:
            self._fill(self._next)
        return self._matcher.match(fields, environment)

    def _look(self) -> None:
        seen = Seen(len(self._conditions), self._events, self._changes, len(self._field_sets))
        self._events = self._changes = 0
        self._field_sets.clear()
        name, why = best_for(seen)
        if name == (self._next_name if self._next is not None else self.name):
            self._votes = 0
            if name == self.name:
                self.why = why
            return
        self._votes += 1
        if self._votes >= HYSTERESIS:
            self._votes = 0
            if name == self.name:
                self._next, self._waiting = None, {}  # what was seen meanwhile speaks for the one in use
            else:
                self._next, self._next_name, self._next_why = MATCHERS[name](self._relations), name, why
                self._waiting = dict(self._conditions)

    def _fill(self, following: Matcher) -> None:
        for _ in range(min(FILLED, len(self._waiting))):
            following.insert(*self._waiting.popitem())
        if not self._waiting:
            self._matcher, self._next = following, None
            self.name, self.why = self._next_name, self._next_why
            self._on_change(self.name, self.why)

    def __len__(self) -> int:
        return len(self._conditions)
