"""Explains queries: how they are answered, why a row holds, why another does not. Pure: facts and counts are handed in.

The order of joins comes from the builder itself (:mod:`rete.explain.plan`), reasons from evaluating the query again with the row's
values (:mod:`rete.explain.derivation`, :mod:`rete.explain.refusal`): over the facts that there are now, and those events that are
in windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

import rete
from rete import algebra
from rete.explain.derivation import Derivation, Evidence, GivenUp, Solver
from rete.explain.plan import Step, plan
from rete.explain.refusal import Examiner, Finding, culprits
from rete.functions import requirements_of
from rete.inspect import held_by

from ..errors import LocalError
from ..languages.notation import (
    alpha_text,
    condition_text,
    naming,
    operator_text,
    part_text,
    test_text,
    tests_of,
    variable_text,
    written_as,
)
from ..languages.query import Query, enter, refusing_bad_queries
from ..languages.rows import Row
from ..tuples.terms import Term, Tuple, n3, show
from .explanations import Candidate, Check, Holding, Plan, PlanStep, Reason, Why, WhyNot

FactsOf: TypeAlias = Callable[[rete.Condition], Iterable[Tuple]]
"""All facts (or events of the window) that may match a condition."""

WAYS = 5
"""Ways to make a row that are shown."""
WAYS_COUNTED = 1_000
"""Ways that are counted."""


class _FactsFor:
    """Facts by the value of one variable, indexed when they are first asked for so; good for one question."""

    def __init__(self, facts_of: FactsOf) -> None:
        self._facts_of = facts_of
        self._all: dict[rete.Condition, list[Tuple]] = {}
        self._indexes: dict[tuple[rete.Condition, int], dict[Term, list[Tuple]]] = {}

    def __call__(self, condition: rete.Condition, values: Mapping[str, Term]) -> Iterable[Tuple]:
        facts = self._all.get(condition)
        if facts is None:
            facts = self._all[condition] = list(self._facts_of(condition))
        bound = next(((name, place) for name, place in condition.variables if name in values), None)
        if bound is None:
            return facts
        name, place = bound
        index = self._indexes.get((condition, place))
        if index is None:
            index = self._indexes[condition, place] = {}
            for fact in facts:
                if len(fact) > place:
                    index.setdefault(fact[place], []).append(fact)
        return index.get(values[name], ())


def tree_of(query: Query) -> algebra.Algebra:
    """A query as a tree of operators, whatever it was written as."""
    return algebra.of_group(query.bound().body)


# How it is answered.


def explain_plan(
    query: Query,
    language: str,
    *,
    counts: Mapping[rete.AlphaSpec, int] | None = None,
    candidates: Mapping[rete.AlphaSpec, tuple[Candidate, ...]] | None = None,
    intervals: Mapping[rete.AlphaSpec, int] | None = None,
    counted: str = "",
    sharing: int = 0,
) -> Plan:
    """The plan, with how many facts each alpha memory has or would have, where each could be posted, under how
    many intervals it would be, and with how many subscriptions it would share a network."""
    known = counts or {}

    def steps_of(steps: Iterable[Step]) -> Iterator[PlanStep]:
        for step in steps:
            if isinstance(step.what, rete.Condition):
                assert step.alpha is not None, "a condition looks into an alpha memory"
                places, within = (candidates or {}).get(step.alpha, ()), (intervals or {}).get(step.alpha, 0)
                yield PlanStep(
                    "condition",
                    condition_text(step.what),
                    facts=known.get(step.alpha),
                    on=tuple(variable_text(name)[1:] or "_" for name in step.on),
                    binds=tuple(variable_text(name)[1:] or "_" for name in step.new),
                    product=step.product,
                    tests=tuple(map(test_text, tests_of(step.alpha, step.what))),
                    tried=tuple(test_text(test) for test in tests_of(step.alpha, step.what) if not requirements_of(test)),
                    candidates=places,
                    everywhere=candidates is not None and not step.alpha.template.anchors() and not within,
                    intervals=within,
                )
            elif isinstance(step.what, algebra.Basic):
                yield from steps_of(step.steps)
            elif isinstance(step.what, algebra.LeftJoin | algebra.Minus | algebra.Exists):
                first, second = step.ends
                yield from steps_of(step.steps[:first])
                yield PlanStep("operator", operator_text(step.what), steps=tuple(steps_of(step.steps[first:second])))
                yield from steps_of(step.steps[second:])
            elif isinstance(step.what, algebra.Algebra):
                yield PlanStep("operator", operator_text(step.what), steps=tuple(steps_of(step.steps)))
            else:
                yield PlanStep("filter", f"FILTER {test_text(step.what)}")

    with refusing_bad_queries(), naming(tree_of(query)):
        steps = plan(query.bound().body, lambda alpha: known.get(alpha, 0))
        return Plan(language, query.select, tuple(steps_of(steps)), query.warnings, counted, sharing)


def draw_query(query: Query) -> str:
    """The network that would answer a query, as SVG without counts."""
    from rete.inspect import graph

    from .drawing import draw
    from .network_view import Shown, view_of

    network = rete.Network(lambda _: (), is_hollow=True)
    production = enter(network, query.bound(), lambda _: None)
    shown = Shown(production, None, part_text(query.bound().body), tree_of(query))
    return draw(view_of(graph(network), [shown]), counts=False)


# Why a row holds.


def explain_why(query: Query, row: Row, facts_of: FactsOf) -> Why:
    """Which tuples make a row, or all rows with these values. Raises LocalError for names that rows do not have."""
    values = _values(query, row)
    tree = tree_of(query)
    while isinstance(tree, algebra.Distinct):
        # Each way to make the row is of interest, though it counts once.
        tree = tree.child
    shown: list[tuple[Reason, ...]] = []
    total, complete = 0, True
    try:
        solutions = Solver(_FactsFor(facts_of)).solve(tree, values)
        # A name that a solution leaves unbound has no value, whatever is asked for.
        for found in islice((one for one in solutions if values.keys() <= one.values.keys()), WAYS_COUNTED):
            total += 1
            if len(shown) < WAYS:
                with naming(tree):
                    shown.append(_reasons(found))
    except GivenUp:
        complete = False
    return Why(str(row), tuple(shown), total, complete and total < WAYS_COUNTED)


def _reasons(derivation: Derivation) -> tuple[Reason, ...]:
    return tuple(map(_reason, derivation.evidence))


def _reason(evidence: Evidence) -> Reason:
    return Reason(
        part_text(evidence.what),
        None if evidence.fact is None else show(evidence.fact),
        evidence.said,
        evidence.total,
        tuple(map(_reasons, evidence.inner)),
    )


# Why a row does not hold.


def explain_why_not(query: Query, row: Row, facts_of: FactsOf, *, notes: tuple[str, ...] = ()) -> WhyNot:
    """Which part of the query leaves nothing of a row. Raises LocalError like :func:`explain_why`."""
    tree = tree_of(query)
    found = Examiner(_FactsFor(facts_of)).examine(tree, _values(query, row))
    blamed = culprits(found)
    if not blamed and not found.left:
        because: tuple[str, ...] = ("it is too much to look at all of it; ask with more values of the row",)
    else:
        with naming(tree):
            because = tuple(_because(one, row) for one in blamed)
    with naming(tree):
        return WhyNot(str(row), bool(found.left), because, _check(found, {id(one) for one in blamed}), notes)


def _check(found: Finding, blamed: set[int]) -> Check:
    what = found.what
    return Check(
        "condition" if isinstance(what, rete.Condition) else "operator",
        part_text(what),
        found.left,
        found.alone,
        found.bound,
        found.given_up,
        id(found) in blamed,
        tuple(_check(part, blamed) for part in found.parts),
    )


def _because(found: Finding, row: Row) -> str:
    what = found.what
    had = "; ".join(_bindings(one) for one in found.examples)
    if found.unbound:
        names = ", ".join(map(variable_text, found.unbound))
        if isinstance(what, algebra.Basic):
            return f"{', '.join(map(condition_text, what.conditions)) or 'nothing'} can hold, and binds no {names}"
        return f"{_leaves_unbound(what, had)}, so {names} {'is' if len(found.unbound) == 1 else 'are'} unbound"
    match what:
        case rete.Condition():
            return _no_tuple(what, found, had)
        case algebra.Filter(_, test):
            values = "; ".join(_bindings(one, test.names) for one in found.examples)
            return f"FILTER {test_text(test)} does not hold for {values}"
        case algebra.Exists(_, _, True):
            said = "; ".join(" ".join(_tuples(one)) or "always" for one in found.examples)
            return f"NOT has a solution: {said}"
        case algebra.Exists():
            return f"EXISTS has no solution for {had}"
        case algebra.Minus():
            return f"MINUS takes it away: {had}"
        case algebra.LeftJoin():
            return f"OPTIONAL gives other values than asked for {had}"
        case algebra.Grouped():
            return f"the group has other values: {had}" if had else "there is no such group"
        case algebra.Extend(_, name):
            return f"BIND gives another value: {'; '.join(_bindings(one, (name,)) for one in found.examples)}"
        case algebra.Slice():
            return f"{operator_text(what)} leaves it out: {had}"
        case algebra.Join():
            return "both sides of a join have solutions, and none agrees with one of the other side"
        case algebra.Union():
            return "neither side of UNION has a solution"
        case algebra.Values():
            return f"no row of {operator_text(what)} agrees"
        case algebra.Path():
            return f"there is no walk: {operator_text(what)}"
        case _:
            return f"{operator_text(what)} leaves nothing of it"


def _leaves_unbound(what: rete.Condition | algebra.Algebra, had: str) -> str:
    """Why a part of the query that has solutions gives no value to a name."""
    match what:
        case algebra.LeftJoin():
            return f"{operator_text(what)} has no match for {had}"
        case algebra.Extend():
            return f"{operator_text(what)} gives no value for {had}"
        case algebra.Grouped():
            return f"an aggregate of the group has no value: {had}"
        case algebra.Values():
            return f"{operator_text(what)} has UNDEF in the rows that agree"
        case _:
            return f"{part_text(what)} has no value for {had}"


def _no_tuple(condition: rete.Condition, found: Finding, had: str) -> str:
    text = condition_text(condition)
    if not found.alone:
        return f"no tuple matches {text}"
    if not found.bound:
        return f"of {_count(found.alone)} that match {text} none has the values of the row"
    return f"of {_count(found.bound)} that match {text} with the values of the row none joins with {had}"


def _count(number: int) -> str:
    return f"{number:,}{' or more' if number >= 1_000 else ''} tuple{'' if number == 1 else 's'}"


def _bindings(one: Derivation, names: Iterable[str] | None = None) -> str:
    wanted = dict(sorted(one.values.items())) if names is None else {name: one.values.get(name) for name in names}
    shown = [
        f"{variable_text(name)}={'(unbound)' if value is None else n3(value)}"
        for name, value in wanted.items()
        # DISTINCT rows are ordered by the keys of their first solution, which are no term.
        if variable_text(name) != "_" and not isinstance(value, tuple)
    ]
    return " ".join(shown) or "the empty solution"


def _tuples(one: Derivation) -> Iterator[str]:
    for evidence in one.evidence:
        if evidence.fact is not None:
            yield show(evidence.fact)
        for inner in evidence.inner:
            yield from _tuples(inner)


def _values(query: Query, row: Row) -> dict[str, Term]:
    names = tuple(row)
    unknown = [name for name in names if name not in query.select]
    if unknown:
        known = " ".join(f"?{name}" for name in query.select) or "no names"
        raise LocalError(f"rows of this query have no ?{unknown[0]}; they have {known}")
    return {name: value for name, value in zip(names, row.aligned(names), strict=True) if value is not None}


# What it holds.


def holding_of(production: rete.Production, query: Query, *, number: int, text: str, language: str, client: str) -> Holding:
    """What a subscription holds, with what was asked."""
    held = held_by(production)
    return Holding(
        number,
        text,
        language,
        client,
        rows=held.rows,
        tokens=held.tokens,
        own_tokens=held.own_tokens,
        bytes=held.bytes,
        own_bytes=held.own_bytes,
        max_tokens=production.max_tokens,
        sharing=held.queries,
        warnings=query.warnings,
    )


def tests_elsewhere(query: Query) -> tuple[str, ...]:
    """What to know where filters are decided at the rendezvous: facts that fail them are not here."""

    def alphas(steps: Iterable[Step]) -> Iterator[rete.AlphaSpec]:
        for step in steps:
            if step.alpha is not None and step.alpha.tests:
                yield step.alpha
            yield from alphas(step.steps)

    with refusing_bad_queries():
        found = dict.fromkeys(alphas(plan(query.bound().body, lambda _: 0)))
    elsewhere = "tuples that do not pass stay at their rendezvous, and may be what this row lacks"
    with written_as(tree_of(query)):
        return tuple(f"{alpha_text(alpha)}: {elsewhere}" for alpha in found)
