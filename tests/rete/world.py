"""A network with the facts that it is told of: what an owner of a network is, at its simplest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from naive import Fact
from notation import fact

import rete
from rete.algebra import Algebra
from rete.compile.scope import in_scope


class Watch:
    """A standing query and what was heard of it."""

    def __init__(self, world: World, query: rete.Group | Algebra, select: tuple[str, ...] | None = None) -> None:
        self.query = query
        self.heard: list[tuple[Fact, int]] = []
        """Every difference since the beginning, in order."""
        self.on_change: Callable[[], object] = lambda: None
        """Called after each transaction that was heard of."""
        if isinstance(query, rete.Group):
            self.production = world.network.subscribe(query, query.variables() if select is None else select, self._listen)
        else:
            self.production = world.network.subscribe_algebra(query, in_scope(query) if select is None else select, self._listen)
        self.held = self.production.rows()
        """The rows of the beginning and the differences, added up."""
        self.lowest = 0
        """The least count that any row has had on the way."""

    def _listen(self, changes: list[tuple[Fact, int]]) -> None:
        self.heard += changes
        for row, weight in changes:
            self.held[row] += weight
            self.lowest = min(self.lowest, self.held[row])
        self.held = +self.held
        self.on_change()

    @property
    def rows(self) -> dict[str, int]:
        """The rows now, each as words, with how often."""
        return {_text(row): times for row, times in self.production.rows().items()}

    def news(self) -> list[str]:
        """What was heard since the last call, as ``+row`` and ``-row``, each as often as it counts."""
        heard, self.heard = self.heard, []
        return [("+" if weight > 0 else "-") + _text(row) for row, weight in heard for _ in range(abs(weight))]


def _text(row: Fact) -> str:
    """A row as words, ``_`` where a name is unbound."""
    return " ".join("_" if item is None else item for item in row)


class World:
    """Facts are a set; the network hears of each that comes or goes."""

    def __init__(self, *facts: str) -> None:
        self.facts: dict[Fact, None] = {}
        self.network = rete.Network(self.facts_of, self.count_of)
        self.insert(*facts)

    def facts_of(self, alpha: rete.AlphaSpec) -> Iterable[Fact]:
        return filter(alpha.template.matches, self.facts)

    def count_of(self, alpha: rete.AlphaSpec) -> int:
        return sum(map(alpha.template.matches, self.facts))

    def watch(self, query: rete.Group | Algebra, select: tuple[str, ...] | None = None) -> Watch:
        return Watch(self, query, select)

    def unwatch(self, watch: Watch) -> None:
        self.network.unsubscribe(watch.production)

    def insert(self, *texts: str) -> None:
        """One transaction."""
        self.change([(fact(text), 1) for text in texts])

    def retract(self, *texts: str) -> None:
        """One transaction."""
        self.change([(fact(text), -1) for text in texts])

    def change(self, wanted: Iterable[tuple[Fact, int]]) -> None:
        """One transaction, of those changes that change something."""
        changes = []
        for items, sign in wanted:
            if (items in self.facts) == (sign < 0):
                changes.append((items, sign))
                if sign > 0:
                    self.facts[items] = None
                else:
                    del self.facts[items]
        self.network.change(changes)

    def flash(self, text: str) -> dict[Watch | rete.Production, Counter[Fact]]:
        """The rows of an event, by production."""
        return {production: Counter(dict(rows)) for production, rows in self.network.flash(fact(text))}
