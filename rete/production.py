"""The end of a query's chain: collects what one transaction changed and tells the listener the net difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from .index import Token
from .operator import Places, columns

if TYPE_CHECKING:
    from .join import Node

Row: TypeAlias = Token
"""The values of the selected variables, in the order selected."""
Listener: TypeAlias = Callable[[list[tuple[Row, int]]], None]


class Production:
    """One standing query in the network. Rows are a bag: wildcards may give a row several times."""

    __slots__ = ("_dirty", "_pending", "_row_of", "listener", "node")

    def __init__(self, node: Node, select: Places, listener: Listener, dirty: list[Production]) -> None:
        self.node = node
        self.listener = listener
        self._row_of = columns(select)
        self._pending: dict[Row, int] = {}
        self._dirty = dirty

    def left(self, token: Token, weight: int) -> None:
        if not self._pending:
            self._dirty.append(self)
        row = self._row_of(token)
        # A difference that cancels stays as zero until it is taken, so that a production is marked dirty once.
        self._pending[row] = self._pending.get(row, 0) + weight

    def take(self) -> list[tuple[Row, int]]:
        """The net differences since the last call, and forget them."""
        changes = [(row, weight) for row, weight in self._pending.items() if weight]
        self._pending = {}
        return changes

    def rows(self) -> Counter[Row]:
        """The rows that hold now, each with how often; computed from the joins, which already hold all that it takes."""
        rows: Counter[Row] = Counter()
        for token, weight in self.node.replay():
            rows[self._row_of(token)] += weight
        return rows
