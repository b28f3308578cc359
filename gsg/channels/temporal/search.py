"""Search: which combinations of remembered events, one of which is given, are matches.

From the events that are bound so far it goes to the pattern for which fewest events come into question, by equality and order, so
that a pattern without any ends it at once. Nothing is kept from one search to the next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

from .index import LAST, NOTHING, Index, Record, Run, are_mixed, equality_key, is_within
from .memory import Memory
from .plan import Check, Place, Plan, Step, checks_hold

Found: TypeAlias = tuple[Record, ...]
"""An event for each pattern."""


class TooManySteps(Exception):
    """A search has looked at more events, or found more matches, than it may. The message says which."""


class _Lookup:
    """A step, and the index where it looks up."""

    __slots__ = (
        "_bounds",
        "_equal_to",
        "_index",
        "_is_after",
        "_is_upper",
        "_key",
        "_only",
        "_order",
        "checks",
        "has_several_bounds",
        "pattern",
        "step",
    )

    def __init__(self, step: Step, index: Index) -> None:
        self.step = step
        self.pattern = step.pattern
        self.checks = step.checks
        self._index = index
        self._equal_to = step.equal_to
        self._key = step.equal_to[0] if len(step.equal_to) == 1 else None
        self._order = step.order or 0
        self._bounds = step.bounds
        self.has_several_bounds = len(step.bounds) > 1
        self._only = step.bounds[0].place if len(step.bounds) == 1 else None
        """Where the value of the only bound is."""
        self._is_upper = bool(step.bounds) and step.bounds[0].operator in ("<", "<=")
        self._is_after = bool(step.bounds) and step.bounds[0].operator in ("<=", ">")
        """Whether the range ends, or begins, after the values that are level with it."""

    def find(self, records: list[Record]) -> tuple[int, tuple[Run, ...]]:
        """How many events come into question, and where they are."""
        place = self._key
        key: object
        if place is not None:
            key = records[place[0]].keys[place[1]]
        else:
            key = tuple([records[number].keys[column] for number, column in self._equal_to])
        place = self._only
        if place is None:
            return self._index.find(key, self._values(records) if self._bounds else [])
        bucket = self._index.buckets.get(key)
        if bucket is None:
            return NOTHING
        value = records[place[0]].values[place[1]]
        kind = value.__class__
        if kind is str:
            entries, others = bucket.texts, bucket.numbers
        elif kind is int or (kind is float and value == value):
            entries, others = bucket.numbers, bucket.numerals
        else:
            return NOTHING
        if others:
            return self._index.find(key, self._values(records))
        at = bisect_left(entries, (value, LAST) if self._is_after else (value,))
        return (at, ((entries, 0, at),)) if self._is_upper else (len(entries) - at, ((entries, at, len(entries)),))

    def _values(self, records: list[Record]) -> list[tuple[str, Any]]:  # Any: values
        return [(operator, records[number].values[column]) for operator, (number, column) in self._bounds]

    def are_apart(self, records: list[Record]) -> list[tuple[str, Any]]:
        """Bounds that events are still to be compared with, if there are any."""
        values = self._values(records)
        return values if are_mixed(values) else []

    def is_within(self, record: Record, bounds: list[tuple[str, Any]]) -> bool:
        """Whether an event compares so to these."""
        return is_within(record.values[self._order], bounds)


class Search:
    """Of one query. Its indexes are made when they are first looked up, and released by :meth:`close`."""

    def __init__(self, plan: Plan, memories: Sequence[Memory]) -> None:
        self._plan = plan
        self._memories = memories
        self._all = (1 << len(memories)) - 1
        self._lookups: dict[int, list[_Lookup]] = {}
        """By bound patterns: a lookup for each of the others."""
        self._alone: dict[int, tuple[Check, ...]] = {}
        self._bound: list[Record] = []
        self._found: list[Found] = []
        self._start = 0
        self._start_pattern = 0
        self._steps = 0
        self._matches = 0

    def begin(self, steps: int, matches: int) -> list[Found]:
        """The searches that follow may look at so many events, and find so many matches, in all. They enter them in this list."""
        self._steps = steps
        self._matches = matches
        self._found = []
        return self._found

    def find(self, pattern: int, record: Record, *, is_new: bool) -> None:
        """Enter all matches in which an event stands for a pattern. Where it is new, not for one before: from all patterns for
        which it can stand, each match is found once. Raises TooManySteps."""
        checks = self._alone.get(pattern)
        if checks is None:
            checks = self._alone[pattern] = self._plan.step(0, pattern).checks
        self._bound = [record] * len(self._memories)
        if checks and not checks_hold(checks, self._value_at):
            return
        self._start, self._start_pattern = (record.arrival, pattern) if is_new else (0, 0)
        self._extend(1 << pattern)

    def _extend(self, bound: int) -> None:
        if bound == self._all:
            self._found.append(tuple(self._bound))
            if len(self._found) > self._matches:
                raise TooManySteps("matches")
            return
        records = self._bound
        lookups = self._lookups.get(bound) or self._make(bound)
        chosen = lookups[0]
        fewest, runs = chosen.find(records)
        if not fewest:
            return
        for at in range(1, len(lookups)):
            count, places = lookups[at].find(records)
            if not count:
                # Where nothing was found, nothing is likely to be found the next time.
                lookups[0], lookups[at] = lookups[at], lookups[0]
                return
            if count < fewest:
                fewest, chosen, runs = count, lookups[at], places
        self._steps -= fewest
        if self._steps < 0:
            raise TooManySteps("steps")
        self._try(bound, chosen, runs)

    def _try(self, bound: int, lookup: _Lookup, runs: tuple[Run, ...]) -> None:
        """Bind each of some events to a pattern in turn."""
        records = self._bound
        pattern, checks = lookup.pattern, lookup.checks
        bound |= 1 << pattern
        is_last = bound == self._all
        excluded = self._start if pattern < self._start_pattern else 0
        apart = lookup.are_apart(records) if lookup.has_several_bounds else []
        for entries, begin, end in runs:
            if is_last and not (checks or excluded or apart):
                before, after = records[:pattern], records[pattern + 1 :]
                self._found += [(*before, entry[1], *after) for entry in entries[begin:end]]
                continue
            for _, record in entries[begin:end]:
                if record.arrival == excluded or (apart and not lookup.is_within(record, apart)):
                    continue
                records[pattern] = record
                if checks and not checks_hold(checks, self._value_at):
                    continue
                if is_last:
                    self._found.append(tuple(records))
                else:
                    self._extend(bound)
        if len(self._found) > self._matches:
            raise TooManySteps("matches")

    def _value_at(self, place: Place) -> object:
        return self._bound[place[0]].values[place[1]]

    def _make(self, bound: int) -> list[_Lookup]:
        lookups = []
        for pattern, memory in enumerate(self._memories):
            if not bound >> pattern & 1:
                step = self._plan.step(bound, pattern)
                lookups.append(_Lookup(step, memory.use_index(step.columns, step.order)))
        self._lookups[bound] = lookups
        return lookups

    def close(self) -> None:
        """Release its indexes."""
        for lookups in self._lookups.values():
            for lookup in lookups:
                self._memories[lookup.pattern].release_index(lookup.step.columns, lookup.step.order)
        self._lookups = {}


def keys_at(records: Found, places: tuple[Place, ...]) -> object:
    """The key of values at some places, as an index has it."""
    keys = tuple(equality_key(records[number].values[column]) for number, column in places)
    return keys[0] if len(keys) == 1 else keys
