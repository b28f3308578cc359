"""UNION: the tokens of both inputs, which have one layout. Nothing is kept; a token of both counts twice."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import ClassVar

from ..index import Token
from .join import Node
from .operator import Operator, RightPort


class Both(Operator):
    """Pass on what either input says."""

    __slots__ = ()

    remembers: ClassVar[bool] = False

    def __init__(self, one: Node, other: Node) -> None:
        super().__init__(one, other)
        self.connect((one, self), (other, RightPort(self, self.left)))

    def left(self, token: Token, weight: int) -> None:
        self.emit(token, weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        return chain.from_iterable(parent.replay() for parent in self.parents())
