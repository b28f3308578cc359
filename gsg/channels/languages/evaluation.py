"""Whether a condition holds of an event, straight from its definition: what every matcher is compared with.

Nothing is compiled, shared or left out. A missing field makes its own comparison false, and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from ..values import MISSING, Fields, compare, equal, number_of, value_at
from .expressions import (
    EVERY_FIELD,
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
    Quantity,
    Relation,
)
from .relations import Relations

MAX_BITS: Final = 1_024
"""Of a number that arithmetic makes; a longer one is missing, as no float is as large."""
NOTHING: Final[Mapping[str, object]] = {}


def holds(condition: Condition, fields: Fields, environment: Fields, relations: Relations, element: object = MISSING) -> bool:
    """Whether a condition holds. The depth of conditions is bounded where they are read."""
    match condition:
        case And(parts):
            return all(holds(part, fields, environment, relations, element) for part in parts)
        case Or(parts):
            return any(holds(part, fields, environment, relations, element) for part in parts)
        case Not(part):
            return not holds(part, fields, environment, relations, element)
        case Exists(field):
            return value_of(field, fields, environment, element) is not MISSING
        case Comparison(operator, left, right):
            return compared(operator, value_of(left, fields, environment, element), value_of(right, fields, environment, element))
        case Relation(name, (first, *constants)):
            value = value_of(first, fields, environment, element)
            known = [value_of(one, fields, environment, element) for one in constants]
            return value is not MISSING and relations.make(name, known)(value)
        case Quantified(quantity, over, inner, count):
            values = list(fields.values()) if over == EVERY_FIELD else value_of(over, fields, environment, element)
            if type(values) is not list:
                return False
            met = sum(holds(inner, fields, environment, relations, each) for each in values)
            return quantified(quantity, met, len(values), count)
        case _:
            raise TypeError(f"{condition!r} is no condition")


def quantified(quantity: Quantity, met: int, length: int, count: int) -> bool:
    """Whether so many elements of a list are as many as wanted."""
    return met > 0 if quantity is Quantity.ANY else met == (length if quantity is Quantity.ALL else count)


def compared(operator: str, left: object, right: object) -> bool:
    """Whether two values compare so."""
    if left is MISSING or right is MISSING:
        return False
    if operator == "=":
        return equal(left, right)
    if operator == "!=":
        return not equal(left, right)
    order = compare(left, right)
    if order is None:
        return False
    return order < 0 if operator == "<" else order <= 0 if operator == "<=" else order > 0 if operator == ">" else order >= 0


def value_of(expression: Expression, fields: Fields, environment: Fields, element: object = MISSING) -> object:
    """What a value of a condition is for an event, or MISSING."""
    match expression:
        case Constant(value):
            return value
        case Field(path, origin):
            found: object = fields if origin is Origin.EVENT else environment if origin is Origin.ENVIRONMENT else element
            return value_at(found, path)
        case Arithmetic(operator, operands):
            return computed(operator, [value_of(operand, fields, environment, element) for operand in operands])


def computed(operator: str, operands: list[object]) -> object:
    """A number computed from values, or MISSING."""
    numbers = [number_of(operand) for operand in operands]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers):
        return MISSING
    try:
        result = _computed(operator, known)
    except (OverflowError, ZeroDivisionError, ValueError):
        return MISSING
    return MISSING if isinstance(result, int) and result.bit_length() > MAX_BITS else result


def _computed(operator: str, numbers: list[int | float]) -> int | float:
    first, *rest = numbers
    match operator:
        case "+":
            return sum(numbers)
        case "-":
            return first - sum(rest) if rest else -first
        case "*":
            product: int | float = 1
            for number in numbers:
                product *= number
                if isinstance(product, int) and product.bit_length() > MAX_BITS:
                    raise OverflowError
            return product
        case "/":
            quotient = first / rest[0]
            exact = isinstance(first, int) and isinstance(rest[0], int) and first % rest[0] == 0
            return first // rest[0] if exact else quotient
        case "mod":
            return first % rest[0]
        case "min" | "max":
            if any(isinstance(number, float) and math.isnan(number) for number in numbers):
                return math.nan
            return min(numbers) if operator == "min" else max(numbers)
        case "abs":
            return abs(first)
    raise ValueError(f"unknown operator {operator!r}")
