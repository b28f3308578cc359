"""What of a condition is tried at a rendezvous, for strangers: little enough that nobody else is kept waiting by it.

A rendezvous tries it with each event under its feature. What is dear, whatever the event is (lists of many elements, regular
expressions), or understood here alone (relations of an application) is left to the channel that asks: events may come for which
its condition does not hold, and none is missing for which it does.
"""

from __future__ import annotations

from typing import Final

from ..languages.costs import Part, operands_of, parts_of
from ..languages.expressions import TRUE, And, Arithmetic, Comparison, Condition, Expression, Not, Or, Quantified, Relation
from ..languages.predicate import all_of, any_of
from ..languages.relations import STANDARD

MAX_TESTS: Final = 64
"""Comparisons, constants of relations and operands of one condition; of one with more nothing is tried."""
MAX_CHARACTERS: Final = 64 * 1024
"""Of an event at which conditions are tried; a longer one passes."""
_CHEAP = frozenset(name for name in STANDARD if not name.startswith("regex"))


def portable(condition: Condition) -> Condition:
    """A condition that holds wherever this one does, and that every rendezvous takes."""
    weaker = _weakened(condition)
    return weaker if tests_in(weaker) <= MAX_TESTS else TRUE


def is_portable(condition: Condition) -> bool:
    """Whether a rendezvous takes a condition as it is."""
    return _is_cheap(condition) and tests_in(condition) <= MAX_TESTS


def tests_in(condition: Condition) -> int:
    """How many comparisons, constants of relations and operands there are in a condition."""
    return sum([_tests_of_part(part) for part in parts_of(condition)])


def _tests_of_part(part: Part) -> int:
    match part:
        case Not():
            return 0
        case Comparison(_, left, right):
            return _values_in(left) + _values_in(right) - 1
        case Relation(_, operands):
            return sum(map(_values_in, operands))
    return 1


def _values_in(expression: Expression) -> int:
    """How many fields and constants there are in an expression."""
    if isinstance(expression, Arithmetic):
        return sum(1 for operand in operands_of(expression) if not isinstance(operand, Arithmetic))
    return 1


def _weakened(condition: Condition) -> Condition:
    match condition:
        case And(parts):
            return all_of([_weakened(part) for part in parts])
        case Or(parts):
            return any_of([_weakened(part) for part in parts])
    return condition if _is_cheap(condition) else TRUE


def _is_cheap(condition: Condition) -> bool:
    return all(map(_is_part_cheap, parts_of(condition)))


def _is_part_cheap(part: Part) -> bool:
    if isinstance(part, Relation):
        return part.name in _CHEAP
    return not isinstance(part, Quantified)
