"""Joins by demand: the right side is asked only about the values that left tokens have (:mod:`rete.operators.demand`).

Its results are kept by these values and met with the tokens that have them. This is a join where
:func:`rete.compile.scope.substitutable` allows it; for OPTIONAL it is the natural way, since every left token is in the answer
anyway: facts that no left token asks for cost nothing but their place in the alpha memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..bag import FEW
from ..functions import Test, steps_of
from ..index import Token
from .demand import Branch, ByDemand
from .join import Node
from .operator import Places, add_weight, columns, entries
from .outer_partners import Kept


class Asked:
    """Values that are asked about: which tokens have them, and the results for them."""

    __slots__ = ("results", "tokens")

    def __init__(self) -> None:
        self.tokens: dict[Token, Kept] = {}
        self.results: dict[Token, int] = {}


class Lateral(ByDemand[Asked]):
    """Left tokens, each with the results of the right side for it; with ``padding`` also those without result, extended by that.
    ``places`` are what the test reads of a merged token."""

    __slots__ = ("_holds", "_padding", "_read")

    def __init__(
        self,
        parent: Node,
        unsure: tuple[int, ...],
        branches: Sequence[Branch[Asked]],
        test: Test | None,
        places: Places,
        padding: Token | None,
    ) -> None:
        self._holds = test
        self._read = columns(places)
        self._padding = padding
        super().__init__(parent, unsure, branches)

    @property
    def pair_steps(self) -> int:
        return 1 if self._holds is None else steps_of(self._holds)

    def left(self, token: Token, weight: int) -> None:
        branch = self._only or self._branch(token)
        value = branch.value_of(token)
        asked = branch.demand.asked.get(value)
        if asked is None:
            # Asked before the token is entered, so that the results are there and nobody has been told of them.
            asked = branch.demand.asked[value] = Asked()
            branch.demand.ask(value, 1)
        if len(asked.results) > FEW:
            self.count_steps(len(asked.results))
        pairs = list(self._pairs(branch, asked, token))
        kept = asked.tokens.get(token)
        if kept is None:
            kept = asked.tokens[token] = Kept()
            kept.partners = sum(count for _, count in pairs)
            self.count_tokens(1)
        kept.weight += weight
        if not kept.weight:
            del asked.tokens[token]
            self.held -= 1
        for merged, count in pairs:
            self.emit(merged, count * weight)
        if kept.partners <= 0 and self._padding is not None:
            self.emit(token + self._padding, weight)
        if not asked.tokens:
            branch.demand.ask(value, -1)
            del branch.demand.asked[value]

    def result(self, branch: Branch[Asked], result: Token, weight: int) -> None:
        asked = branch.demand.asked[result[: branch.width]]
        self.count_tokens(entries(add_weight(asked.results, result, weight), weight))
        if len(asked.tokens) > FEW:
            self.count_steps(len(asked.tokens))
        for token, kept in asked.tokens.items():
            merged = branch.merge(token, result)
            if self._holds is not None and not self._holds(self._read(merged)):
                continue
            before = kept.partners
            kept.partners = after = before + weight
            self.emit(merged, weight * kept.weight)
            if self._padding is not None and (before > 0) != (after > 0):
                self.emit(token + self._padding, kept.weight if before > 0 else -kept.weight)

    def _pairs(self, branch: Branch[Asked], asked: Asked, token: Token) -> Iterator[tuple[Token, int]]:
        for result, count in asked.results.items():
            merged = branch.merge(token, result)
            if self._holds is None or self._holds(self._read(merged)):
                yield merged, count

    def replay(self) -> Iterator[tuple[Token, int]]:
        look = self.caps.effort.count_looks
        for branch in self._branches.values():
            for asked in branch.demand.asked.values():
                for token, kept in asked.tokens.items():
                    look(self, len(asked.results))
                    if kept.partners <= 0 and self._padding is not None:
                        yield token + self._padding, kept.weight
                    for merged, count in self._pairs(branch, asked, token):
                        yield merged, count * kept.weight
