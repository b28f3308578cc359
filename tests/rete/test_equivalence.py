"""The matcher says what the definition says, whatever the history: against an evaluator that tries every combination of facts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from naive import Fact, answer
from world import Watch, World

import rete

constants = st.sampled_from("abc")
facts: st.SearchStrategy[Fact] = st.lists(constants, min_size=1, max_size=3).map(tuple)
items = st.one_of(constants, st.sampled_from("xyz").map(rete.Variable), st.just(rete.WILDCARD))
conditions = st.lists(items, min_size=1, max_size=3).map(lambda pattern: rete.Condition(tuple(pattern)))


def groups_around(negated: st.SearchStrategy[rete.Group], *, least: int) -> st.SearchStrategy[rete.Group]:
    inside = st.lists(negated, max_size=2).map(tuple)
    return st.builds(rete.Group, st.lists(conditions, min_size=least, max_size=3).map(tuple), inside).filter(
        lambda made: bool(made.conditions or made.negated)
    )


innermost = st.builds(rete.Group, st.lists(conditions, min_size=1, max_size=3).map(tuple))
queries = groups_around(groups_around(innermost, least=0), least=1)


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

    query: rete.Group


@dataclass(frozen=True)
class Leaving:
    """One of the queries goes."""

    which: int


signed = st.tuples(facts, st.sampled_from((1, 1, -1)))
steps = st.one_of(
    st.lists(signed, min_size=1, max_size=1).map(Change),
    st.lists(signed, max_size=6).map(Change),
    facts.map(Flash),
    queries.map(Watching),
    st.integers(0, 7).map(Leaving),
)


@dataclass
class Trial:
    """Takes the steps and compares after each; empties the world at the end."""

    world: World = field(default_factory=World)
    watches: list[Watch] = field(default_factory=list)

    def take(self, step: Change | Flash | Watching | Leaving) -> None:
        match step:
            case Change(changes):
                self.world.change(changes)
            case Flash(event):
                self.compare_flash(event)
            case Watching(query):
                self.watches.append(self.world.watch(query))
            case Leaving(which) if self.watches:
                self.world.unwatch(self.watches.pop(which % len(self.watches)))
        self.compare()

    def compare(self) -> None:
        for watch in self.watches:
            expected = answer(watch.query, list(self.world.facts))
            assert watch.held == watch.production.rows() == expected
            assert watch.lowest == 0

    def compare_flash(self, event: Fact) -> None:
        before = list(self.world.facts)
        flashed = {production: Counter(dict(rows)) for production, rows in self.world.network.flash(event)}
        for watch in self.watches:
            expected = answer(watch.query, [*before, event]) - answer(watch.query, before)
            assert flashed.get(watch.production, Counter()) == expected

    def finish(self) -> None:
        for fact in list(self.world.facts):
            self.world.change([(fact, -1)])
            self.compare()
        for watch in self.watches:
            assert watch.held == watch.production.rows() == Counter()
            self.world.unwatch(watch)
        assert self.world.network.is_empty


@given(st.lists(queries, min_size=1, max_size=3), st.lists(steps, min_size=5, max_size=25))
def test_rows_are_what_the_definition_says_at_every_moment_of_every_history(
    first: list[rete.Group], history: list[Change | Flash | Watching | Leaving]
) -> None:
    trial = Trial()

    for step in [*map(Watching, first), *history]:
        trial.take(step)

    trial.finish()


@given(queries, st.lists(signed, max_size=20))
def test_one_transaction_ends_where_single_changes_end(query: rete.Group, changes: list[tuple[Fact, int]]) -> None:
    at_once, singly = World(), World()
    watches = at_once.watch(query), singly.watch(query)

    at_once.change(changes)
    for change in changes:
        singly.change([change])

    assert watches[0].held == watches[1].held == answer(query, list(singly.facts))
