"""Search: which combinations of remembered events, one of which is given, are matches.

From the events that are bound so far it goes to the pattern for which fewest events come into question, by equality and order, so
that a pattern without any ends it at once. Nothing is kept from one search to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from .memory import Index, Memory, Record, Run, are_mixed, equality_key, is_within
from .plan import Check, Place, Plan, Step, checks_hold

Found: TypeAlias = tuple[Record, ...]
"""An event for each pattern."""


class TooManySteps(Exception):
    """A search has looked at more events, or found more matches, than it may. The message says which."""


class _Lookup:
    """A step, and the index where it looks up."""

    __slots__ = ("bounds", "checks", "columns", "equal_to", "index", "order", "pattern", "single")

    def __init__(self, step: Step, index: Index) -> None:
        self.pattern = step.pattern
        self.index = index
        self.columns = step.columns
        self.order = step.order
        self.equal_to = step.equal_to
        self.single = step.equal_to[0] if len(step.equal_to) == 1 else None
        self.bounds = step.bounds
        self.checks = step.checks


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

    def begin(self, steps: int, matches: int) -> None:
        """The searches that follow may look at so many events, and find so many matches, in all."""
        self._steps = steps
        self._matches = matches

    def find(self, pattern: int, record: Record, *, is_new: bool) -> list[Found]:
        """All matches in which an event stands for a pattern. Where it is new, not for one before: from all patterns for which it
        can stand, each match is found once. Raises TooManySteps."""
        checks = self._alone.get(pattern)
        if checks is None:
            checks = self._alone[pattern] = self._plan.step(0, pattern).checks
        self._bound = [record] * len(self._memories)
        if checks and not checks_hold(checks, self._value_at):
            return []
        self._found = []
        self._start, self._start_pattern = (record.arrival, pattern) if is_new else (0, 0)
        self._extend(1 << pattern)
        self._matches -= len(self._found)
        return self._found

    def _extend(self, bound: int) -> None:
        if bound == self._all:
            if len(self._found) >= self._matches:
                raise TooManySteps("matches")
            self._found.append(tuple(self._bound))
            return
        records = self._bound
        fewest = -1
        chosen: _Lookup | None = None
        runs: tuple[Run, ...] = ()
        for lookup in self._lookups.get(bound) or self._make(bound):
            key: object
            if lookup.single is not None:
                key = records[lookup.single[0]].keys[lookup.single[1]]
            else:
                key = tuple([records[number].keys[column] for number, column in lookup.equal_to])
            values = [(operator, records[number].values[column]) for operator, (number, column) in lookup.bounds]
            count, places = lookup.index.find(key, values)
            if not count:
                return
            if chosen is None or count < fewest:
                fewest, chosen, runs = count, lookup, places
        if chosen is not None:
            self._try(bound, chosen, runs)

    def _try(self, bound: int, lookup: _Lookup, runs: tuple[Run, ...]) -> None:
        """Bind each of some events to a pattern in turn."""
        records = self._bound
        pattern, checks = lookup.pattern, lookup.checks
        is_last = bound | 1 << pattern == self._all
        excluded = self._start if pattern < self._start_pattern else 0
        mixed: list[tuple[str, Any]] = []  # Any: values
        if len(lookup.bounds) > 1:
            mixed = [(operator, self._value_at(place)) for operator, place in lookup.bounds]
            mixed = mixed if are_mixed(mixed) else []
        for entries, begin, end in runs:
            self._steps -= end - begin
            if self._steps < 0:
                raise TooManySteps("steps")
            for _, arrival, record in entries[begin:end]:
                if arrival == excluded or (mixed and not is_within(record.values[lookup.order or 0], mixed)):
                    continue
                records[pattern] = record
                if checks and not checks_hold(checks, self._value_at):
                    continue
                if not is_last:
                    self._extend(bound | 1 << pattern)
                elif len(self._found) < self._matches:
                    self._found.append(tuple(records))
                else:
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
                self._memories[lookup.pattern].release_index(lookup.columns, lookup.order)
        self._lookups = {}


def keys_at(records: Found, places: tuple[Place, ...]) -> object:
    """The key of values at some places, as an index has it."""
    keys = tuple(equality_key(records[number].values[column]) for number, column in places)
    return keys[0] if len(keys) == 1 else keys
