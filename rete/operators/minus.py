"""MINUS: left tokens without a compatible right token that shares a bound name (SPARQL 1.1, section 18.5).

The right input has the shared names alone. Where one of them is surely bound on both sides every compatible pair shares a name;
else a pair of which no name is bound on both sides removes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..index import Token
from .join import Node
from .outer_partners import Partnered
from .pair_join import Pairing


class Removal(Partnered):
    """Left tokens that nothing at the right removes. ``surely`` says whether every compatible pair shares a bound name."""

    __slots__ = ()

    def __init__(self, left: Node, right: Node, pairing: Pairing, surely: bool) -> None:
        maybe = pairing.maybe

        def match(left: Token, right: Token) -> Token | None:
            shares = surely
            for mine, theirs in maybe:
                if left[mine] is not None and right[theirs] is not None:
                    if left[mine] != right[theirs]:
                        return None
                    shares = True
            return left if shares else None

        super().__init__(left, right, pairing, match)

    def alone(self, token: Token, weight: int) -> None:
        self.emit(token, weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for bucket in self._lefts.values():
            for token, kept in bucket.items():
                if kept.partners <= 0:
                    yield token, kept.weight
