"""Networks that are asked: what NOT, EXISTS and OPTIONAL look for is found for those values only that some token has.

The pattern that is looked for is a network of its own below a :class:`Demand`, which is given each distinct combination of the
values of the outer names that the pattern mentions, once, however many tokens have them. All tokens of that network begin with
those values, so a result says whom it concerns (SPARQL 1.1, section 18.6: the values are substituted into the pattern). A name that
is unbound outside stays free inside: there is one :class:`Branch`, with its own network, for each set of names that are bound. A
token belongs to one branch.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, Generic, TypeVar

from ..index import Token, tuple_getter
from .join import Node, Owing
from .operator import Operator, RightPort

MAX_UNCERTAIN = 4
"""Names of one pattern that may be unbound outside: each doubles the number of branches; more are refused."""

Asked = TypeVar("Asked")
"""What is noted of the values that are asked about: by whom, and what was found."""


class Demand(Node, Generic[Asked]):
    """The root of a pattern's network: its tokens are the values that somebody asks about."""

    __slots__ = ("asked", "groups")

    def __init__(self, owner: Node) -> None:
        super().__init__(owner.level, owner.caps)
        self.asked: dict[Token, Asked] = {}
        self.groups: list[Owing] = []
        """Those that stand below it, in the order in which they were made: from the top down."""

    def ask(self, value: Token, weight: int) -> None:
        """Somebody asks about these values from now on, or nobody does any more: all results come before this returns."""
        self.emit(value, weight)
        for group in self.groups:
            if group.owed:
                group.tell_rows()

    def replay(self) -> Iterator[tuple[Token, int]]:
        for value in self.asked:
            yield value, 1


class Branch(Generic[Asked]):
    """The pattern's network for tokens of ``owner`` that bind just some of the uncertain names; ``places`` are those of the values
    asked about."""

    __slots__ = ("bound", "demand", "end", "extension_of", "fill", "value_of", "width")

    def __init__(self, owner: Node, bound: tuple[bool, ...], places: tuple[int, ...]) -> None:
        self.bound = bound
        self.demand: Demand[Asked] = Demand(owner)
        self.end: Node = self.demand
        """The last node of the network."""
        self.width = len(places)
        self.value_of = tuple_getter(places)
        self.fill: tuple[tuple[int, int], ...] = ()
        """Of a join: places of a token that are unbound, each with that in a result which fills it."""
        self.extension_of = tuple_getter(())
        """Of a join: what a result appends to a token."""

    def merge(self, token: Token, result: Token) -> Token:
        """A token and a result for it as one."""
        if self.fill:
            filled = list(token)
            for mine, theirs in self.fill:
                filled[mine] = result[theirs]
            token = tuple(filled)
        return token + self.extension_of(result)


class ByDemand(Operator, Generic[Asked]):
    """Whoever asks about the values of its tokens. ``unsure`` are the places of names that tell a token's branch."""

    __slots__ = ("_branches", "_only", "_unsure")

    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node, unsure: tuple[int, ...], branches: Sequence[Branch[Asked]]) -> None:
        super().__init__(parent, *(branch.end for branch in branches))
        self._unsure = unsure
        self._branches = {branch.bound: branch for branch in branches}
        self._only = None if unsure else branches[0]
        """The branch of every token, where there is one."""
        # The patterns' networks first: they are empty, and must hear of the demands that the tokens make.
        self.connect(*((branch.end, RightPort(self, partial(self.result, branch))) for branch in branches), (parent, self))

    def _branch(self, token: Token) -> Branch[Asked]:
        return self._branches[tuple(token[place] is not None for place in self._unsure)]

    def asks(self) -> list[Node]:
        return [branch.demand for branch in self._branches.values()]

    @abstractmethod
    def result(self, branch: Branch[Asked], result: Token, weight: int) -> None:
        """A pattern has a result more or fewer."""
