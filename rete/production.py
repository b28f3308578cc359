"""The end of a query: collects what one transaction changed and tells the listener the net difference."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeAlias

from .index import Token
from .operators.join import MUTED, UNLIMITED, Node, Stopped
from .operators.operator import Places, columns

Row: TypeAlias = Token
"""The values of the selected variables, in the order selected."""
Listener: TypeAlias = Callable[[list[tuple[Row, int]]], None]

ROWS = 8_192
"""Rows of a first answer that are told without letting other threads have their turn."""


class Collector:
    """Where rows of a transaction are added up, for one query or for several that have the same."""

    __slots__ = ("count", "limit", "pending")

    def __init__(self) -> None:
        self.count = 0
        """How many rows the answer has."""
        self.limit = UNLIMITED
        """How many it may have before the caps are asked (:mod:`rete.token_cap`)."""
        self.pending: dict[Row, int] | None = None
        """Differences not taken yet; None where there is none. One that cancels stays as zero until it is taken: a collector is
        marked dirty once."""

    def take(self) -> list[tuple[Row, int]]:
        """The net differences since the last call, and forget them."""
        pending, self.pending = self.pending, None
        return [] if pending is None else [(row, weight) for row, weight in pending.items() if weight]

    @abstractmethod  # for the type checker: a class of ABC does not compile well (hatch_build.py)
    def audience(self) -> Iterable[Production]:
        """The queries whose rows these are."""


class Production(Collector):
    """One standing query in the network. Rows are a bag: wildcards may give a row several times."""

    __slots__ = ("ended", "listener", "max_tokens")

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self.listener = listener
        self.max_tokens = UNLIMITED
        """How many tokens its nodes may hold, with the rows of its answer."""
        self.ended = False
        """Whether the network has taken it away by itself."""

    def audience(self) -> Iterable[Production]:
        return (self,)

    @abstractmethod
    def rows(self) -> Counter[Row]:
        """The rows that hold now, each with how often. Raises TooManySteps where it takes too many to tell."""


class ChainEnd(Production):
    """A query that ends a chain of nodes by itself."""

    __slots__ = ("_dirty", "beginning", "node", "row_of")

    is_end = True

    def __init__(self, node: Node, select: Places, listener: Listener, dirty: list[Collector]) -> None:
        super().__init__(listener)
        self.node = node
        self.row_of = columns(select)
        """The row of a token."""
        self.beginning: Counter[Row] | None = None
        """The rows with which it began, until they are asked for."""
        self._dirty = dirty

    def left(self, token: Token, weight: int) -> None:
        row = self.row_of(token)
        pending = self.pending
        if pending is None:
            self.pending = {row: weight}
            self._dirty.append(self)
        else:
            pending[row] = pending.get(row, 0) + weight
        self.count = count = self.count + weight
        if count > self.limit:
            self._full()

    def _full(self) -> None:
        if self.limit == MUTED:
            assert self.pending is not None, "a row has just come"
            self.pending.clear()
        else:
            self.node.caps.judge_holder(self)
        if self.limit == MUTED:
            raise Stopped

    def begin(self, max_tokens: int) -> None:
        """Find the rows of the beginning, as far as the cap allows."""
        self.limit = self.max_tokens = max_tokens
        reading = self.node.caps.effort.reading
        rows: Counter[Row] = Counter()
        for token, weight in self.node.replay():
            self.count += weight
            rows[self.row_of(token)] += weight
            reading.rows = self.count
            if self.count > max_tokens:
                break
        self.beginning = rows

    def first_rows(self) -> list[tuple[Row, int]]:
        """The rows that held when the query was entered, which are to be asked for once, and at once."""
        rows, self.beginning = self.beginning, None
        assert rows is not None, "nobody has asked before"
        left, told = iter(rows.items()), list[tuple[Row, int]]()
        while some := list(islice(left, ROWS)):
            told += some
        return told

    def rows(self) -> Counter[Row]:
        """The rows that hold now; computed from the joins, which already hold all that it takes. Raises TooManySteps."""
        rows: Counter[Row] = Counter()
        with self.node.caps.effort.of_reading(self.max_tokens) as reading:
            try:
                for token, weight in self.node.replay():
                    rows[self.row_of(token)] += weight
                    reading.rows += weight
            except Stopped:
                assert reading.problem is not None, "reading stops for a reason"
                raise reading.problem from None
        return rows
