"""From a condition back to a text of the predicate language, that reads as an equal condition."""

from __future__ import annotations

import json
import re

from .expressions import (
    EVERY_FIELD,
    FALSE,
    TRUE,
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

_PLAIN = re.compile(r"(?![?+-]?\.?\d)[^\s()\"'|;.?]+")
_RESERVED = ("it", "true", "false", "null", "*")


def written(node: Condition | Expression) -> str:
    """The text of a condition or a value."""
    match node:
        case _ if node in (TRUE, FALSE):
            return "true" if node == TRUE else "false"
        case Constant(value):
            return value_text(value)
        case Field():
            return _field(node)
        case Arithmetic(operator, operands) | Relation(operator, operands):
            return _form(operator, *map(written, operands))
        case Comparison(operator, left, right):
            return _form(operator, written(left), written(right))
        case Exists(field):
            return _form("exists", written(field))
        case And(parts):
            return _form("and", *map(written, parts))
        case Or(parts):
            return _form("or", *map(written, parts))
        case Not(part):
            return _form("not", written(part))
        case Quantified(quantity, over, condition, count):
            counted = [str(count)] if quantity is Quantity.EXACTLY else []
            return _form(quantity.value, *counted, written(over), written(condition))
        case _:
            raise TypeError(f"{node!r} is no condition")


def value_text(value: object) -> str:
    """A constant as it is written."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return "1e999" if value == float("inf") else "-1e999" if value == float("-inf") else repr(value)


def name_text(name: str) -> str:
    """One name of a field as it is written."""
    if _PLAIN.fullmatch(name) and name not in _RESERVED:
        return name
    return "|" + re.sub(r"([|\\])", r"\\\1", name) + "|"


def _form(*words: str) -> str:
    return f"({' '.join(words)})"


def _field(field: Field) -> str:
    if field == EVERY_FIELD:
        return "*"
    names = list(map(name_text, field.path))
    plain = not any(name.startswith("|") for name in names)
    if field.origin is Origin.ELEMENT:
        return ".".join(["it", *names]) if plain else _form("field", "it", *names)
    if field.origin is Origin.ENVIRONMENT:
        return _form("env", *names)
    if len(names) == 1 or plain:
        return ".".join(names)
    return _form("field", *names)
