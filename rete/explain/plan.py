"""How a query would be built: its joins in order, what each joins on, where its tests stand, as data and without a network.

The plan is what the builder itself does (:mod:`rete.compile.build`), noted down while it builds into an empty network.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..algebra import (
    Algebra,
    Exists,
    Extend,
    Filter,
    Grouped,
    LeftJoin,
    Minus,
    Numbered,
    Path,
    Project,
    Slice,
    Union,
    Values,
    of_group,
)
from ..chain import Estimate, JoinSpec, alpha_of, ordered
from ..compile.build import Builder
from ..compile.stream import Stream, Tests, at_memories
from ..conditions import AlphaSpec, Condition, Group, is_parameter
from ..functions import Test
from ..network import Network
from ..operators.join import Node


@dataclass(slots=True)
class Step:
    """A condition that is joined, an operator with what it is applied to, or a test at its place. Steps stand in order."""

    what: Condition | Algebra | Test
    steps: list[Step] = field(default_factory=list)
    alpha: AlphaSpec | None = None
    """Of a condition: the alpha memory, with the tests that it makes."""
    on: tuple[str, ...] = ()
    """Of a condition: the names that it shares with what is joined before it."""
    new: tuple[str, ...] = ()
    """Of a condition: the names that it binds."""
    ends: tuple[int, int] = (0, 0)
    """Of an OPTIONAL, MINUS, EXISTS or NOT: where in ``steps`` those of its first part end, and those of its second."""
    product: bool = False
    """Whether a condition shares no name with what is joined before it, which has some."""


def plan(query: Group | Algebra, estimate: Estimate) -> list[Step]:
    """The steps of a query, where alpha memories hold as many facts as ``estimate`` says. Raises BadQuery."""
    network = Network(lambda _: (), estimate, is_hollow=True)
    planner = _Planner(network, estimate)
    planner.tree(of_group(query))
    return planner.steps


class _Planner(Builder):
    """A builder that notes what it does."""

    def __init__(self, network: Network, estimate: Estimate) -> None:
        super().__init__(network.tops()[0], self._noted, estimate)
        self._network = network
        self.steps: list[Step] = []
        self._here = self.steps
        self._outer = self.steps
        """Where ``_here`` stands itself."""
        self._inside: Step | None = None
        self._coming: Iterator[Step] = iter(())

    def _noted(self, node: Node, spec: JoinSpec) -> Node:
        self._here.append(next(self._coming))
        return self._network.join(node, spec)

    @contextmanager
    def _within(self, tree: Algebra) -> Iterator[None]:
        outermost, outer, around = self._outer, self._here, self._inside
        step = Step(tree)
        # A part may be built several times, for tokens that bind more or fewer names: it is said once.
        twice = around is not None and not isinstance(around.what, Union) and any(one.what == tree for one in outer)
        if not twice and not isinstance(tree, Filter):
            outer.append(step)
        if not isinstance(tree, Filter):
            self._outer, self._here, self._inside = outer, step.steps, step
        try:
            yield
        finally:
            self._outer, self._here, self._inside = outermost, outer, around
            if around is not None and isinstance(around.what, LeftJoin | Minus | Exists):
                first = around.what.child if isinstance(around.what, Exists) else around.what.left
                end = len(around.steps)
                around.ends = (end, end) if tree == first else (around.ends[0], end)

    def _build(self, tree: Algebra, context: Stream, tests: Tests = ()) -> Stream:
        with self._within(tree):
            return super()._build(tree, context, tests)

    def _basic(self, conditions: tuple[Condition, ...], context: Stream, tests: Tests) -> Stream:
        at_alpha, _ = at_memories(conditions, tests)
        alphas = {condition: alpha_of(condition, at_alpha.get(condition, ())) for condition in conditions}
        order = ordered(conditions, set(context.layout), lambda condition: self._estimate(alphas[condition]))
        outer = self._coming
        self._coming = self._steps(order, alphas, context)
        try:
            return super()._basic(conditions, context, tests)
        finally:
            self._coming = outer

    @staticmethod
    def _steps(order: list[Condition], alphas: dict[Condition, AlphaSpec], context: Stream) -> Iterator[Step]:
        known = [name for name in context.layout if not is_parameter(name)]
        for condition in order:
            names = [name for name, _ in condition.variables if not is_parameter(name)]
            on = tuple(name for name in names if name in known)
            new = tuple(name for name in names if name not in known)
            yield Step(condition, alpha=alphas[condition], on=on, new=new, product=bool(names and known and not on))
            known += new

    def _test(self, stream: Stream, test: Test) -> Node:
        # An operator of one part is done when its tests are made: they stand behind it.
        after = self._inside is not None and isinstance(
            self._inside.what, Extend | Grouped | Numbered | Path | Project | Slice | Values
        )
        place = self._outer if after else self._here
        if not any(step.what == test for step in place):
            place.append(Step(test))
        return super()._test(stream, test)
