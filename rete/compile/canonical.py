"""One form for queries that differ in the names of variables, or in the order in which conditions are written.

Conditions are sorted by what can be said of them without names; then names, and parameters, are numbered in the order in which they
stand. Queries of the same form mean the same. Not every two that mean the same have the same form: conditions that nothing but
names tells apart stay as they are written (to sort those too is to decide whether two graphs are isomorphic).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from ..algebra import (
    Algebra,
    Basic,
    Extend,
    Filter,
    Grouped,
    Join,
    LeftJoin,
    Minus,
    Numbered,
    Path,
    Project,
    Slice,
    Values,
    of_group,
    parts_of,
)
from ..conditions import Condition, Group, Parameter, Variable, is_parameter
from ..functions import with_names

ROUNDS = 3
"""How often conditions are told apart by those that share their variables: so far apart are those that matter."""


@dataclass(frozen=True, slots=True)
class Canonical:
    """The form of a query; ``arguments`` are the numbers that its parameters have in the query, in order."""

    body: Group | Algebra
    select: tuple[str, ...]
    arguments: tuple[int, ...]


class _AsItIs(Exception):  # no error: nobody but this file sees it
    """The names of a query mean something: a slice breaks ties by them, or a function does not say how it is without them."""


def canonical(body: Group | Algebra, select: tuple[str, ...], parameters: int) -> Canonical:
    """The form of a query with so many parameters, which may be that in which it is."""
    tree = of_group(body)
    if isinstance(body, Group) and not set(select) <= set(body.variables()):
        # It is refused, by the names that it has.
        return Canonical(body, select, tuple(range(parameters)))
    if isinstance(tree, Project) and tree.names == select:
        tree = tree.child
    numbers: dict[str, str] = {}
    arguments: dict[str, str] = {}

    def number(name: str) -> str:
        if is_parameter(name):
            return arguments.setdefault(name, f"${len(arguments)}")
        return numbers.setdefault(name, f"v{len(numbers)}")

    try:
        made = _renamed(_merged(tree), number)
    except _AsItIs:
        return Canonical(body, select, tuple(range(parameters)))
    chosen = tuple(map(number, select))
    return Canonical(made, chosen, tuple(Parameter.of_name(name).number for name in arguments))


def _merged(tree: Algebra) -> Algebra:
    """Conditions that are joined with each other, however they are grouped, stand beside each other."""
    parts: dict[str, Any] = {name: _merged(part) for name, part in parts_of(tree).items()}  # Any: for mypy
    tree = replace(tree, **parts)
    match tree:
        case Join(Basic(some), Basic(others)):
            return Basic(some + others)
    return tree


def _renamed(tree: Algebra, rename: Callable[[str], str]) -> Algebra:
    match tree:
        case Basic(conditions):
            return Basic(tuple(_condition(condition, rename) for condition in _sorted(conditions)))
        case LeftJoin(left, right, test):
            one, other = _renamed(left, rename), _renamed(right, rename)
            return LeftJoin(one, other, None if test is None else _function(test, rename))
        case Filter(child, test):
            return Filter(_renamed(child, rename), _function(test, rename))
        case Extend(child, name, value):
            return Extend(_renamed(child, rename), rename(name), _function(value, rename))
        case Values(names, rows):
            return Values(tuple(map(rename, names)), tuple(tuple(_item(item, rename) for item in row) for row in rows))
        case Project(child, names):
            return Project(_renamed(child, rename), tuple(map(rename, names)))
        case Numbered(child, name):
            return Numbered(_renamed(child, rename), rename(name))
        case Grouped(child, keys, aggregates):
            inner = _renamed(child, rename)
            made = tuple((rename(name), _function(aggregate, rename)) for name, aggregate in aggregates)
            return Grouped(inner, tuple(map(rename, keys)), made)
        case Minus(left, right, by):
            one, other = _renamed(left, rename), _renamed(right, rename)
            return Minus(one, other, tuple(map(rename, by)))
        case Path(subject, path, object_, graph):
            return Path(_item(subject, rename), path, _item(object_, rename), _item(graph, rename))
        case Slice():
            raise _AsItIs
        case _:
            parts: dict[str, Any] = {name: _renamed(part, rename) for name, part in parts_of(tree).items()}  # Any: for mypy
            return replace(tree, **parts)


def _condition(condition: Condition, rename: Callable[[str], str]) -> Condition:
    return Condition(tuple(_item(item, rename) for item in condition.pattern), condition.window)


def _item(item: Any, rename: Callable[[str], str]) -> Any:  # Any: constants are opaque to this package
    if isinstance(item, Parameter):
        return Parameter.of_name(rename(item.name))
    return Variable(rename(item.name)) if isinstance(item, Variable) else item


def _function(function: Any, rename: Callable[[str], str]) -> Any:  # Any: a test, a computation or an aggregate
    made = with_names(function, rename)
    if made is None:
        raise _AsItIs
    return made


def _sorted(conditions: tuple[Condition, ...]) -> list[Condition]:
    """The conditions in an order that depends on names as little as can be had at once: each is told apart by its constants, and
    then, a few times, by what is said of its variables elsewhere."""
    colors: dict[str, int] = {}
    signatures: list[int] = []
    for _ in range(ROUNDS):
        signatures = [_digest([_part(item, colors) for item in each.pattern], each.window) for each in conditions]
        places: dict[str, list[tuple[int, int]]] = {}
        for signature, condition in zip(signatures, conditions, strict=True):
            for place, item in enumerate(condition.pattern):
                if type(item) is Variable:
                    places.setdefault(item.name, []).append((signature, place))
        colors = {name: _digest(sorted(found)) for name, found in places.items()}
    return [conditions[at] for at in sorted(range(len(conditions)), key=signatures.__getitem__)]


def _part(item: object, colors: dict[str, int]) -> object:
    if isinstance(item, Parameter):
        return "$"
    return colors.get(item.name, 0) if isinstance(item, Variable) else item


def _digest(*parts: object) -> int:
    # Not Python's hash, which is another one in each process: the order of joins may depend on this.
    return crc32(repr(parts).encode("utf-8", "surrogatepass"))
