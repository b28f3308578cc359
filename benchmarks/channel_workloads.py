"""What benchmarks/channels.py matches: conditions and events by a seed, and the floor that every figure stands beside."""

from __future__ import annotations

import itertools
from bisect import bisect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from gsg.channels.languages.expressions import And, Comparison, Condition, Constant, Field, Not, Or
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.source import LazyTest
from gsg.channels.values import Fields as Values

Fields = dict[str, Any]  # Any: numbers, here
EVENTS_PER_S = 10_000
"""At which rate of events conditions change by a share of them each second."""


@dataclass(frozen=True)
class Workload:
    """What is matched."""

    conditions: int
    fields: int = 20
    """Of an event."""
    names: int = 100
    """Of which fields there are."""
    equality: float = 0.6
    """The share of tests that are equalities."""
    field_sets: int = 0
    """Different sets of fields; 0 for one of its own each event."""
    events: int = 0
    """Different events; 0 for a new one each time."""
    changes_percent: int = 0
    """Conditions of a hundred that are replaced each second, at EVENTS_PER_S."""
    special: bool = False
    """Whether each condition is one of a few with more tests: these imply those."""
    trees: bool = False
    """Whether conditions are and/or/not trees."""

    @property
    def name(self) -> str:
        """What tells it from others."""
        said = [f"{self.conditions:,}"]
        if self.fields != Workload.fields:
            said.append(f"{self.fields} of {self.names} fields")
        if self.equality != Workload.equality:
            said.append(f"{self.equality:.0%} equalities")
        if self.field_sets:
            said.append(f"{self.field_sets:,} sets of fields")
        if self.events:
            said.append(f"{self.events:,} events that come again")
        if self.changes_percent:
            said.append(f"{self.changes_percent} % changes a second")
        if self.special:
            said.append("subsumption")
        return ", ".join([*said, "trees"] if self.trees else said)

    @property
    def changes(self) -> float:
        """Conditions that are replaced with each event."""
        return self.conditions * self.changes_percent / 100 / EVENTS_PER_S


WORKLOADS = [
    *(Workload(count) for count in (1_000, 10_000, 100_000)),
    Workload(10_000, fields=200, names=1_000),
    Workload(10_000, equality=0.9),
    Workload(10_000, equality=0.2),
    Workload(10_000, field_sets=20),
    Workload(10_000, field_sets=2_000),
    Workload(10_000, events=200),
    *(Workload(count, changes_percent=percent) for count in (10_000, 100_000) for percent in (1, 10)),
    Workload(10_000, special=True),
    Workload(10_000, trees=True),
]
QUICK = [Workload(200), Workload(200, changes_percent=100), Workload(200, trees=True, events=20), Workload(200, special=True)]


class Draw:
    """Conditions and events of a workload, by a seed."""

    def __init__(self, workload: Workload, seed: int = 1) -> None:
        self._workload = workload
        self._rng = Random(seed)
        self._all_names = [f"f{number}" for number in range(workload.names)]
        self._field, self._value = self._zipf(workload.names), self._zipf(1_000)
        self._sets = [self._names(workload.fields) for _ in range(workload.field_sets)]
        self._general = [self._tests(2) for _ in range(workload.conditions // 20)] if workload.special else []
        self._events = [self._new_event() for _ in range(workload.events)]

    def _zipf(self, count: int) -> Callable[[], int]:
        weights = list(itertools.accumulate(1 / (number + 1) for number in range(count)))
        return lambda: bisect(weights, self._rng.random() * weights[-1])

    def _names(self, count: int) -> list[str]:
        names: dict[str, None] = {}
        while len(names) < count:
            names[self._all_names[self._field()]] = None
        return list(names)

    def _tests(self, count: int) -> list[Condition]:
        return [self._test(name) for name in self._names(count)]

    def condition(self) -> Condition:
        """Five tests that are to hold all, or a tree of them."""
        if self._general:
            return And((*self._rng.choice(self._general), *self._tests(self._rng.randint(1, 3))))
        tests = self._tests(5)
        if not self._workload.trees:
            return And(tuple(tests))
        one, two, three, four, five = tests
        return And((one, Or((two, And((three, four)))), Not(five)))

    def _test(self, name: str) -> Condition:
        field = Field((name,))
        if self._rng.random() < self._workload.equality:
            return Comparison("=", field, Constant(self._value()))
        return Comparison(self._rng.choice(["<", ">", "<=", ">="]), field, Constant(self._rng.randint(0, 1_000)))

    def event(self) -> Fields:
        """One event."""
        return self._rng.choice(self._events) if self._events else self._new_event()

    def _new_event(self) -> Fields:
        names = self._rng.choice(self._sets) if self._sets else self._names(self._workload.fields)
        return {name: self._value() for name in names}


class Rarest:
    """The floor: a dict on the rarest equality of each condition, closures for the rest."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._counts: Counter[tuple[str, object]] = Counter()
        self._buckets: dict[tuple[str, object], dict[int, LazyTest]] = {}
        self._rest: dict[int, LazyTest] = {}
        self._keys: dict[int, tuple[str, object] | None] = {}

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        parts = condition.parts if isinstance(condition, And) else (condition,)
        keys = [(part.left.path[0], part.right.value) for part in parts if _is_equality(part)]  # type: ignore[union-attr]  # as just seen
        self._counts.update(keys)
        key = self._keys[number] = min(keys, key=self._counts.__getitem__, default=None)
        place = self._rest if key is None else self._buckets.setdefault(key, {})
        place[number] = LazyTest(condition, self._relations)

    def remove(self, number: int) -> None:
        """Forget a condition."""
        key = self._keys.pop(number)
        del (self._rest if key is None else self._buckets[key])[number]

    def test_of(self, number: int) -> LazyTest:
        """The closure of a condition."""
        key = self._keys[number]
        return (self._rest if key is None else self._buckets[key])[number]

    def match(self, fields: Values, environment: Values) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        found = []
        for item in fields.items():
            bucket = self._buckets.get(item)
            if bucket:
                found += [number for number, test in bucket.items() if test(fields, environment)]
        return found + [number for number, test in self._rest.items() if test(fields, environment)]

    def __len__(self) -> int:
        return len(self._keys)


def _is_equality(part: Condition) -> bool:
    return isinstance(part, Comparison) and part.operator == "=" and isinstance(part.left, Field)
