"""DISTINCT: each token once. A count per token; it passes when its count becomes positive and is taken back when it no longer
is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..index import Token
from .join import Node
from .operator import Operator, add_weight, entries


class Once(Operator):
    """Tokens without their multiplicity."""

    __slots__ = ("_counts",)

    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node) -> None:
        super().__init__(parent)
        self._counts: dict[Token, int] = {}
        self.connect((parent, self))

    def left(self, token: Token, weight: int) -> None:
        after = add_weight(self._counts, token, weight)
        self.count_tokens(entries(after, weight))
        if after > 0 >= after - weight:
            self.emit(token, 1)
        elif after <= 0 < after - weight:
            self.emit(token, -1)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, count in self._counts.items():
            if count > 0:
                yield token, 1
