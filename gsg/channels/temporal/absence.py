"""Absence: matches that wait until it is sure that certain events stay away, and the times at which it is.

An absence begins when its event arrives and ends so many seconds later; an event at that very moment is too late to be in the
way. So what a match waits for is a time and no call: whoever advances the clock late learns of the same matches, later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from operator import itemgetter
from typing import Final, TypeAlias

from .checks import Place
from .index import Found, Index, Record, equality_key
from .memory import Memory
from .plan import AbsencePlan

COMPACTED: Final = 64
"""Entries of the timers that are over and not yet due; beyond, they are dropped as soon as they are half of all."""

_ARRIVAL: Final = itemgetter(0)


class Waiting:
    """A match that waits until ``due_s``."""

    __slots__ = ("due_s", "found", "is_over", "keys", "number")

    def __init__(self, number: int, found: Found, due_s: float, keys: tuple[object, ...]) -> None:
        self.number = number
        """Of the subscription."""
        self.found = found
        self.due_s = due_s
        self.keys = keys
        self.is_over = False
        """Whether it was told, or will not be."""


_Entry: TypeAlias = tuple[float, int, int, tuple[int, ...], int, Waiting]


class Timers:
    """All matches that wait, of all subscriptions, by the time at which each is due. Bounded by the sum of what these may have
    waiting, twice."""

    def __init__(self) -> None:
        self.heap: list[_Entry] = []
        """Empty where nothing waits."""
        self._serial = count()
        self._over = 0

    def start(self, waiting: Waiting) -> None:
        """Let a match become due."""
        arrivals = tuple(record.arrival for record in waiting.found)
        heappush(self.heap, (waiting.due_s, waiting.number, max(arrivals), arrivals, next(self._serial), waiting))

    def stop(self, waiting: Waiting) -> None:
        """It will not be told."""
        waiting.is_over = True
        self._over += 1
        if self._over > COMPACTED and 2 * self._over > len(self.heap):
            self.heap = [entry for entry in self.heap if not entry[-1].is_over]
            heapify(self.heap)
            self._over = 0

    @property
    def first(self) -> tuple[int, float] | None:
        """The number of the subscription of the next one, and when that is due."""
        self._drop()
        return (self.heap[0][1], self.heap[0][0]) if self.heap else None

    def take_due(self, now_s: float, limit: int) -> list[Waiting]:
        """Those that are due, in the order of their times, then subscriptions, then arrivals; so many at most."""
        due: list[Waiting] = []
        self._drop()
        while self.heap and self.heap[0][0] <= now_s and len(due) < limit:
            waiting = heappop(self.heap)[-1]
            waiting.is_over = True
            due.append(waiting)
            self._drop()
        return due

    def _drop(self) -> None:
        while self.heap and self.heap[0][-1].is_over:
            heappop(self.heap)
            self._over -= 1


class Absences:
    """Those of one subscription, and its matches that wait for them."""

    def __init__(
        self,
        number: int,
        plans: Sequence[AbsencePlan],
        memories: Sequence[Memory],
        timers: Timers,
        spend: Callable[[int], None],
    ) -> None:
        self._number = number
        self._plans = plans
        self._memories = memories
        self._timers = timers
        self._spend = spend
        """Told of each event, or match that waits, that is looked at for another. Raises TooManySteps."""
        self._indexes: list[Index] = [memory.use_index(plan.columns, None) for plan, memory in zip(plans, memories, strict=True)]
        self._waiting: list[dict[object, dict[Waiting, None]]] = [{} for _ in plans]
        """By absence, the matches that an event of a key might be in the way of."""
        self.length = 0
        """How many matches wait."""

    def begin(self, found: Found) -> Waiting | None:
        """What a match waits for from now on, which may be over already; None where an event is in its way. Raises TooManySteps."""
        keys = []
        due_s = 0.0
        for plan, index in zip(self._plans, self._indexes, strict=True):
            after = found[plan.after]
            end_s = after.time_s + plan.duration_s
            key = _key_at(found, plan.equal_to)
            records = index.buckets.get(key, [])
            for record in records[bisect_right(records, after.arrival, key=_ARRIVAL) :]:
                if record.time_s >= end_s:
                    break
                self._spend(1)
                if self._is_in_the_way(plan, found, record):
                    return None
            keys.append(key)
            due_s = max(due_s, end_s)
        return Waiting(self._number, found, due_s, tuple(keys))

    def wait(self, waiting: Waiting) -> None:
        """Let a match wait."""
        for by_key, key in zip(self._waiting, waiting.keys, strict=True):
            by_key.setdefault(key, {})[waiting] = None
        self.length += 1
        self._timers.start(waiting)

    def happened(self, absence: int, record: Record) -> None:
        """An event arrives that was to stay away. Raises TooManySteps."""
        plan = self._plans[absence]
        keys = tuple(record.keys[column] for column in plan.columns)
        for waiting in list(self._waiting[absence].get(keys[0] if len(keys) == 1 else keys, ())):
            self._spend(1)
            is_in_time = record.time_s < waiting.found[plan.after].time_s + plan.duration_s
            if is_in_time and self._is_in_the_way(plan, waiting.found, record):
                self._timers.stop(waiting)
                self.forget(waiting)

    def forget(self, waiting: Waiting) -> None:
        """A match waits no more."""
        for by_key, key in zip(self._waiting, waiting.keys, strict=True):
            of_key = by_key[key]
            del of_key[waiting]
            if not of_key:
                del by_key[key]
        self.length -= 1

    def close(self) -> None:
        """Nothing waits any more, and the indexes are released."""
        for of_key in self._waiting[0].values() if self._waiting else ():
            for waiting in of_key:
                self._timers.stop(waiting)
        self._waiting = [{} for _ in self._plans]
        for plan, memory in zip(self._plans, self._memories, strict=True):
            memory.release_index(plan.columns, None)

    def _is_in_the_way(self, plan: AbsencePlan, found: Found, record: Record) -> bool:
        checks = plan.checks
        if checks is None:
            return True
        bindings = {name: found[number].values[column] for name, (number, column) in checks.bound}
        return checks.hold(bindings, record.values, self._spend)


def _key_at(found: Found, places: tuple[Place, ...]) -> object:
    """The key of values at some places, as an index has it."""
    keys = tuple(equality_key(found[number].values[column]) for number, column in places)
    return keys[0] if len(keys) == 1 else keys
