"""What the cost of a condition is made of: the tests that and, or and not join, and the operands of arithmetic.

Who bounds conditions asks different questions of them: an agent how many steps a test takes (agent/costs.py), a temporal
subscription how many events it could look at instead (temporal/checks.py), a peer whether strangers may have it tried at all
(overlay/portable.py). So each says itself what one test costs it, and the trees are walked here alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from .expressions import And, Arithmetic, Comparison, Condition, Exists, Expression, Not, Or, Quantified, Relation

Part: TypeAlias = Comparison | Relation | Exists | Quantified | Not


def parts_of(condition: Condition) -> Iterator[Part]:
    """The tests that a condition is made of, from left to right, and each ``not`` before those under it.

    A test on the elements of a list is one part: what it asks of each element is a condition of its own.
    """
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from parts_of(part)
        case Not(part):
            yield condition
            yield from parts_of(part)
        case _:
            yield condition


def operands_of(expression: Expression) -> Iterator[Expression]:
    """All operands of the arithmetic in an expression, however deep: none of a field or a constant."""
    if isinstance(expression, Arithmetic):
        for operand in expression.operands:
            yield operand
            yield from operands_of(operand)
