"""Which queries can have one network, and in which of their constants they may differ there.

A network that queries share has a token for each of them at its top, so a fact must find the few that it concerns: by a constant of
a condition, which is the key of a join, or by what a test requires (:mod:`rete.waiting_tokens`). Where neither is so,
each fact would meet every query, and each query would hold tokens that others hold as well. Such constants stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from ..algebra import Algebra, Basic, Exists, Extend, Filter, Join, LeftJoin, Minus, Path, Slice, Union, Values, of_group, parts_of
from ..conditions import Group, OpenTemplate, Parameter, is_parameter
from ..functions import Computation, Test, requirements_of, with_constants
from ..index import Token
from .scope import in_scope, is_of_conditions, parameters
from .substitution import conditions_of


def can_share(body: Group | Algebra) -> bool:
    """Whether queries of this template can have one network. A window is one of events with the query's own constants."""
    return not any(condition.window and isinstance(condition.template, OpenTemplate) for condition in conditions_of(body))


def open_templates(body: Group | Algebra) -> set[OpenTemplate[Any]]:  # Any: constants are opaque to this package
    """What is left of the conditions in which queries of this template differ."""
    return {condition.template for condition in conditions_of(body) if isinstance(condition.template, OpenTemplate)}


def fixed_parameters(body: Group | Algebra, arguments: Token, *, by_feed: bool) -> frozenset[int]:
    """The numbers of parameters that have to be constants in a network that queries share; ``arguments`` are those of one of them.

    In conditions, and at the ends of paths, queries may differ. In tests, computations and inline data they may where these are of
    conditions, or of what is the same for all queries, and where a query finds its facts by something of its own; in limits, where
    they may differ otherwise. ``by_feed`` says that facts come by feeds: then a test is made by whoever feeds, for each query by
    itself.
    """
    tree = of_group(body)
    others, any_in_patterns = _outside_patterns(tree)
    if others and not by_feed:
        functions = list(_functions(tree))
        inline = [each for each in _each(tree, Values) if parameters(each)]
        is_found = (
            any_in_patterns
            or any(set(in_scope(each)) & _names_of_conditions(tree) for each in inline)
            or any(_is_looked_up(function, names, arguments) for function, names in functions)
        )
        if is_found or (sum(1 for _ in conditions_of(tree)) == 1 and all(_is_made_at_once(*each) for each in functions)):
            others = others.difference(
                _limits(tree, Algebra), *map(parameters, inline), *(function.names for function, _ in functions)
            )
    return frozenset(Parameter.of_name(name).number for name in others)


@lru_cache(maxsize=1_024)  # of templates; the one that was not asked for the longest goes
def _outside_patterns(tree: Algebra) -> tuple[frozenset[str], bool]:
    """The parameters that stand in no condition, at no end of a path, and are no limits of what has such; and whether there are
    any of these."""
    in_patterns = frozenset[str]().union(*map(parameters, _each(tree, Basic | Path)))
    return parameters(tree) - in_patterns - _limits(tree, Basic | Path), bool(in_patterns)


def _each(tree: Algebra, kind: object) -> Iterator[Algebra]:
    if isinstance(tree, kind):  # type: ignore[arg-type]  # a union of classes
        yield tree
    for part in parts_of(tree).values():
        yield from _each(part, kind)


def _limits(tree: Algebra, kind: object) -> frozenset[str]:
    """The parameters that are limits of what has others itself, in parts of a kind: else queries would share what is sliced."""
    found = []
    for each in _each(tree, Slice):
        match each:
            case Slice(child, limit=Parameter() as limit) if any(map(parameters, _each(child, kind))):
                found.append(limit.name)
    return frozenset(found)


def _names_of_conditions(tree: Algebra) -> set[str]:
    return {name for condition in conditions_of(tree) for name, _ in condition.variables}


_Function: TypeAlias = tuple[Test | Computation, list[frozenset[str]]]
"""With the sets of names that facts bind at once where it stands: one that reads no others is made as the fact comes."""


def _functions(tree: Algebra) -> Iterator[_Function]:
    """The tests and computations of conditions, and of what is the same for all queries."""
    match tree:
        case Filter(child, function) | Extend(child, _, function) if _is_simple(child):
            yield function, list(_bound_at_once(child))
        case LeftJoin(left, right, test) if test is not None and is_of_conditions(left) and is_of_conditions(right):
            yield test, []
    for part in parts_of(tree).values():
        yield from _functions(part)


def _is_simple(tree: Algebra) -> bool:
    while isinstance(tree, Filter):
        tree = tree.child
    return is_of_conditions(tree) or not parameters(tree)


def _bound_at_once(tree: Algebra) -> Iterator[frozenset[str]]:
    """Names for whose tests tokens wait (:mod:`rete.waiting_tokens`): those of a condition, and of what is the same for all. What
    an OPTIONAL or a computation adds is known later, when each query has tokens of its own."""
    match tree:
        case Basic(conditions):
            yield from (frozenset(name for name, _ in condition.variables) for condition in conditions)
        case Filter(child) | Exists(child) | Minus(child) | LeftJoin(child):
            yield from _bound_at_once(child)
        case Extend(child, name):
            yield from (
                (names - {name} for names in _bound_at_once(child)) if is_of_conditions(tree) else (frozenset(in_scope(tree)),)
            )
        case Join(left, right):
            yield from _bound_at_once(left)
            yield from _bound_at_once(right)
        case Union(left, right):
            others = list(_bound_at_once(right))
            yield from (one & other for one in _bound_at_once(left) for other in others)
        case Values():
            return
        case _:
            yield frozenset(in_scope(tree))


def _is_made_at_once(function: Test | Computation, names: list[frozenset[str]]) -> bool:
    read = frozenset(name for name in function.names if not is_parameter(name))
    return any(read <= each for each in names)


def _is_looked_up(function: Test | Computation, names: list[frozenset[str]], arguments: Token) -> bool:
    """Whether a fact finds the queries that differ in constants of a test."""
    if not any(map(is_parameter, function.names)) or not _is_made_at_once(function, names):
        return False
    made: Test = with_constants(function, lambda item: arguments[item.number] if isinstance(item, Parameter) else item)
    return bool(requirements_of(made))
