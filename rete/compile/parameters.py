"""Templates of queries: queries that are equal up to constants are one network, joined with the relation of their arguments.

    Parameters ──arguments──> joins, negations, operators ──tokens──> Dispatch ──rows──> the queries of those arguments

The constants are taken out of the conditions; :class:`rete.conditions.Parameter` stands in their places, a variable that is bound
outside. The network is built once, below a node whose tokens are the arguments of the queries, and every token in it begins with
them. So one query more is one token more, one query fewer one token fewer, and a fact finds the tokens that wait for it by its
constants: what it costs depends on how many queries it concerns, not on how many there are. At the end rows are handed to the
query whose arguments they begin with. Queries of equal arguments have one token, and hear of one collected difference.

Arguments come and go between transactions of facts, hence the order of levels (:mod:`rete.operators.join`) does not concern them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeAlias

from ..index import Token, tuple_getter
from ..operators.join import Caps, Node
from ..operators.operator import Places, columns
from ..production import Collector, Listener, Production, Row


class Instance(Production):
    """One query of a template."""

    __slots__ = ("arguments", "template")

    def __init__(self, template: Parameters, arguments: Token, listener: Listener) -> None:
        super().__init__(listener)
        self.template = template
        self.arguments = arguments

    def rows(self) -> Counter[Row]:
        return self.template.rows_of(self.arguments)


class Equals(Collector):
    """The queries of a template that have the same arguments, hence the same rows."""

    __slots__ = ("instances",)

    def __init__(self) -> None:
        super().__init__()
        self.instances: dict[Instance, None] = {}

    def audience(self) -> Iterable[Production]:
        return tuple(self.instances)


Collectors: TypeAlias = dict[Token, Instance | Equals]
"""By arguments; an Equals where there are several queries."""


class Parameters(Node):
    """The arguments of a template's queries: the top of its network. It knows none while the network is built."""

    __slots__ = ("_dirty", "collectors", "dispatch", "end", "key", "least", "names")

    def __init__(self, key: Hashable, names: tuple[str, ...], dirty: list[Collector], caps: Caps) -> None:
        super().__init__(0, caps)
        self.key = key
        """The template, as its network knows it."""
        self.names = names
        self._dirty = dirty
        self.collectors: Collectors = {}
        self.least = caps.entering
        """The least cap of any query that has been here: what nodes were told to hold before the caps are asked."""
        self.end: Node = self
        self.dispatch: Dispatch | None = None

    def finish(self, end: Node, select: Places) -> None:
        """The network is built: ``end`` is its last node, ``select`` are the places of a row in its tokens."""
        self.end = end
        self.dispatch = Dispatch(len(self.names), columns(select), self.collectors, self._dirty, self)
        end.add_child(self.dispatch)

    def add_query(self, instance: Instance) -> list[tuple[Row, int]]:
        """One query more; returns the rows that it begins with."""
        arguments = instance.arguments
        known = self.collectors.get(arguments)
        if known is None:
            self.collectors[arguments] = instance
            return self._told(instance, 1)
        if isinstance(known, Instance):
            first, known = known, Equals()
            known.instances[first] = None
            known.count = first.count
            self.collectors[arguments] = known
        known.instances[instance] = None
        self.caps.judge_holder(known)
        return list(self.rows_of(arguments).items())

    def remove_query(self, instance: Instance) -> None:
        """One query fewer."""
        arguments = instance.arguments
        known = self.collectors[arguments]
        if known is instance:
            self._told(instance, -1)
            del self.collectors[arguments]
        else:
            assert isinstance(known, Equals), "a query is listed with those of its arguments"
            del known.instances[instance]
            if len(known.instances) == 1:
                (last,) = known.instances
                last.count, last.limit = known.count, last.max_tokens
                self.collectors[arguments] = last

    def rows_of(self, arguments: Token) -> Counter[Row]:
        """The rows of one query. Its token is taken back and given again, and what the end hears of that is the answer: no node can
        tell the tokens of one query from those of all others in a shorter time."""
        collector = self.collectors[arguments]
        gone = self._told(collector, -1)
        self._told(collector, 1)
        return Counter({row: -weight for row, weight in gone})

    def _told(self, collector: Instance | Equals, sign: int) -> list[tuple[Row, int]]:
        arguments = (collector if isinstance(collector, Instance) else next(iter(collector.instances))).arguments
        self.emit(arguments, sign)
        self.caps.tell_groups()
        changes = collector.take()
        # Nobody else's rows depend on this token. But between two transactions nothing may be left for the next.
        self._dirty.clear()
        return changes

    def count_queries(self) -> int:
        """How many queries there are, of all arguments."""
        return sum(len(tuple(collector.audience())) for collector in self.collectors.values())

    @property
    def is_unused(self) -> bool:
        """Whether there is no query."""
        return not self.collectors

    def replay(self) -> Iterator[tuple[Token, int]]:
        for arguments in self.collectors:
            yield arguments, 1


class Dispatch:
    """The end of a template's network: hands rows to the queries whose arguments their tokens begin with."""

    __slots__ = ("_arguments_of", "_collectors", "_dirty", "_row_of", "template")

    def __init__(
        self, width: int, row_of: Callable[[Token], Row], collectors: Collectors, dirty: list[Collector], template: Parameters
    ) -> None:
        self._arguments_of = tuple_getter(tuple(range(width)))
        self._row_of = row_of
        self._collectors = collectors
        self._dirty = dirty
        self.template = template

    @property
    def node(self) -> Node:
        """The last node of the network."""
        return self.template.end

    def left(self, token: Token, weight: int) -> None:
        collector = self._collectors[self._arguments_of(token)]
        row = self._row_of(token)
        pending = collector.pending
        if pending is None:
            collector.pending = {row: weight}
            self._dirty.append(collector)
        else:
            pending[row] = pending.get(row, 0) + weight
        collector.count = count = collector.count + weight
        if count > collector.limit:
            self.template.caps.judge_holder(collector)
