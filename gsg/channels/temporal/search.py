"""Search: which combinations of remembered events, one of which is given, are matches.

From the events that are bound so far it goes to the pattern for which fewest events come into question, by equality and order, so
that a pattern without any ends it at once. Nothing is kept from one search to the next. How it goes from each set of bound
patterns is a function (generated.py), made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .generated import Function, Generator, Lookup, TooManySteps
from .index import Found, Record
from .memory import Memory
from .plan import Plan, Step

MAX_INDEXES: Final = 8
"""Of one subscription for one of its patterns, and one by nothing; beyond, a step looks up in one of them by fewer columns, and
tests the rest."""


class Search:
    """Of one query. Its indexes are made when they are first looked up, and released by :meth:`close`."""

    def __init__(self, plan: Plan, memories: Sequence[Memory]) -> None:
        self._plan = plan
        self._memories = memories
        self._generator = Generator(plan, self._lookups, self._more)
        self._starts: list[Function | None] = [None for _ in memories]
        """By the pattern of the event that is given."""
        self._extensions: dict[int, Function] = {}
        """By bound patterns, of which there are at most 2 ** MAX_PATTERNS."""
        self._made: dict[int, list[Lookup]] = {}
        """By bound patterns: a lookup for each of the others."""
        self._used: list[dict[tuple[tuple[int, ...], int | None], None]] = [{} for _ in memories]
        """By pattern: columns and order of its indexes. Limit: MAX_INDEXES, and one by nothing."""
        self._found: list[Found] = []
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

    def find(self, patterns: Iterable[int], record: Record) -> None:
        """Enter all matches in which an event stands for one of the patterns, and not for one before: where these are all for which
        it can stand, in the order of their numbers, each match is found once. Raises TooManySteps."""
        found, steps, matches = self._found, self._steps, self._matches
        for pattern in patterns:
            start = self._starts[pattern] or self._start(pattern)
            steps = start(record, found, steps, matches)
        self._steps = steps

    def _start(self, pattern: int) -> Function:
        start = self._starts[pattern] = self._generator.start(pattern)
        return start

    def _more(self, bound: int) -> Function:
        function = self._extensions.get(bound)
        if function is None:
            function = self._extensions[bound] = self._generator.extend(bound)
        return function

    def _lookups(self, bound: int) -> list[Lookup]:
        lookups = self._made.get(bound)
        if lookups is None:
            lookups = self._made[bound] = []
            for pattern, memory in enumerate(self._memories):
                if not bound >> pattern & 1:
                    step = self._plan.step(bound, pattern)
                    columns, order = self._chosen_index(step)
                    lookups.append(Lookup(step, columns, order, memory.use_index(columns, order)))
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
        for lookups in self._made.values():
            for step, columns, order, _ in lookups:
                self._memories[step.pattern].release_index(columns, order)
        self._starts, self._extensions, self._made = [None for _ in self._memories], {}, {}
        self._used = [{} for _ in self._memories]
