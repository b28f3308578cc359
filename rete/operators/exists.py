"""FILTER EXISTS and NOT EXISTS of any pattern: negation's demand (:mod:`rete.operators.negation`), for trees of operators.

The pattern is a network of its own below a :class:`rete.operators.negation.Demand`, which is given each distinct combination of
the values of the outer names that the pattern mentions, once, however many tokens ask for it. All tokens of that network begin
with those values, so a result says whom it concerns (SPARQL 1.1, section 18.6: the values are substituted into the pattern). A
name that is unbound outside stays free inside: there is one branch, with its own network, for each set of names that are bound. A
token belongs to one branch.

The node acts when the number of results of a demand crosses zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, product
from typing import ClassVar

from ..bag import FEW
from ..index import Token, tuple_getter
from .join import Node
from .negation import Asked, Demand
from .operator import Operator, RightPort, add_weight, entries

MAX_UNCERTAIN = 4
"""Names of one EXISTS that may be unbound outside: each doubles the number of branches; more are refused."""


class Branch:
    """The pattern's network for tokens that bind just these of the demanded names."""

    __slots__ = ("demand", "demand_of", "width")

    def __init__(self, owner: Node, places: tuple[int, ...]) -> None:
        self.demand: Demand[Asked] = Demand(owner)
        self.width = len(places)
        self.demand_of = tuple_getter(places)


class Existence(Operator):
    """Keep the tokens for which the pattern has a result (``negated``: has none).

    ``sure`` are the places of demanded names that are bound in every token, ``unsure`` of those that may not be.
    ``build`` makes the pattern's network below a branch and returns its last node.
    """

    __slots__ = ("_branches", "_negated", "_parent", "_unsure")

    keeps_columns: ClassVar[bool] = True

    def __init__(
        self,
        key: object,
        parent: Node,
        sure: tuple[int, ...],
        unsure: tuple[int, ...],
        build: Callable[[Demand[Asked], Sequence[bool]], Node],
        *,
        negated: bool,
    ) -> None:
        super().__init__(key, parent)
        self._parent = parent
        self._negated = negated
        self._unsure = unsure
        self._branches: dict[tuple[bool, ...], Branch] = {}
        ends = []
        for bound in product((True, False), repeat=len(unsure)):
            branch = Branch(parent, (*sure, *compress(unsure, bound)))
            end = build(branch.demand, bound)
            self.level = max(self.level, end.level + 1)
            ends.append((end, RightPort(self, _receiver(self, branch))))
            self._branches[bound] = branch
        # The pattern's networks first: they are empty, and must hear of the demands that the tokens make.
        self.connect(*ends)
        self.connect((parent, self))

    def _branch(self, token: Token) -> Branch:
        return self._branches[tuple(token[place] is not None for place in self._unsure)]

    def asks(self) -> list[Node]:
        return [branch.demand for branch in self._branches.values()]

    def left(self, token: Token, weight: int) -> None:
        branch = self._branch(token)
        value = branch.demand_of(token)
        asked = branch.demand.asked.get(value)
        if asked is None:
            # The pattern is asked before the token is entered: its results are counted, and nothing is taken back that was never
            # emitted.
            asked = branch.demand.asked[value] = Asked()
            branch.demand.ask(value, 1)
        self.hold(entries(add_weight(asked.tokens, token, weight), weight))
        if (asked.results > 0) != self._negated:
            self.emit(token, weight)
        if not asked.tokens:
            branch.demand.ask(value, -1)
            del branch.demand.asked[value]

    def result(self, branch: Branch, token: Token, weight: int) -> None:
        """The pattern has a result more or fewer."""
        asked = branch.demand.asked[token[: branch.width]]
        before = asked.results
        asked.results = after = before + weight
        if (before > 0) != (after > 0):
            sign = 1 if (after > 0) != self._negated else -1
            if len(asked.tokens) > FEW:
                self.work(len(asked.tokens))
            for waiting, count in asked.tokens.items():
                self.emit(waiting, sign * count)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for branch in self._branches.values():
            for asked in branch.demand.asked.values():
                if (asked.results > 0) != self._negated:
                    yield from asked.tokens.items()


def _receiver(node: Existence, branch: Branch) -> Callable[[Token, int], None]:
    return lambda token, weight: node.result(branch, token, weight)
