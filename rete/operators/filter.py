"""FILTER: tokens for which a test holds. A test is a function of the token alone, so nothing is kept. Of many tests below one node
those that a token may pass are looked up (:class:`rete.operators.join.TestedChildren`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..functions import Test, requirements_of, steps_of
from ..index import Token
from ..predicates import Required
from .join import Node
from .operator import Operator, Places, columns


class Selection(Operator):
    """Pass the tokens for which the test of the values at ``places`` holds."""

    __slots__ = ("_columns", "_places", "_test")

    remembers: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node, test: Test, places: Places) -> None:
        super().__init__(parent)
        self._test = test
        self._places = places
        self._columns = columns(places)
        self.connect((parent, self))

    def required(self) -> Iterator[Required[int]]:
        """What the test requires of a token, by the places there."""
        for at, requirement in requirements_of(self._test):
            place = self._places[at]
            if place is not None:
                yield place, requirement

    @property
    def extra_steps(self) -> int:
        return steps_of(self._test)

    def left(self, token: Token, weight: int) -> None:
        if self._test(self._columns(token)):
            self.emit(token, weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, weight in self.owner.replay():
            if self._test(self._columns(token)):
                yield token, weight
