"""Why a solution does not hold: where on its way through the query nothing is left of it.

The query is evaluated part by part with the values of the solution (:mod:`rete.explain.derivation`). Each part says how many
solutions are left after it. The first that leaves none, of inputs that had some, is the one that fails.

A name that is unbound agrees with any value where solutions are joined, but a solution that was asked about has its names bound.
So each part is told which names it *must* bind: those that the whole must, and no other part can.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from ..algebra import (
    Algebra,
    Basic,
    Distinct,
    Exists,
    Extend,
    Filter,
    Grouped,
    Join,
    LeftJoin,
    Minus,
    Numbered,
    Project,
    Slice,
    Union,
)
from ..chain import ordered
from ..compile.scope import in_scope, mentioned
from ..conditions import Condition
from .derivation import Bindings, Derivation, FactsFor, GivenUp, Solver, only

ENOUGH = 1_000
"""Solutions of a part that are counted; where there are more it is said that there are at least so many."""
SHOWN = 3
"""Solutions that a part shows as examples."""


@dataclass(slots=True)
class Finding:
    """What became of the solution at one part of the query."""

    what: Condition | Algebra
    left: int
    """Solutions after it, with the values asked about; at most ENOUGH."""
    alone: int | None = None
    """Of a condition: facts that match it, whatever the values; at most ENOUGH."""
    bound: int | None = None
    """Of a condition: those of them that have the values asked about."""
    given_up: bool = False
    """Whether it was too much to look at; ``left`` is then what was found until then."""
    examples: tuple[Derivation, ...] = ()
    """What the part had before it left nothing; of a negation the solutions that its group has."""
    unbound: tuple[str, ...] = ()
    """Names that it had to bind; the examples would be left if they did not leave these unbound."""
    parts: list[Finding] = field(default_factory=list)
    """In the order in which they are asked."""


class Examiner:
    """Asks about one solution. ``values`` are those of its names that are known."""

    def __init__(self, facts_for: FactsFor) -> None:
        self._facts_for = facts_for

    def examine(self, tree: Algebra, values: Bindings) -> Finding:
        """What becomes of a solution that has these values in each part of a tree."""
        return self._examine(tree, values, {}, frozenset(values))

    def _examine(self, tree: Algebra, values: Bindings, context: Bindings, must: frozenset[str]) -> Finding:
        match tree:
            case Basic(conditions):
                return self._chain(tree, conditions, values, context, must)
            case Join(Basic(some), Basic(others)):
                return self._chain(Basic(some + others), some + others, values, context, must)
            case Join(left, right):
                mine, theirs = must - frozenset(in_scope(right)), must - frozenset(in_scope(left))
                parts = [self._examine(left, values, context, mine), self._examine(right, values, context, theirs)]
                return self._finding(tree, values, context, must, parts, left)
            case Union(left, right):
                parts = [self._examine(side, values, context, must) for side in (left, right)]
                return self._finding(tree, values, context, must, parts, left)
            case LeftJoin(left, right):
                parts = [self._examine(left, values, context, must - frozenset(in_scope(right)))]
                return self._finding(tree, values, context, must, parts, left)
            case Minus(left):
                return self._finding(tree, values, context, must, [self._examine(left, values, context, must)], left)
            case Exists(child, pattern, negated):
                found = self._finding(tree, values, context, must, [self._examine(child, values, context, must)], child)
                if found.left == 0 and found.examples:
                    outer = found.examples[0].values
                    inside = only(outer, mentioned(pattern))
                    if negated:
                        found.examples = tuple(self._some(pattern, {}, inside, SHOWN))
                    else:
                        found.parts.append(self._examine(pattern, {}, inside, frozenset()))
                return found
            case Project(child, names):
                inside = only(context, names)
                parts = [self._examine(child, only(values, names), inside, must & frozenset(names))]
                return self._finding(tree, values, context, must, parts)
            case Grouped(child, keys):
                parts = [self._examine(child, only(values, keys), only(context, keys), must & frozenset(keys))]
                return self._finding(tree, values, context, must, parts, tree)
            case Extend(child, name):
                rest = {other: value for other, value in values.items() if other != name}
                parts = [self._examine(child, rest, context, must - {name})]
                return self._finding(tree, values, context, must, parts, tree, known=rest)
            case Numbered(child, name):
                parts = [self._examine(child, values, context, must - {name})]
                return self._finding(tree, values, context, must, parts, child)
            case Filter(child) | Distinct(child) | Slice(child):
                return self._finding(tree, values, context, must, [self._examine(child, values, context, must)], child)
            case _:
                return self._finding(tree, values, context, must, [])

    def _finding(
        self,
        tree: Algebra,
        values: Bindings,
        context: Bindings,
        must: frozenset[str],
        parts: list[Finding],
        before: Algebra | None = None,
        *,
        known: Bindings | None = None,
    ) -> Finding:
        """``before`` has the solutions that an operator leaves nothing of: itself, where they are its own with other values."""
        found = Finding(tree, *self._count(tree, values, context, must), parts=parts)
        if found.left == 0 and must:
            near = self._some(tree, values, context, SHOWN)
            found.unbound = min((tuple(sorted(must.difference(one.values))) for one in near), key=len, default=())
            found.examples = tuple(near)
        if found.left == 0 and not found.examples and before is not None:
            wider = values if known is None else known
            if isinstance(tree, Grouped):
                wider = only(values, tree.keys)
            found.examples = tuple(self._some(before, wider, context, SHOWN))
        return found

    def _chain(
        self, tree: Algebra, conditions: tuple[Condition, ...], values: Bindings, context: Bindings, must: frozenset[str]
    ) -> Finding:
        known = {**context, **values}
        solver = Solver(self._facts_for)
        parts = []
        order = ordered(conditions, set(known), lambda condition: self._size(condition, {}))
        left, cut_short = [Derivation(dict(known))], False
        for condition in order:
            before = left
            left = []
            try:
                for one in before:
                    for _, bound in solver.matching(condition, one.values):
                        left.append(Derivation(bound))
                        if len(left) == ENOUGH:
                            raise GivenUp
            except GivenUp:
                cut_short = True
            found = self._alone(condition, known, len(left))
            # Where not all were followed, that none is left of those that were says nothing.
            found.given_up = cut_short and not left
            if not left:
                found.examples = tuple(before[:SHOWN])
            parts.append(found)
            if not left:
                parts += [self._alone(rest, known, 0) for rest in order[len(parts) :]]
                break
        found = Finding(tree, len(left), given_up=cut_short and not left, parts=parts)
        if left and not must <= frozenset(in_scope(tree)) | context.keys():
            # Conditions bind all of their names: those that are missing they never bind.
            found.left, found.unbound = 0, tuple(sorted(must.difference(in_scope(tree), context)))
        return found

    def _alone(self, condition: Condition, known: Bindings, left: int) -> Finding:
        return Finding(condition, left, alone=self._size(condition, {}), bound=self._size(condition, known))

    def _size(self, condition: Condition, values: Bindings) -> int:
        try:
            return sum(1 for _ in islice(Solver(self._facts_for).matching(condition, values), ENOUGH))
        except GivenUp:
            return ENOUGH

    def _count(self, tree: Algebra, values: Bindings, context: Bindings, must: frozenset[str]) -> tuple[int, None, None, bool]:
        count = 0
        try:
            for found in Solver(self._facts_for).solve(tree, values, context):
                count += must <= found.values.keys()
                if count == ENOUGH:
                    break
        except GivenUp:
            return count, None, None, True
        return count, None, None, False

    def _some(self, tree: Algebra, values: Bindings, context: Bindings, number: int) -> list[Derivation]:
        found: list[Derivation] = []
        try:
            for one in islice(Solver(self._facts_for).solve(tree, values, context), number):
                found.append(one)
        except GivenUp:
            pass
        return found


def culprits(finding: Finding) -> list[Finding]:
    """The parts that leave nothing of a solution, of which the parts before them left something; none where it holds."""
    if finding.left or finding.given_up:
        return []
    if isinstance(finding.what, Exists):
        child, *inside = finding.parts
        return culprits(child) or [finding, *(found for part in inside for found in culprits(part))]
    if isinstance(finding.what, Union):
        return [found for part in finding.parts for found in culprits(part)] or [finding]
    failing = next((part for part in finding.parts if not part.left), None)
    if failing is None or isinstance(finding.what, Condition):
        return [finding]
    # Without keys there is a group even of nothing: that its parts have no solution is no reason.
    if isinstance(finding.what, Grouped) and not finding.what.keys:
        return [finding]
    return culprits(failing)
