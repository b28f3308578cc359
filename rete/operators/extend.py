"""BIND: one more column, computed from the token; None where the computation fails. Computations are pure, so nothing is kept: a
token that goes takes back the very value with which it came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ..functions import Computation, steps_of
from ..index import Token
from .join import Node
from .operator import Operator, Places, columns


class Extension(Operator):
    """Append the value computed from the values at ``places``."""

    __slots__ = ("_columns", "_computation")

    remembers: ClassVar[bool] = False
    keeps_columns: ClassVar[bool] = True

    def __init__(self, parent: Node, computation: Computation, places: Places) -> None:
        super().__init__(parent)
        self._computation = computation
        self._columns = columns(places)
        self.connect((parent, self))

    @property
    def extra_steps(self) -> int:
        return steps_of(self._computation)

    def left(self, token: Token, weight: int) -> None:
        self.emit((*token, self._computation(self._columns(token))), weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for token, weight in self.owner.replay():
            yield (*token, self._computation(self._columns(token))), weight
