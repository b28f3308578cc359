"""Conditions, expressions and operators in words, for messages and explanations.

One notation for every language: that of GSG script. Names that the languages make up, which no text can write, are shown as ``_``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeAlias

import rete
from rete import algebra
from rete.algebra import Aggregate, Computation, Order, PathStep, Test
from rete.compile.substitution import conditions_of
from rete.functions import with_names
from rete.operators.exists import Existence
from rete.operators.join import Join, Node

from ..tuples.terms import n3
from .expressions.aggregates import Aggregated
from .expressions.operators import Computed, Holds, Ordered
from .expressions.tree import Call, Constant, Expression, Fresh, Name

_INFIX = {"||", "&&", "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "IN", "NOT IN"}


_Pattern: TypeAlias = tuple[rete.Template[Any], rete.Window | None]  # Any: terms
"""What a condition looks for, whatever it calls what it finds."""

_MADE_UP: ContextVar[Mapping[str, str]] = ContextVar("_MADE_UP", default=MappingProxyType({}))


@contextmanager
def naming(tree: algebra.Algebra) -> Iterator[None]:
    """While names that were made up for aggregates of this tree are shown as the aggregates."""
    token = _MADE_UP.set({name: text for name, text in _aggregates(tree) if variable_text(name) == "_"})
    try:
        yield
    finally:
        _MADE_UP.reset(token)


_WRITTEN: ContextVar[Mapping[_Pattern, rete.Condition]] = ContextVar("_WRITTEN", default=MappingProxyType({}))


@contextmanager
def written_as(tree: algebra.Algebra) -> Iterator[None]:
    """While the alpha memories of this tree, and the joins that look into them, are shown by its conditions, with their variables;
    but for those that several of its conditions look into."""
    found: dict[_Pattern, rete.Condition | None] = {}
    for condition in conditions_of(tree):
        looked = condition.template, condition.window
        found[looked] = None if looked in found else condition
    token = _WRITTEN.set({looked: condition for looked, condition in found.items() if condition is not None})
    try:
        yield
    finally:
        _WRITTEN.reset(token)


def _aggregates(tree: algebra.Algebra) -> Iterator[tuple[str, str]]:
    if isinstance(tree, algebra.Grouped):
        for name, aggregate in tree.aggregates:
            yield name, _aggregate_text(aggregate)
    for part in algebra.parts_of(tree).values():
        yield from _aggregates(part)


def variable_text(name: str) -> str:
    """``?x``; for a name that was made up the aggregate that it stands for (see :func:`naming`), or ``_``."""
    return "?" + name if name[:1].isalpha() or name[:1] == "_" else _MADE_UP.get().get(name, "_")


def term_text(item: object) -> str:
    """A constant, variable or wildcard of a condition."""
    if isinstance(item, rete.Variable):
        return variable_text(item.name)
    return "*" if item is rete.WILDCARD else n3(item)  # type: ignore[arg-type]  # rete's constants are opaque: here they are terms


def condition_text(condition: rete.Condition) -> str:
    """``(?x, on, ?y)``, with its window."""
    return f"({', '.join(map(term_text, condition.pattern))}){_window_text(condition.window)}"


def _test_at(test: Test, places: tuple[int, ...]) -> str:
    names = {read: f".{place}" for read, place in zip(test.names, places, strict=True)}
    shown = with_names(test, names.__getitem__)
    token = _MADE_UP.set({f".{place}": f"position {place}" for place in places})
    try:
        return test_text(test if shown is None else shown)
    finally:
        _MADE_UP.reset(token)


def tests_of(alpha: rete.AlphaSpec, condition: rete.Condition) -> list[Test]:
    """The tests that an alpha memory makes, in the names of a condition that looks into it."""
    name_at = {place: name for name, place in condition.variables}
    found = []
    for test, places in alpha.tests:
        names = {read: name_at[place] for read, place in zip(test.names, places, strict=True)}
        named = with_names(test, names.__getitem__)
        found.append(test if named is None else named)
    return found


def _window_text(window: rete.Window | None) -> str:
    if window is None:
        return ""
    return f" WINDOW {window.seconds:g} s" if window.seconds is not None else f" WINDOW {window.count} EVENTS"


def alpha_text(alpha: rete.AlphaSpec) -> str:
    """What an alpha memory holds: constants, ``*`` where anything may stand, tests (see :func:`written_as`)."""
    written = _WRITTEN.get().get((alpha.template, alpha.window))
    if written is not None:
        with_tests = "".join(f" with {test_text(test)}" for test in tests_of(alpha, written))
        return condition_text(written) + with_tests
    template = alpha.template
    repeated = {later: first for first, later in template.same}
    items = [
        (f"= position {repeated[place]}" if place in repeated else "*") if wanted is None else n3(wanted)
        for place, wanted in enumerate(template.pattern)
    ]
    tests = "".join(f" with {_test_at(test, places)}" for test, places in alpha.tests)
    return f"({', '.join(items)}){_window_text(alpha.window)}{tests}"


def expression_text(expression: Expression) -> str:
    """``?age > 18``."""
    match expression:
        case Constant(term):
            return n3(term)
        case Name(name):
            return variable_text(name)
        case Fresh(function):
            return f"{function}()"
    function, arguments = expression.function, [expression_text(argument) for argument in expression.arguments]
    inner = [
        f"({text})" if isinstance(one, Call) and one.function in _INFIX else text
        for one, text in zip(expression.arguments, arguments, strict=True)
    ]
    if " " in function:
        return inner[0] + "".join(f" {symbol} {text}" for symbol, text in zip(function.split(), inner[1:], strict=True))
    if function == "IN":
        return f"{inner[0]} IN ({', '.join(arguments[1:])})"
    if function in _INFIX and len(inner) > 1:
        return f" {function} ".join(inner)
    if function in ("!", "-"):
        return function + inner[0]
    name = function if function.replace("_", "").isalnum() else f"<{function}>"
    return f"{name}({', '.join(arguments)})"


def test_text(test: Test) -> str:
    """What a filter asks."""
    if isinstance(test, Holds):
        return expression_text(test.expression)
    return f"{type(test).__name__.lstrip('_').lower()} of {', '.join(map(variable_text, test.names))}"


test_text.__test__ = False  # type: ignore[attr-defined]  # pytest is not to take it for a test


def _computation_text(value: Computation) -> str:
    return expression_text(value.expression) if isinstance(value, Computed) else type(value).__name__.lstrip("_").lower()


def _aggregate_text(aggregate: Aggregate) -> str:
    if not isinstance(aggregate, Aggregated):
        return type(aggregate).__name__.lstrip("_").lower()
    inner = "*" if aggregate.expression is None else expression_text(aggregate.expression)
    return f"{aggregate.function}({'DISTINCT ' if aggregate.distinct else ''}{inner})"


def _order_text(order: Order) -> str:
    if not isinstance(order, Ordered):
        return ", ".join(map(variable_text, order.names))
    return ", ".join(expression_text(key) + (" descending" if descends else "") for key, descends in order.keys)


def path_text(step: PathStep) -> str:
    """A property path as SPARQL writes it."""
    match step:
        case algebra.Link(predicate, inverse):
            return ("^" if inverse else "") + n3(predicate)
        case algebra.NegatedSet(forward, backward):
            terms = [*map(n3, forward or ()), *("^" + n3(term) for term in backward or ())]
            return f"!({'|'.join(terms)})"
        case algebra.Closure(path, reflexive, transitive):
            return f"({path_text(path)}){'*' if reflexive and transitive else '+' if transitive else '?'}"
        case algebra.Steps(first, second):
            return f"{path_text(first)}/{path_text(second)}"
        case algebra.Either(first, second):
            return f"({path_text(first)}|{path_text(second)})"


def operator_text(tree: algebra.Algebra) -> str:
    """An operator by its name and its own words, without what it is applied to."""
    match tree:
        case algebra.Basic():
            return "conditions"
        case algebra.Join():
            return "join"
        case algebra.LeftJoin(_, _, test):
            return "OPTIONAL" + ("" if test is None else f" with {test_text(test)}")
        case algebra.Union():
            return "UNION"
        case algebra.Minus(_, _, within):
            return "MINUS" + _within_text(within)
        case algebra.Filter(_, test):
            return f"FILTER {test_text(test)}"
        case algebra.Exists(_, _, negated):
            return "NOT" if negated else "EXISTS"
        case algebra.Extend(_, name, value):
            return f"BIND {_computation_text(value)} AS {variable_text(name)}"
        case algebra.Values(names, rows):
            return f"VALUES of {', '.join(map(variable_text, names))}: {len(rows)} row{'' if len(rows) == 1 else 's'}"
        case algebra.Project(_, names):
            return f"show {', '.join(map(variable_text, names)) or 'nothing'}"
        case algebra.Distinct():
            return "DISTINCT"
        case algebra.Numbered():
            return "each copy by itself"
        case algebra.Grouped(_, keys, aggregates):
            by = f" by {', '.join(map(variable_text, keys))}" if keys else " of all"
            return f"group{by}: {', '.join(_aggregate_text(aggregate) for _, aggregate in aggregates) or 'no aggregate'}"
        case algebra.Slice(_, order, offset, limit, within):
            words = [] if order is None else [f"ORDER BY {_order_text(order)}"]
            given = variable_text(limit.name) if isinstance(limit, rete.Variable) else limit
            words += [f"LIMIT {given}"] if given is not None else []
            words += [f"OFFSET {offset}"] if offset else []
            return (" ".join(words) or "all") + _within_text(within)
        case algebra.Path(subject, path, object_, graph):
            return f"path ({term_text(subject)}, {path_text(path)}, {term_text(object_)}){_graph_text(graph)}"


def _within_text(names: tuple[str, ...]) -> str:
    return f" within each {', '.join(map(variable_text, names))}" if names else ""


def _graph_text(graph: object) -> str:
    if isinstance(graph, algebra.Merged):
        return f" in {' and '.join(map(term_text, graph.graphs)) or 'no graph'}"
    return "" if graph is None else f" in {term_text(graph)}"


def part_text(part: rete.Condition | rete.Group | algebra.Algebra) -> str:
    """A condition, a group as its conditions and NOT groups, or an operator by its name; in one line."""
    match part:
        case rete.Condition():
            return condition_text(part)
        case rete.Group(conditions, negated):
            return ", ".join([*map(condition_text, conditions), *(f"NOT {{ {part_text(inner)} }}" for inner in negated)])
    return operator_text(part)


NODES = {
    "Root": "the beginning",
    "Parameters": "arguments",
    "Demand": "asked",
    "Existence": "EXISTS",
    "Lateral": "join by demand",
    "PairJoin": "join",
    "Optional": "OPTIONAL",
    "Removal": "MINUS",
    "Selection": "FILTER",
    "Extension": "BIND",
    "Projection": "columns",
    "Once": "DISTINCT",
    "Numbering": "number copies",
    "Both": "UNION",
    "InlineRows": "VALUES",
    "Groups": "group",
    "Sliced": "slice",
    "Reach": "closure",
}
"""What each kind of node is called."""


def node_text(node: object) -> str:
    """A node of the network in words."""
    if isinstance(node, Join):
        return f"the join with {alpha_text(node.spec.alpha)}"
    if is_negated(node):
        return "its NOT"
    return f"its {NODES.get(type(node).__name__, type(node).__name__)}"


def node_detail(node: Node) -> str:
    """What a node of the network does, where its kind does not say it all."""
    if isinstance(node, Join):
        written = _WRITTEN.get().get((node.spec.alpha.template, node.spec.alpha.window))
        if written is not None:
            on = ", ".join(term_text(written.pattern[position]) for position in node.spec.fact_key)
        else:
            places = zip(node.spec.token_key, node.spec.fact_key, strict=True)
            on = ", ".join(f"position {position} = column {column}" for column, position in places)
        return f"{alpha_text(node.spec.alpha)} {f'on {on}' if on else ''}".strip()
    match type(node).__name__, getattr(node, "made_with", None):
        case "Selection", (test, _):
            return test_text(test)
        case "Extension", (value, _):
            return _computation_text(value)
        case "Groups", (_, aggregates, _):
            return ", ".join(_aggregate_text(aggregate) for aggregate, _ in aggregates)
        case "InlineRows", (rows, _, _, _):
            return f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
        case "Sliced", (_, order, _, _, offset, limit, given):
            limit = limit if given is None else f"column {given}"
            return operator_text(algebra.Slice(algebra.Basic(), order, offset, limit))
    return ""


def is_negated(node: object) -> bool:
    """Whether it is an EXISTS that is to have no solution."""
    return isinstance(node, Existence) and node.negated
