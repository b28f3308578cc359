"""Why a solution does not hold: where on its way through the query nothing is left of it.

The query is evaluated part by part with the values of the solution (:mod:`rete.derivation`). Each part says how many solutions are
left after it. The first that leaves none, of inputs that had some, is the one that fails.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice

from .algebra import (
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
from .chain import ordered
from .conditions import Condition
from .derivation import Bindings, Derivation, FactsFor, GivenUp, Solver
from .scope import mentioned

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
    parts: list[Finding] = field(default_factory=list)
    """In the order in which they are asked."""


class Examiner:
    """Asks about one solution. ``values`` are those of its names that are known."""

    def __init__(self, facts_for: FactsFor) -> None:
        self._facts_for = facts_for

    def examine(self, tree: Algebra, values: Bindings, context: Bindings = {}) -> Finding:  # noqa: B006  # never changed
        """What becomes of a solution with these values in each part of a tree."""
        match tree:
            case Basic(conditions):
                return self._chain(tree, conditions, values, context)
            case Join(Basic(some), Basic(others)):
                return self._chain(Basic(some + others), some + others, values, context)
            case Join(left, right) | Union(left, right):
                parts = [self.examine(left, values, context), self.examine(right, values, context)]
                return self._finding(tree, values, context, parts, left)
            case LeftJoin(left) | Minus(left):
                return self._finding(tree, values, context, [self.examine(left, values, context)], left)
            case Exists(child, pattern, negated):
                found = self._finding(tree, values, context, [self.examine(child, values, context)], child)
                if found.left == 0 and found.examples:
                    outer = found.examples[0].values
                    inside = {name: outer[name] for name in mentioned(pattern) if name in outer}
                    if negated:
                        found.examples = tuple(self._some(pattern, {}, inside, SHOWN))
                    else:
                        found.parts.append(self.examine(pattern, {}, inside))
                return found
            case Project(child, names):
                return self._finding(tree, values, context, [self.examine(child, _only(values, names), _only(context, names))])
            case Grouped(child, keys):
                return self._finding(tree, values, context, [self.examine(child, _only(values, keys), _only(context, keys))], tree)
            case Extend(child, name):
                rest = {other: value for other, value in values.items() if other != name}
                return self._finding(tree, values, context, [self.examine(child, rest, context)], tree, known=rest)
            case Filter(child) | Distinct(child) | Numbered(child) | Slice(child):
                return self._finding(tree, values, context, [self.examine(child, values, context)], child)
            case _:
                return self._finding(tree, values, context, [])

    def _finding(
        self,
        tree: Algebra,
        values: Bindings,
        context: Bindings,
        parts: list[Finding],
        before: Algebra | None = None,
        *,
        known: Bindings | None = None,
    ) -> Finding:
        """``before`` has the solutions that an operator leaves nothing of: itself, where they are its own with other values."""
        found = Finding(tree, *self._count(tree, values, context), parts=parts)
        if found.left == 0 and before is not None:
            wider = values if known is None else known
            if isinstance(tree, Grouped):
                wider = _only(values, tree.keys)
            found.examples = tuple(self._some(before, wider, context, SHOWN))
        return found

    def _chain(self, tree: Algebra, conditions: tuple[Condition, ...], values: Bindings, context: Bindings) -> Finding:
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
        return Finding(tree, len(left), given_up=cut_short and not left, parts=parts)

    def _alone(self, condition: Condition, known: Bindings, left: int) -> Finding:
        return Finding(condition, left, alone=self._size(condition, {}), bound=self._size(condition, known))

    def _size(self, condition: Condition, values: Bindings) -> int:
        try:
            return sum(1 for _ in islice(Solver(self._facts_for).matching(condition, values), ENOUGH))
        except GivenUp:
            return ENOUGH

    def _count(self, tree: Algebra, values: Bindings, context: Bindings) -> tuple[int, None, None, bool]:
        count = 0
        try:
            for _ in islice(Solver(self._facts_for).solve(tree, values, context), ENOUGH):
                count += 1
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


def _only(values: Bindings, names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name, value in values.items() if name in names}
