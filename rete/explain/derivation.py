"""Why a solution holds: the facts that make it, found by evaluating the query again with what is known of the solution.

This is the plain definition of every operator, over facts as they are now, without memory: slow where the network is fast, but it
can say which facts it has used. It is asked about one solution at a time (:mod:`rete.explain.refusal` asks it why one does not
hold).

Values that are known are substituted where that changes nothing (:func:`rete.compile.scope.substitutable`), so that few facts are
looked at; elsewhere they are compared in the end. ``context`` are names bound outside, as below an EXISTS: see
:mod:`rete.compile.build`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ..algebra import (
    Algebra,
    Basic,
    Closure,
    Distinct,
    Exists,
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
    Union,
    Values,
)
from ..chain import ordered
from ..compile.paths import FRESH, facts_in, nullable, without_steps
from ..compile.scope import certain, in_scope, mentioned, substitutable
from ..conditions import Condition, Variable
from ..functions import Accumulator, Computation, Test
from ..index import Fact

Bindings: TypeAlias = Mapping[str, Any]  # Any: opaque constants; an unbound name is missing
FactsFor: TypeAlias = Callable[[Condition, Bindings], Iterable[Fact]]
"""The facts (or events of its window) that a condition may match where some of its variables have these values. More than that does
no harm."""

STEPS = 200_000
"""Facts that are looked at for one answer; then it is given up."""
SAMPLE = 5
"""Solutions of a group that are shown."""


class GivenUp(Exception):
    """STEPS facts were looked at, and there are more."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason: a fact that met a condition, or what an operator did."""

    what: Condition | Algebra
    fact: Fact | None = None
    said: str = ""
    """For an operator: which of its ways it went."""
    inner: tuple[Derivation, ...] = ()
    """Of what it went: of a group the first of its solutions."""
    total: int = 0
    """How many solutions a group has."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """A solution and the reasons for it, in the order in which they were found."""

    values: dict[str, Any]  # Any: as above
    evidence: tuple[Evidence, ...] = ()

    def plus(self, values: Bindings, *evidence: Evidence) -> Derivation:
        """With more names and reasons."""
        return Derivation({**self.values, **values}, (*self.evidence, *evidence))


@dataclass(slots=True)
class _Group:
    accumulators: list[Accumulator]
    total: int = 0
    sample: list[Derivation] = field(default_factory=list)


class Solver:
    """Evaluates trees over facts; good for one question."""

    def __init__(self, facts_for: FactsFor, *, steps: int = STEPS) -> None:
        self._facts_for = facts_for
        self._left = steps

    def solve(self, tree: Algebra, given: Bindings, context: Bindings = {}) -> Iterator[Derivation]:  # noqa: B006  # never changed
        """The solutions of a tree that agree with what is given, one for each way to make one. Raises GivenUp."""
        wanted = {name: given[name] for name in in_scope(tree) if name in given}
        pushed = {name: value for name, value in wanted.items() if name in certain(tree)}
        if not substitutable(tree, frozenset(pushed)):
            pushed = {}
        for found in self._solve(tree, pushed, context):
            if agrees(found.values, wanted):
                yield found

    def matching(self, condition: Condition, values: Bindings) -> Iterator[tuple[Fact, dict[str, Any]]]:  # Any: as above
        """The facts that meet a condition under these values, each with the values then."""
        for fact in self._facts_for(condition, values):
            self._left -= 1
            if self._left < 0:
                raise GivenUp
            if condition.template.matches(fact):
                mine = {name: fact[place] for name, place in condition.variables}
                if agrees(mine, values):
                    yield fact, {**values, **mine}

    def _conditions(self, conditions: tuple[Condition, ...], values: Bindings) -> Iterator[Derivation]:
        if not conditions:
            yield Derivation(dict(values))
            return
        first, *rest = conditions
        for fact, bound in self.matching(first, values):
            for found in self._conditions(tuple(rest), bound):
                yield Derivation(found.values, (Evidence(first, fact), *found.evidence))

    def _solve(self, tree: Algebra, given: Bindings, context: Bindings) -> Iterator[Derivation]:
        match tree:
            case Basic(conditions):
                known = {**context, **given}
                yield from self._conditions(tuple(ordered(conditions, set(known), lambda _: 0)), known)
            case Join(left, right):
                for one in self.solve(left, given, context):
                    for other in self.solve(right, {**given, **one.values}, context):
                        yield one.plus(other.values, *other.evidence)
            case LeftJoin(left, right, test):
                for one in self.solve(left, given, context):
                    found = False
                    for other in self.solve(right, one.values, context):
                        merged = one.plus(other.values, *other.evidence)
                        if test is None or holds(test, merged.values):
                            found = True
                            yield merged
                    if not found:
                        yield one.plus({}, Evidence(tree, said="there is no match"))
            case Union(left, right):
                for side, said in ((left, "first side"), (right, "second side")):
                    for one in self.solve(side, given, context):
                        yield one.plus({}, Evidence(tree, said=said))
            case Minus(left, right):
                for one in self.solve(left, given, context):
                    if not any(shares(one.values, other.values, tree, context) for other in self.solve(right, one.values, context)):
                        yield one.plus({}, Evidence(tree, said="nothing is taken away"))
            case Filter(child, test):
                for one in self.solve(child, given, context):
                    if holds(test, one.values):
                        yield one
            case Exists(child, pattern, negated):
                for one in self.solve(child, given, context):
                    inside = self.below(pattern, one.values)
                    if (inside is None) == negated:
                        said = "there is no solution" if inside is None else "there is a solution"
                        yield one.plus({}, Evidence(tree, said=said, inner=() if inside is None else (inside,)))
            case Extend(child, name, value):
                for one in self.solve(child, given, context):
                    computed = compute(value, one.values)
                    if name not in context:
                        yield one if computed is None else one.plus({name: computed})
                    elif computed is None or computed == context[name]:
                        yield one
            case Values(names, rows):
                for row in rows:
                    values = {name: value for name, value in zip(names, row, strict=True) if value is not None}
                    if agrees(values, context):
                        yield Derivation({**context, **values})
            case Project(child, names):
                for one in self.solve(child, only(given, names), only(context, names)):
                    yield Derivation({**context, **only(one.values, names)}, one.evidence)
            case Distinct(child):
                seen = set()
                for one in self.solve(child, given, context):
                    solution = frozenset(one.values.items())
                    if solution not in seen:
                        seen.add(solution)
                        yield one
            case Numbered(child, name):
                copies: Counter[frozenset[tuple[str, Any]]] = Counter()  # Any: as above
                for one in self.solve(child, given, context):
                    solution = frozenset(one.values.items())
                    copies[solution] += 1
                    yield one.plus({name: copies[solution] - 1})
            case Grouped():
                yield from self._groups(tree, given, context)
            case Slice(child, order, offset, limit, by):
                found_all = list(self.solve(child, {}, context))
                ties = sorted(in_scope(child))
                found_all.sort(key=lambda one: tuple(repr(one.values.get(name)) for name in ties))
                if order is not None:
                    found_all.sort(key=lambda one: order(_read(order.names, one.values)))
                slices: dict[tuple[Any, ...], list[Derivation]] = {}  # Any: as above
                for one in found_all:
                    slices.setdefault(_read(by, one.values), []).append(one)
                for found_some in slices.values():
                    yield from found_some[offset : None if limit is None else offset + limit]
            case Path(_, Closure()):
                yield from self._closure(tree, {**context, **given}, context)
            case Path():
                yield from self.solve(without_steps(tree), given, context)

    def below(self, pattern: Algebra, outer: Bindings) -> Derivation | None:
        """A solution of the pattern of an EXISTS for the values outside."""
        return next(self.solve(pattern, {}, only(outer, mentioned(pattern))), None)

    def _groups(self, tree: Grouped, given: Bindings, context: Bindings) -> Iterator[Derivation]:
        groups: dict[tuple[Any, ...], _Group] = {}  # Any: as above
        inside = only(context, tree.keys)

        def start() -> _Group:
            return _Group([aggregate.start() for _, aggregate in tree.aggregates])

        if not tree.keys:
            groups[()] = start()
        for one in self.solve(tree.child, only(given, tree.keys), inside):
            group = groups.setdefault(_read(tree.keys, one.values), start())
            group.total += 1
            if group.total <= SAMPLE:
                group.sample.append(one)
            for (_, aggregate), accumulator in zip(tree.aggregates, group.accumulators, strict=True):
                accumulator.change(_read(aggregate.names, one.values), 1)
        for key, group in groups.items():
            values = dict(zip(tree.keys, key, strict=True))
            values |= {name: one.result() for (name, _), one in zip(tree.aggregates, group.accumulators, strict=True)}
            bound = {name: value for name, value in values.items() if value is not None}
            yield Derivation({**context, **bound}, (Evidence(tree, inner=tuple(group.sample), total=group.total),))

    # Closures of paths: walks by breadth, so that a pair is reached by a shortest one.

    def _closure(self, tree: Path, known: Bindings, context: Bindings) -> Iterator[Derivation]:
        closure = tree.path
        assert isinstance(closure, Closure), "the other paths are trees of operators"
        if isinstance(tree.graph, Variable):
            # Walks are within a graph: those in each, one after the other. An end that is called as the graph is no constant by
            # that: no step is needed from a node of the graph alone.
            for graph in (known[tree.graph.name],) if tree.graph.name in known else dict.fromkeys(self._graphs()):
                inside = {tree.graph.name: graph}
                for found in self._closure(replace(tree, graph=graph), known, context):
                    if agrees(found.values, inside):
                        yield found.plus(inside)
            return
        ends = [known.get(end.name) if isinstance(end, Variable) else end for end in (tree.subject, tree.object)]
        one, other = FRESH + "s", FRESH + "o"
        inner = without_steps(Path(Variable(one), closure.path, Variable(other), tree.graph))
        itself = closure.reflexive or nullable(closure.path)
        begin, end = (one, other) if ends[0] is not None or ends[1] is None else (other, one)
        source = ends[0] if begin == one else ends[1]
        if source is not None:
            sources: Iterable[Any] = (source,)  # Any: as above
        else:
            edges = [found.values for found in self.solve(inner, {})]
            nodes = self._nodes(tree.graph) if itself else (edge[begin] for edge in edges)
            sources = dict.fromkeys(nodes)
        for node in sources:
            for reached, evidence in self._walk(inner, begin, end, node, itself=itself, far=closure.transitive):
                pair = (node, reached) if begin == one else (reached, node)
                values: dict[str, Any] = {}  # Any: as above
                ends_meet = all(_take(place, value, values) for place, value in zip((tree.subject, tree.object), pair, strict=True))
                if ends_meet and agrees(values, known):
                    yield Derivation({**context, **values}, evidence or (Evidence(tree, said="no step is needed"),))

    def _walk(
        self, inner: Algebra, begin: str, end: str, node: object, *, itself: bool, far: bool
    ) -> Iterator[tuple[object, tuple[Evidence, ...]]]:
        reached: dict[object, tuple[Evidence, ...]] = {node: ()} if itself else {}
        yield from list(reached.items())
        waiting: list[tuple[object, tuple[Evidence, ...]]] = [(node, ())]
        for here, so_far in waiting:
            for found in self.solve(inner, {begin: here}):
                next_ = found.values[end]
                if next_ not in reached:
                    reached[next_] = (*so_far, *found.evidence)
                    yield next_, reached[next_]
                    if far:
                        waiting.append((next_, reached[next_]))

    def _nodes(self, graph: Any) -> Iterator[Any]:  # Any: as above
        anything = facts_in(graph, (Variable("s"), Variable("p"), Variable("o")))
        for found in self.solve(anything, {}):
            yield found.values["s"]
            yield found.values["o"]

    def _graphs(self) -> Iterator[Any]:  # Any: as above
        for fact, _ in self.matching(Condition(tuple(map(Variable, "spog"))), {}):
            yield fact[3]


def agrees(values: Bindings, other: Bindings) -> bool:
    """Whether names that both bind have equal values."""
    return all(name not in other or other[name] == value for name, value in values.items())


def shares(left: Bindings, right: Bindings, tree: Minus, context: Bindings) -> bool:
    """Whether compatible solutions share a bound name, of those that both sides of a MINUS may bind."""
    names = frozenset(in_scope(tree.left)) & frozenset(in_scope(tree.right))
    return any(name in left and name in right for name in names.difference(tree.by)) and agrees(only(left, names), right)


def holds(test: Test, values: Bindings) -> bool:
    """Whether a test holds of a solution."""
    return test(_read(test.names, values))


def compute(value: Computation, values: Bindings) -> Any:  # Any: as above
    """What a computation gives for a solution; None for an error."""
    return value(_read(value.names, values))


def _read(names: Iterable[str], values: Bindings) -> tuple[Any, ...]:  # Any: as above
    return tuple(values.get(name) for name in names)


def only(values: Bindings, names: Iterable[str]) -> dict[str, Any]:  # Any: as above
    """The values of these names alone."""
    wanted = frozenset(names)
    return {name: value for name, value in values.items() if name in wanted}


def _take(place: object, value: object, values: dict[str, Any]) -> bool:  # Any: as above
    """Bind an end of a path, unless it is something else already."""
    if isinstance(place, Variable):
        return bool(values.setdefault(place.name, value) == value)
    return bool(place == value)
