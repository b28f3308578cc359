"""Whatever the query and whatever the history: rows are what pyoxigraph answers when it evaluates again, at every moment.

One example is a query and a history. The query is subscribed to before the history, again in the middle of it (where it shares the
nodes that are there), in another space that has the facts of the middle already, and in one that hears of the whole history as one
transaction. In every second example ten more queries, equal to it but for their constants, share a network from the eighth on.
After every change the rows, and the differences added up, are the oracle's, and no count has ever been negative. Then everything is
retracted: the rows are those of an empty graph, nodes remember what nodes without a past remember, and without subscriptions there
is no node.

`make soak` runs more of the same (conformance_soak.py).
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from types import FunctionType, MethodType
from typing import Any

import pyoxigraph
import pytest
from fact_histories import KEPT, History, histories
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from oracle import Oracle, comparable
from queries import SLOT, Asked, Fact, queries
from w3c import Rows, same, term_of

import gsg
import rete
from gsg.languages.query import Query
from gsg.languages.sparql import parse_query
from gsg.subscriptions.backlog import LIMIT
from gsg.tuples.terms import IRI, Tuple

EXAMPLES, PARTS = 800, 4
"""In parts, since they take minutes: enough tests for all cores."""


@dataclass(frozen=True)
class Change:
    """A fact comes or goes, in both spellings."""

    quad: pyoxigraph.Quad
    fact: Tuple
    sign: int

    @classmethod
    def of(cls, fact: Fact, sign: int) -> Change:
        triple, graph = " ".join(fact[:3]), fact[3:]
        text = f"{graph[0]} {{ {triple} }}" if graph else f"{triple} ."
        (quad,) = pyoxigraph.parse(_PREFIXES + text, pyoxigraph.RdfFormat.TRIG)
        terms = (quad.subject, quad.predicate, quad.object, *([quad.graph_name] if graph else []))
        return cls(quad, tuple(map(term_of, terms)), sign)

    def undone(self) -> Change:
        return replace(self, sign=-self.sign)


_PREFIXES = "@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "


def changes_of(history: History) -> list[Change]:
    """What follows the beginning, where it really changes something: facts are a set."""
    present = dict.fromkeys(history.first)
    made = []
    for step in history.then:
        if isinstance(step, int):
            if present:
                gone = list(present)[step % len(present)]
                del present[gone]
                made.append(Change.of(gone, -1))
        elif step not in present:
            present[step] = None
            made.append(Change.of(step, 1))
    return made


def transact(space: gsg.Space, changes: Sequence[Change]) -> None:
    """Insertions and retractions in one transaction, which is what a peer makes of one message."""
    for change in changes:
        (space._store.add if change.sign > 0 else space._store.remove)(change.fact)
    space._network.change([(change.fact, change.sign) for change in changes])


class Watch:
    """A subscription, and the sum of what was heard."""

    def __init__(self, space: gsg.Space, query: Query, text: str, asked: Asked) -> None:
        self.subscription = space._subscribe(query, None, LIMIT)
        self.text = text
        self._reduced = asked.reduced
        self._blank = asked.form == "CONSTRUCT"
        self._held: Counter[gsg.Row] = Counter()

    def check(self, expected: Rows) -> None:
        """The rows, and the differences added up, are the answer."""
        for sign, row in self.subscription:
            self._held[row] += sign
            assert self._held[row] >= 0, f"{row} was taken back more often than given"
        held = +self._held
        assert self.subscription.rows() == held
        self._held = held
        found: Rows = Counter()
        for row, count in held.items():
            found[comparable(dict(zip(row, row.terms, strict=True)))] += count
        if found == expected:
            return
        note(f"{self.text}\n found    {dict(found)}\n expected {dict(expected)}")
        if self._reduced:
            # Each solution at least once, and no more often than without REDUCED (section 18.5, Reduced).
            assert found.keys() == expected.keys()
            assert found <= expected
        else:
            # Blank nodes that a CONSTRUCT makes have labels of its own.
            assert self._blank
            assert same(found, expected)


class Trial:
    """One query and one history, in several spaces, beside the oracle."""

    def __init__(self, asked: Asked, oracle: Oracle) -> None:
        self.asked = asked
        self.text = asked.theirs(asked.constants[0])
        parsed = parse_query(asked.ours())
        self.template = Query(_lifted(parsed.body), parsed.select, tuple(map(_iri, asked.constants[0])))
        self.query = self.template.bound()
        self.oracle = oracle
        self.spaces: list[gsg.Space] = []
        self.watches: list[Watch] = []
        self.add_space([])
        self.answers: dict[tuple[str, frozenset[pyoxigraph.Quad]], Rows] = {}
        """By text and facts: on the way back a history passes through much of what it came by."""
        self.facts: frozenset[pyoxigraph.Quad] = frozenset()

    def add_space(self, facts: list[Tuple]) -> None:
        """One more space, with facts, and with the query."""
        space = gsg.Space()
        self.spaces.append(space)
        space.insert(facts)
        self.watch(space, self.query, self.text)

    def watch(self, space: gsg.Space, query: Query, text: str) -> None:
        self.watches.append(Watch(space, query, text, self.asked))

    def watch_copies(self) -> None:
        """The queries that are equal up to constants."""
        if self.template.arguments:
            for constants in (*self.asked.constants[1:], self.asked.constants[0]):
                query = replace(self.template, arguments=tuple(map(_iri, constants)))
                self.watch(self.spaces[-1], query, self.asked.theirs(constants))

    def take(self, *changes: Change, compared: bool = True) -> None:
        """One transaction in all spaces, and the comparison after it."""
        for change in changes:
            (self.oracle.insert if change.sign > 0 else self.oracle.retract)(change.quad)
        self.facts ^= {change.quad for change in changes}
        for space in self.spaces:
            transact(space, changes)
        if compared:
            self.check()

    def check(self) -> None:
        for watch in self.watches:
            watch.check(self.answer(watch.text))

    def answer(self, text: str) -> Rows:
        known = self.answers.get((text, self.facts))
        if known is None:
            known = self.answers[text, self.facts] = self.oracle.answer(text)
        return known

    def at_once(self, changes: list[Change]) -> None:
        """The whole history as one transaction, in a space of its own."""
        space = gsg.Space()
        watch = Watch(space, self.query, self.text, self.asked)
        transact(space, changes)
        watch.check(self.answer(self.text))

    def finish(self) -> None:
        """Everything is retracted by now."""
        fresh = gsg.Space()
        empty = fresh._subscribe(self.query, None, LIMIT).rows()
        first, *others = self.watches
        for watch in others:
            assert watch.subscription.rows() == empty or watch.text != self.text
            watch.subscription.close()
        # Where facts were there before the query, joins may stand in another order.
        assert remembered(self.spaces[0]._network) == remembered(fresh._network)
        assert first.subscription.rows() == empty
        first.subscription.close()
        for space in self.spaces:
            assert space._network.is_empty


def _iri(text: str) -> IRI:
    return IRI(text.replace(":", "http://e/"))


def _lifted(tree: Any) -> Any:  # Any: a tree of the algebra, or what stands in one
    """The tree with parameters where its conditions have slots."""
    if isinstance(tree, rete.Condition):
        return rete.Condition(tuple(map(_slot, tree.pattern)))
    if isinstance(tree, tuple):
        return tuple(map(_lifted, tree))
    if is_dataclass(tree) and type(tree).__module__ == "rete.algebra":
        return replace(tree, **{field.name: _lifted(getattr(tree, field.name)) for field in fields(tree)})
    return tree


def _slot(item: object) -> object:
    return rete.Parameter(int(item.value[len(SLOT) :])) if isinstance(item, IRI) and item.value.startswith(SLOT) else item


def remembered(network: rete.Network) -> Counter[str]:
    """How many entries the objects of a network hold in their dicts, lists and sets, by kind of object.

    A bag of one item may be that item or a container of it: both are one entry. A container that was left empty is one, too.
    """
    held: Counter[str] = Counter()
    known: dict[int, Any] = {}  # what is known stays alive, so that no other has its id; Any: whatever is there, here and below
    pending: list[Any] = [network]
    while pending:
        item = pending.pop()
        if id(item) in known:
            continue
        known[id(item)] = item
        for inner in _parts(item):
            if isinstance(inner, CONTAINERS):
                leaves = list(_leaves(inner))
                held[type(item).__name__] += len(leaves)
                pending += leaves
            else:
                pending.append(inner)
    return held


CONTAINERS = (dict, list, set)


def _parts(item: Any) -> Iterator[Any]:
    """What an object of the matcher refers to, or what stands in a tuple."""
    if isinstance(item, FunctionType):
        yield from (cell.cell_contents for cell in item.__closure__ or ())
    elif isinstance(item, MethodType):
        yield item.__self__
    elif isinstance(item, tuple):
        yield from item
    elif _is_of_the_matcher(type(item)):
        yield from (inner for inner in gc.get_referents(item) if not isinstance(inner, type))


@cache
def _is_of_the_matcher(kind: type) -> bool:
    return kind.__module__.startswith(("rete.", "gsg.languages.expressions."))


def _leaves(container: Any) -> Iterator[Any]:
    entries = list(container)
    if isinstance(container, dict):
        entries = [value if isinstance(value, CONTAINERS) else (key, value) for key, value in container.items()]
    for entry in entries:
        if isinstance(entry, CONTAINERS) and entry:
            yield from _leaves(entry)
        else:
            yield entry


def run(asked: Asked, history: History, late: int, oracle: Oracle | None = None) -> None:
    """One example."""
    trial = Trial(asked, oracle or Oracle())
    note(asked.ours())
    kept = [Change.of(fact, 1) for fact in KEPT if asked.may_stand_still]
    first = kept + [Change.of(fact, 1) for fact in history.first]
    changes = changes_of(history)
    middle = late % (len(changes) + 1)

    if not kept:
        trial.check()
    trial.take(*first)
    for number in range(len(changes) + 1):
        if number == middle:
            trial.watch(trial.spaces[0], trial.query, trial.text)
            trial.add_space(list(present(first + changes[:number])))
            if late % 2:
                trial.watch_copies()
            trial.check()
        trial.take(*changes[number : number + 1])
    trial.at_once(first + changes)
    gone = [change.undone() for change in reversed(present(first + changes).values())]
    for change in gone[: len(gone) - len(kept)]:
        trial.take(change)
    trial.take(*gone[len(gone) - len(kept) :], compared=not kept)

    trial.finish()


def present(changes: list[Change]) -> dict[Tuple, Change]:
    """The facts that are there after these changes."""
    facts: dict[Tuple, Change] = {}
    for change in changes:
        if change.sign > 0:
            facts[change.fact] = change
        else:
            del facts[change.fact]
    return facts


examples = queries().flatmap(lambda asked: st.tuples(st.just(asked), histories(blank=not asked.sliced), st.integers(0, 12)))


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@settings(max_examples=EXAMPLES // PARTS, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(drawn=examples)
def test_rows_are_what_the_oracle_answers_at_every_moment_of_every_history(part: int, drawn: tuple[Asked, History, int]) -> None:
    run(*drawn)
