"""What the algebra means, by the book (SPARQL 1.1 Query Language, section 18): evaluate the whole tree over a list of facts.

Where the book leaves a choice, it is made here, and the network follows:

* EXISTS (section 18.6, substitute): a name that is bound outside has that value wherever the pattern mentions it, and counts as
  bound there. A projection inside the pattern hides the names that it does not list, and a group those that are no keys.
  A BIND, VALUES or aggregate of a name that is bound outside must agree with it (an error agrees).
* A slice without (enough) order breaks ties by the ``repr`` of the solution's values, taken in the order of their names.
* A sequence of paths is the join of both over a fresh variable (section 18.2.2.4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rete import algebra as a
from rete.conditions import Condition, Variable, _Wildcard

Fact = tuple[Any, ...]
Solution = frozenset[tuple[str, Any]]
Bag = Counter[Solution]


def evaluate(tree: a.Algebra, facts: Iterable[Fact], outer: Mapping[str, Any] | None = None) -> Bag:
    """The solutions, each the set of its bound names with their values, with how often."""
    return _evaluate(tree, list(facts), dict(outer or {}))


def rows(tree: a.Algebra, select: Sequence[str], facts: Iterable[Fact]) -> Counter[tuple[Any, ...]]:
    """The solutions as tuples of the selected names; unbound is None."""
    found: Counter[tuple[Any, ...]] = Counter()
    for solution, count in evaluate(tree, facts).items():
        bound = dict(solution)
        found[tuple(bound.get(name) for name in select)] += count
    return found


def scope(tree: a.Algebra) -> tuple[str, ...]:
    """The names that a solution may bind, in the order of their names."""
    match tree:
        case a.Basic(conditions):
            names = {name for condition in conditions for name, _ in condition.variables}
        case a.Join(left, right) | a.LeftJoin(left, right) | a.Union(left, right):
            names = {*scope(left), *scope(right)}
        case a.Minus(left, _):
            names = set(scope(left))
        case a.Filter(child) | a.Exists(child) | a.Distinct(child) | a.Slice(child):
            names = set(scope(child))
        case a.Extend(child, name) | a.Numbered(child, name):
            names = {*scope(child), name}
        case a.Values(listed) | a.Project(_, listed):
            names = set(listed)
        case a.Grouped(_, keys, aggregates):
            names = {*keys, *(name for name, _ in aggregates)}
        case a.Path(subject, _, object_, graph):
            names = {end.name for end in (subject, object_, graph) if isinstance(end, Variable)}
    return tuple(sorted(names))


def _compatible(one: Solution, other: Solution) -> bool:
    left = dict(one)
    return all(left.get(name, value) == value for name, value in other)


def _read(names: Sequence[str], solution: Solution, outer: Mapping[str, Any]) -> tuple[Any, ...]:
    bound = {**outer, **dict(solution)}
    return tuple(bound.get(name) for name in names)


def _agreeing(found: Iterable[tuple[Solution, int]], tree: a.Algebra, outer: Mapping[str, Any]) -> Bag:
    """Solutions that agree with what is bound outside, with that added wherever it is in scope."""
    outside = frozenset((name, outer[name]) for name in scope(tree) if name in outer)
    bag: Bag = Counter()
    for solution, count in found:
        if _compatible(solution, outside):
            bag[solution | outside] += count
    return bag


def _evaluate(tree: a.Algebra, facts: list[Fact], outer: dict[str, Any]) -> Bag:
    return _agreeing(_solutions(tree, facts, outer), tree, outer)


def _solutions(tree: a.Algebra, facts: list[Fact], outer: dict[str, Any]) -> Iterator[tuple[Solution, int]]:
    match tree:
        case a.Basic(conditions):
            yield from ((solution, 1) for solution in _basic(conditions, facts, outer))
        case a.Join(left, right):
            yield from _joined(_evaluate(left, facts, outer), _evaluate(right, facts, outer))
        case a.LeftJoin(left, right, test):
            partners = _evaluate(right, facts, outer)
            for one, count in _evaluate(left, facts, outer).items():
                merged = [
                    (solution, times)
                    for solution, times in _joined({one: count}, partners)
                    if test is None or test(_read(test.names, solution, outer))
                ]
                yield from merged or [(one, count)]
        case a.Union(left, right):
            yield from _evaluate(left, facts, outer).items()
            yield from _evaluate(right, facts, outer).items()
        case a.Minus(left, right, by):
            removing = _evaluate(right, facts, outer)
            for one, count in _evaluate(left, facts, outer).items():
                if not any(_compatible(one, other) and (dict(one).keys() & dict(other).keys()) - set(by) for other in removing):
                    yield one, count
        case a.Filter(child, test):
            for one, count in _evaluate(child, facts, outer).items():
                if test(_read(test.names, one, outer)):
                    yield one, count
        case a.Exists(child, pattern, negated):
            for one, count in _evaluate(child, facts, outer).items():
                if bool(_evaluate(pattern, facts, {**outer, **dict(one)})) != negated:
                    yield one, count
        case a.Extend(child, name, computation):
            for one, count in _evaluate(child, facts, outer).items():
                value = computation(_read(computation.names, one, outer))
                yield (one if value is None else one | {(name, value)}), count
        case a.Values(names, listed):
            for row in listed:
                yield frozenset((name, value) for name, value in zip(names, row, strict=True) if value is not None), 1
        case a.Project(child, names):
            visible = {name: value for name, value in outer.items() if name in names}
            for one, count in _evaluate(child, facts, visible).items():
                yield frozenset((name, value) for name, value in one if name in names), count
        case a.Distinct(child):
            yield from ((one, 1) for one in _evaluate(child, facts, outer))
        case a.Numbered(child, name):
            for one, count in _evaluate(child, facts, outer).items():
                yield from ((one | {(name, copy)}, 1) for copy in range(count))
        case a.Grouped(child, keys, aggregates):
            yield from _grouped(child, keys, aggregates, facts, outer)
        case a.Slice(child, order, offset, limit, by):
            names = scope(child)
            found = list(_evaluate(child, facts, outer).elements())
            found.sort(key=lambda one: tuple(map(repr, _read(names, one, outer))))
            if order is not None:
                found.sort(key=lambda one: order(_read(order.names, one, outer)))
            for part in dict.fromkeys(_read(by, one, outer) for one in found):
                same = [one for one in found if _read(by, one, outer) == part]
                yield from ((one, 1) for one in same[offset : None if limit is None else offset + limit])
        case a.Path():
            yield from _path(tree, facts, outer)


def _basic(conditions: Sequence[Condition], facts: list[Fact], outer: Mapping[str, Any]) -> Iterator[Solution]:
    names = {name for condition in conditions for name, _ in condition.variables}

    def walk(left: Sequence[Condition], bound: dict[str, Any]) -> Iterator[Solution]:
        if not left:
            yield frozenset(bound.items())
            return
        for fact in facts:
            extended = _unify(left[0], fact, bound)
            if extended is not None:
                yield from walk(left[1:], extended)

    return walk(conditions, {name: value for name, value in outer.items() if name in names})


def _unify(condition: Condition, fact: Fact, bound: Mapping[str, Any]) -> dict[str, Any] | None:
    if len(condition.pattern) != len(fact):
        return None
    extended = dict(bound)
    for wanted, item in zip(condition.pattern, fact, strict=True):
        if isinstance(wanted, Variable):
            if extended.setdefault(wanted.name, item) != item:
                return None
        elif not isinstance(wanted, _Wildcard) and wanted != item:
            return None
    return extended


def _joined(left: Mapping[Solution, int], right: Mapping[Solution, int]) -> Iterator[tuple[Solution, int]]:
    for one, count in left.items():
        for other, times in right.items():
            if _compatible(one, other):
                yield one | other, count * times


def _grouped(
    child: a.Algebra,
    keys: tuple[str, ...],
    aggregates: tuple[tuple[str, a.Aggregate], ...],
    facts: list[Fact],
    outer: Mapping[str, Any],
) -> Iterator[tuple[Solution, int]]:
    visible = {name: value for name, value in outer.items() if name in keys}
    groups: dict[tuple[Any, ...], list[a.Accumulator]] = {}
    if not keys:
        groups[()] = [aggregate.start() for _, aggregate in aggregates]
    for one, count in _evaluate(child, facts, visible).items():
        key = _read(keys, one, visible)
        if key not in groups:
            groups[key] = [aggregate.start() for _, aggregate in aggregates]
        for (_, aggregate), accumulator in zip(aggregates, groups[key], strict=True):
            accumulator.change(_read(aggregate.names, one, visible), count)
    for key, accumulators in groups.items():
        results = [(name, made.result()) for (name, _), made in zip(aggregates, accumulators, strict=True)]
        yield frozenset((name, value) for name, value in [*zip(keys, key, strict=True), *results] if value is not None), 1


# Paths (section 18.4): ends are constants once what is bound outside is substituted.


def _path(tree: a.Path, facts: list[Fact], outer: Mapping[str, Any]) -> Iterator[tuple[Solution, int]]:
    def end(of: Any) -> Any:
        return outer.get(of.name, of) if isinstance(of, Variable) else of

    graph = end(tree.graph)
    graphs = list(dict.fromkeys(fact[3] for fact in facts if len(fact) == 4)) if isinstance(graph, Variable) else [graph]
    for each in graphs:
        triples = _triples_of(each, facts)
        for (one, other), count in _pairs(end(tree.subject), tree.path, end(tree.object), triples).items():
            bound: dict[str, Any] = {}
            if all(
                bound.setdefault(name.name, value) == value
                for name, value in ((tree.subject, one), (tree.object, other), (tree.graph, each))
                if isinstance(name, Variable)
            ):
                yield frozenset(bound.items()), count


def _triples_of(graph: Any, facts: list[Fact]) -> list[Fact]:
    if graph is None:
        return [fact for fact in facts if len(fact) == 3]
    graphs = graph.graphs if isinstance(graph, a.Merged) else (graph,)
    return list(dict.fromkeys(fact[:3] for fact in facts if len(fact) == 4 and fact[3] in graphs))


def _pairs(subject: Any, path: a.PathStep, object_: Any, triples: list[Fact]) -> Counter[tuple[Any, Any]]:
    """The pairs of a path whose ends are as given; a variable is free (equal variables are compared by the caller)."""

    def fits(one: Any, other: Any) -> bool:
        return (isinstance(subject, Variable) or subject == one) and (isinstance(object_, Variable) or object_ == other)

    pairs: Counter[tuple[Any, Any]] = Counter()
    match path:
        case a.Link(predicate, inverse):
            found = [(s, o) for s, p, o in triples if p == predicate]
            pairs.update((o, s) if inverse else (s, o) for s, o in found)
        case a.NegatedSet(forward, backward):
            if forward is not None:
                pairs.update((s, o) for s, p, o in triples if p not in forward)
            if backward is not None:
                pairs.update((o, s) for s, p, o in triples if p not in backward)
        case a.Either(first, second):
            pairs = _pairs(subject, first, object_, triples) + _pairs(subject, second, object_, triples)
        case a.Steps(first, second):
            middle = Variable(".")
            ends = _pairs(middle, second, object_, triples)
            for (one, between), count in _pairs(subject, first, middle, triples).items():
                for (again, other), times in ends.items():
                    if between == again:
                        pairs[one, other] += count * times
        case a.Closure(inner, reflexive, transitive):
            if isinstance(subject, Variable) and not isinstance(object_, Variable):
                starts, backwards = [object_], True
            else:
                starts, backwards = [subject], False
            if isinstance(starts[0], Variable):
                starts = list({node for s, _, o in triples for node in (s, o)})
            for start in starts:
                for reached in _reached(start, inner, reflexive, transitive, backwards, triples):
                    pairs[(reached, start) if backwards else (start, reached)] = 1
    return Counter({pair: count for pair, count in pairs.items() if fits(*pair)})


def _reached(start: Any, inner: a.PathStep, reflexive: bool, transitive: bool, backwards: bool, triples: list[Fact]) -> set[Any]:
    def step(node: Any) -> set[Any]:
        free = Variable("..")
        if backwards:
            return {one for one, _ in _pairs(free, inner, node, triples)}
        return {other for _, other in _pairs(node, inner, free, triples)}

    reached = step(start)
    waiting = list(reached) if transitive else []
    while waiting:
        for node in step(waiting.pop()) - reached:
            reached.add(node)
            waiting.append(node)
    return reached | {start} if reflexive else reached


# Tests, computations, aggregates and orders for trees in tests.


@dataclass(frozen=True)
class Compare:
    """A test: ``?left op ?right``; False where one is unbound."""

    left: str
    op: str
    right: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.left, self.right

    def __call__(self, values: tuple[Any, ...]) -> bool:
        one, other = values
        if one is None or other is None:
            return False
        return {"=": one == other, "!=": one != other, "<": repr(one) < repr(other)}[self.op]


@dataclass(frozen=True)
class Equals:
    """A test: a name has one value (False where unbound)."""

    name: str
    value: Any

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, values: tuple[Any, ...]) -> bool:
        return bool(values[0] == self.value)


@dataclass(frozen=True)
class Bound:
    """A test: a name is (or is not) bound."""

    name: str
    negated: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def __call__(self, values: tuple[Any, ...]) -> bool:
        return (values[0] is None) == self.negated


@dataclass(frozen=True)
class Copy:
    """A computation: the value of another name, or of the first of several that is bound (COALESCE)."""

    names: tuple[str, ...]

    def __call__(self, values: tuple[Any, ...]) -> Any:
        return next((value for value in values if value is not None), None)


@dataclass(frozen=True)
class Glue:
    """A computation: the values put together; an error where one is unbound."""

    names: tuple[str, ...]

    def __call__(self, values: tuple[Any, ...]) -> Any:
        return None if None in values else "".join(map(str, values))


class _Bag:
    def __init__(self, result: Callable[[Counter[tuple[Any, ...]]], Any]) -> None:
        self._result = result
        self._bag: Counter[tuple[Any, ...]] = Counter()

    def change(self, values: tuple[Any, ...], weight: int) -> None:
        self._bag[values] += weight
        if not self._bag[values]:
            del self._bag[values]

    def result(self) -> Any:
        return self._result(self._bag)


@dataclass(frozen=True)
class Count:
    """An aggregate: how many (with names: how many where all are bound), also DISTINCT."""

    names: tuple[str, ...] = ()
    distinct: bool = False

    def start(self) -> _Bag:
        def result(bag: Counter[tuple[Any, ...]]) -> str:
            return f"n{sum(1 if self.distinct else count for values, count in bag.items() if None not in values)}"

        return _Bag(result)


@dataclass(frozen=True)
class Least:
    """An aggregate: MIN; an error (None) of nothing."""

    name: str

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def start(self) -> _Bag:
        return _Bag(lambda bag: min((value for (value,) in bag if value is not None), default=None, key=repr))


@dataclass(frozen=True)
class By:
    """An order: by these names, each as a text, all descending or all ascending (unbound first)."""

    names: tuple[str, ...]
    descending: bool = False

    def __call__(self, values: tuple[Any, ...]) -> Any:
        texts = tuple("" if value is None else str(value) for value in values)
        return tuple((*tuple(-ord(letter) for letter in text), 1) for text in texts) if self.descending else texts
