"""Property paths as trees of the other operators (SPARQL 1.1, sections 18.2.2.4 and 18.4), but for closures, which have a node of
their own.

A link is a condition, a sequence a join over a fresh variable that is projected away (the bag stays a bag), an alternative a
union, a negated set a condition with a filter. A closure remains as a leaf of the tree; :mod:`rete.compile.build` makes it from
:mod:`rete.operators.closure`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..algebra import (
    Algebra,
    Basic,
    Closure,
    Distinct,
    Either,
    Filter,
    Join,
    Link,
    Merged,
    NegatedSet,
    Path,
    PathStep,
    Project,
    Steps,
    Union,
    Values,
)
from ..conditions import Condition, Variable
from .scope import in_scope

FRESH = "."
"""What names of fresh variables begin with; no language's names do."""


@dataclass(frozen=True, slots=True)
class NoneOf:
    """A test: the value is none of these."""

    name: str
    refused: tuple[Any, ...]  # Any: opaque constants

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, values: tuple[Any, ...]) -> bool:
        return values[0] not in self.refused


@dataclass(frozen=True, slots=True)
class Same:
    """A test: two names have the same value."""

    names: tuple[str, str]

    def __call__(self, values: tuple[Any, ...]) -> bool:
        return bool(values[0] == values[1])


@dataclass(frozen=True, slots=True)
class Is:
    """A test: a name has this value."""

    name: str
    value: Any  # Any: as above

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, values: tuple[Any, ...]) -> bool:
        return bool(values[0] == self.value)


def facts_in(graph: Any, pattern: tuple[Any, Any, Any]) -> Algebra:  # Any: a graph as in Path, and what stands in a condition
    """The facts of a graph that a pattern of three terms matches."""
    if not isinstance(graph, Merged):
        return Basic((Condition(pattern if graph is None else (*pattern, graph)),))
    names = tuple(dict.fromkeys(item.name for item in pattern if isinstance(item, Variable)))
    sides: list[Algebra] = [facts_in(each, pattern) for each in graph.graphs]
    if not sides:
        return Values(names, ())
    # Two by two, no deeper than need be.
    while len(sides) > 1:
        sides = [Union(*sides[at : at + 2]) if at + 1 < len(sides) else sides[at] for at in range(0, len(sides), 2)]
    return Distinct(Project(sides[0], names))


def without_steps(path: Path, fresh: str = FRESH) -> Algebra:
    """The tree for a path; the only paths left in it are closures. ``fresh`` begins the names of its own variables."""
    subject, step, object_, graph = path.subject, path.path, path.object, path.graph
    ends = in_scope(path)
    match step:
        case Link(predicate, inverse):
            return facts_in(graph, (object_, predicate, subject) if inverse else (subject, predicate, object_))
        case Closure():
            return path
        case Either(first, second):
            one = without_steps(Path(subject, first, object_, graph), fresh)
            return Union(one, without_steps(Path(subject, second, object_, graph), fresh))
        case Steps(first, second):
            middle = Variable(fresh + "m")
            one = without_steps(Path(subject, first, middle, graph), fresh + "1")
            other = without_steps(Path(middle, second, object_, graph), fresh + "2")
            return Project(Join(one, other), ends)
        case NegatedSet(forward, backward):
            predicate = Variable(fresh + "p")
            sides: list[Algebra] = []
            for refused, pattern in ((forward, (subject, predicate, object_)), (backward, (object_, predicate, subject))):
                if refused is not None:
                    sides.append(Project(Filter(facts_in(graph, pattern), NoneOf(predicate.name, tuple(refused))), ends))
            return sides[0] if len(sides) == 1 else Union(*sides) if sides else Values(ends, ())


def nullable(step: PathStep) -> bool:
    """Whether the path leads from any term to itself, be it in the graph or not."""
    match step:
        case Closure(inner, reflexive):
            return reflexive or nullable(inner)
        case Either(first, second):
            return nullable(first) or nullable(second)
        case _:
            return False
