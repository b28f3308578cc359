"""Constants put back in the places of parameters: from a template of queries to one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import overload

from .algebra import Algebra, Basic, Exists, Join, LeftJoin, Minus, Path, Union, Values
from .conditions import Condition, Group, Parameter
from .index import Token


@overload
def bound(body: Group, arguments: Token) -> Group: ...


@overload
def bound(body: Algebra, arguments: Token) -> Algebra: ...


@overload
def bound(body: Group | Algebra, arguments: Token) -> Group | Algebra: ...


def bound(body: Group | Algebra, arguments: Token) -> Group | Algebra:
    """The group or tree with argument 0 wherever :class:`rete.Parameter` 0 stands, and so on."""
    if isinstance(body, Group):
        return Group(_conditions(body.conditions, arguments), tuple(bound(group, arguments) for group in body.negated))
    match body:
        case Basic(conditions):
            return Basic(_conditions(conditions, arguments))
        case Path(subject, path, object_):
            return Path(_constant(subject, arguments), path, _constant(object_, arguments))
        case Values():
            return body
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
            return replace(body, left=bound(left, arguments), right=bound(right, arguments))
        case Exists(child, pattern):
            return replace(body, child=bound(child, arguments), pattern=bound(pattern, arguments))
        case _:
            return replace(body, child=bound(body.child, arguments))


def _conditions(conditions: tuple[Condition, ...], arguments: Token) -> tuple[Condition, ...]:
    return tuple(
        Condition(tuple(_constant(item, arguments) for item in condition.pattern), condition.window) for condition in conditions
    )


def _constant(item: object, arguments: Token) -> object:
    return arguments[item.number] if isinstance(item, Parameter) else item
