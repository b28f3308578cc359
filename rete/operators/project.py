"""Projection: some columns of each token, in another order, with None for names that are never bound. Keeps nothing; a bag stays a
bag."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..index import Token
from .join import Node
from .operator import Operator, Places, columns


class Projection(Operator):
    """Pass on the columns at ``places``."""

    __slots__ = ("_columns",)

    remembers: ClassVar[bool] = False

    def __init__(self, parent: Node, places: Places) -> None:
        super().__init__(parent)
        self._columns = columns(places)
        self.connect((parent, self))

    def left(self, token: Token, weight: int) -> None:
        self.emit(self._columns(token), weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, weight in self.owner.replay():
            yield self._columns(token), weight
