"""What OPTIONAL and MINUS share: left tokens that know how many partners they have at the right.

A left token is kept with its weight and the number of its partners (with their weights). A change at the right goes through the
left tokens of its key; one that gains its first partner or loses its last tells so, and the operator acts on that alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from ..bag import FEW
from ..index import Token
from .join import Node
from .operator import Operator, RightPort
from .pair_join import Pairing, enter

_NONE: dict[Token, int] = {}


class Kept:
    """A left token's weight and how many partners it has."""

    __slots__ = ("partners", "weight")

    def __init__(self) -> None:
        self.weight = 0
        self.partners = 0


class Partnered(Operator):
    """Left tokens with the number of their partners; ``_match`` gives the merged token of partners, None for those that are
    none."""

    __slots__ = ("_left_key", "_lefts", "_match", "_right_key", "_rights")

    def __init__(self, left: Node, right: Node, pairing: Pairing, match: Callable[[Token, Token], Token | None]) -> None:
        super().__init__(left, right)
        self._left_key, self._right_key = pairing.keys()
        self._match = match
        self._lefts: dict[Any, dict[Token, Kept]] = {}  # Any: keys of opaque constants
        self._rights: dict[Any, dict[Token, int]] = {}  # Any: as above
        self.connect((left, self), (right, RightPort(self, self.right)))

    def paired(self, merged: Token, weight: int) -> None:
        """A pair comes or goes."""

    @abstractmethod
    def alone(self, token: Token, weight: int) -> None:
        """A left token without partner comes or goes."""

    def left(self, token: Token, weight: int) -> None:
        key = self._left_key(token)
        bucket = self._lefts.setdefault(key, {})
        partners = self._rights.get(key, _NONE)
        if len(partners) > FEW:
            self.count_steps(len(partners))
        pairs = list(self._pairs(key, token))
        kept = bucket.get(token)
        if kept is None:
            kept = bucket[token] = Kept()
            kept.partners = sum(count for _, count in pairs)
            self.count_tokens(1)
        kept.weight += weight
        if not kept.weight:
            del bucket[token]
            self.held -= 1
            if not bucket:
                del self._lefts[key]
        for merged, count in pairs:
            self.paired(merged, weight * count)
        if kept.partners <= 0:
            self.alone(token, weight)

    def right(self, token: Token, weight: int) -> None:
        """A token comes or goes at the second input."""
        key = self._right_key(token)
        self.count_tokens(enter(self._rights, key, token, weight))
        lefts = self._lefts.get(key, {})
        if len(lefts) > FEW:
            self.count_steps(len(lefts))
        for mine, kept in lefts.items():
            merged = self._match(mine, token)
            if merged is None:
                continue
            before = kept.partners
            kept.partners = after = before + weight
            self.paired(merged, weight * kept.weight)
            if before <= 0 < after:
                self.alone(mine, -kept.weight)
            elif after <= 0 < before:
                self.alone(mine, kept.weight)

    def _pairs(self, key: Any, token: Token) -> Iterator[tuple[Token, int]]:  # Any: as above
        for partner, count in self._rights.get(key, _NONE).items():
            merged = self._match(token, partner)
            if merged is not None:
                yield merged, count
