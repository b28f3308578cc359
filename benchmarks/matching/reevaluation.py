"""What it costs to ask again: pyoxigraph, a fast store without standing queries, evaluates all N queries after an insert.

Nobody could wait until it has done so after every insert. It does at a few moments, evenly spread over the insertion, and the mean
of those stands for the mean of all; where the budget ends before all N were evaluated at a moment, the cost of the others is taken
to be the same. Both are extrapolations, and the table says so. A query is parsed each time: pyoxigraph prepares none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyoxigraph

from .rivals import Outcome, Phase
from .workload import Pair, Triple, as_sparql, expected_rows, in_another_order, patterns_of

PYOXIGRAPH = "pyoxigraph, evaluating again"

MOMENTS = 3
"""Inserts, and as many retractions, after which everything is evaluated."""


def quad(triple: Triple) -> pyoxigraph.Quad:
    """The triple, with names as IRIs."""
    subject, predicate, value = (pyoxigraph.NamedNode(f"urn:{name}") for name in triple)
    return pyoxigraph.Quad(subject, predicate, value)


def run_reevaluation(pairs: Sequence[Pair], triples: Sequence[Triple], budget_s: float) -> Outcome:
    """The synthetic workload."""
    again = _Again(pairs, budget_s / (2 * MOMENTS))
    insertion = again.phase(triples, 1)
    retraction = again.phase(in_another_order(triples), -1)
    note = f"extrapolated: {MOMENTS} changes" + (f", {again.fewest:,} queries" if again.fewest < len(pairs) else "")
    return Outcome(PYOXIGRAPH, len(pairs), len(pairs), 0.0, len(triples), insertion, retraction, note, tuple(again.wrong))


class _Again:
    """A store, and all queries evaluated on it now and then."""

    def __init__(self, pairs: Sequence[Pair], limit_s: float) -> None:
        self.wrong: list[str] = []
        self.fewest = len(pairs)
        """Queries that were evaluated at a moment, at least."""
        self._pairs = pairs
        self._texts = [as_sparql(patterns_of(pair)) for pair in pairs]
        self._limit_s = limit_s
        self._store = pyoxigraph.Store()

    def phase(self, order: Sequence[Triple], sign: int) -> Phase:
        """All changes, MOMENTS of them timed."""
        spent_s, done, rows = 0.0, 0, 0
        moments = sorted({len(order) * (2 * number + 1) // (2 * MOMENTS) for number in range(MOMENTS)})
        for at in [*moments, len(order)]:
            for triple in order[done:at]:
                self._change(triple, sign)
            started = time.perf_counter()
            if at < len(order):
                self._change(order[at], sign)
            changed_s = time.perf_counter() - started
            evaluated, rows = evaluate(self._store, self._texts, self._limit_s)
            evaluated_s = time.perf_counter() - started - changed_s
            # What follows the last moment is looked at for its rows only.
            if at < len(order):
                spent_s += changed_s + evaluated_s / evaluated * len(self._texts)
            done = at + 1
            self.fewest = min(self.fewest, evaluated)
            expected = expected_rows(self._pairs[:evaluated], order[:done] if sign > 0 else order[done:])
            if rows != expected:
                self.wrong.append(f"{PYOXIGRAPH}: {rows} rows of the first {evaluated:,} queries, expected {expected}")
        return Phase(len(order), spent_s / len(moments) * 1e6, rows)

    def _change(self, triple: Triple, sign: int) -> None:
        if sign > 0:
            self._store.add(quad(triple))
        else:
            self._store.remove(quad(triple))


def evaluate(store: pyoxigraph.Store, texts: Sequence[str], limit_s: float) -> tuple[int, int]:
    """How many queries were evaluated before the time was over, at least one, and how many rows those have."""
    deadline = time.perf_counter() + limit_s
    rows = 0
    for number, text in enumerate(texts, 1):
        solutions = store.query(text)
        assert isinstance(solutions, pyoxigraph.QuerySolutions), "a SELECT gives solutions"
        rows += sum(1 for _ in solutions)
        if time.perf_counter() > deadline:
            return number, rows
    return len(texts), rows
