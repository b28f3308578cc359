"""OPTIONAL: the pairs of compatible tokens for which the test holds, and each left token that has no such partner, with None for
the names that only the right side binds."""

from __future__ import annotations

from collections.abc import Iterator

from ..functions import Test, steps_of
from ..index import Token
from .join import Node
from .operator import Places, columns
from .outer_partners import Partnered
from .pair_join import Pairing


class Optional(Partnered):
    """Left tokens, extended where they can be. ``places`` are what the test reads of a merged token."""

    __slots__ = ("_padding", "_pair_steps")

    def __init__(self, left: Node, right: Node, pairing: Pairing, test: Test | None, places: Places) -> None:
        self._padding: Token = (None,) * len(pairing.new)
        merge = pairing.merger()
        match = merge
        if test is not None:
            read = columns(places)
            holds: Test = test

            def match(left: Token, right: Token) -> Token | None:
                merged = merge(left, right)
                return merged if merged is not None and holds(read(merged)) else None

        self._pair_steps = 1 if test is None else steps_of(test)
        super().__init__(left, right, pairing, match)

    @property
    def pair_steps(self) -> int:
        return self._pair_steps

    def paired(self, merged: Token, weight: int) -> None:
        self.emit(merged, weight)

    def alone(self, token: Token, weight: int) -> None:
        self.emit(token + self._padding, weight)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for key, bucket in self._lefts.items():
            for token, kept in bucket.items():
                self.caps.effort.count_looks(self, len(self._rights.get(key, ())))
                if kept.partners <= 0:
                    yield token + self._padding, kept.weight
                for merged, count in self._pairs(key, token):
                    yield merged, count * kept.weight
