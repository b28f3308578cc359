"""Without which fields a condition can never hold.

Filman and Lee (section "Event channel algorithms") call the fields that a subscription names its signature, and skip a subscription
where an event lacks one of them. That is right for comparisons joined by ``and`` alone; what is required is less under ``or``,
``not`` and where absence is asked for: all that every part of an ``or`` requires, and nothing under ``not``.
"""

from __future__ import annotations

from .expressions import (
    And,
    Arithmetic,
    Comparison,
    Condition,
    Exists,
    Expression,
    Field,
    Not,
    Or,
    Origin,
    Quantified,
    Quantity,
    Relation,
)


def required_fields(condition: Condition) -> frozenset[str]:
    """The names of fields, at the top level of an event, that are there in each event of which the condition holds."""
    match condition:
        case And(parts):
            return frozenset().union(*map(required_fields, parts))
        case Or(parts):
            every = list(map(required_fields, parts))
            return frozenset.intersection(*every) if every else frozenset()
        case Not():
            return frozenset()
        case Exists(field):
            return _read(field)
        case Comparison(_, left, right):
            return _read(left) | _read(right)
        case Relation(_, operands):
            return frozenset().union(*map(_read, operands))
        case Quantified(quantity, over, inner, count):
            is_met = quantity is Quantity.ANY or (quantity is Quantity.EXACTLY and count > 0)
            return _read(over) | (required_fields(inner) if is_met else frozenset())


def _read(expression: Expression) -> frozenset[str]:
    match expression:
        case Field((name, *_), Origin.EVENT):
            return frozenset((name,))
        case Arithmetic(_, operands):
            return frozenset().union(*map(_read, operands))
        case _:
            return frozenset()
