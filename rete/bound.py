"""Constants put back in the places of parameters: from a template of queries to one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import overload

from .algebra import Algebra, Basic, Exists, Join, LeftJoin, Minus, Path, Union, Values
from .conditions import Condition, Group, OpenTemplate, Parameter
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


def conditions_of(body: Group | Algebra) -> Iterator[Condition]:
    """The conditions of a group or tree, in an order that does not depend on its constants; those of paths are made later."""
    if isinstance(body, Group):
        yield from body.every_condition()
        return
    match body:
        case Basic(conditions):
            yield from conditions
        case Path() | Values():
            pass
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | Minus(left, right):
            yield from conditions_of(left)
            yield from conditions_of(right)
        case Exists(child, pattern):
            yield from conditions_of(child)
            yield from conditions_of(pattern)
        case _:
            yield from conditions_of(body.child)


def can_share(body: Group | Algebra) -> bool:
    """Whether queries of this template can have one network. A window is one of events with the query's own constants."""
    return not any(condition.window and isinstance(condition.template, OpenTemplate) for condition in conditions_of(body))
