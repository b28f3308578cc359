"""Joins by demand: the right side is asked only about the values that left tokens have, as NOT asks (negation.py).

The right side is a network below a :class:`rete.operators.negation.Demand` for each set of shared names that the left may bind
(:mod:`rete.operators.exists` has the same branches). Its results are kept per demand and met with the tokens that ask. This is a
join where :func:`rete.compile.scope.substitutable` allows it; for OPTIONAL it is the natural way, since every left token is in the
answer anyway: facts that no left token asks for cost nothing but their place in the alpha memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, product
from typing import ClassVar

from ..bag import FEW
from ..functions import Test, steps_of
from ..index import Token, tuple_getter
from .join import Node
from .negation import Demand
from .operator import Operator, Places, RightPort, add_weight, columns, entries
from .outer_partners import Kept


class _Asked:
    """One demand: who asks, and the results for it."""

    __slots__ = ("results", "tokens")

    def __init__(self) -> None:
        self.tokens: dict[Token, Kept] = {}
        self.results: dict[Token, int] = {}


class _Branch:
    """The right side for tokens that bind just these of the shared names."""

    __slots__ = ("demand", "demand_of", "extension_of", "fill", "width")

    def __init__(self, owner: Node, places: tuple[int, ...]) -> None:
        self.demand: Demand[_Asked] = Demand(owner)
        self.demand_of = tuple_getter(places)
        self.width = len(places)
        self.fill: tuple[tuple[int, int], ...] = ()
        self.extension_of: Callable[[Token], Token] = tuple_getter(())

    def merge(self, token: Token, result: Token) -> Token:
        """A left token and a result for it as one."""
        if self.fill:
            filled = list(token)
            for mine, theirs in self.fill:
                filled[mine] = result[theirs]
            token = tuple(filled)
        return token + self.extension_of(result)


class Lateral(Operator):
    """Left tokens, each with the results of the right side for it; ``optional``: those without result too.

    ``sure`` and ``unsure`` are the places of shared names; ``build`` makes the right side for those of the unsure ones that are
    bound and returns its last node, how unbound ones are filled (place in the token, place in the result), and the places that
    extend a token.
    """

    __slots__ = ("_branches", "_holds", "_padding", "_parent", "_read", "_unsure")

    keeps_columns: ClassVar[bool] = True

    def __init__(
        self,
        key: object,
        parent: Node,
        sure: tuple[int, ...],
        unsure: tuple[int, ...],
        build: Callable[[Demand[_Asked], Sequence[bool]], tuple[Node, tuple[tuple[int, int], ...], tuple[int, ...]]],
        test: Test | None,
        places: Places,
        *,
        optional: bool,
    ) -> None:
        super().__init__(key, parent)
        self._parent = parent
        self._unsure = unsure
        self._holds = test
        self._read = columns(places)
        self._padding: Token | None = None
        self._branches: dict[tuple[bool, ...], _Branch] = {}
        ends = []
        for bound in product((True, False), repeat=len(unsure)):
            branch = _Branch(parent, (*sure, *compress(unsure, bound)))
            end, branch.fill, new = build(branch.demand, bound)
            branch.extension_of = tuple_getter(new)
            if optional:
                self._padding = (None,) * len(new)
            self.level = max(self.level, end.level + 1)
            ends.append((end, RightPort(self, _receiver(self, branch))))
            self._branches[bound] = branch
        # The right sides first: they are empty, and must hear of the demands that the tokens make.
        self.connect(*ends)
        self.connect((parent, self))

    @property
    def pair_steps(self) -> int:
        return 1 if self._holds is None else steps_of(self._holds)

    def asks(self) -> list[Node]:
        return [branch.demand for branch in self._branches.values()]

    def left(self, token: Token, weight: int) -> None:
        branch = self._branches[tuple(token[place] is not None for place in self._unsure)]
        value = branch.demand_of(token)
        asked = branch.demand.asked.get(value)
        if asked is None:
            # Asked before the token is entered, so that the results are there and nobody has been told of them.
            asked = branch.demand.asked[value] = _Asked()
            branch.demand.ask(value, 1)
        if len(asked.results) > FEW:
            self.work(len(asked.results))
        pairs = list(self._pairs(branch, asked, token))
        kept = asked.tokens.get(token)
        if kept is None:
            kept = asked.tokens[token] = Kept()
            kept.partners = sum(count for _, count in pairs)
            self.hold(1)
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

    def result(self, branch: _Branch, result: Token, weight: int) -> None:
        """The right side has a result more or fewer."""
        asked = branch.demand.asked[result[: branch.width]]
        self.hold(entries(add_weight(asked.results, result, weight), weight))
        if len(asked.tokens) > FEW:
            self.work(len(asked.tokens))
        for token, kept in asked.tokens.items():
            merged = branch.merge(token, result)
            if self._holds is not None and not self._holds(self._read(merged)):
                continue
            before = kept.partners
            kept.partners = after = before + weight
            self.emit(merged, weight * kept.weight)
            if self._padding is not None and (before > 0) != (after > 0):
                self.emit(token + self._padding, kept.weight if before > 0 else -kept.weight)

    def _pairs(self, branch: _Branch, asked: _Asked, token: Token) -> Iterator[tuple[Token, int]]:
        for result, count in asked.results.items():
            merged = branch.merge(token, result)
            if self._holds is None or self._holds(self._read(merged)):
                yield merged, count

    def replay(self) -> Iterator[tuple[Token, int]]:
        look = self.meter.effort.count_looks
        for branch in self._branches.values():
            for asked in branch.demand.asked.values():
                for token, kept in asked.tokens.items():
                    look(self, len(asked.results))
                    if kept.partners <= 0 and self._padding is not None:
                        yield token + self._padding, kept.weight
                    for merged, count in self._pairs(branch, asked, token):
                        yield merged, count * kept.weight


def _receiver(node: Lateral, branch: _Branch) -> Callable[[Token, int], None]:
    return lambda token, weight: node.result(branch, token, weight)
