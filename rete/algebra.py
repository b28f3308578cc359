"""What a standing query can say, as data: a tree of operators over conditions (SPARQL 1.1 Query Language, section 18).

Solutions bind names to constants; a name may be unbound, which is ``None`` wherever solutions are tuples. Solutions form a bag.
The tree says nothing of how it is kept right: :mod:`rete.compile.build` makes a network of nodes from it, one kind of node for each
operator.

Constants, and what is computed from them (:mod:`rete.functions`), are opaque.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from .conditions import Condition, Group
from .functions import Accumulator as Accumulator
from .functions import Aggregate as Aggregate
from .functions import Computation as Computation
from .functions import Order as Order
from .functions import Test as Test
from .functions import is_portable as is_portable
from .functions import steps_of as steps_of


@dataclass(frozen=True, slots=True)
class Basic:
    """A basic graph pattern: conditions joined on their common variables. No condition at all has one empty solution."""

    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Join:
    """Compatible solutions of both sides, merged."""

    left: Algebra
    right: Algebra


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """OPTIONAL: the join where the test holds on the merged solution, and each left solution that has no such partner."""

    left: Algebra
    right: Algebra
    test: Test | None = None


@dataclass(frozen=True, slots=True)
class Union:
    """The solutions of both sides together."""

    left: Algebra
    right: Algebra


@dataclass(frozen=True, slots=True)
class Minus:
    """Left solutions without a compatible right one that shares a bound name, not counting ``by``: these are names that both sides
    surely bind, and what is taken away is taken within each combination of their values, as within a graph."""

    left: Algebra
    right: Algebra
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """Solutions for which the test holds."""

    child: Algebra
    test: Test


@dataclass(frozen=True, slots=True)
class Exists:
    """Solutions for which the pattern has (or, ``negated``, has not) a solution once the bound names are substituted into it."""

    child: Algebra
    pattern: Algebra
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Extend:
    """BIND: one more name, computed."""

    child: Algebra
    name: str
    value: Computation


@dataclass(frozen=True, slots=True)
class Values:
    """Inline data: rows of constants, None where unbound."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Project:
    """The names asked for; those that are never bound are None."""

    child: Algebra
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each solution once."""

    child: Algebra


@dataclass(frozen=True, slots=True)
class Numbered:
    """Equal solutions told apart: one more name, the number of the copy, from 0 on."""

    child: Algebra
    name: str


@dataclass(frozen=True, slots=True)
class Grouped:
    """One solution a group of equal keys: the keys and the aggregates. Without keys there is one group, even of nothing."""

    child: Algebra
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, Aggregate], ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """ORDER BY with LIMIT and OFFSET: ``limit`` solutions from number ``offset`` on (None: all); ties are broken by the solution
    itself. The limit may be a :class:`rete.Parameter`. Each combination of values of ``by``, names that are surely bound, has a
    slice of its own."""

    child: Algebra
    order: Order | None
    offset: int = 0
    limit: Any = None  # Any: a number, or a parameter for one, which is none in the template of a query
    by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A path of one edge: facts (subject, predicate, object); ``inverse`` walks it from object to subject."""

    predicate: Any
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """A path of one edge whose predicate is none of these; each alternative in its own direction (section 18.1.7)."""

    forward: tuple[Any, ...] | None
    backward: tuple[Any, ...] | None


@dataclass(frozen=True, slots=True)
class Closure:
    """Zero or more (``reflexive`` and ``transitive``), one or more (``transitive``), or zero or one (``reflexive``) steps of a
    path."""

    path: PathStep
    reflexive: bool
    transitive: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """One path after the other."""

    first: PathStep
    second: PathStep


@dataclass(frozen=True, slots=True)
class Either:
    """One path or the other."""

    first: PathStep
    second: PathStep


PathStep: TypeAlias = Link | NegatedSet | Closure | Steps | Either


@dataclass(frozen=True, slots=True)
class Merged:
    """Several graphs as one: what is a fact of any of them is one once."""

    graphs: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Path:
    """Pairs of nodes that a path connects; each end a :class:`rete.Variable` or a constant.

    Closures give each pair once. A reflexive path with two variables relates every subject and object of the graph to itself.

    The graph is that of the facts of three terms, or where ``graph`` is given that of the facts whose fourth term it is: a
    constant, several :class:`Merged`, or a variable, and then all steps are of one graph, which the solution binds.
    """

    subject: Any
    path: PathStep
    object: Any
    graph: Any = None


Algebra: TypeAlias = (
    Basic
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | Exists
    | Extend
    | Values
    | Project
    | Distinct
    | Numbered
    | Grouped
    | Slice
    | Path
)


def parts_of(tree: Algebra) -> dict[str, Algebra]:
    """The trees that an operator is applied to, by the names of its fields, in the order in which they are asked."""
    return {name: getattr(tree, name) for name in ("left", "right", "child", "pattern") if hasattr(tree, name)}


def of_group(body: Group | Algebra) -> Algebra:
    """The tree of a GSG script's group, its conditions and a NOT EXISTS for each negated group; what is a tree stays one."""
    if not isinstance(body, Group):
        return body
    tree: Algebra = Basic(body.conditions)
    for negated in body.negated:
        tree = Exists(tree, of_group(negated), negated=True)
    return tree
