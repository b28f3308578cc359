"""What of a condition is tried at a rendezvous, for strangers: little enough that nobody else is kept waiting by it.

A rendezvous tries it with each event under its feature. What is dear, whatever the event is (lists of many elements, regular
expressions), or understood here alone (relations of an application) is left to the channel that asks: events may come for which
its condition does not hold, and none is missing for which it does.
"""

from __future__ import annotations

from typing import Final

from ..languages.expressions import TRUE, And, Comparison, Condition, Exists, Not, Or, Relation
from ..languages.predicate import all_of, any_of
from ..languages.relations import STANDARD

MAX_TESTS: Final = 64
"""Comparisons and relations of one condition; of one with more nothing is tried."""
MAX_CONSTANTS: Final = 1_000
"""Of one relation, such as a list of texts; one with more is not tried."""
_CHEAP = frozenset(name for name in STANDARD if not name.startswith("regex"))


def portable(condition: Condition) -> Condition:
    """A condition that holds wherever this one does, and that every rendezvous takes."""
    weaker = _weakened(condition)
    return weaker if tests_in(weaker) <= MAX_TESTS else TRUE


def is_portable(condition: Condition) -> bool:
    """Whether a rendezvous takes a condition as it is."""
    return _is_cheap(condition) and tests_in(condition) <= MAX_TESTS


def tests_in(condition: Condition) -> int:
    """How many comparisons, relations and the like a condition is made of."""
    match condition:
        case And(parts) | Or(parts):
            return sum(map(tests_in, parts))
        case Not(part):
            return tests_in(part)
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
        case Relation(name, operands):
            return name in _CHEAP and len(operands) <= MAX_CONSTANTS
    return False
