"""What of a condition is tried at a rendezvous, for strangers: little enough that nobody else is kept waiting by it.

A rendezvous tries it with each event under its feature. What is dear, whatever the event is (lists of many elements, regular
expressions), or understood here alone (relations of an application) is left to the channel that asks: events may come for which
its condition does not hold, and none is missing for which it does.
"""

from __future__ import annotations

from typing import Final

from ..languages.expressions import TRUE, And, Arithmetic, Comparison, Condition, Exists, Expression, Not, Or, Relation
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


def tests_in(node: Condition | Expression) -> int:
    """How many comparisons, constants of relations and operands there are in a condition."""
    match node:
        case And(parts) | Or(parts):
            return sum(map(tests_in, parts))
        case Not(part):
            return tests_in(part)
        case Comparison(_, left, right):
            return tests_in(left) + tests_in(right) - 1
        case Relation(_, operands) | Arithmetic(_, operands):
            return sum(map(tests_in, operands))
    return 1


def _weakened(condition: Condition) -> Condition:
    match condition:
        case And(parts):
            return all_of([_weakened(part) for part in parts])
        case Or(parts):
            return any_of([_weakened(part) for part in parts])
    return condition if _is_cheap(condition) else TRUE


def _is_cheap(condition: Condition) -> bool:
    match condition:
        case And(parts) | Or(parts):
            return all(map(_is_cheap, parts))
        case Not(part):
            return _is_cheap(part)
        case Comparison() | Exists():
            return True
        case Relation(name, _):
            return name in _CHEAP
    return False
