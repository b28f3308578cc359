"""The copies of equal tokens told apart: one more column, which numbers them from zero.

A count per token. The copy with the highest number comes last and goes first, so that a token with a count of n is there once with
each number below n, whatever the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..bag import FEW
from ..index import Token
from .join import Node
from .operator import Operator, add_weight, entries


class Numbering(Operator):
    """Append the number of the copy."""

    __slots__ = ("_counts",)

    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node) -> None:
        super().__init__(parent)
        self._counts: dict[Token, int] = {}
        self.connect((parent, self))

    def left(self, token: Token, weight: int) -> None:
        after = add_weight(self._counts, token, weight)
        self.count_tokens(entries(after, weight))
        before = after - weight
        if abs(weight) > FEW:
            self.count_steps(abs(weight))
        # A count may be negative on the way through a transaction: there is no such copy.
        for number in range(max(before, 0), after):
            self.emit((*token, number), 1)
        for number in range(before - 1, max(after, 0) - 1, -1):
            self.emit((*token, number), -1)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, count in self._counts.items():
            self.caps.effort.count_looks(self, count)
            for number in range(count):
                yield (*token, number), 1
