"""Constants put back in the places of parameters: from a template of queries to one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import is_not
from typing import Any, TypeVar

from ..algebra import Algebra, Basic, Exists, Extend, Filter, LeftJoin, Path, Slice, Values, parts_of
from ..conditions import Condition, Group, Parameter, Variable, is_parameter
from ..functions import with_constants
from ..index import Token

Body = TypeVar("Body", bound=Group | Algebra)


def bound(body: Body, arguments: Token) -> Body:
    """The group or tree with argument 0 wherever :class:`rete.Parameter` 0 stands, and so on."""
    return replaced(body, lambda item: arguments[item.number] if isinstance(item, Parameter) else item)


def replaced(body: Body, replacement: Callable[[object], object]) -> Body:
    """The group or tree with something else in the place of what stands in its conditions, at the ends of its paths, in its inline
    data, as its limits, and of the constants of its tests and computations."""
    made: Group | Algebra
    match body:
        case Group(conditions, negated):
            made = Group(_conditions(conditions, replacement), tuple(replaced(group, replacement) for group in negated))
        case Basic(conditions):
            made = Basic(_conditions(conditions, replacement))
        case Path(subject, path, object_, graph):
            made = Path(replacement(subject), path, replacement(object_), replacement(graph))
        case Values(names, rows):
            made = Values(names, tuple(tuple(map(replacement, row)) for row in rows))
        case Filter(child, test):
            made = Filter(replaced(child, replacement), with_constants(test, replacement))
        case LeftJoin(left, right, test):
            made = LeftJoin(replaced(left, replacement), replaced(right, replacement), with_constants(test, replacement))
        case Extend(child, name, value):
            made = Extend(replaced(child, replacement), name, with_constants(value, replacement))
        case Slice(child, order, offset, limit, by):
            made = Slice(replaced(child, replacement), order, offset, replacement(limit), by)
        case _:
            parts: dict[str, Any] = {name: replaced(part, replacement) for name, part in parts_of(body).items()}  # Any: for mypy
            made = replace(body, **parts)
    return made  # type: ignore[return-value]  # it is of the body's own kind


def without_names(pattern: Algebra, given: tuple[str, ...]) -> tuple[Algebra, tuple[str, ...]]:
    """A pattern and names that have a value outside it, all renamed by number where no operator of it reads names: what two queries
    have in common that differ in names alone."""
    if not _consists_of_conditions(pattern):
        return pattern, given
    numbers: dict[str, str] = {}

    def numbered(name: str) -> str:
        return name if is_parameter(name) else numbers.setdefault(name, str(len(numbers)))

    names = tuple(map(numbered, given))
    return replaced(pattern, lambda item: Variable(numbered(item.name)) if type(item) is Variable else item), names


def _consists_of_conditions(tree: Algebra) -> bool:
    return isinstance(tree, Basic) or (
        isinstance(tree, Exists) and _consists_of_conditions(tree.child) and _consists_of_conditions(tree.pattern)
    )


def _conditions(conditions: tuple[Condition, ...], replacement: Callable[[object], object]) -> tuple[Condition, ...]:
    made = []
    for condition in conditions:
        pattern = tuple(map(replacement, condition.pattern))
        is_other = any(map(is_not, pattern, condition.pattern))
        made.append(Condition(pattern, condition.window) if is_other else condition)
    return tuple(made)


def conditions_of(body: Group | Algebra) -> Iterator[Condition]:
    """The conditions of a group or tree, in an order that does not depend on its constants; those of paths are made later."""
    if isinstance(body, Group):
        yield from body.every_condition()
        return
    if isinstance(body, Basic):
        yield from body.conditions
    for part in parts_of(body).values():
        yield from conditions_of(part)
