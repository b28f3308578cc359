"""NOT, FILTER EXISTS and FILTER NOT EXISTS: a token passes while a pattern has no solution for it, or while it has one.

The node counts the results for each combination of values that is asked about (:mod:`rete.operators.demand`), and acts when the
count crosses zero.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..bag import FEW
from ..index import Token
from .demand import Branch, ByDemand
from .join import Node


class Asked:
    """Values that are asked about: which tokens have them, and how many results the pattern has."""

    __slots__ = ("results", "tokens")

    def __init__(self) -> None:
        self.tokens: dict[Token, int] = {}
        self.results = 0


class Existence(ByDemand[Asked]):
    """Keep the tokens for which the pattern has a result (``negated``: has none)."""

    __slots__ = ("negated",)

    def __init__(self, parent: Node, unsure: tuple[int, ...], branches: Sequence[Branch[Asked]], *, negated: bool) -> None:
        self.negated = negated
        super().__init__(parent, unsure, branches)

    def left(self, token: Token, weight: int) -> None:
        branch = self._only or self._branch(token)
        value = branch.value_of(token)
        demand = branch.demand
        ask = demand.ask if demand.groups else demand.emit  # which spares a call where it is the same
        asked = demand.asked.get(value)
        if asked is None:
            # The pattern is asked before the token is entered: its results are counted, and nothing is taken back that was never
            # emitted.
            asked = demand.asked[value] = Asked()
            ask(value, 1)
        tokens = asked.tokens
        before = tokens.get(token, 0)
        if before + weight:
            tokens[token] = before + weight
            if not before:
                self.count_tokens(1)
        else:
            del tokens[token]
            self.held -= 1
        if (asked.results > 0) != self.negated:
            self.emit(token, weight)
        if not tokens:
            ask(value, -1)
            del demand.asked[value]

    def result(self, branch: Branch[Asked], result: Token, weight: int) -> None:
        asked = branch.demand.asked[result[: branch.width]]
        before = asked.results
        asked.results = after = before + weight
        if (before > 0) != (after > 0):
            sign = 1 if (after > 0) != self.negated else -1
            if len(asked.tokens) > FEW:
                self.count_steps(len(asked.tokens))
            for waiting, count in asked.tokens.items():
                self.emit(waiting, sign * count)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for branch in self._branches.values():
            for asked in branch.demand.asked.values():
                if (asked.results > 0) != self.negated:
                    yield from asked.tokens.items()
