"""GROUP BY with aggregates: one row a group, kept by accumulators that values enter and leave.

A group is there while it has a token; without keys there is one group, always, even of nothing (in a template of queries one for
each of their arguments, see :mod:`rete.compile.parameters`).

Results may be as long as the group, and whatever stands below may be joined with them. So they are not made for each token: a group
that has changed is *owed*, and at the end of the transaction its row is taken back and the right one given, if they differ
(:class:`rete.token_cap.TokenCaps`, ``owing``). Whoever asks a group about values (:class:`rete.operators.demand.Demand`) is told at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..functions import Accumulator, Aggregate
from ..index import Token
from .demand import Demand
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

    __slots__ = ("_aggregates", "_groups", "_key_of", "_keyless", "_reads", "owed")

    def __init__(
        self,
        parent: Node,
        keys: Places,
        aggregates: tuple[tuple[Aggregate, Places], ...],
        always: Node | None = None,
    ) -> None:
        super().__init__(parent, *(() if always is None else (always,)))
        self._key_of: Callable[[Token], Token] = columns(keys)
        self._keyless = not keys
        self._aggregates = [aggregate for aggregate, _ in aggregates]
        self._reads = [columns(places) for _, places in aggregates]
        self._groups: dict[Token, _Kept] = {}
        self.owed: dict[Token, None] = {}
        """Groups that have changed since their rows were told. Bounded by the tokens of one transaction."""
        if self._keyless:
            group = self._groups[()] = self._start()
            group.row = self._row((), group)
            self.held = 1
        self.connect((parent, self))
        if always is not None:
            self.connect((always, RightPort(self, self.always)))
        self.tell_rows()
        for demand in _asking(self):
            demand.groups.append(self)

    def _start(self) -> _Kept:
        return _Kept([aggregate.start() for aggregate in self._aggregates])

    @staticmethod
    def _row(key: Token, group: _Kept) -> Token:
        results: Iterator[Any] = (accumulator.result() for accumulator in group.accumulators)  # Any: opaque constants
        return (*key, *results)

    @property
    def extra_steps(self) -> int:
        return 4  # each aggregate may keep its values in order

    def left(self, token: Token, weight: int) -> None:
        key = self._key_of(token)
        group = self._group(key)
        for accumulator, read in zip(group.accumulators, self._reads, strict=True):
            accumulator.change(read(token), weight)
        group.count += weight

    def always(self, key: Token, weight: int) -> None:
        """A group comes (or goes) that is there even of nothing."""
        self._group(key).count += weight

    def _group(self, key: Token) -> _Kept:
        """A group that is about to change."""
        if key not in self.owed:
            if not self.owed:
                self.caps.owe_rows(self)
            self.owed[key] = None
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._start()
            self.count_tokens(1)
        return group

    def tell_rows(self) -> None:
        """Tell what the rows of changed groups are now."""
        while self.owed:
            key, _ = self.owed.popitem()
            group = self._groups[key]
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


def _asking(group: Groups) -> Iterator[Demand[Any]]:
    """The demands below which it stands."""
    seen: set[Node] = set()
    waiting = group.parents()
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            if isinstance(node, Demand):
                yield node
            # What a node asks is not what it stands below.
            waiting += node.parents()[-1:] if isinstance(node, Operator) and node.asks() else node.parents()
