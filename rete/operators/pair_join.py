"""Pairs of compatible tokens from two inputs: which columns must agree, and how the two become one token.

Names that both sides surely bind are the key of a hash join. A name that a side may leave unbound (None) is checked pair by pair:
it agrees with anything (SPARQL 1.1, section 18.3, "compatible"), and the pair takes whichever value there is. So the cost of a
change is the size of the other side's bucket: small where a name is surely shared, the whole side where none is (a cross product).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..bag import FEW
from ..functions import Test
from ..index import Token, key_getter, tuple_getter
from ..predicates import Required
from ..waiting_tokens import WaitingTokens, required_by
from .join import Node
from .operator import Operator, RightPort, add_weight, entries


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairs of places: ``key`` surely bound on both sides, ``maybe`` possibly not; ``new`` places of the right token extend the
    left one. ``tests`` are made of the extended token, at these places of it, by whoever stands below."""

    key: tuple[tuple[int, int], ...]
    maybe: tuple[tuple[int, int], ...]
    new: tuple[int, ...]
    tests: tuple[tuple[Test, tuple[int, ...]], ...] = ()

    def required_by(self, left: Token) -> Iterator[Required[int]]:
        """What the tests of a left token require of a right one, by the place there."""
        return ((self.new[place], requirement) for place, requirement in required_by(self.tests, left))

    def keys(self) -> tuple[Callable[[Token], Any], Callable[[Token], Any]]:  # Any: opaque constants
        """The key of a left token, and that of a right one."""
        return key_getter(tuple(left for left, _ in self.key)), key_getter(tuple(right for _, right in self.key))

    def merger(self) -> Callable[[Token, Token], Token | None]:
        """Both tokens as one, or None where they are not compatible. Their keys are equal already."""
        extension = tuple_getter(self.new)
        maybe = self.maybe

        def merge(left: Token, right: Token) -> Token | None:
            if maybe:
                merged = list(left)
                for mine, theirs in maybe:
                    value = right[theirs]
                    if value is None:
                        continue
                    if merged[mine] is None:
                        merged[mine] = value
                    elif merged[mine] != value:
                        return None
                left = tuple(merged)
            return left + extension(right)

        return merge


class PairJoin(Operator):
    """The compatible pairs of two inputs. Both sides are kept by key; pairs are not, they are replayed from both. Where there are
    tests, many left tokens of a key are kept by what those require (:mod:`rete.waiting_tokens`)."""

    __slots__ = ("_left_key", "_lefts", "_merge", "_pairing", "_right_key", "_rights")

    def __init__(self, left: Node, right: Node, pairing: Pairing) -> None:
        super().__init__(left, right)
        self._pairing = pairing
        self._left_key, self._right_key = pairing.keys()
        self._merge = pairing.merger()
        self._lefts: dict[Any, dict[Token, int] | WaitingTokens] = {}  # Any: keys of opaque constants
        self._rights: dict[Any, dict[Token, int]] = {}  # Any: as above
        self.connect((left, self), (right, RightPort(self, self.right)))

    def _enter_left(self, key: Any, token: Token, weight: int) -> int:  # Any: as above
        lefts = self._lefts
        bucket = lefts.get(key)
        if isinstance(bucket, WaitingTokens):
            before = len(bucket)
            bucket.change_weight(token, weight)
            if not bucket:
                del lefts[key]
            return len(bucket) - before
        more = enter(lefts, key, token, weight)
        if self._pairing.tests and bucket is not None and len(bucket) > FEW:
            lefts[key] = WaitingTokens(self._pairing.required_by, bucket)
        return more

    def left(self, token: Token, weight: int) -> None:
        key = self._left_key(token)
        self.count_tokens(self._enter_left(key, token, weight))
        partners = self._rights.get(key, _NONE) if self.children else _NONE
        if len(partners) > FEW:
            self.count_steps(len(partners))
        for partner, count in partners.items():
            merged = self._merge(token, partner)
            if merged is not None:
                self.emit(merged, weight * count)

    def right(self, token: Token, weight: int) -> None:
        """A token comes or goes at the second input."""
        key = self._right_key(token)
        self.count_tokens(enter(self._rights, key, token, weight))
        partners = self._lefts.get(key, _NONE) if self.children else _NONE
        if isinstance(partners, WaitingTokens):
            partners = partners.partners(token)
        if len(partners) > FEW:
            self.count_steps(len(partners))
        for partner, count in partners.items():
            merged = self._merge(partner, token)
            if merged is not None:
                self.emit(merged, weight * count)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for key, lefts in self._lefts.items():
            for right, times in self._rights.get(key, _NONE).items():
                self.caps.effort.count_looks(self, len(lefts))
                for left, count in lefts.items():
                    merged = self._merge(left, right)
                    if merged is not None:
                        yield merged, count * times


def enter(memory: dict[Any, Any], key: Any, token: Token, weight: int) -> int:  # Any: as above, and buckets of tokens
    """Count a token into or out of a memory that keeps no empty buckets; returns how many entries more it has."""
    bucket = memory.get(key)
    if bucket is None:
        memory[key] = {token: weight}
        return 1
    after = add_weight(bucket, token, weight)
    if not bucket:
        del memory[key]
    return entries(after, weight)


_NONE: dict[Token, int] = {}
