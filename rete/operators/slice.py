"""ORDER BY with LIMIT and OFFSET as a maintained slice: of all tokens in order, those at places ``offset`` to ``offset + limit``.

All tokens are kept sorted, each as often as it counts, so that the one which moves into the slice when another leaves it is known.
A change is found by bisection; then at most one token enters the slice and one leaves it. Ties are broken by the ``repr`` of the
solution's values in the order of their names: whatever the history, the slice is the same.

Below an EXISTS each demand (the leading columns) has a slice of its own, and so has each query of a template; there the limit may
be one of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..bag import FEW
from ..functions import Order
from ..index import Token, tuple_getter
from ..sorted_items import SortedItems
from .join import Node
from .operator import Operator, Places, add_weight, columns


class _Sorted:
    """The tokens of one slice in order."""

    __slots__ = ("end", "owed", "tokens")

    def __init__(self, end: int | None) -> None:
        self.end = end
        """The place behind the last of the slice; None where that is the last of all."""
        self.tokens: SortedItems[Token] = SortedItems()
        self.owed: dict[Token, int] = {}
        """Tokens that were taken away before they came: negative counts on the way through a transaction."""


class Sliced(Operator):
    """A slice of the tokens. ``reads`` are what the order reads, ``ties`` the places of all names in their order. ``given`` is the
    leading column that has the limit, where there is one."""

    __slots__ = ("_given", "_limit", "_offset", "_order", "_partition_of", "_read", "_slices", "_ties")

    def __init__(
        self,
        parent: Node,
        width: int,
        order: Order | None,
        reads: Places,
        ties: Places,
        offset: int,
        limit: int | None,
        given: int | None = None,
    ) -> None:
        super().__init__(parent)
        self._partition_of: Callable[[Token], Token] = tuple_getter(tuple(range(width)))
        self._order = order
        self._read = columns(reads)
        self._ties = columns(ties)
        self._offset = offset
        self._limit = limit
        self._given = given
        self._slices: dict[Token, _Sorted] = {}
        self.connect((parent, self))

    def _rank(self, token: Token) -> Any:  # Any: as above
        tie = tuple(map(repr, self._ties(token)))
        return tie if self._order is None else (self._order(self._read(token)), tie)

    @property
    def extra_steps(self) -> int:
        return 8  # for the text of a tie, and two places in order

    def left(self, token: Token, weight: int) -> None:
        partition = self._partition_of(token)
        kept = self._slices.get(partition)
        if kept is None:
            limit = self._limit if self._given is None else partition[self._given]
            kept = self._slices[partition] = _Sorted(None if limit is None else self._offset + limit)
        rank = self._rank(token)
        if abs(weight) > FEW:
            self.count_steps(abs(weight))
        for _ in range(abs(weight)):
            if weight > 0:
                if token in kept.owed:
                    add_weight(kept.owed, token, -1)
                else:
                    self._insert(kept, rank, token)
            else:
                self._remove(kept, rank, token)
        if not kept.tokens and not kept.owed:
            del self._slices[partition]

    def _insert(self, kept: _Sorted, rank: Any, token: Token) -> None:  # Any: as above
        place = kept.tokens.insert(rank, token)
        self.count_tokens(1)
        self._shift(kept, place, 1)

    def _remove(self, kept: _Sorted, rank: Any, token: Token) -> None:  # Any: as above
        tokens = kept.tokens
        place = tokens.first_place(rank)
        while place < len(tokens) and tokens[place][1] != token and tokens[place][0] == rank:
            place += 1
        if place == len(tokens) or tokens[place][1] != token:
            add_weight(kept.owed, token, 1)
            return
        self._shift(kept, place, -1)
        del tokens[place]
        self.held -= 1

    def _shift(self, kept: _Sorted, place: int, sign: int) -> None:
        """What is kept, with the token at ``place`` counted, which moves all behind it by one."""
        tokens, end = kept.tokens, kept.end
        first = max(place, self._offset)
        if (end is not None and first >= end) or first >= len(tokens):
            return
        enters = tokens[first][1]
        leaves = tokens[end][1] if end is not None and end < len(tokens) else None
        if enters != leaves:
            self.emit(enters, sign)
            if leaves is not None:
                self.emit(leaves, -sign)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for kept in self._slices.values():
            for _, token in kept.tokens.between(self._offset, kept.end):
                yield token, 1
