"""The operators say what the book says (naive_algebra.py), whatever the tree and whatever the history."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import naive_algebra as naive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import Fact
from naive_algebra import Bound, By, Compare, Copy, Count, Equals, Glue, Least
from world import World

from rete import BadQuery, Condition, Production, Variable
from rete import algebra as a
from rete.compile.scope import certain

NAMES = ("u", "v", "w", "x")
constants = st.sampled_from("abc")
predicates = st.sampled_from("pq")
facts: st.SearchStrategy[Fact] = st.one_of(
    *[st.tuples(constants, predicates, constants)] * 4,
    *[st.tuples(constants, constants)] * 2,
    *[st.tuples(constants, predicates, constants, st.sampled_from("gh"))] * 3,
)
names = st.sampled_from(NAMES)
variables = names.map(Variable)
ends = st.one_of(variables, variables, constants)
triples = st.tuples(ends, st.one_of(predicates, predicates, variables), ends)
quads = st.builds(lambda triple, graph: (*triple, graph), triples, st.sampled_from((Variable("g"), Variable("g"), "g", "h")))
conditions = st.one_of(triples, triples, st.tuples(ends, ends), quads).map(Condition)
basics = st.lists(conditions, min_size=1, max_size=3).map(lambda made: a.Basic(tuple(made)))

tests = st.one_of(
    st.builds(Compare, names, st.sampled_from(("=", "!=", "<")), names),
    st.builds(Equals, names, constants),
    st.builds(Bound, names, st.booleans()),
)
computations = st.one_of(
    st.lists(names, min_size=1, max_size=2).map(tuple).map(Copy), st.lists(names, min_size=1, max_size=2).map(tuple).map(Glue)
)
aggregates = st.one_of(st.just(Count()), st.builds(Count, names.map(lambda name: (name,)), st.booleans()), st.builds(Least, names))
some_names = st.lists(names, max_size=3, unique=True).map(tuple)


@st.composite
def inline(draw: st.DrawFn) -> a.Values:
    columns = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    row = st.tuples(*(st.one_of(constants, constants, st.none()) for _ in columns))
    return a.Values(tuple(columns), tuple(draw(st.lists(row, max_size=3))))


links = st.builds(a.Link, predicates, st.booleans())
refused = st.one_of(st.none(), st.lists(predicates, max_size=1).map(tuple))
steps_of_one = st.one_of(links, links, st.builds(a.NegatedSet, refused, refused))
walks = st.recursive(
    steps_of_one,
    lambda inner: st.one_of(
        st.builds(a.Steps, inner, inner),
        st.builds(a.Either, inner, inner),
        st.builds(a.Closure, inner, st.booleans(), st.just(True)),
        st.builds(a.Closure, inner, st.just(True), st.just(False)),
    ),
    max_leaves=3,
)
graphs = st.one_of(
    st.none(),
    st.sampled_from(("g", a.Merged(("g", "h")), a.Merged(()))),
    *[st.sampled_from((Variable("g"), Variable("g"), Variable("u")))] * 2,
)
paths = st.builds(a.Path, ends, walks, ends, graphs)


def minus(left: a.Algebra, right: a.Algebra, within: bool) -> a.Minus:
    """By some of the names that both sides surely bind, or by none."""
    return a.Minus(left, right, tuple(sorted(certain(left) & certain(right)))[:1] if within else ())


def sliced(child: a.Algebra, order: By | None, offset: int, limit: int | None, within: bool) -> a.Slice:
    """By some of the names that are surely bound, or by none."""
    return a.Slice(child, order, offset, limit, tuple(sorted(certain(child)))[:1] if within else ())


def one_more(inner: st.SearchStrategy[a.Algebra]) -> st.SearchStrategy[a.Algebra]:
    return st.one_of(
        st.builds(a.Join, inner, inner),
        st.builds(a.LeftJoin, inner, inner, st.one_of(st.none(), tests)),
        st.builds(a.Union, inner, inner),
        st.builds(minus, inner, inner, st.booleans()),
        st.builds(a.Filter, inner, tests),
        st.builds(a.Exists, inner, inner, st.booleans()),
        st.builds(a.Extend, inner, st.sampled_from(("x", "y")), computations),
        st.builds(a.Project, inner, some_names),
        st.builds(a.Distinct, inner),
        st.builds(a.Numbered, inner, st.just("n")),
        st.builds(
            lambda child, keys, made: a.Grouped(child, tuple(keys), tuple(zip(("y", "z"), made, strict=False))),
            inner,
            some_names,
            st.lists(aggregates, max_size=2),
        ),
        st.builds(
            sliced,
            inner,
            st.one_of(st.none(), st.builds(By, some_names, st.booleans())),
            st.integers(0, 2),
            st.one_of(st.none(), st.integers(0, 3)),
            st.booleans(),
        ),
    )


leaves = st.one_of(basics, basics, inline(), paths, st.just(a.Basic()))
trees = st.recursive(leaves, one_more, max_leaves=5)


@dataclass(frozen=True)
class Change:
    """One transaction."""

    changes: list[tuple[Fact, int]]


@dataclass(frozen=True)
class Flash:
    """One event."""

    event: Fact


@dataclass(frozen=True)
class Watching:
    """A query comes."""

    tree: a.Algebra


@dataclass(frozen=True)
class Leaving:
    """One of the queries goes."""

    which: int


Step = Change | Flash | Watching | Leaving
signed = st.tuples(facts, st.sampled_from((1, 1, -1)))
steps = st.one_of(
    st.lists(signed, min_size=1, max_size=1).map(Change),
    st.lists(signed, max_size=6).map(Change),
    facts.map(Flash),
    trees.map(Watching),
    st.integers(0, 7).map(Leaving),
)


class AlgebraWatch:
    """A standing query that is a tree, and the sum of what was heard of it."""

    def __init__(self, world: World, tree: a.Algebra) -> None:
        self.tree = tree
        self.select = naive.scope(tree)
        self.production: Production = world.network.subscribe_algebra(tree, self.select, self._listen)
        self.held = self.production.rows()
        self.lowest = 0

    def _listen(self, changes: list[tuple[Fact, int]]) -> None:
        for row, weight in changes:
            assert weight
            self.held[row] += weight
            self.lowest = min(self.lowest, self.held[row])


@dataclass
class Trial:
    """Takes the steps and compares after each; empties the world at the end."""

    world: World = field(default_factory=World)
    watches: list[AlgebraWatch] = field(default_factory=list)
    refused: int = 0

    def take(self, step: Step) -> None:
        match step:
            case Change(changes):
                self.world.change(changes)
            case Flash(event):
                self.compare_flash(event)
            case Watching(tree):
                try:
                    self.watches.append(AlgebraWatch(self.world, tree))
                except BadQuery:
                    self.refused += 1
                    assert self.watches or self.world.network.is_empty
            case Leaving(which) if self.watches:
                self.world.network.unsubscribe(self.watches.pop(which % len(self.watches)).production)
        self.compare()

    def compare(self) -> None:
        for watch in self.watches:
            expected = naive.rows(watch.tree, watch.select, self.world.facts)
            assert watch.production.rows() == expected
            assert watch.held == expected
            assert watch.lowest == 0

    def compare_flash(self, event: Fact) -> None:
        before = list(self.world.facts)
        flashed = {production: Counter(dict(rows)) for production, rows in self.world.network.flash(event)}
        for watch in self.watches:
            expected = naive.rows(watch.tree, watch.select, [*before, event]) - naive.rows(watch.tree, watch.select, before)
            assert flashed.get(watch.production, Counter()) == expected

    def finish(self) -> None:
        for fact in list(self.world.facts):
            self.world.change([(fact, -1)])
            self.compare()
        for watch in self.watches:
            self.world.network.unsubscribe(watch.production)
        assert self.world.network.is_empty


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(trees, min_size=1, max_size=3), st.lists(steps, min_size=5, max_size=20))
def test_rows_are_what_the_book_says_at_every_moment_of_every_history(first: list[a.Algebra], history: list[Step]) -> None:
    trial = Trial()

    for step in [*map(Watching, first), *history]:
        trial.take(step)

    trial.finish()


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(trees, st.lists(signed, max_size=20))
def test_one_transaction_ends_where_single_changes_end(tree: a.Algebra, changes: list[tuple[Fact, int]]) -> None:
    at_once, singly = World(), World()
    try:
        watches = AlgebraWatch(at_once, tree), AlgebraWatch(singly, tree)
    except BadQuery:
        return

    at_once.change(changes)
    for change in changes:
        singly.change([change])

    assert watches[0].held == watches[1].held == naive.rows(tree, watches[0].select, singly.facts)
