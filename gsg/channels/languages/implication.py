"""Whether one condition says at least what another does: each event of which the first holds is one of the second.

The answer may be no where it should be yes, and never the other way round: what is united by it (closure.py) may be too large,
never too small. It looks at trees once each, and gives up after STEPS.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..values import compare, number_of
from .evaluation import NOTHING, holds
from .expressions import (
    FALSE,
    TRUE,
    And,
    Comparison,
    Condition,
    Constant,
    Exists,
    Field,
    Not,
    Or,
    Origin,
    Relation,
    fields_of,
)
from .relations import Relations
from .signature import required_fields

STEPS: Final = 10_000
"""Pairs of conditions that are looked at for one answer; beyond, it is no."""


def implies(special: Condition, general: Condition, relations: Relations) -> bool:
    """Whether ``general`` holds wherever ``special`` does, as far as can be seen."""
    return _Implication(relations).holds(special, general)


class _Implication:
    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._left = STEPS

    def holds(self, special: Condition, general: Condition) -> bool:
        self._left -= 1
        if self._left < 0:
            return False
        if special in (general, FALSE) or general == TRUE:
            return True
        match special, general:
            case Or(parts), _:
                return all(self.holds(part, general) for part in parts)
            case _, And(parts):
                return all(self.holds(special, part) for part in parts)
            case And(parts), _ if any(self.holds(part, general) for part in parts):
                return True
            case _, Or(parts) if any(self.holds(special, part) for part in parts):
                return True
            case Not(part), Not(other):
                return self.holds(other, part)
            case _, Exists(Field((name,), Origin.EVENT)):
                return name in required_fields(special)
            case Comparison(), Comparison():
                return self._compares(special, general)
            case Comparison("=", Field() as field, Constant(value)), _:
                return self._is_met_by(field, value, general)
            case Relation(), Relation():
                return _relates(special, general)
        return False

    def _compares(self, special: Comparison, general: Comparison) -> bool:
        if special.left != general.left or not isinstance(special.right, Constant) or not isinstance(general.right, Constant):
            return False
        if special.operator == "=":
            return isinstance(special.left, Field) and self._is_met_by(special.left, special.right.value, general)
        return _bounds(special.operator, special.right.value, general.operator, general.right.value)

    def _is_met_by(self, field: Field, value: object, general: Condition) -> bool:
        """Whether a condition on one field alone holds where that has a value."""
        if field.origin is not Origin.EVENT or len(field.path) != 1 or set(fields_of(general)) != {field}:
            return False
        return holds(general, {field.path[0]: value}, NOTHING, self._relations)  # type: ignore[dict-item,arg-type]  # a constant is a value


def _bounds(operator: str, bound: object, wider: str, its_bound: object) -> bool:
    """Whether what is beyond a bound is beyond another: bounds of one kind alone, as texts and numbers have orders of their own."""
    if operator == "!=" or wider in ("=", "!=") or operator[0] != wider[0] or isinstance(bound, str) != isinstance(its_bound, str):
        return False
    if isinstance(bound, str) and number_of(bound) is not None:
        return False  # numbers are in order with it as well
    order = compare(bound, its_bound)
    if order is None:
        return False
    return (order < 0 if operator[0] == "<" else order > 0) or (order == 0 and (wider.endswith("=") or operator == wider))


def _relates(special: Relation, general: Relation) -> bool:
    """Whether a relation with each of its texts is one with some of the other's."""
    if special.operands[0] != general.operands[0] or not {special.name, general.name} <= set(_TEXTS):
        return False
    narrow, wide = _texts(special.operands[1:]), _texts(general.operands[1:])
    test = _TEXTS.get(general.name) if special.name == general.name else _TEXTS["contains"] if general.name == "contains" else None
    return test is not None and all(any(test(one, other) for other in wide) for one in narrow)


def _texts(operands: Sequence[object]) -> list[str]:
    return [str(one.value) for one in operands if isinstance(one, Constant)]


_TEXTS: Final = {"prefix": str.startswith, "suffix": str.endswith, "contains": str.__contains__}
