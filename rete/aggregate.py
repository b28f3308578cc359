"""GROUP BY with aggregates: one row a group, kept by accumulators that values enter and leave.

A group is there while it has a token; without keys there is one group, always, even of nothing (in a template of queries one for
each of their arguments, see :mod:`rete.parameters`). A change takes back the group's
row and gives the row that is right then, if they differ; the net difference of a transaction is the production's business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .algebra import Accumulator, Aggregate
from .index import Token
from .join import Node
from .operator import Operator, Places, RightPort, columns


class _Kept:
    """A group: how many tokens, its accumulators, and its row as it was last told (None: not told)."""

    __slots__ = ("accumulators", "count", "row")

    def __init__(self, accumulators: list[Accumulator]) -> None:
        self.count = 0
        self.accumulators = accumulators
        self.row: Token | None = None


class Groups(Operator):
    """The keys (values at ``keys``) and the results of the aggregates, each over the values at its own places.

    Where there is a node ``always``, its tokens are keys of groups that are there even of nothing.
    """

    __slots__ = ("_aggregates", "_groups", "_key_of", "_keyless", "_reads")

    def __init__(
        self,
        key: object,
        parent: Node,
        keys: Places,
        aggregates: tuple[tuple[Aggregate, Places], ...],
        always: Node | None = None,
    ) -> None:
        super().__init__(key, parent, *(() if always is None else (always,)))
        self._key_of: Callable[[Token], Token] = columns(keys)
        self._keyless = not keys
        self._aggregates = [aggregate for aggregate, _ in aggregates]
        self._reads = [columns(places) for _, places in aggregates]
        self._groups: dict[Token, _Kept] = {}
        if self._keyless:
            group = self._groups[()] = self._start()
            group.row = self._row((), group)
            self.held = 1
        self.connect((parent, self))
        if always is not None:
            self.connect((always, RightPort(self, self.always)))

    def _start(self) -> _Kept:
        return _Kept([aggregate.start() for aggregate in self._aggregates])

    @staticmethod
    def _row(key: Token, group: _Kept) -> Token:
        results: Iterator[Any] = (accumulator.result() for accumulator in group.accumulators)  # Any: opaque constants
        return (*key, *results)

    def left(self, token: Token, weight: int) -> None:
        key = self._key_of(token)
        group = self._group(key)
        for accumulator, read in zip(group.accumulators, self._reads, strict=True):
            accumulator.change(read(token), weight)
        self._count(key, group, weight)

    def always(self, key: Token, weight: int) -> None:
        """A group comes (or goes) that is there even of nothing."""
        self._count(key, self._group(key), weight)

    def _group(self, key: Token) -> _Kept:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._start()
            self.hold(1)
        return group

    def _count(self, key: Token, group: _Kept, weight: int) -> None:
        """The group has tokens more or fewer, which its accumulators know of: tell what its row is now."""
        group.count += weight
        before = group.row
        group.row = after = self._row(key, group) if group.count > 0 or self._keyless else None
        if not group.count and not self._keyless:
            del self._groups[key]
            self.held -= 1
        if before != after:
            if before is not None:
                self.emit(before, -1)
            if after is not None:
                self.emit(after, 1)

    def replay(self) -> Iterator[tuple[Token, int]]:
        for group in self._groups.values():
            if group.row is not None:
                yield group.row, 1
