"""The alpha network: from a fact to the alpha memories that it belongs to, at a cost that does not depend on how many there are.

Templates are grouped by shape: arity, positions of constants, repeated positions. For each shape in use a fact costs one dict
look-up under its own values at those positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

from .chain import AnyTemplate
from .conditions import OpenTemplate
from .index import Fact, Index, key_getter

Posted = TypeVar("Posted")
Bound: TypeAlias = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
Shape: TypeAlias = tuple[int, tuple[int, ...], tuple[tuple[int, int], ...]]


def shape_of(template: AnyTemplate) -> Shape:
    """What templates must share to be found by one look-up: arity, positions of constants, repeated positions."""
    return len(template.pattern), template.anchors(), template.same


class TemplateTable(Generic[Posted]):
    """Templates, each with something posted under it, found by the tuples that match them."""

    __slots__ = ("_by_arity", "_by_shape")

    def __init__(self) -> None:
        self._by_shape: dict[Shape, tuple[Callable[[Fact], Any], dict[Any, Posted]]] = {}
        self._by_arity: dict[int, list[tuple[Callable[[Fact], Any], dict[Any, Posted], tuple[tuple[int, int], ...]]]] = {}

    def get(self, template: AnyTemplate) -> Posted | None:
        """What is posted under exactly this template."""
        entry = self._by_shape.get(shape_of(template))
        return None if entry is None else entry[1].get(entry[0](template.pattern))

    def post(self, template: AnyTemplate, posted: Posted) -> None:
        """Post under a template that has nothing posted yet."""
        arity, anchors, same = shape = shape_of(template)
        entry = self._by_shape.get(shape)
        if entry is None:
            entry = self._by_shape[shape] = (key_getter(anchors), {})
            self._by_arity.setdefault(arity, []).append((*entry, same))
        entry[1][entry[0](template.pattern)] = posted

    def remove(self, template: AnyTemplate) -> None:
        """Take away what is posted; a shape that nobody uses costs nothing from then on."""
        shape = shape_of(template)
        key_of, table = self._by_shape[shape]
        del table[key_of(template.pattern)]
        if not table:
            del self._by_shape[shape]
            shapes = self._by_arity[shape[0]]
            shapes[:] = [entry for entry in shapes if entry[1] is not table]
            if not shapes:
                del self._by_arity[shape[0]]

    def matching(self, fact: Fact) -> list[Posted]:
        """What is posted under the templates that the tuple matches."""
        found = []
        for key_of, table, same in self._by_arity.get(len(fact), ()):
            posted = table.get(key_of(fact))
            if posted is not None and (not same or all(fact[first] == fact[later] for first, later in same)):
                found.append(posted)
        return found

    def __iter__(self) -> Iterator[Posted]:
        for _, table in self._by_shape.values():
            yield from table.values()

    def __len__(self) -> int:
        return sum(len(table) for _, table in self._by_shape.values())


class AlphaMemories:
    """The alpha memories of a network, by template.

    Where facts come by feeds of their templates, those with parameters (:class:`rete.OpenTemplate`) have memories of their own,
    fed with what comes for any of the constants. Elsewhere a parameter is one more place where anything may stand.
    """

    __slots__ = ("_by_feed", "_open", "_plain", "matching")

    def __init__(self, *, by_feed: bool) -> None:
        self._by_feed = by_feed
        self._plain: TemplateTable[AlphaMemory] = TemplateTable()
        self._open: dict[Bound, TemplateTable[AlphaMemory]] = {}
        """By the shape that their templates have when constants are put back."""
        self.matching = self._matching if by_feed else self._plain.matching
        """The memories whose templates a tuple matches."""

    def get(self, template: AnyTemplate) -> AlphaMemory | None:
        """The memory of exactly this template."""
        if self._by_feed and isinstance(template, OpenTemplate):
            table = self._open.get(template.shape_when_bound())
            return None if table is None else table.get(template)
        return self._plain.get(template)

    def make(self, template: AnyTemplate) -> AlphaMemory:
        """A memory for a template that has none."""
        table = self._plain
        if isinstance(template, OpenTemplate):
            if self._by_feed:
                table = self._open.setdefault(template.shape_when_bound(), TemplateTable())
            else:
                template = template.closed
        memory = AlphaMemory(template)
        table.post(template, memory)
        return memory

    def remove(self, memory: AlphaMemory) -> None:
        """Take a memory away."""
        template = memory.template
        if isinstance(template, OpenTemplate):
            shape = template.shape_when_bound()
            self._open[shape].remove(template)
            if not len(self._open[shape]):
                del self._open[shape]
        else:
            self._plain.remove(template)

    def _matching(self, fact: Fact) -> list[AlphaMemory]:
        found = self._plain.matching(fact)
        for table in self._open.values():
            found += table.matching(fact)
        return found

    def fed_by(self, template: AnyTemplate) -> list[AlphaMemory]:
        """The memories that are fed with the facts of a template: its own, and those that have parameters for its constants."""
        own = self._plain.get(template)
        found = [] if own is None else [own]
        table = self._open.get((template.anchors(), template.same))
        if table is not None:
            found += table.matching(template.pattern)
        return found

    def __iter__(self) -> Iterator[AlphaMemory]:
        yield from self._plain
        for table in self._open.values():
            yield from table

    def __len__(self) -> int:
        return len(self._plain) + sum(map(len, self._open.values()))


class AlphaMemory:
    """The facts that match one template, held as the indexes that joins ask for."""

    __slots__ = ("_users", "indexes", "template")

    def __init__(self, template: AnyTemplate) -> None:
        self.template = template
        self.indexes: dict[tuple[tuple[int, ...], tuple[int, ...]], Index] = {}
        self._users: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def acquire(self, fact_key: tuple[int, ...], new: tuple[int, ...]) -> tuple[Index, bool]:
        """The index for these positions, and whether it is new and has to be filled."""
        spec = (fact_key, new)
        self._users[spec] = self._users.get(spec, 0) + 1
        if spec in self.indexes:
            return self.indexes[spec], False
        index = self.indexes[spec] = Index(fact_key, new)
        return index, True

    def release(self, fact_key: tuple[int, ...], new: tuple[int, ...]) -> None:
        """One user fewer; the last one takes the index away."""
        spec = (fact_key, new)
        self._users[spec] -= 1
        if not self._users[spec]:
            del self._users[spec], self.indexes[spec]
