"""Names that an expression of a query reads and nothing gives a value: mostly misspelled, and the reason why a query has no rows.

SPARQL lets them be (they have no value, as others may have none), so a query with one is taken, and whoever wrote it is told.
GSG script refuses them, by their place in the text.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from rete import algebra
from rete.compile.scope import in_scope
from rete.conditions import is_parameter

from .expressions.aggregates import Aggregated
from .expressions.operators import Computed
from .expressions.tree import Name
from .scope import GRAPH

MOST = 10
"""Names that are told; of further ones their number is."""


def unbound_names(tree: algebra.Algebra) -> tuple[str, ...]:
    """A sentence for each name that nothing binds where it is read, each once, in the order of the tree."""
    made, of_graphs = frozenset(_made(tree)), frozenset(_of_graphs(tree))
    said: dict[str, str] = {}
    for name, place, bound in _read(tree, frozenset(), set()):
        if name not in said and not name.startswith("."):
            remedy = _OUTSIDE.format(name) if name in of_graphs else _remedy(name, bound, made)
            said[name] = f"nothing binds ?{name}, so it has no value in {place}{remedy}"
    sentences = tuple(said.values())
    if len(sentences) <= MOST:
        return sentences
    return (*sentences[:MOST], f"nothing binds {len(sentences) - MOST} other names that are read")


_OUTSIDE = ": GRAPH ?{0} gives it a value outside of its braces alone; write behind them what reads it"


def _of_graphs(tree: algebra.Algebra) -> Iterator[str]:
    """The names that stand for a graph outside of GRAPH, where it has a name that was made up."""
    match tree:
        case algebra.Extend(_, name, Computed(Name(graph))) if graph.startswith(GRAPH):
            yield name
    for part in algebra.parts_of(tree).values():
        yield from _of_graphs(part)


def _remedy(name: str, bound: frozenset[str], made: frozenset[str]) -> str:
    if name in made:
        return f": what ?{name} stands for is computed later; write the expression itself, such as COUNT(*)"
    near = difflib.get_close_matches(name, [other for other in bound if not other.startswith(".")], n=1)
    return f"; did you mean ?{near[0]}?" if near else ""


_Found = tuple[str, str, frozenset[str]]
"""A name that has no value, the place where it is read, and the names that have one there."""


def _read(tree: algebra.Algebra, given: frozenset[str], seen: set[tuple[int, frozenset[str]]]) -> Iterator[_Found]:
    """``given`` are the names that have a value before the tree is asked; ``seen`` the parts that were looked at."""
    if (id(tree), given) in seen:
        return
    seen.add((id(tree), given))
    match tree:
        case algebra.Join(left, right) | algebra.Union(left, right) | algebra.Minus(left, right):
            yield from _read(left, given, seen)
            yield from _read(right, given, seen)
        case algebra.LeftJoin(left, right, test):
            # A condition of an OPTIONAL that stands on its right side has all its names there: others see nothing of the left.
            yield from _read(left, given, seen)
            yield from _read(right, given, seen)
            if test is not None:
                yield from _missing(test.names, given | frozenset(in_scope(tree)), "the FILTER of an OPTIONAL")
        case algebra.Filter(child, test):
            yield from _missing(test.names, given | frozenset(in_scope(child)), "HAVING" if _is_of_groups(child) else "a FILTER")
            yield from _read(child, given, seen)
        case algebra.Exists(child, pattern):
            yield from _read(child, given, seen)
            yield from _read(pattern, given | frozenset(in_scope(child)), seen)
        case algebra.Extend(child, name, value):
            place = "what is computed" if name.startswith(".") else f"what ?{name} is computed from"
            yield from _missing(value.names, given | frozenset(in_scope(child)), place)
            yield from _read(child, given, seen)
        case algebra.Grouped(child, keys, aggregates):
            bound = given | frozenset(in_scope(child))
            yield from _missing(keys, bound, "GROUP BY")
            for _, aggregate in aggregates:
                yield from _missing(aggregate.names, bound, _place(aggregate))
            yield from _read(child, given, seen)
        case algebra.Slice(child, order):
            yield from _missing(() if order is None else order.names, given | frozenset(in_scope(child)), "ORDER BY")
            yield from _read(child, given, seen)
        case algebra.Project(child, names):
            yield from _missing(names, given | frozenset(in_scope(child)), "what is selected")
            yield from _read(child, given, seen)
        case algebra.Distinct(child) | algebra.Numbered(child):
            yield from _read(child, given, seen)


def _place(aggregate: algebra.Aggregate) -> str:
    if isinstance(aggregate, Aggregated) and not (aggregate.function == "SAMPLE" and isinstance(aggregate.expression, Name)):
        return f"the aggregate {aggregate.function}"
    # A name alone in HAVING or ORDER BY stands for any of its values in the group.
    return "HAVING, ORDER BY or SAMPLE"


def _missing(names: Iterable[str], bound: frozenset[str], place: str) -> Iterator[_Found]:
    return ((name, place, bound) for name in names if name not in bound and not is_parameter(name))


def _is_of_groups(tree: algebra.Algebra) -> bool:
    while isinstance(tree, algebra.Filter | algebra.Exists | algebra.Extend | algebra.Union):
        tree = tree.left if isinstance(tree, algebra.Union) else tree.child
    return isinstance(tree, algebra.Grouped)


def _made(tree: algebra.Algebra) -> Iterator[str]:
    """The names that are computed at the top, after everything else."""
    while isinstance(tree, algebra.Filter | algebra.Extend | algebra.Slice | algebra.Project | algebra.Distinct | algebra.Union):
        if isinstance(tree, algebra.Extend):
            yield tree.name
        tree = tree.left if isinstance(tree, algebra.Union) else tree.child
