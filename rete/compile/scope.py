"""What can be said of the names of a tree before it is built: which it may bind, which it surely binds, which it would read from
outside.

The rules are those of SPARQL 1.1, section 18.2.1 ("in-scope"), and for what is read from outside those of substitution (18.6): a
projection hides the names that it does not list, a group those that are no keys.

A parameter stands for a constant: it is in no scope, and nothing hides it.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..algebra import (
    Algebra,
    Basic,
    Closure,
    Distinct,
    Either,
    Exists,
    Extend,
    Filter,
    Grouped,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Numbered,
    Path,
    PathStep,
    Project,
    Slice,
    Steps,
    Union,
    Values,
    parts_of,
)
from ..conditions import Parameter, Variable, is_parameter
from ..errors import BadQuery


def in_scope(tree: Algebra) -> tuple[str, ...]:
    """The names that a solution may bind, in order of appearance."""
    match tree:
        case Basic(conditions):
            names_of = (name for condition in conditions for name, _ in condition.variables)
            return tuple(dict.fromkeys(name for name in names_of if not is_parameter(name)))
        case Join(left, right) | LeftJoin(left, right) | Union(left, right):
            return tuple(dict.fromkeys((*in_scope(left), *in_scope(right))))
        case Minus(child, _) | Filter(child) | Exists(child) | Distinct(child) | Slice(child):
            return in_scope(child)
        case Extend(child, name) | Numbered(child, name):
            return (*in_scope(child), name)
        case Values(names) | Project(_, names):
            return tuple(dict.fromkeys(names))
        case Grouped(_, keys, aggregates):
            return (*dict.fromkeys(keys), *(name for name, _ in aggregates))
        case Path(subject, _, object_, graph):
            return tuple(dict.fromkeys(end.name for end in (subject, object_, graph) if _is_free(end)))


def _is_free(end: object) -> bool:
    return isinstance(end, Variable) and not isinstance(end, Parameter)


def parameters(tree: Algebra) -> frozenset[str]:
    """The names of the parameters that stand in it, however deep."""
    match tree:
        case Basic(conditions):
            return frozenset(name for condition in conditions for name, _ in condition.variables if is_parameter(name))
        case Path(subject, _, object_, graph):
            return frozenset(end.name for end in (subject, object_, graph) if isinstance(end, Parameter))
        case Values(_, rows):
            return frozenset(item.name for row in rows for item in row if isinstance(item, Parameter))
        case _:
            return frozenset(filter(is_parameter, _reads(tree))).union(*map(parameters, parts_of(tree).values()))


def is_apart(tree: Algebra) -> bool:
    """Whether a tree without parameters has more in it than joins of conditions: something that is evaluated once for equal
    ones, as a group is. Conditions are joined with the arguments instead."""
    return not is_of_conditions(tree) and not parameters(tree)


def is_of_conditions(tree: Algebra) -> bool:
    """Whether it is made of joins of conditions, and tests and computations of these."""
    match tree:
        case Basic() | Values():
            return True
        case Join(one, other) | Union(one, other) | LeftJoin(one, other):
            return is_of_conditions(one) and is_of_conditions(other)
        case Filter(child) | Extend(child) | Exists(child) | Minus(child):
            return is_of_conditions(child)
        case _:
            return False


def predicates(path: PathStep) -> Iterator[object]:
    """The predicates that stand in a path."""
    match path:
        case Link(predicate):
            yield predicate
        case NegatedSet(forward, backward):
            yield from (*(forward or ()), *(backward or ()))
        case Closure(inner):
            yield from predicates(inner)
        case Steps(first, second) | Either(first, second):
            yield from predicates(first)
            yield from predicates(second)


def certain(tree: Algebra) -> frozenset[str]:
    """The names that every solution binds."""
    match tree:
        case Basic() | Path():
            return frozenset(in_scope(tree))
        case Join(left, right):
            return certain(left) | certain(right)
        case Union(left, right):
            return certain(left) & certain(right)
        case LeftJoin(child) | Minus(child) | Filter(child) | Exists(child) | Distinct(child) | Slice(child) | Extend(child):
            return certain(child)
        case Numbered(child, name):
            return certain(child) | {name}
        case Values(names, rows):
            return frozenset(name for place, name in enumerate(names) if all(row[place] is not None for row in rows))
        case Project(child, names):
            return certain(child) & frozenset(names)
        case Grouped(child, keys, _):
            return certain(child) & frozenset(keys)


def mentioned(tree: Algebra) -> frozenset[str]:
    """The names whose values outside make a difference to the tree when it is the pattern of an EXISTS."""
    match tree:
        case Basic() | Values() | Path():
            return frozenset(in_scope(tree)) | parameters(tree)
        case Project(child) | Grouped(child):
            return frozenset(in_scope(tree)) | parameters(child)
        case _:
            return _reads(tree).union(*map(mentioned, parts_of(tree).values()))


def _reads(tree: Algebra) -> frozenset[str]:
    """The names that an operator itself reads or gives a value to."""
    match tree:
        case LeftJoin(_, _, reader) | Filter(_, reader):
            return frozenset(() if reader is None else reader.names)
        case Slice(_, order, _, limit):
            return frozenset(() if order is None else order.names).union([limit.name] if isinstance(limit, Parameter) else ())
        case Extend(_, name, value):
            return frozenset((name, *value.names))
        case Numbered(_, name):
            return frozenset((name,))
        case _:
            return frozenset()


def depth(tree: Algebra) -> int:
    """How many operators and joins one change may have to pass, at most: tokens are passed on by recursion."""
    match tree:
        case Basic(conditions):
            return len(conditions)
        case Path(_, path):
            return _path_depth(path)
        case Join(left, right):
            return depth(left) + depth(right) + 1
        case Exists(child, pattern):
            return depth(child) + max(1, depth(pattern))
    if not isinstance(tree, Algebra):
        raise BadQuery(f"{type(tree).__name__} is no operator of the algebra; see rete.algebra")
    return max(map(depth, parts_of(tree).values()), default=0) + 1


def _path_depth(path: object) -> int:
    parts = [getattr(path, field) for field in ("first", "second", "path") if hasattr(path, field)]
    return 1 + sum(_path_depth(part) for part in parts)


def substitutable(tree: Algebra, names: frozenset[str]) -> bool:
    """Whether the tree with values substituted for these names (which it surely binds) has just those of its solutions that have
    the values.

    That is what allows a join by demand. It is not so where a part reads a name that it does not surely bind itself: it would see a
    value that, evaluated by itself, it does not see.
    """
    match tree:
        case Basic() | Values():
            return True
        case Join(left, right) | Union(left, right):
            return substitutable(left, names) and substitutable(right, names)
        case LeftJoin(left, right):
            read = names & _reads(tree).union(in_scope(right))
            return read <= certain(left) and substitutable(left, names) and substitutable(right, names)
        case Minus(left, right):
            read = names & frozenset(in_scope(right))
            return read <= certain(left) & certain(right) and substitutable(left, names) and substitutable(right, names)
        case Filter(child) | Extend(child):
            return names & _reads(tree) <= certain(child) and substitutable(child, names)
        case Exists(child, pattern):
            return names & mentioned(pattern) <= certain(child) and substitutable(child, names)
        case Project(child, shown):
            return substitutable(child, names & frozenset(shown))
        case Distinct(child):
            return names & frozenset(in_scope(child)) <= certain(child) and substitutable(child, names)
        case Path(_, path):
            return not _relates_itself(path)
        case Numbered(child, name):
            return name not in names and names & frozenset(in_scope(child)) <= certain(child) and substitutable(child, names)
        case Grouped() | Slice():
            return False


def _relates_itself(path: PathStep) -> bool:
    """Whether some part of the path relates terms to themselves: then a given end need not be in the graph, and a free one must."""
    match path:
        case Closure(inner, reflexive):
            return reflexive or _relates_itself(inner)
        case Steps(first, second) | Either(first, second):
            return _relates_itself(first) or _relates_itself(second)
        case _:
            return False
