"""How a query is searched for: what one event decides goes into its pattern's shape, the rest into steps from event to event.

A *step* takes the search from some bound patterns to one more: which events it looks up (equal keys, a range in the order of one
column), and which tests become decidable there. Variables that are to be equal, by a common name or by ``(test (= ?a ?b))``, are
one *class*: where a value of it is bound, the others are looked up by it. A comparison of two variables is a range where one of
them is bound; everything else is tested as soon as its variables are bound.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from ..languages.expressions import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Exists,
    Expression,
    Field,
    Not,
    Or,
    Origin,
    Quantified,
    Relation,
)
from ..languages.predicate import MIRRORED, all_of, any_of
from ..languages.relations import Relations
from ..languages.source import LazyTest
from .checks import Check, Checks, Place, may_read, weight_of
from .query import Absence, Pattern, TemporalQuery, variables_of

Class: TypeAlias = "str | tuple[int, str]"
"""Variables that are to be equal, by the name of one of them; those of one absence alone with its number."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a memory keeps: the events that meet a condition, with the values of some fields; None for the arrival number."""

    condition: Condition
    fields: tuple[Field | None, ...]
    keyed: tuple[bool, ...]
    """Whether a value is to be equal to others; one that equals nothing (NaN) keeps the event out."""
    same: tuple[Place, ...]
    """Pairs of columns whose values are to be equal."""


class Bound(NamedTuple):
    """That the value of the step's order column compares so to one that is bound."""

    operator: str
    place: Place


@dataclass(frozen=True, slots=True)
class Step:
    """From bound patterns to one more."""

    pattern: int
    columns: tuple[int, ...]
    """Whose values are the key of the events to look at."""
    equal_to: tuple[Place, ...]
    """What they are equal to."""
    order: int | None
    """The column in whose order a range is looked up."""
    bounds: tuple[Bound, ...]
    checks: Checks | None


@dataclass(frozen=True, slots=True)
class AbsencePlan:
    """The same for events that are to stay away: which of them are looked at, and tests of them."""

    shape: Shape
    columns: tuple[int, ...]
    equal_to: tuple[Place, ...]
    checks: Checks | None
    after: int
    duration_s: float


ABSENT: Final = -1
"""In a place: the event that is to stay away."""


class Plan:
    """Of one query. Steps are made when they are first asked for: at most one for each set of bound patterns and pattern."""

    def __init__(self, query: TemporalQuery, relations: Relations) -> None:
        self.relations = relations
        self._ready: dict[Condition, Check] = {}
        """Each test once, however many steps test it."""
        self._binders: dict[str, Place] = {}
        self._parents: dict[str, str] = {}
        for number, pattern in enumerate(query.patterns):
            for index, column in enumerate(pattern.columns):
                self._binders.setdefault(column.variable, (number, index))
        for test in query.tests:
            match test:
                case Comparison("=", Field((one,)), Field((other,))):
                    self._parents[self._class(one)] = self._class(other)
        self._places: dict[Class, list[Place]] = {}
        """Of all classes, in the order of the patterns."""
        for number, pattern in enumerate(query.patterns):
            for index, column in enumerate(pattern.columns):
                self._places.setdefault(self._class(column.variable), []).append((number, index))
        joined = {name for name, places in self._places.items() if len(places) > 1}
        self._columns = [tuple(self._class(column.variable) for column in pattern.columns) for pattern in query.patterns]
        tests, pushed = self._pushed(query)
        self._tests = [(test, self._masks_of(test)) for test in tests]
        """With sets of patterns, one of each of which is to be bound for the test to be decided."""
        self.shapes = [
            _shape(replace(pattern, condition=all_of((pattern.condition, *more))), classes, joined)
            for pattern, more, classes in zip(query.patterns, pushed, self._columns, strict=True)
        ]
        self.absences = [self._absence(number, absence) for number, absence in enumerate(query.absences)]
        self.bindings = tuple(self._binders.items())
        """Where the value of each variable is found: in the first pattern that binds it."""
        self._steps: dict[tuple[int, int], Step] = {}

    def step(self, bound: int, pattern: int) -> Step:
        """From patterns, as a set of bits, to one that is not among them; from none to any, it has checks alone."""
        found = self._steps.get((bound, pattern))
        if found is None:
            found = self._steps[bound, pattern] = self._make(bound, pattern)
        return found

    def keyed_by(self, place: Place, pattern: int) -> int | None:
        """The column of a pattern whose values are to equal the one at a place, if there is one."""
        name, columns = self._columns[place[0]][place[1]], self._columns[pattern]
        return columns.index(name) if name in columns else None

    # --- classes --------------------------------------------------------------------------------------------------------------

    def _class(self, variable: str) -> str:
        while (parent := self._parents.get(variable, variable)) != variable:
            variable = parent
        return variable

    def _bound_place(self, name: Class, bound: int) -> Place | None:
        return next((place for place in self._places[name] if bound >> place[0] & 1), None)

    # --- what one event decides -----------------------------------------------------------------------------------------------

    def _pushed(self, query: TemporalQuery) -> tuple[list[Condition], list[list[Condition]]]:
        """Tests that take several events, and by pattern those that it decides alone, as conditions on its fields."""
        kept: list[Condition] = []
        pushed: list[list[Condition]] = [[] for _ in query.patterns]
        for test in query.tests:
            match test:
                case Comparison("=", Field((one,)), Field((other,))) if one != other:
                    continue  # one class
            binders = {name: self._binders[name] for name in variables_of(test)}
            fields = {name: query.patterns[pattern].columns[index].field for name, (pattern, index) in binders.items()}
            owners = {pattern for pattern, _ in binders.values()}
            known = {name: field for name, field in fields.items() if field is not None}
            if len(owners) <= 1 and len(known) == len(fields):
                pushed[owners.pop() if owners else 0].append(_with_fields(test, known))
            else:
                kept.append(test)
        return kept, pushed

    def _absence(self, number: int, absence: Absence) -> AbsencePlan:
        names = [column.variable for column in absence.pattern.columns]
        classes: list[Class] = [self._class(name) if name in self._binders else (number, name) for name in names]
        joined = [(index, name) for index, name in enumerate(classes) if name in self._places and classes.index(name) == index]
        variables = [name for test in absence.tests for name in variables_of(test)]
        places = {name: self._binders[name] if name in self._binders else (ABSENT, names.index(name)) for name in variables}
        return AbsencePlan(
            shape=_shape(absence.pattern, classes, self._places.keys()),
            columns=tuple(index for index, _ in joined),
            equal_to=tuple(self._places[name][0] for _, name in joined),
            checks=self._checks(absence.tests, places, ABSENT),
            after=absence.after,
            duration_s=absence.duration_s,
        )

    # --- steps ----------------------------------------------------------------------------------------------------------------

    def _make(self, bound: int, pattern: int) -> Step:
        classes = self._columns[pattern]
        joined = [
            (index, place)
            for index, name in enumerate(classes)
            if classes.index(name) == index and (place := self._bound_place(name, bound)) is not None
        ]
        ranges: dict[int, list[tuple[Bound, Condition]]] = {}
        decided: list[Condition] = []
        after = bound | 1 << pattern
        for test, masks in self._tests:
            if not all(after & mask for mask in masks) or all(bound & mask for mask in masks):
                continue
            found = self._range(test, bound, pattern)
            if found is None:
                decided.append(test)
            else:
                ranges.setdefault(found[0], []).append((found[1], test))
        order = max(ranges, key=lambda column: len(ranges[column]), default=None)
        decided += [test for column, found_there in ranges.items() if column != order for _, test in found_there]
        return Step(
            pattern,
            columns=tuple(index for index, _ in joined),
            equal_to=tuple(place for _, place in joined),
            order=order,
            bounds=tuple(found_bound for found_bound, _ in ranges[order]) if order is not None else (),
            checks=self._checks(decided, self._places_of(decided, after), pattern),
        )

    def _masks_of(self, test: Condition) -> list[int]:
        if not _is_order(test):
            return [1 << self._binders[name][0] for name in variables_of(test)]
        masks = []
        for name in variables_of(test):
            patterns = {pattern for pattern, _ in self._places[self._class(name)]}
            masks.append(sum(1 << pattern for pattern in patterns))
        return masks

    def _range(self, test: Condition, bound: int, pattern: int) -> tuple[int, Bound] | None:
        """The column of the pattern, and how it compares to something that is bound; None for what is no such comparison."""
        if not _is_order(test) or not isinstance(test, Comparison):
            return None
        left, right = map(self._class, variables_of(test))
        places = self._bound_place(left, bound), self._bound_place(right, bound)
        if places[1] is not None and left in self._columns[pattern]:
            return self._columns[pattern].index(left), Bound(test.operator, places[1])
        if places[0] is not None and right in self._columns[pattern]:
            return self._columns[pattern].index(right), Bound(MIRRORED[test.operator], places[0])
        return None

    def _places_of(self, tests: Sequence[Condition], bound: int) -> dict[str, Place]:
        """Where the values of their variables are; of one that only has an order, perhaps at a variable that is equal to it."""
        places = {}
        for name in dict.fromkeys(name for test in tests for name in variables_of(test)):
            binder = self._binders[name]
            place = binder if bound >> binder[0] & 1 else self._bound_place(self._class(name), bound)
            if place is not None:
                places[name] = place
        return places

    def _checks(self, tests: Sequence[Condition], places: Mapping[str, Place], pattern: int) -> Checks | None:
        for test in tests:
            if test not in self._ready:
                self._ready[test] = Check(LazyTest(test, self.relations), weight_of(test), test, may_read(test))
        return (
            Checks(
                tuple(self._ready[test] for test in tests),
                bound=tuple((name, place) for name, place in places.items() if place[0] != pattern),
                columns=tuple((name, column) for name, (number, column) in places.items() if number == pattern),
            )
            if tests
            else None
        )


def _shape(pattern: Pattern, names: Sequence[Class], joined: Container[Class]) -> Shape:
    same = tuple((names.index(name), index) for index, name in enumerate(names) if names.index(name) != index)
    keyed = tuple(name in joined or names.count(name) > 1 for name in names)
    return Shape(pattern.condition, tuple(column.field for column in pattern.columns), keyed, same)


def _is_order(test: Condition) -> bool:
    match test:
        case Comparison("<" | "<=" | ">" | ">=", Field(), Field()):
            return True
    return False


def _with_fields(condition: Condition, fields: dict[str, Field]) -> Condition:
    """A test as a condition on one event, each variable as the field that it is bound to."""

    def of_value(value: Expression) -> Expression:
        match value:
            case Field((name,), Origin.EVENT):
                return fields[name]
            case Arithmetic(operator, operands):
                return Arithmetic(operator, tuple(map(of_value, operands)))
            case Constant() | Field():
                return value

    def of_field(field: Field) -> Field:
        return fields[field.path[0]] if field.origin is Origin.EVENT else field

    match condition:
        case And(parts):
            return all_of([_with_fields(part, fields) for part in parts])
        case Or(parts):
            return any_of([_with_fields(part, fields) for part in parts])
        case Not(part):
            return Not(_with_fields(part, fields))
        case Comparison(operator, left, right):
            return Comparison(operator, of_value(left), of_value(right))
        case Relation(name, operands):
            return Relation(name, tuple(map(of_value, operands)))
        case Exists(field):
            return Exists(of_field(field))
        case Quantified(quantity, over, inner, count):
            return Quantified(quantity, of_field(over), _with_fields(inner, fields), count)
