"""Checks: tests that no index decides, at the places where the values of their variables are, and what each costs.

Costs are in steps, of the time that it takes to look at one event: a test has a weight by its size, and more where it reads through
a text or a list. So a limit of steps is one of time, whatever is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..languages.costs import Part, parts_of
from ..languages.expressions import Arithmetic, Comparison, Condition, Expression, Field, Origin, Quantified, Relation
from ..languages.source import Test

Place: TypeAlias = tuple[int, int]
"""The number of a pattern, and of a column of it."""
Bindings: TypeAlias = dict[str, Any]  # Any: values

SHORT: Final = 64
"""Characters of a text that is read through at no cost of its own."""
PER_STEP: Final = 8
"""Characters that a relation reads through in a step, where it goes worst."""
COMPARED_PER_STEP: Final = 4_096
"""Characters that are compared in one."""


class Check(NamedTuple):
    """A test."""

    test: Test
    weight: int
    """What it costs at least, in steps."""
    condition: Condition
    """The test again."""
    reads: bool
    """Whether it may read through long texts and lists."""


class Checks(NamedTuple):
    """What is tested of one event and those that are bound already, and where the values of the variables are."""

    tests: tuple[Check, ...]
    bound: tuple[tuple[str, Place], ...]
    """Those of the events that are bound."""
    columns: tuple[tuple[str, int], ...]
    """Those of the event that is looked at."""

    def hold(self, bindings: Bindings, values: Sequence[object], spend: Callable[[int], None]) -> bool:
        """Whether they hold of an event with these values, and bindings of the others. Tells what each test costs first."""
        for name, column in self.columns:
            bindings[name] = values[column]
        for test, weight, condition, reads in self.tests:
            spend(weight + reading(condition, bindings) if reads else weight)
            if not test(bindings, {}):
                return False
        return True


def weight_of(condition: Condition) -> int:
    """What a test costs, in steps, of short texts and lists of one value."""
    return sum([_weight_of_part(part) for part in parts_of(condition)])


def _weight_of_part(part: Part) -> int:
    match part:
        case Comparison(_, left, right):
            return 1 + _weight_of_value(left) + _weight_of_value(right)
        case Relation(_, operands):
            return len(operands)
        case Quantified(_, _, inner):
            return 1 + weight_of(inner)
        case _:
            return 1


def _weight_of_value(value: Expression) -> int:
    if isinstance(value, Arithmetic):
        return 1 + sum([1 + _weight_of_value(operand) for operand in value.operands]) // 2
    return 0


def may_read(condition: Condition) -> bool:
    """Whether what a test costs depends on the lengths of values."""
    return any(map(_may_part_read, parts_of(condition)))


def _may_part_read(part: Part) -> bool:
    match part:
        case Comparison(operator, Field(), Field()):
            return operator in ("=", "!=")
        case _:
            return isinstance(part, Relation | Quantified)


def reading(condition: Condition, bindings: Bindings) -> int:
    """What it costs besides, in steps, to read through texts and lists."""
    return sum([_reading_of_part(part, bindings) for part in parts_of(condition)])


def _reading_of_part(part: Part, bindings: Bindings) -> int:
    match part:
        case Comparison("=" | "!=", Field() as left, Field() as right):
            return min(_extent(left, bindings, COMPARED_PER_STEP), _extent(right, bindings, COMPARED_PER_STEP))
        case Relation(_, (Field() as first, *rest)):
            return _extent(first, bindings, PER_STEP) * len(rest)
        case Quantified(_, over, inner):
            extent = 1 if over.origin is Origin.ELEMENT else _extent(over, bindings, PER_STEP)
            return extent * (weight_of(inner) + reading(inner, bindings)) if extent else 0
    return 0


def _extent(field: Field, bindings: Bindings, per_step: int) -> int:
    if field.origin is Origin.ELEMENT:
        return 0
    return _extent_of(bindings[field.path[0]], per_step)


def _extent_of(value: object, per_step: int) -> int:
    kind = value.__class__
    if kind is str:
        length = len(value)  # type: ignore[arg-type]  # a text
        return length // per_step if length > SHORT else 0
    if kind is list or kind is dict:
        items: Any = value  # Any: a list or a dict
        return sum([1 + _extent_of(each, per_step) for each in (items if kind is list else items.values())])
    return 0
