"""Queries that are equal up to constants: one network, and each its own rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import naive_algebra as naive
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from naive import Fact
from naive_algebra import Count
from notation import fact
from test_algebra_equivalence import Change, Flash, constants, inline, one_more, predicates, signed, steps_of_one, variables, walks
from test_algebra_equivalence import facts as some_facts
from world import World

from rete import BadQuery, Condition, Group, Network, OpenTemplate, Parameter, Production, Variable, Window
from rete import algebra as a
from rete.compile.substitution import bound

OWNED_IN = Group((Condition((Variable("x"), "in", Parameter(0))), Condition((Variable("x"), "of", Parameter(1)))))


class Shared:
    """A query of a template, and the sum of what was heard of it."""

    def __init__(self, world: World, tree: a.Algebra | Group, arguments: Fact, select: tuple[str, ...] | None = None) -> None:
        self.bound = bound(a.of_group(tree), arguments)
        self.select = naive.scope(self.bound) if select is None else select
        self.heard: list[tuple[Fact, int]] = []
        self.production, rows = world.network.subscribe_template(tree, arguments, self.select, self._listen)
        assert all(weight > 0 for _, weight in rows)
        self.held = naive.Counter(dict(rows))
        self.lowest = 0

    def _listen(self, changes: list[tuple[Fact, int]]) -> None:
        self.heard += changes
        for row, weight in changes:
            assert weight
            self.held[row] += weight
            self.lowest = min(self.lowest, self.held[row])

    def news(self) -> list[tuple[Fact, int]]:
        heard, self.heard = self.heard, []
        return heard


def test_queries_equal_up_to_constants_have_each_their_rows() -> None:
    world = World("hut in Alps", "hut of Ann", "inn in Alps", "inn of Bob")

    ann, bob = Shared(world, OWNED_IN, ("Alps", "Ann")), Shared(world, OWNED_IN, ("Alps", "Bob"))

    assert ann.held == {("hut",): 1}
    assert bob.held == {("inn",): 1}


def test_a_change_is_heard_by_the_query_that_it_concerns() -> None:
    world = World("hut in Alps")
    ann, bob = Shared(world, OWNED_IN, ("Alps", "Ann")), Shared(world, OWNED_IN, ("Alps", "Bob"))

    world.insert("hut of Ann")

    assert (ann.news(), bob.news()) == ([(("hut",), 1)], [])


def test_adding_a_query_tells_the_others_nothing() -> None:
    world = World("hut in Alps", "hut of Ann")
    first = Shared(world, OWNED_IN, ("Alps", "Ann"))

    Shared(world, OWNED_IN, ("Alps", "Ann"))
    Shared(world, OWNED_IN, ("Alps", "Bob"))
    world.insert("inn in Alps")

    assert first.news() == []


def test_queries_of_equal_arguments_hear_all_and_leave_one_by_one() -> None:
    world = World("hut in Alps")
    one, other, third = (Shared(world, OWNED_IN, ("Alps", "Ann")) for _ in range(3))

    world.insert("hut of Ann")
    world.network.unsubscribe(one.production)
    world.retract("hut of Ann")
    world.network.unsubscribe(other.production)
    world.insert("hut of Ann")

    assert [len(each.news()) for each in (one, other, third)] == [1, 2, 3]
    assert third.production.rows() == {("hut",): 1}


def test_asking_for_rows_changes_nothing() -> None:
    world = World("hut in Alps", "hut of Ann")
    ann = Shared(world, OWNED_IN, ("Alps", "Ann"))

    rows = [ann.production.rows() for _ in range(2)]
    world.insert("hut in Jura")

    assert rows == [{("hut",): 1}] * 2
    assert ann.news() == []


def test_the_last_query_takes_the_network_away() -> None:
    world = World("hut in Alps", "hut of Ann")
    queries = [Shared(world, OWNED_IN, ("Alps", name)) for name in ("Ann", "Bob")]

    for query in queries:
        world.network.unsubscribe(query.production)

    assert world.network.is_empty


def test_one_network_serves_all_queries_of_a_template() -> None:
    world = World()
    Shared(world, OWNED_IN, ("Alps", "Ann"))
    memories = len(world.network.alphas())

    Shared(world, OWNED_IN, ("Jura", "Bob"))

    assert len(world.network.alphas()) == memories


def test_an_event_concerns_the_queries_whose_constants_it_has() -> None:
    world = World("hut in Alps")
    ann, _ = Shared(world, OWNED_IN, ("Alps", "Ann")), Shared(world, OWNED_IN, ("Alps", "Bob"))

    flashed = world.network.flash(fact("hut of Ann"))

    assert flashed == [(ann.production, [(("hut",), 1)])]
    assert ann.production.rows() == {}


def test_a_listener_may_close_another_query_of_the_same_arguments() -> None:
    world = World()
    one, other = Shared(world, OWNED_IN, ("Alps", "Ann")), Shared(world, OWNED_IN, ("Alps", "Ann"))
    one.production.listener = lambda changes: world.network.unsubscribe(other.production)

    world.insert("hut in Alps", "hut of Ann")

    assert other.news() == []


def test_a_group_without_keys_has_a_row_of_nothing_for_each_query() -> None:
    world = World("hut in Alps")
    huts = a.Grouped(a.Basic((Condition((Variable("x"), "in", Parameter(0))),)), (), (("n", Count()),))

    alps, jura = Shared(world, huts, ("Alps",)), Shared(world, huts, ("Jura",))

    assert (alps.held, jura.held) == ({("n1",): 1}, {("n0",): 1})


def test_sides_that_have_a_parameter_in_common_share_no_name_by_it() -> None:
    world = World("hut in Alps", "inn of Alps")
    minus = a.Minus(
        a.Basic((Condition((Variable("x"), "in", Parameter(0))),)), a.Basic((Condition((Variable("y"), "of", Parameter(0))),))
    )

    assert Shared(world, minus, ("Alps",)).held == {("hut",): 1}


def test_a_parameter_without_argument_is_refused() -> None:
    world = World()

    with pytest.raises(BadQuery, match=r"a template has \$1, but there are 1 arguments"):
        world.network.subscribe_template(OWNED_IN, ("Alps",), ("x",), lambda _: None)

    assert world.network.is_empty


def test_a_parameter_inside_a_path_is_refused() -> None:
    world = World()
    path = a.Path(Variable("x"), a.Closure(a.Link(Parameter(0)), True, True), Variable("y"))

    with pytest.raises(BadQuery, match="a parameter inside the path"):
        Shared(world, path, ("in",))

    assert world.network.is_empty


def test_windows_of_several_constants_are_not_one() -> None:
    world = World()
    late = Group((Condition((Variable("x"), "in", Parameter(0)), Window(count=2)),))

    with pytest.raises(BadQuery, match="expected each query by itself"):
        Shared(world, late, ("Alps",))

    assert world.network.is_empty


def test_the_joins_of_a_template_are_ordered_by_what_its_constants_leave() -> None:
    world = World("hut in Alps", "inn in Alps", "hut of Ann", *(f"house{number} of Bob" for number in range(9)))

    Shared(world, OWNED_IN, ("Alps", "Ann"))

    first = next(alpha for alpha in world.network.alphas() if alpha.template.pattern[1] == "of")
    assert world.network.alphas()[0] == first


def test_a_template_that_cannot_be_built_leaves_nothing() -> None:
    world = World()

    with pytest.raises(BadQuery, match="selected"):
        Shared(world, OWNED_IN, ("Alps", "Ann"), ("nobody",))

    assert world.network.is_empty


def test_negated_groups_may_have_parameters() -> None:
    not_of = Group((Condition((Variable("x"), "in", Parameter(0))),), (Group((Condition((Variable("x"), "of", Parameter(1))),)),))
    world = World("hut in Alps", "hut of Ann", "inn in Alps")

    ann, bob = Shared(world, not_of, ("Alps", "Ann"), ("x",)), Shared(world, not_of, ("Alps", "Bob"), ("x",))

    assert ann.held == {("inn",): 1}
    assert bob.held == {("inn",): 1, ("hut",): 1}


def test_conditions_that_the_constants_make_one_are_tested_alike() -> None:
    feeds = Network(lambda _: (), by_feed=True)
    either = a.Basic((Condition((Variable("x"), "in", Variable("y"))), Condition((Variable("x"), Parameter(0), Variable("y")))))
    heard: list[Fact] = []
    feeds.subscribe_template(
        a.Filter(either, Portable("x", "hut")), ("in",), ("x",), lambda changes: heard.extend(row for row, _ in changes)
    )
    alone = Network(lambda _: ())
    alone.subscribe_algebra(bound(a.Filter(either, Portable("x", "hut")), ("in",)), (), lambda _: None)

    for alpha in alone.alphas():
        feeds.change_memory(alpha, [(fact("hut in Alps"), 1)])

    assert heard == [("hut",)]


# Any tree, any history.

parameters = st.sampled_from((Parameter(0), Parameter(1)))
ends = st.one_of(variables, variables, constants, parameters, parameters)
conditions = st.one_of(st.tuples(ends, st.one_of(predicates, predicates, variables, parameters), ends), st.tuples(ends, ends)).map(
    Condition
)
basics = st.lists(conditions, min_size=1, max_size=3).map(lambda made: a.Basic(tuple(made)))
paths = st.builds(a.Path, ends, st.one_of(walks, steps_of_one), ends)
trees = st.recursive(st.one_of(basics, basics, inline(), paths, st.just(a.Basic())), one_more, max_leaves=5)
arguments = st.tuples(constants, st.one_of(constants, predicates))


@dataclass(frozen=True)
class Coming:
    """A query of one of the templates comes."""

    which: int
    arguments: Fact


@dataclass(frozen=True)
class Leaving:
    """One of the queries goes."""

    which: int


Step = Change | Flash | Coming | Leaving
steps = st.one_of(
    st.lists(signed, min_size=1, max_size=1).map(Change),
    st.lists(signed, max_size=6).map(Change),
    some_facts.map(Flash),
    st.builds(Coming, st.integers(0, 1), arguments),
    st.builds(Coming, st.integers(0, 1), arguments),
    st.integers(0, 7).map(Leaving),
)


@dataclass
class Trial:
    """Takes the steps and compares with the definition after each, and every query with the same one built by itself."""

    templates: list[a.Algebra]
    world: World = field(default_factory=World)
    queries: list[tuple[Shared, Production]] = field(default_factory=list)

    def take(self, step: Step) -> None:
        match step:
            case Change(changes):
                self.world.change(changes)
            case Flash(event):
                self.compare_flash(event)
            case Coming(which, values):
                self.come(self.templates[which % len(self.templates)], values)
            case Leaving(which) if self.queries:
                self.leave(which % len(self.queries))
        self.compare()

    def come(self, tree: a.Algebra, values: Fact) -> None:
        network = self.world.network
        select = naive.scope(bound(tree, values))
        try:
            alone = network.subscribe_algebra(bound(tree, values), select, lambda _: None)
        except BadQuery:
            with pytest.raises(BadQuery):
                network.subscribe_template(tree, values, select, lambda _: None)
            return
        self.queries.append((Shared(self.world, tree, values), alone))

    def leave(self, which: int) -> None:
        for production in (self.queries[which][0].production, self.queries[which][1]):
            self.world.network.unsubscribe(production)
        del self.queries[which]

    def compare(self) -> None:
        for shared, alone in self.queries:
            expected = naive.rows(shared.bound, shared.select, self.world.facts)
            assert shared.production.rows() == alone.rows() == expected
            assert shared.held == expected
            assert shared.lowest == 0

    def compare_flash(self, event: Fact) -> None:
        flashed = {production: dict(rows) for production, rows in self.world.network.flash(event)}
        for shared, alone in self.queries:
            assert flashed.get(shared.production) == flashed.get(alone)

    def finish(self) -> None:
        for items in list(self.world.facts):
            self.world.change([(items, -1)])
            self.compare()
        while self.queries:
            self.leave(0)
        assert self.world.network.is_empty


@dataclass(frozen=True)
class Portable(naive.Equals):
    """A test that an alpha memory may make."""

    portable = True


def filtered(inner: st.SearchStrategy[a.Algebra]) -> st.SearchStrategy[a.Algebra]:
    return st.builds(a.Filter, inner, st.builds(Portable, st.sampled_from("uvw"), constants))


tested_trees = st.recursive(basics, lambda inner: st.one_of(one_more(inner), filtered(inner), filtered(inner)), max_leaves=4)


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(tested_trees, arguments)
def test_a_shared_network_looks_at_what_its_queries_would_look_at_alone(tree: a.Algebra, values: Fact) -> None:
    alone, shared = Network(lambda _: ()), Network(lambda _: (), by_feed=True)
    try:
        alone.subscribe_algebra(bound(tree, values), (), lambda _: None)
    except BadQuery:
        return

    shared.subscribe_template(tree, values, (), lambda _: None)

    for alpha in shared.alphas():
        assert any(
            alpha.tests == other.tests
            and (alpha.template.covers(other.template) if isinstance(alpha.template, OpenTemplate) else alpha == other)
            for other in alone.alphas()
        )


@settings(deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(trees, min_size=1, max_size=2),
    st.lists(st.builds(Coming, st.integers(0, 1), arguments), min_size=1, max_size=4),
    st.lists(steps, min_size=5, max_size=20),
)
def test_shared_and_alone_a_query_has_the_rows_of_the_book(
    templates: list[a.Algebra], first: list[Coming], history: list[Step]
) -> None:
    trial = Trial(templates)

    for step in [*first, *history]:
        trial.take(step)

    trial.finish()
