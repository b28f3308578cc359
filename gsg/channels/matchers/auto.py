"""Auto: each condition is with the matcher that is best for it, by what it asks and by the events that come.

What is best depends on how often conditions change, how many there are, how often values come again, and what conditions have in
common (Filman and Lee, section "Which is best?"). The rules below are those of the measured table in docs/benchmarks/:

* Compile has the conditions that require a rare test, since few events meet them, and those that Bitmap cannot index.
* Bitmap has those that require no test on a value but comparisons, where they are many; and all that are of comparisons where
  values of events come again and conditions stay.

A condition is with one of the two at each time. Where the rule changes, some go over with each event, so no event waits for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from ..languages.expressions import Condition, has_relation
from ..languages.relations import Relations
from ..values import Fields
from .access import ANY_VALUE, Access
from .bitmap import REMEMBERED_BYTES, Bitmap, is_indexed
from .compile import Compile
from .memory import ENTRY_BYTES

PERIOD: Final = 512
"""Events after which it is looked at what is best."""
SAMPLED: Final = 8
"""Of so many events, the values of one are looked at."""
PEEKED: Final = 32
"""Fields of such an event at whose values it is looked."""
HYSTERESIS: Final = 3
"""How often in a row something else has to be best before conditions go over."""
MOVED: Final = 16
"""Conditions that go over with each event, at most."""
ASKED: Final = 64
"""Conditions that are asked with each event whether they have to go over, at most."""
WIDE: Final = 2_000
"""Conditions without a test on a value that are tried one by one where their field is there; of more, Bitmap has them."""
CROWDED: Final = 150
"""Conditions that wait under one test and are tried one by one; of more, Bitmap has those that come then."""
MAX_SAMPLES: Final = 32_768
"""Values that were sampled and are known again; beyond, those that did not come lately are forgotten."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen in a period."""

    conditions: int
    wide: int
    """Of these, those that require no test on a value but are of comparisons that can be indexed."""
    events: int
    changes: int
    new_values: float
    """The share of the values of events, by field, that did not come before."""
    values: int = 0
    """How many different ones came, as far as they were looked at."""


def best_for(seen: Seen) -> tuple[str, str]:
    """What is best for conditions that both can have, and why: ``bitmap``, ``compile``, or ``compile, wide in bitmap``."""
    events = max(seen.events, 1)
    is_changing = seen.changes > events / 50
    remembered_bytes = seen.values * (seen.conditions // 8 + ENTRY_BYTES)
    if not is_changing and seen.conditions <= 20_000 and seen.new_values < 0.05 and remembered_bytes < REMEMBERED_BYTES / 2:
        return "bitmap", f"{seen.conditions:,} conditions, few changes, and {1 - seen.new_values:.0%} of the values come again"
    if is_changing:
        why = f"{seen.changes} changes in {seen.events} events: what is remembered of values would be made anew too often"
    elif seen.conditions > 20_000:
        why = f"{seen.conditions:,} conditions: sets of them are long"
    elif seen.new_values < 0.05:
        why = f"{seen.values:,} values or more: what is remembered of them would take too much memory"
    else:
        why = f"{seen.new_values:.0%} of the values are new: what is remembered of values seldom helps"
    if seen.wide > WIDE:
        return "compile, wide in bitmap", f"{why}; {seen.wide:,} require no test on a value, which are too many to try"
    return "compile", why


class _Values:
    """Which of the values that are looked at come again."""

    def __init__(self) -> None:
        self._lately: set[int] = set()
        """Hashes of fields with values, limit: MAX_SAMPLES / 2; those before that are kept as long again."""
        self._before: set[int] = set()
        self._new = self._all = 0

    def sample(self, fields: Fields) -> None:
        """Look at an event, at PEEKED of its fields at most."""
        items = list(islice(fields.items(), PEEKED))
        try:
            seen = set(map(hash, items))
        except TypeError:  # a list or an event within it
            seen = {hash(item) for item in items if not isinstance(item[1], (list, dict))}
        fresh = seen - self._lately
        self._all += len(seen)
        self._new += len(fresh - self._before)
        self._lately |= fresh
        if len(self._lately) > MAX_SAMPLES / 2:
            self._lately, self._before = set(), self._lately

    def take(self) -> tuple[float, int]:
        """The share of those that were new since this was last asked, and how many different ones are known, at most."""
        share = self._new / self._all if self._all else 0.0
        self._new = self._all = 0
        return share, len(self._lately) + len(self._before)


class Auto:
    """Two matchers, and which of them has a condition."""

    def __init__(self, relations: Relations, on_change: Callable[[str, str], None] = lambda name, why: None) -> None:
        self._on_change = on_change
        self.name = "compile"
        """Of the rule in use."""
        self.why = "nothing was seen yet"
        self._compile = Compile(relations)
        self._bitmap = Bitmap(relations)
        self._conditions: dict[int, Condition] = {}
        self._in_bitmap: set[int] = set()
        self._wide: set[int] = set()
        """Those that require no test on a value, and can be indexed."""
        self._waiting: list[int] = []
        """Numbers of conditions that are to be asked where they belong."""
        self._votes = 0
        self._events = self._changes = 0
        self._is_first_period = True
        """What was inserted before it is no change."""
        self._values = _Values()

    @property
    def moving(self) -> bool:
        """Whether conditions go over from one matcher to the other."""
        return bool(self._waiting)

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        self._changes += 1
        self._conditions[number] = condition
        places = self._compile.places_of(condition)
        if places[0].key is ANY_VALUE and len(places) == 1 and _is_of_comparisons(condition):
            self._wide.add(number)
            if len(self._wide) == WIDE + 1 and self.name == "compile":
                # Not to be waited for: each of them costs something with nearly each event.
                self._use("compile, wide in bitmap", f"more than {WIDE} conditions require no test on a value")
        self._put(number, condition, places)

    def _put(self, number: int, condition: Condition, places: list[Access]) -> None:
        if self._belongs_to_bitmap(number, condition, places):
            self._in_bitmap.add(number)
            self._bitmap.insert(number, condition)
        else:
            self._compile.insert(number, condition, places)

    def _belongs_to_bitmap(self, number: int, condition: Condition, places: list[Access]) -> bool:
        if number in self._wide:
            return self.name != "compile"
        return (self.name == "bitmap" or self._compile.crowd(places) > CROWDED) and _is_of_comparisons(condition)

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        del self._conditions[number]
        self._changes += 1
        self._wide.discard(number)
        if number in self._in_bitmap:
            self._in_bitmap.discard(number)
            self._bitmap.remove(number)
        else:
            self._compile.remove(number)

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        self._events += 1
        if not self._events % SAMPLED:
            self._values.sample(fields)
            if self._events >= PERIOD:
                self._look()
        if self._waiting:
            self._move(self._waiting)
        if not self._in_bitmap:
            return self._compile.match(fields, environment)
        found = self._bitmap.match(fields, environment)
        return found + self._compile.match(fields, environment) if len(self._compile) else found

    def _look(self) -> None:
        new, values = self._values.take()
        changes = 0 if self._is_first_period else self._changes
        seen = Seen(len(self._conditions), len(self._wide), self._events, changes, new, values)
        self._events, self._changes, self._is_first_period = 0, 0, False
        name, why = best_for(seen)
        if name == self.name:
            self.why, self._votes = why, 0
            return
        self._votes += 1
        if self._votes >= HYSTERESIS:
            self._use(name, why)

    def _use(self, name: str, why: str) -> None:
        self.name, self.why, self._votes = name, why, 0
        self._waiting = list(self._conditions)
        self._on_change(name, why)

    def _move(self, waiting: list[int]) -> None:
        moved = 0
        for _ in range(min(ASKED, len(waiting))):
            number = waiting.pop()
            condition = self._conditions.get(number)
            if condition is None:
                continue
            is_there = number in self._in_bitmap
            if is_there == self._belongs_to_bitmap(number, condition, self._compile.places_of(condition)):
                continue
            if is_there:
                self._in_bitmap.discard(number)
                self._bitmap.remove(number)
                self._compile.insert(number, condition)
            else:
                self._compile.remove(number)
                self._in_bitmap.add(number)
                self._bitmap.insert(number, condition)
            moved += 1
            if moved == MOVED:
                break

    def __len__(self) -> int:
        return len(self._conditions)


def _is_of_comparisons(condition: Condition) -> bool:
    """Whether sets of bits are found quickly for all parts where a value is new; those of parts of texts are not."""
    return is_indexed(condition) and not has_relation(condition)
