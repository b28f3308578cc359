"""The search from some bound patterns as a Python function: loops over what indexes give, with the tests of each step inside.

A function looks up all patterns that are left, so that one without any event ends it, and goes on with the one that has fewest;
for this one the last pattern is looked up inside, and where more are left, the function of one more bound pattern is called.
It counts its steps itself. Records are read by the numbers of their fields, as this is the innermost of all loops.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ..languages.relations import Relations
from ..languages.source import Source
from .checks import Checks, Place, reading
from .index import Found, Index, OrderedIndex, are_mixed, is_within
from .plan import Plan, Step

Function: TypeAlias = Callable[..., int]
"""Of the bound records in the order of their patterns, for some the arrival of the new event and the pattern it was bound to, the
list to enter matches in, the steps that are left and how many matches there may be. Gives the steps that are left then."""
Made = TypeVar("Made")
Known: TypeAlias = dict[tuple[object, ...], str]
"""Names of what a function has looked up: buckets by index and key, what of a bucket is in order with a value, and events."""

MAX_TEXTS: Final = 128
"""Texts of functions that are kept compiled; subscriptions that differ in constants alone have the same. The one used least
recently is forgotten first. To compile one takes about half a millisecond."""
MAX_INSIDE: Final = 32
"""Steps that the tests cost together which stand in the function at one place. What is tested beyond is called."""
OVER_MATCHES: Final = 'if len(found) > limit: raise TooManySteps("matches")'


class TooManySteps(Exception):
    """A search has looked at more events, or found more matches, than it may. The message says which."""


SHARED: Final = Source(Relations()).names
"""What tests may call and stand in a function."""
NAMES: Final[dict[str, Any]] = {  # Any: whatever the functions call
    **SHARED,
    "TooManySteps": TooManySteps,
    "are_mixed": are_mixed,
    "bisect_left": bisect_left,
    "bisect_right": bisect_right,
    "is_within": is_within,
    "reading": reading,
}


class Lookup(NamedTuple):
    """A step, and the index where it looks up, which may be by fewer columns than the step is, or in no order."""

    step: Step
    columns: tuple[int, ...]
    order: int | None
    events: Index | OrderedIndex


class Generator:
    """Makes the functions of one plan."""

    def __init__(self, plan: Plan, lookups: Callable[[int], Sequence[Lookup]], more: Callable[[int], Function]) -> None:
        self._plan = plan
        self._lookups = lookups
        """From bound patterns, as a set of bits, to each of the others."""
        self._more = more
        """The function of bound patterns, at least two of which are left."""

    def start(self, pattern: int) -> Function:
        """The function that begins with an event of a pattern, and leaves that event out of the patterns before."""
        return _Text(self._plan, self._lookups, self._more, pattern).function((pattern,))

    def extend(self, bound: int) -> Function:
        """The function that goes on from several bound patterns."""
        patterns = [pattern for pattern in range(len(self._plan.shapes)) if bound >> pattern & 1]
        return _Text(self._plan, self._lookups, self._more, None).function(tuple(patterns))


class _Text:
    """Of one function."""

    def __init__(
        self, plan: Plan, lookups: Callable[[int], Sequence[Lookup]], more: Callable[[int], Function], start: int | None
    ) -> None:
        self._plan = plan
        self._lookups = lookups
        self._start = start
        """The pattern of the new event; None where it is an argument."""
        self._lines: list[str] = []
        self._names: dict[str, object] = {"more": more}
        """What the function calls of its own."""

    def function(self, bound: tuple[int, ...]) -> Function:
        """From these patterns."""
        start = self._start
        records = [f"r{pattern}" for pattern in bound]
        self._add(1, f"def search({', '.join(records)}, {'' if start is not None else 'new, start, '}found, steps, limit):")
        known: Known = {}
        lookups = self._find_all(bound, "return steps", 2, known)
        if start is not None:
            self._test(self._plan.step(0, start).checks, start, "return steps", 2)
            self._add(2, f"new = r{start}[0]")
        self._add(2, "append = found.append")
        if not lookups:
            self._add(2, f"append((r{start},))")
            self._add(2, OVER_MATCHES)
        elif len(lookups) == 1:
            self._finish(lookups[0], bound, 2)
        else:
            self._branch(lookups, bound, 2, known)
        self._add(2, "return steps")
        made: Function = _compiled("\n".join([f"def make({', '.join(self._names)}):", *self._lines, "    return search"]))(
            *self._names.values()
        )
        return made

    def _add(self, depth: int, line: str) -> None:
        self._lines.append("    " * depth + line)

    def _name(self, value: object) -> str:
        name = f"u{len(self._names)}"
        self._names[name] = value
        return name

    # --- what comes into question ---------------------------------------------------------------------------------------------

    def _find_all(self, bound: tuple[int, ...], leave: str, depth: int, known: Known) -> list[Lookup]:
        """Look up all patterns that are left, and leave where one has no event. ``known`` are the buckets at hand."""
        # Most events come in their order, so that nothing is behind the last: such a step is most likely to find nothing.
        lookups = sorted(self._lookups(sum(1 << pattern for pattern in bound)), key=_is_before)
        for lookup in lookups:
            self._find(lookup, bound, leave, depth, known)
        return lookups

    def _find(self, lookup: Lookup, bound: tuple[int, ...], leave: str, depth: int, known: Known) -> None:
        """Put the events that come into question into ``l``, from ``b`` to ``e`` if they are in an order, and their number into
        ``n``."""
        step, columns, order, events = lookup
        pattern = step.pattern
        joined = zip(step.columns, step.equal_to, strict=True)
        keys = [self._key(place, bound) for column, place in joined if column in columns]
        key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
        bounds = [(operator, f"r{number}[3][{column}]") for operator, (number, column) in step.bounds]
        if (pattern, events, key, *bounds) in known:
            return
        known[(pattern, events, key, *bounds)] = ""
        bucket = known.get((events, key))
        if bucket is None:
            bucket = known[events, key] = f"k{len(known)}"
            self._add(depth, f"{bucket} = {self._name(events.buckets.get)}({key})")
            self._add(depth, f"if {bucket} is None: {leave}")
        if order is None:
            self._add(depth, f"l{pattern} = {bucket}")
            self._add(depth, f"n{pattern} = len({bucket})")
            if bounds:
                self._add(depth, f"y{pattern} = {_listed(bounds)}")
            return
        self._find_range(pattern, bucket, bounds, leave, depth, known)
        self._add(depth, f"n{pattern} = e{pattern} - b{pattern}")
        self._add(depth, f"if n{pattern} <= 0: {leave}")

    def _find_range(self, pattern: int, bucket: str, bounds: list[tuple[str, str]], leave: str, depth: int, known: Known) -> None:
        """Most often of numbers among numbers, or of texts among texts."""
        places = []
        for at, (operator, value) in enumerate(bounds):
            place = known.get((bucket, value))
            if place is None:
                place = known[bucket, value] = f"s{len(known)}"
                x = f"x{place[1:]}"
                self._add(depth, f"{x} = {value}")
                self._add(depth, f"if (kind := {x}.__class__) is int or kind is float and {x} == {x}:")
                self._add(depth + 1, f"{place} = {bucket} if {bucket}.texts is None else None")
                self._add(depth, f"elif kind is str: {place} = None if {bucket}.values else {bucket}.texts")
                self._add(depth, f"else: {leave}")
            places.append(place)
            bounds[at] = operator, f"x{place[1:]}"
        first, *others = dict.fromkeys(places)
        self._add(depth, f"if {' or '.join([f'{first} is None', *(f'{first} is not {other}' for other in others)])}:")
        if len(bounds) == 1:
            self._add(depth + 1, f"l{pattern}, b{pattern}, e{pattern} = {bucket}.find({_listed(bounds)})")
        else:
            self._add(depth + 1, f"y{pattern} = {_listed(bounds)}")
            self._add(depth + 1, f"l{pattern}, b{pattern}, e{pattern} = {bucket}.find(y{pattern})")
            self._add(depth + 1, f"m{pattern} = are_mixed(y{pattern})")
        self._add(depth, "else:")
        self._add(depth + 1, f"l{pattern}, values = {first}.records, {first}.values")
        begins, ends = ["0"], ["len(values)"]
        for operator, value in bounds:
            found_at = f"bisect_{'left' if operator in ('<', '>=') else 'right'}(values, {value})"
            if operator in ("<", "<="):
                ends.append(found_at)
            else:
                # Quicker than to search, where events come in their order.
                self._add(depth + 1, f"if values[-1] {'<=' if operator == '>' else '<'} {value}: {leave}")
                begins.append(found_at)
        for name, found, furthest in (("b", begins, "max"), ("e", ends, "min")):
            text = f"{furthest}({', '.join(found[1:])})" if len(found) > 2 else found[-1]
            self._add(depth + 1, f"{name}{pattern} = {text}")
        if len(bounds) > 1:
            self._add(depth + 1, f"m{pattern} = False")

    def _key(self, place: Place, bound: tuple[int, ...]) -> str:
        """The key of a value, of the pattern that was bound first among those that have an equal one."""
        columns = ((pattern, self._plan.keyed_by(place, pattern)) for pattern in bound)
        return next(f"r{pattern}[4][{column}]" for pattern, column in columns if column is not None)

    # --- what is done with it -------------------------------------------------------------------------------------------------

    def _branch(self, lookups: list[Lookup], bound: tuple[int, ...], depth: int, known: Known) -> None:
        """Go on with the pattern that has fewest events."""
        numbers = [f"n{lookup.step.pattern}" for lookup in lookups]
        self._add(depth, f"fewest = min({', '.join(numbers)})")
        for at, lookup in enumerate(lookups):
            self._add(depth, ("if" if at == 0 else "elif") + f" fewest == {numbers[at]}:" if at < len(lookups) - 1 else "else:")
            self._add(depth + 1, f'if (steps := steps - fewest - {len(lookups) - 1}) < 0: raise TooManySteps("steps")')
            self._loop(lookup, bound, depth + 1)
            inside = (*bound, lookup.step.pattern)
            if len(lookups) == 2:
                [last] = self._find_all(inside, "continue", depth + 2, dict(known))
                self._finish(last, inside, depth + 2)
            else:
                records = ", ".join(f"r{pattern}" for pattern in sorted(inside))
                start = "start" if self._start is None else self._start
                bits = sum(1 << pattern for pattern in inside)
                self._add(depth + 2, f"steps = more({bits})({records}, new, {start}, found, steps, limit)")

    def _finish(self, lookup: Lookup, bound: tuple[int, ...], depth: int) -> None:
        """Enter a match for each event of the last pattern."""
        self._add(depth, f'if (steps := steps - n{lookup.step.pattern}) < 0: raise TooManySteps("steps")')
        self._loop(lookup, bound, depth)
        self._add(depth + 1, f"append(({', '.join(f'r{pattern}' for pattern in range(len(bound) + 1))}))")
        self._add(depth, OVER_MATCHES)

    def _loop(self, lookup: Lookup, bound: tuple[int, ...], depth: int) -> None:
        """Over the events that were looked up, without those that fail a test of the step."""
        step, columns, order, _ = lookup
        pattern = step.pattern
        events = f"l{pattern}" if order is None else f"l{pattern}[b{pattern}:e{pattern}]"
        self._add(depth, f"for r{pattern} in {events}:")
        depth += 1
        if self._start is None:
            self._add(depth, f"if r{pattern}[0] == new and {pattern} < start: continue")
        elif pattern < self._start:
            self._add(depth, f"if r{pattern}[0] == new: continue")
        for column, place in zip(step.columns, step.equal_to, strict=True):
            if column not in columns:
                self._add(depth, f"if r{pattern}[4][{column}] != {self._key(place, bound)}: continue")
        if step.bounds and (order is None or step.bounds[1:]):
            needed = "" if order is None else f"m{pattern} and "
            self._add(depth, f"if {needed}not is_within(r{pattern}[3][{step.order}], y{pattern}): continue")
        self._test(step.checks, pattern, "continue", depth)

    def _test(self, checks: Checks | None, pattern: int, leave: str, depth: int) -> None:
        """Leave where a test does not hold. What a test costs is counted before it."""
        if checks is None:
            return
        values = {name: f"r{number}[3][{column}]" for name, (number, column) in checks.bound}
        values.update((name, f"r{pattern}[3][{column}]") for name, column in checks.columns)
        tests = list(checks.tests)
        room = MAX_INSIDE
        while tests and (room := room - tests[0].weight) >= 0 and not tests[0].reads:
            source = Source(self._plan.relations)
            source.values = values
            text = source.condition(tests[0].condition)
            if source.names.keys() != SHARED.keys():
                break  # it calls something of its own
            self._add(depth, f'if (steps := steps - {tests.pop(0).weight}) < 0: raise TooManySteps("steps")')
            self._add(depth, f"if not {text}: {leave}")
        if tests:
            bindings = ", ".join(f"{name!r}: {value}" for name, value in values.items())
            self._add(depth, f"bindings = {{{bindings}}}")
            self._add(depth, f"for test, weight, condition, reads in {self._name(tests)}:")
            self._add(depth + 1, "steps -= weight + reading(condition, bindings) if reads else weight")
            self._add(depth + 1, 'if steps < 0: raise TooManySteps("steps")')
            self._add(depth + 1, "if not test(bindings, {}): break")
            self._add(depth, "else: test = None")
            self._add(depth, f"if test is not None: {leave}")


def _listed(bounds: Sequence[tuple[str, str]]) -> str:
    return f"[{', '.join(f'({operator!r}, {value})' for operator, value in bounds)}]"


def _is_before(lookup: Lookup) -> bool:
    return lookup.order is None or all(bound.operator in ("<", "<=") for bound in lookup.step.bounds)


@lru_cache(MAX_TEXTS)
def _compiled(text: str) -> Callable[..., Function]:
    made: dict[str, Callable[..., Function]] = {}
    exec(text, NAMES, made)  # our own text
    return made["make"]


@cache
def reporter(patterns: int) -> Callable[[Callable[..., Made], int, Iterable[Found], object], list[Made]]:
    """What makes matches of events found for so many patterns: of the number of a subscription, the events, what was found, and
    something that they have in common."""
    events = ", ".join(f"each[{pattern}][2]" for pattern in range(patterns))
    made: Callable[..., list[Made]] = eval(
        f"lambda make, number, found, places: [make(number, ({events},), each, places) for each in found]"
    )
    return made


@lru_cache(MAX_TEXTS)
def binder(places: tuple[tuple[str, Place], ...]) -> Callable[[Found], dict[str, Any]]:  # Any: values
    """What reads the values at places, by name, of what was found."""
    values = ", ".join(f"{name!r}: found[{pattern}][3][{column}]" for name, (pattern, column) in places)
    made: Callable[[Found], dict[str, Any]] = eval(f"lambda found: {{{values}}}")  # our own text
    return made
