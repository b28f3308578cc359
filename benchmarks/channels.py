"""Which matcher of event channels is best: events a second of each, on workloads along the axes of published generators.

    python -m benchmarks.channels                    all workloads, some minutes
    python -m benchmarks.channels --quick            does it work at all?
    python -m benchmarks.channels --only 10,000      workloads with this in their names
    python -m benchmarks.channels --matcher compile --matcher bitmap

A workload has so many conditions of five tests each, on fields drawn from a hundred by Zipf's law, with a share of equalities;
events have so many fields, values are drawn from a thousand by Zipf's law. Beside each figure stands the ratio to *rarest*: a dict
on the rarest equality of each condition, and a compiled closure for the rest of it. A figure is that of the best of some rounds of
the same events (what is made while events come has been made then), in CPU time; every matcher's answers are compared with those
of rarest.
"""

from __future__ import annotations

import itertools
import json
import time
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

import click

from benchmarks.machine import machine
from gsg.channels.languages.expressions import And, Comparison, Condition, Constant, Field, Not, Or
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.source import LazyTest
from gsg.channels.matchers.auto import Auto
from gsg.channels.matchers.bitmap import Bitmap
from gsg.channels.matchers.compile import Compile
from gsg.channels.matchers.lattice import Lattice
from gsg.channels.matchers.matcher import Matcher
from gsg.channels.matchers.memo import Memo
from gsg.channels.matchers.rete import Rete
from gsg.channels.matchers.sig import Sig
from gsg.channels.values import Fields as Values

Fields = dict[str, Any]  # Any: numbers, here
MATCHERS: dict[str, Callable[[Relations], Matcher]] = {
    "sig": Sig,
    "memo": Memo,
    "lattice": Lattice,
    "compile": Compile,
    "bitmap": Bitmap,
    "rete": Rete,
    "auto": Auto,
}
NAMES = [f"f{number}" for number in range(100)]
ROUNDS = 8
SLOW_S = 20.0
"""CPU time after which a matcher is not given another round."""


@dataclass(frozen=True)
class Workload:
    """What is matched."""

    conditions: int
    events: int = 1_000
    fields: int = 20
    """Of an event."""
    equality: float = 0.6
    """The share of tests that are equalities."""
    field_sets: int = 0
    """Different sets of fields; 0 for one of its own each event."""
    changes: float = 0.0
    """Conditions that are replaced with each event."""
    trees: bool = False
    """Whether conditions are and/or/not trees."""

    @property
    def name(self) -> str:
        """What tells it from others."""
        said = [f"{self.conditions:,} conditions"]
        if self.fields != Workload.fields:
            said.append(f"{self.fields} fields")
        if self.equality != Workload.equality:
            said.append(f"{self.equality:.0%} equalities")
        if self.field_sets:
            said.append(f"{self.field_sets:,} sets of fields")
        if self.changes:
            said.append(f"{self.changes:g} changes an event")
        return ", ".join([*said, "trees"] if self.trees else said)


WORKLOADS = [
    *(Workload(count) for count in (1_000, 10_000, 100_000)),
    Workload(10_000, fields=90),
    Workload(10_000, equality=0.9),
    Workload(10_000, equality=0.2),
    Workload(10_000, field_sets=20),
    Workload(10_000, field_sets=2_000),
    Workload(10_000, changes=0.1),
    Workload(10_000, changes=1.0),
    Workload(10_000, trees=True),
]


@dataclass(frozen=True)
class Measured:
    """One matcher on one workload."""

    workload: str
    matcher: str
    events_per_s: float
    ratio: float
    """To the dict on the rarest equality."""
    insert_us: float
    worst_ms: float
    """The longest that one event took in any round but the first."""
    chosen: str = ""
    """By auto."""


class Draw:
    """Conditions and events of a workload, by a seed."""

    def __init__(self, workload: Workload, seed: int = 1) -> None:
        self._workload = workload
        self._rng = Random(seed)
        self._field, self._value = self._zipf(len(NAMES)), self._zipf(1_000)
        self._sets = [self._names(workload.fields) for _ in range(workload.field_sets)]

    def _zipf(self, count: int) -> Callable[[], int]:
        weights = list(itertools.accumulate(1 / (number + 1) for number in range(count)))
        return lambda: bisect(weights, self._rng.random() * weights[-1])

    def _names(self, count: int) -> list[str]:
        names: dict[str, None] = {}
        while len(names) < count:
            names[NAMES[self._field()]] = None
        return list(names)

    def condition(self) -> Condition:
        """Five tests that are to hold all, or a tree of them."""
        tests = [self._test(name) for name in self._names(5)]
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


def measure(workload: Workload, name: str, make: Callable[[Relations], Matcher]) -> tuple[Measured, list[int]]:
    """One matcher on one workload, and how many conditions each event of the last round met."""
    draw = Draw(workload)
    matcher = make(Relations())
    conditions = [draw.condition() for _ in range(workload.conditions)]
    events = [draw.event() for _ in range(workload.events)]
    spares = [draw.condition() for _ in range(1_000)]
    began_s = time.process_time()
    for number, condition in enumerate(conditions):
        matcher.insert(number, condition)
    insert_us = (time.process_time() - began_s) / len(conditions) * 1e6
    oldest, newest, owed = 0, len(conditions), 0.0
    best, worst_s, spent_s, counts = 0.0, 0.0, 0.0, list[int]()
    for turn in range(ROUNDS):
        counts = []
        began_s = time.process_time()
        for event in events:
            owed += workload.changes
            while owed >= 1.0:
                owed -= 1.0
                matcher.remove(oldest)
                matcher.insert(newest, spares[newest % len(spares)])
                oldest, newest = oldest + 1, newest + 1
            one_s = time.process_time()
            counts.append(len(matcher.match(event, {})))
            if turn:
                worst_s = max(worst_s, time.process_time() - one_s)
        took_s = time.process_time() - began_s
        best, spent_s = max(best, len(events) / took_s), spent_s + took_s
        if spent_s > SLOW_S:
            break
    chosen = matcher.name if isinstance(matcher, Auto) else ""
    return Measured(workload.name, name, best, 0.0, insert_us, worst_s * 1e3, chosen), counts


def run(workload: Workload, matchers: Sequence[str]) -> list[Measured]:
    """All matchers on one workload. Raises AssertionError where their answers differ."""
    floor, expected = measure(workload, "rarest", Rarest)
    found = [Measured(**{**asdict(floor), "ratio": 1.0})]
    for name in matchers:
        if name in ("sig", "lattice") and workload.conditions > 10_000:
            continue  # they look at each set of required fields with every event: a round takes minutes
        measured, counts = measure(workload, name, MATCHERS[name])
        if not workload.changes:
            assert counts == expected, f"{name} on {workload.name}: other answers than rarest"
        found.append(Measured(**{**asdict(measured), "ratio": measured.events_per_s / floor.events_per_s}))
    return found


@click.command(help=__doc__.split("\n")[0] if __doc__ else None)
@click.option("--quick", is_flag=True, help="Small sizes: does it work at all?")
@click.option("--only", default="", help="Only workloads with this in their names.")
@click.option("--matcher", "matchers", multiple=True, type=click.Choice(list(MATCHERS)), help="Only this one; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
def main(quick: bool, only: str, matchers: tuple[str, ...], as_json: bool) -> None:
    workloads = [Workload(200, events=50), Workload(200, events=50, trees=True)] if quick else WORKLOADS
    results = []
    if not as_json:
        print(machine())
    for workload in workloads:
        if only not in workload.name:
            continue
        for each in run(workload, matchers or list(MATCHERS)):
            results.append(each)
            if not as_json:
                chosen = f" ({each.chosen})" if each.chosen else ""
                print(
                    f"{each.workload:45} {each.matcher + chosen:15} {each.events_per_s:10,.0f} events/s"
                    f" {each.ratio:6.2f} x rarest  insert {each.insert_us:6.1f} us  worst {each.worst_ms:7.2f} ms",
                    flush=True,
                )
    if as_json:
        print(json.dumps({"machine": machine(), "measured": [asdict(each) for each in results]}, indent=2))


if __name__ == "__main__":
    main()
