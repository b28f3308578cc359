"""Two other matchers on the same triples and queries: CLIPS through clipspy, and py_rete.

Each gets a time budget for adding its queries and inserting, and the same again for retracting, and is stopped at its end; the
outcome says how far it came. ``pip install 'gsg-router[bench]'`` (or ``make bench``) installs the two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .workload import Patterns, Triple, in_another_order, selective_first

CHECK_EVERY = 64
"""Changes between two looks at the clock, which would otherwise cost as much as the faster engines' change."""

CLIPS, CLIPS_AS_WRITTEN, PY_RETE, PY_RETE_AS_PUBLISHED = (
    "CLIPS",
    "CLIPS, as written",
    "py_rete",
    "py_rete, with its search for duplicates",
)


@dataclass(frozen=True, slots=True)
class Phase:
    """All insertions, or all retractions, as far as an engine came."""

    changes: int
    """Made before the budget ended."""
    mean_us: float | None
    """Microseconds per change, mean over those made; None when there were none."""
    rows: int
    """Rows held at the end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one engine did within its budget."""

    engine: str
    queries: int
    added: int
    """Queries added before the budget ended."""
    setup_s: float
    """Seconds to add them, not part of a mean."""
    triples: int
    """How many there were to insert."""
    insertion: Phase
    """Where it was stopped, its mean is that of the cheap beginning."""
    retraction: Phase
    """Of what was inserted, in another order."""
    note: str = ""
    """How its means were come by, where not by making every change."""
    wrong: tuple[str, ...] = ()
    """What its rows should have been."""


def run_rival(name: str, queries: Sequence[Patterns], triples: Sequence[Triple], budget_s: float) -> Outcome | None:
    """One of the names above; None when it is not installed. Queries are taken in a good order unless the name says otherwise."""
    ordered = list(queries) if name == CLIPS_AS_WRITTEN else list(map(selective_first, queries))
    engine: _Clips | _PyRete
    try:
        if name in (CLIPS, CLIPS_AS_WRITTEN):
            engine = _Clips()
        else:
            engine = _PyRete(duplicate_check=name == PY_RETE_AS_PUBLISHED)
    except ModuleNotFoundError:
        return None
    return replace(_within(budget_s, engine, ordered, triples), engine=name)


class _Clips:
    """CLIPS 6.4: a deftemplate of three slots and a defrule per query; rows are its activations."""

    def __init__(self) -> None:
        import clips

        self._environment = clips.Environment()
        self._environment.build("(deftemplate t (slot s (type SYMBOL)) (slot p (type SYMBOL)) (slot o (type SYMBOL)))")
        self._template = self._environment.find_template("t")
        self._symbol = clips.Symbol

    def add(self, number: int, query: Patterns) -> None:
        patterns = " ".join(f"(t (s {subject}) (p {predicate}) (o {value}))" for subject, predicate, value in query)
        self._environment.build(f"(defrule q{number} {patterns} => )")

    def insert(self, triple: Triple) -> Any:  # Any: CLIPS's fact, which has no annotations
        subject, predicate, value = triple
        symbol = self._symbol
        return self._template.assert_fact(s=symbol(subject), p=symbol(predicate), o=symbol(value))

    def retract(self, fact: Any) -> None:  # Any: as above
        fact.retract()

    def rows(self) -> int:
        return sum(1 for _ in self._environment.activations())


class _Distinct(list[object]):
    """A list that looks for nothing: membership of what is known to be new."""

    def __contains__(self, item: object) -> bool:
        return False


class _PyRete:
    """py_rete 0.0.6: a production per query; rows are the tokens in the production nodes.

    Its joins compare every token with every fact of a memory, so the cost of an insert rises with both N and the facts so far.
    The triples are distinct, so its search of every memory for a duplicate, which costs more than all else when N is small, is left
    out unless ``duplicate_check`` asks for the engine as published.
    """

    def __init__(self, *, duplicate_check: bool) -> None:
        from py_rete.common import WME, Has, Rule
        from py_rete.network import Network

        self._wme, self._has, self._rule = WME, Has, Rule
        self._network = Network()
        self._productions: list[Any] = []  # Any: as above
        self._duplicate_check = duplicate_check

    def add(self, _: int, query: Patterns) -> None:
        conditions = [self._has(*map(_with_dollar, pattern)) for pattern in query]
        self._productions.append(self._network.add_production(self._rule(*conditions)))
        if not self._duplicate_check:
            _trust(self._network.alpha_root, len(query))

    def insert(self, triple: Triple) -> Any:  # Any: as above
        element = self._wme(*triple)
        self._network.add_wme(element)
        return element

    def retract(self, element: Any) -> None:  # Any: as above
        self._network.remove_wme(element)

    def rows(self) -> int:
        return sum(len(node.items) for node in self._productions)


def _with_dollar(part: str) -> str:
    return "$" + part[1:] if part.startswith("?") else part


def _trust(node: Any, conditions: int) -> None:  # Any: py_rete's node
    if node.amem is not None and not isinstance(node.amem.items, _Distinct):
        node.amem.items = _Distinct(node.amem.items)
    # The conditions of one query add at most one child each, and at the end.
    for child in node.children[-conditions:]:
        _trust(child, conditions)


def _within(budget_s: float, engine: _Clips | _PyRete, queries: Sequence[Patterns], triples: Sequence[Triple]) -> Outcome:
    """Adds all queries, inserts triples one by one and retracts what it inserted, until done or out of time."""
    clock = time.perf_counter
    started = clock()
    added = 0
    for query in queries:
        if clock() - started > budget_s:
            break
        engine.add(added, query)
        added += 1
    setup_s = clock() - started

    facts: list[Any] = []  # Any: what the engine calls a fact
    insertion = retraction = Phase(0, None, 0)
    if added == len(queries):
        insertion = _phase(lambda triple: facts.append(engine.insert(triple)), triples, budget_s - setup_s, engine.rows)
        positions = in_another_order(range(len(facts)))
        retraction = _phase(lambda at: engine.retract(facts[at]), positions, budget_s, engine.rows)
    return Outcome("", len(queries), added, setup_s, len(triples), insertion, retraction)


def _phase(change: Callable[[Any], object], pieces: Sequence[Any], budget_s: float, rows: Callable[[], int]) -> Phase:
    """Makes the changes one by one until the budget ends."""
    clock = time.perf_counter
    made = 0
    begun = clock()
    while made < len(pieces) and clock() - begun < budget_s:
        for piece in pieces[made : made + CHECK_EVERY]:
            change(piece)
            made += 1
    spent_s = clock() - begun
    return Phase(made, spent_s / made * 1e6 if made else None, rows())


def checked(outcome: Outcome, triples: Sequence[Triple], rows_of: Callable[[Sequence[Triple]], int]) -> Outcome:
    """The outcome, with what was wrong about its rows as far as it came; ``rows_of`` is the definition."""
    inserted = triples[: outcome.insertion.changes]
    left = [inserted[at] for at in in_another_order(range(len(inserted)))[outcome.retraction.changes :]]
    wrong = []
    for phase, remaining, past in ((outcome.insertion, inserted, "insertions"), (outcome.retraction, left, "retractions")):
        expected = rows_of(remaining) if outcome.added == outcome.queries else 0
        if phase.rows != expected:
            wrong.append(f"{outcome.engine}: {phase.rows} rows after {phase.changes:,} {past}, expected {expected}")
    return replace(outcome, wrong=tuple(wrong))
