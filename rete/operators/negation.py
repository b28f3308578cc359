"""NOT: a token passes while a group of conditions has no solution for it.

The group is a chain of its own below a :class:`Demand`, which is given each distinct combination of the values that the group
can see, once, however many tokens ask for it. A negation counts the chain's results per demand and acts only when the count
crosses zero. The chain is deeper than the negation's parent and shallower than its children, so that on one fact the order of
:mod:`rete.operators.join` holds here as well: first what the fact changes inside the group, for tokens that were there, then
tokens that the fact brings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Generic, TypeVar

from ..bag import FEW
from ..chain import NotSpec
from ..index import Token, tuple_getter
from .join import Node, Owing


class Asked:
    """One demand: who asks, and how many results the group has for it."""

    __slots__ = ("results", "tokens")

    def __init__(self) -> None:
        self.tokens: dict[Token, int] = {}
        self.results = 0


Entry = TypeVar("Entry")


class Demand(Node, Generic[Entry]):
    """The root of a negated group: its tokens are the values that somebody asks the group about.

    With each it keeps what the asking node notes about it."""

    __slots__ = ("asked", "groups")

    def __init__(self, owner: Node) -> None:
        super().__init__(owner.level, owner.meter)
        self.asked: dict[Token, Entry] = {}
        self.groups: list[Owing] = []
        """Those that stand below it, in the order in which they were made: from the top down."""

    def ask(self, demand: Token, weight: int) -> None:
        """Somebody asks about these values from now on, or nobody does any more: all results come before this returns."""
        self.emit(demand, weight)
        for group in self.groups:
            if group.owed:
                group.tell()

    def replay(self) -> Iterator[tuple[Token, int]]:
        for demand in self.asked:
            yield demand, 1


class Negation(Node):
    """Keep the tokens for which the chain below ``demand`` has no result. Its level is set once that chain is built."""

    __slots__ = ("_demand_of", "_width", "demand", "parent", "spec", "tail")

    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node, spec: NotSpec) -> None:
        super().__init__(parent.level, parent.meter)
        self.parent = parent
        self.spec = spec
        self.demand: Demand[Asked] = Demand(parent)
        self.tail: Node = self.demand
        """The end of the chain."""
        self._demand_of = tuple_getter(spec.demand)
        self._width = len(spec.demand)

    def left(self, token: Token, weight: int) -> None:
        demand = self._demand_of(token)
        asked = self.demand.asked.get(demand)
        if asked is None:
            # The chain runs before the token is entered: its results are counted, and nothing is taken back that was never emitted.
            asked = self.demand.asked[demand] = Asked()
            self.demand.emit(demand, 1)
        before = asked.tokens.get(token, 0)
        count = before + weight
        if not before:
            asked.tokens[token] = count
            self.hold(1)
        elif count:
            asked.tokens[token] = count
        else:
            del asked.tokens[token]
            self.held -= 1
        if not asked.results:
            self.emit(token, weight)
        if not asked.tokens:
            self.demand.emit(demand, -1)
            del self.demand.asked[demand]

    def result(self, token: Token, weight: int) -> None:
        """The chain has a result more or fewer."""
        asked = self.demand.asked[token[: self._width]]
        before = asked.results
        asked.results = before + weight
        if not before or not asked.results:
            if len(asked.tokens) > FEW:
                self.work(len(asked.tokens))
            sign = 1 if before else -1
            for waiting, count in asked.tokens.items():
                self.emit(waiting, sign * count)

    def parents(self) -> list[Node]:
        return [self.parent, self.tail]

    def asks(self) -> list[Node]:
        return [self.demand]

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, weight in self.parent.replay():
            if not self.demand.asked[self._demand_of(token)].results:
                yield token, weight


class GroupEnd:
    """The end of a negated group's chain: hands results to the negation."""

    __slots__ = ("node",)

    def __init__(self, negation: Negation) -> None:
        self.node = negation

    def left(self, token: Token, weight: int) -> None:
        self.node.result(token, weight)
