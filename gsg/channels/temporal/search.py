"""Search: which combinations of remembered events, one of which is given, are matches.

From the events that are bound so far it goes to the pattern for which fewest events come into question, by equality and order, so
that a pattern without any ends it at once. Nothing is kept from one search to the next.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from .checks import Checks, Place
from .index import LAST, NOTHING, Index, Record, Run, are_mixed, equality_key, is_within
from .memory import Memory
from .plan import Bound, Plan, Step

Found: TypeAlias = tuple[Record, ...]
"""An event for each pattern."""
Find: TypeAlias = Callable[[list[Record]], tuple[int, tuple[Run, ...]]]

MAX_INDEXES: Final = 8
"""Of one subscription for one of its patterns, and one by nothing; beyond, a step looks up in one of them by fewer columns, and
tests the rest."""


class TooManySteps(Exception):
    """A search has looked at more events, or found more matches, than it may. The message says which."""


class _Lookup:
    """A step, and the index where it looks up, which may be by fewer columns than the step is, or in no order."""

    __slots__ = (
        "_apart",
        "_bounds",
        "_equal_to",
        "_index",
        "_is_ordered",
        "_order",
        "checks",
        "find",
        "has_filters",
        "is_exact",
        "pattern",
        "used",
    )

    def __init__(self, step: Step, columns: tuple[int, ...], order: int | None, index: Index) -> None:
        self.pattern = step.pattern
        self.checks = step.checks
        self.used = columns, order
        """The columns and the order of the index."""
        self._index = index
        joined = list(zip(step.columns, step.equal_to, strict=True))
        self._equal_to = tuple(place for column, place in joined if column in columns)
        self._apart = [(column, place) for column, place in joined if column not in columns]
        """Columns whose values are to be equal to others, and are not looked up by."""
        self._order = step.order or 0
        self._bounds = step.bounds
        self._is_ordered = order is not None
        bounds = step.bounds if self._is_ordered else ()
        self.has_filters = bool(self._apart) or len(step.bounds) > len(bounds) or len(bounds) > 1
        """Whether some of what is looked up may be out of question, though no check says so."""
        self.is_exact = step.checks is None and not self.has_filters
        """Whether all that is looked up comes into question."""
        self.find: Find = self._find
        """How many events come into question, and where they are."""
        if len(self._equal_to) == 1 and len(bounds) <= 1:
            [place] = self._equal_to
            self.find = _range_find(index, place, bounds[0], self._find) if bounds else _key_find(index, place)

    def _find(self, records: list[Record]) -> tuple[int, tuple[Run, ...]]:
        keys = [records[number].keys[column] for number, column in self._equal_to]
        return self._index.find(keys[0] if len(keys) == 1 else tuple(keys), self._values(records) if self._is_ordered else [])

    def _values(self, records: list[Record]) -> list[tuple[str, Any]]:  # Any: values
        return [(operator, records[number].values[column]) for operator, (number, column) in self._bounds]

    def filtered(self, found: list[Record], records: list[Record]) -> list[Record]:
        """Of what was looked up, that which is equal and compares as the step says."""
        for column, (number, other) in self._apart:
            key = records[number].keys[other]
            found = [record for record in found if record.keys[column] == key]
        bounds = self._values(records)
        if bounds and (not self._is_ordered or are_mixed(bounds)):
            found = [record for record in found if is_within(record.values[self._order], bounds)]
        return found


def _key_find(index: Index, equal_to: Place) -> Find:
    """The quick way to find what has one key. As below."""
    pattern, column = equal_to
    buckets = index.buckets

    def find_key(records: list[Record]) -> tuple[int, tuple[Run, ...]]:
        bucket = buckets.get(records[pattern][4][column])
        if bucket is None:
            return NOTHING
        entries = bucket.numbers
        return len(entries), ((entries, 0, len(entries)),)

    return find_key


def _range_find(index: Index, equal_to: Place, bound: Bound, find: Find) -> Find:
    """The quick way to find what has one key and is in one range, which is what most steps look for. The fields of records are
    taken by their numbers, as this is the innermost of all loops."""
    key_pattern, key_column = equal_to
    pattern, column = bound.place
    buckets = index.buckets
    is_upper = bound.operator in ("<", "<=")
    is_after = bound.operator in ("<=", ">")  # the range ends, or begins, after the values that are level with it

    def find_range(records: list[Record]) -> tuple[int, tuple[Run, ...]]:
        bucket = buckets.get(records[key_pattern][4][key_column])
        if bucket is None:
            return NOTHING
        value = records[pattern][3][column]
        kind = value.__class__
        if kind is str:
            entries, others = bucket.texts, bucket.numbers
        elif kind is int or (kind is float and value == value):
            entries, others = bucket.numbers, bucket.numerals
        else:
            return NOTHING
        if others:
            return find(records)
        if not entries:
            return NOTHING
        if is_upper:
            at = bisect_left(entries, (value, LAST) if is_after else (value,))
            return at, ((entries, 0, at),)
        # Most events come in their order, so that nothing is behind the last.
        last = entries[-1][0]
        if last < value or (is_after and last == value):
            return NOTHING
        at = bisect_left(entries, (value, LAST) if is_after else (value,))
        return len(entries) - at, ((entries, at, len(entries)),)

    return find_range


class Search:
    """Of one query. Its indexes are made when they are first looked up, and released by :meth:`close`."""

    def __init__(self, plan: Plan, memories: Sequence[Memory]) -> None:
        self._plan = plan
        self._memories = memories
        self._patterns = len(memories)
        self._lookups: dict[int, list[_Lookup]] = {}
        """By bound patterns, of which there are at most 2 ** MAX_PATTERNS: a lookup for each of the others."""
        self._used: list[dict[tuple[tuple[int, ...], int | None], None]] = [{} for _ in memories]
        """By pattern: columns and order of its indexes. Limit: MAX_INDEXES, and one by nothing."""
        self._begins: dict[int, tuple[Checks | None, list[_Lookup]]] = {}
        """By pattern: the checks of its event alone, and the lookups from there."""
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

    def spend(self, steps: int) -> None:
        """So many events, or matches that wait, are looked at on its behalf. Raises TooManySteps."""
        self._steps -= steps
        if self._steps < 0:
            raise TooManySteps("steps")

    def find(self, pattern: int, record: Record, is_new: bool) -> None:
        """Enter all matches in which an event stands for a pattern. Where it is new, not for one before: from all patterns for
        which it can stand, each match is found once. Raises TooManySteps."""
        checks, lookups = self._begins.get(pattern) or self._begin(pattern)
        self._bound = records = [record] * self._patterns
        if len(lookups) > 1:
            count, runs = lookups[0].find(records)
            if not count:
                return
        if checks is not None and not checks.hold({}, record.values, self.spend):
            return
        self._start, self._start_pattern = (record[0], pattern) if is_new else (0, 0)  # its arrival
        if not lookups:
            self._found.append((record,))
        elif len(lookups) == 1:
            self._finish(lookups[0])
        else:
            self._extend(1 << pattern, lookups, count, runs)
        if len(self._found) > self._matches:
            raise TooManySteps("matches")

    def _extend(self, bound: int, lookups: list[_Lookup], fewest: int, runs: tuple[Run, ...]) -> None:
        """Go on where several patterns are left: bind each event that comes into question for one of them in turn. So many do for
        the first."""
        records = self._bound
        chosen = lookups[0]
        for at in range(1, len(lookups)):
            count, places = lookups[at].find(records)
            if not count:
                # Where nothing was found, nothing is likely to be found the next time.
                lookups[0], lookups[at] = lookups[at], lookups[0]
                return
            if count < fewest:
                fewest, chosen, runs = count, lookups[at], places
        self._steps -= fewest + len(lookups) - 1
        if self._steps < 0:
            raise TooManySteps("steps")
        bound |= 1 << chosen.pattern
        left = self._lookups.get(bound) or self._make(bound)
        pattern = chosen.pattern
        if len(left) > 1:
            for records[pattern] in self._possible(chosen, runs):
                count, places = left[0].find(records)
                if count:
                    self._extend(bound, left, count, places)
        else:
            for records[pattern] in self._possible(chosen, runs):
                self._finish(left[0])

    def _finish(self, lookup: _Lookup) -> None:
        """Enter a match for each event that comes into question for the only pattern that is left."""
        records = self._bound
        count, runs = lookup.find(records)
        if not count:
            return
        self._steps -= count
        if self._steps < 0:
            raise TooManySteps("steps")
        pattern, found = lookup.pattern, self._found
        if lookup.is_exact:
            excluded = self._start if pattern < self._start_pattern else 0
            for entries, begin, end in runs:
                for _, records[pattern] in entries[begin:end]:
                    if records[pattern][0] != excluded:
                        found.append(tuple(records))
        else:
            for records[pattern] in self._possible(lookup, runs):
                found.append(tuple(records))
        if len(found) > self._matches:
            raise TooManySteps("matches")

    def _possible(self, lookup: _Lookup, runs: tuple[Run, ...]) -> list[Record]:
        """The events that were looked up and pass the tests of the step."""
        pattern, checks, records = lookup.pattern, lookup.checks, self._bound
        excluded = self._start if pattern < self._start_pattern else 0
        found = [record for entries, begin, end in runs for _, record in entries[begin:end] if record[0] != excluded]
        if lookup.has_filters:
            found = lookup.filtered(found, records)
        if checks is None:
            return found
        bindings = {name: records[number].values[column] for name, (number, column) in checks.bound}
        hold, spend = checks.hold, self.spend
        return [record for record in found if hold(bindings, record.values, spend)]

    def _begin(self, pattern: int) -> tuple[Checks | None, list[_Lookup]]:
        begin = self._begins[pattern] = self._plan.step(0, pattern).checks, self._make(1 << pattern)
        return begin

    def _make(self, bound: int) -> list[_Lookup]:
        lookups = []
        for pattern, memory in enumerate(self._memories):
            if not bound >> pattern & 1:
                step = self._plan.step(bound, pattern)
                columns, order = self._chosen_index(step)
                lookups.append(_Lookup(step, columns, order, memory.use_index(columns, order)))
        self._lookups[bound] = lookups
        return lookups

    def _chosen_index(self, step: Step) -> tuple[tuple[int, ...], int | None]:
        """The columns and the order of the index for a step: its own, or of those that there are the one that decides most."""
        used = self._used[step.pattern]
        chosen = step.columns, step.order
        if chosen not in used and len(used) >= MAX_INDEXES:
            usable = [each for each in used if set(each[0]) <= set(step.columns) and each[1] in (None, step.order)]
            chosen = max(usable, key=lambda each: (len(each[0]), each[1] is not None), default=((), None))
        used[chosen] = None
        return chosen

    def close(self) -> None:
        """Release its indexes."""
        for lookups in self._lookups.values():
            for lookup in lookups:
                self._memories[lookup.pattern].release_index(*lookup.used)
        self._lookups, self._begins = {}, {}
        self._used = [{} for _ in self._memories]


def keys_at(records: Found, places: tuple[Place, ...]) -> object:
    """The key of values at some places, as an index has it."""
    keys = tuple(equality_key(records[number].values[column]) for number, column in places)
    return keys[0] if len(keys) == 1 else keys
