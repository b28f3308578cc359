"""The alpha network: from a fact to the alpha memories that it belongs to, at a cost that does not depend on how many there are.

Templates are grouped by shape: arity, positions of constants, repeated positions. For each shape in use a fact costs one dict
look-up under its own values at those positions.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from .chain import AnyTemplate
from .conditions import MAX_WINDOW_BYTES, MAX_WINDOW_EVENTS, AlphaSpec, OpenTemplate, Window
from .index import Fact, Index, key_getter
from .narrowed import Narrowed

_encode = msgspec.msgpack.Encoder().encode
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
    """The alpha memories of a network, by what defines them.

    Where facts come by feeds of their templates, those with parameters (:class:`rete.OpenTemplate`) have memories of their own,
    fed with what comes for any of the constants. Elsewhere a parameter is one more place where anything may stand.

    A memory with tests, or a window, stands behind the one of its template alone, which is there even if nobody looks at it: a fact
    is looked up once, and tested for those that it could belong to.
    """

    __slots__ = ("_open", "_plain", "_tested", "_windows", "by_feed", "matching")

    def __init__(self, *, by_feed: bool) -> None:
        self.by_feed = by_feed
        self._plain: TemplateTable[AlphaMemory] = TemplateTable()
        self._open: dict[Bound, TemplateTable[AlphaMemory]] = {}
        """By the shape that their templates have when constants are put back."""
        self._tested = 0
        """How many memories there are with tests and without window."""
        self._windows = 0
        """How many with a window."""
        self.matching: Callable[[Fact], list[AlphaMemory]]
        """The memories of facts that a tuple belongs to."""
        self._choose_matching()

    def get(self, spec: AlphaSpec) -> AlphaMemory | None:
        """The memory of exactly this definition, where somebody looks at it."""
        memory = self._of_template(self._kept(spec.template))
        if memory is None or not spec.narrows:
            return memory
        return memory.narrowed_to(spec)

    def make(self, spec: AlphaSpec) -> AlphaMemory:
        """A memory for a definition that has none."""
        template = self._kept(spec.template)
        plain = self._of_template(template)
        if plain is None:
            plain = AlphaMemory(AlphaSpec(template))
            table = self._plain
            if isinstance(template, OpenTemplate):
                table = self._open.setdefault(template.shape_when_bound(), TemplateTable())
            table.post(template, plain)
        if not spec.narrows:
            return plain
        narrow = AlphaSpec(template, spec.tests, spec.window)
        made: AlphaMemory
        if narrow.window is None:
            made = AlphaMemory(narrow)
            plain.tested = plain.tested or Narrowed()
            plain.tested.add_memory(made)
        else:
            made = WindowMemory(narrow, narrow.window)
            plain.windows = plain.windows or Narrowed()
            plain.windows.add_memory(made)
        self._tested += spec.window is None
        self._windows += spec.window is not None
        self._choose_matching()
        return made

    def remove(self, memory: AlphaMemory) -> None:
        """Take a memory away."""
        spec = memory.spec
        template = spec.template
        plain = self._of_template(template)
        assert plain is not None, "a memory stands behind that of its template"
        if isinstance(memory, WindowMemory):
            # Whoever waits for its time to come knows it still, maybe for days.
            memory.events.clear()
            memory.size_bytes = 0
        if spec.narrows:
            plain.remove_narrowed(memory)
            self._tested -= spec.window is None
            self._windows -= spec.window is not None
            self._choose_matching()
        if plain.indexes or plain.tested or plain.windows:
            return
        if isinstance(template, OpenTemplate):
            shape = template.shape_when_bound()
            self._open[shape].remove(template)
            if not len(self._open[shape]):
                del self._open[shape]
        else:
            self._plain.remove(template)

    def _choose_matching(self) -> None:
        # Most networks have nothing but templates, and look a fact up with one call.
        self.matching = self._matching_narrowed if self._tested else self._of_templates if self.by_feed else self._plain.matching

    def _matching_narrowed(self, fact: Fact) -> list[AlphaMemory]:
        found = self._of_templates(fact)
        for memory in tuple(found):
            if memory.tested:
                found += memory.tested.admitting(fact)
        return found

    @property
    def has_windows(self) -> bool:
        """Whether any memory has a window."""
        return self._windows > 0

    def windows(self, event: Fact) -> list[WindowMemory]:
        """The memories of events that the tuple belongs to."""
        return [narrow for memory in self._of_templates(event) if memory.windows for narrow in memory.windows.admitting(event)]

    def fed_by(self, spec: AlphaSpec) -> list[AlphaMemory]:
        """The memories that are fed with the facts of a definition: its own, and those that have parameters for its constants."""
        own = self._plain.get(spec.template)
        found = [] if own is None else [own]
        table = self._open.get((spec.template.anchors(), spec.template.same))
        if table is not None:
            found += table.matching(spec.template.pattern)
        if not spec.narrows:
            return found
        return [narrow for memory in found if (narrow := memory.narrowed_to(spec)) is not None]

    def _kept(self, template: AnyTemplate) -> AnyTemplate:
        """The template as memories are kept by it."""
        return template.closed if isinstance(template, OpenTemplate) and not self.by_feed else template

    def _of_template(self, template: AnyTemplate) -> AlphaMemory | None:
        if isinstance(template, OpenTemplate):
            table = self._open.get(template.shape_when_bound())
            return None if table is None else table.get(template)
        return self._plain.get(template)

    def _of_templates(self, fact: Fact) -> list[AlphaMemory]:
        found = self._plain.matching(fact)
        for table in self._open.values():
            found += table.matching(fact)
        return found

    def __iter__(self) -> Iterator[AlphaMemory]:
        """Those that somebody looks at."""
        for table in (self._plain, *self._open.values()):
            for memory in table:
                if memory.indexes:
                    yield memory
                yield from memory.tested or ()
                yield from memory.windows or ()

    def __len__(self) -> int:
        return sum(1 for _ in self)


class AlphaMemory:
    """The facts of one definition, held as the indexes that joins ask for."""

    __slots__ = ("_users", "indexes", "spec", "tested", "windows")

    def __init__(self, spec: AlphaSpec) -> None:
        self.spec = spec
        self.indexes: dict[tuple[tuple[int, ...], tuple[int, ...]], Index] = {}
        self.tested: Narrowed[AlphaMemory] | None = None
        self.windows: Narrowed[WindowMemory] | None = None
        """The memories behind this one: the same template with tests, or with a window."""
        self._users: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}

    def narrowed_to(self, spec: AlphaSpec) -> AlphaMemory | None:
        """The one behind this that has the tests and window of a definition."""
        narrowed = self.tested if spec.window is None else self.windows
        return None if narrowed is None else narrowed.get((spec.tests, spec.window))

    def remove_narrowed(self, memory: AlphaMemory) -> None:
        """One behind this is used no more."""
        if isinstance(memory, WindowMemory):
            assert self.windows is not None, "it stands behind this one"
            self.windows.remove_memory(memory)
        else:
            assert self.tested is not None, "it stands behind this one"
            self.tested.remove_memory(memory)

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
            del self._users[spec]
            self.indexes.pop(spec).clear()


class WindowMemory(AlphaMemory):
    """The events of late: the newest ``count``, or those of the last ``seconds`` (:class:`rete.Window`).

    Events are a bag: one that happens twice is there twice.
    """

    __slots__ = ("events", "size_bytes", "window")

    def __init__(self, spec: AlphaSpec, window: Window) -> None:
        super().__init__(spec)
        self.window = window
        self.events: deque[tuple[float, Fact]] = deque()
        """With when they happened, oldest first. Limits: the window's count, or MAX_WINDOW_EVENTS; MAX_WINDOW_BYTES."""
        self.size_bytes = 0
        """What they take."""

    def enter(self, event: Fact, now: float) -> bool:
        """An event happens; whether it is the only one now."""
        self.events.append((now, event))
        self.size_bytes += _size_of(event)
        return len(self.events) == 1

    def leave(self) -> Fact:
        """The oldest event goes."""
        _, event = self.events.popleft()
        self.size_bytes -= _size_of(event)
        return event

    @property
    def is_over_full(self) -> bool:
        """Whether the oldest event has to go because of how many there are, or how long."""
        most = MAX_WINDOW_EVENTS if self.window.count is None else self.window.count
        return len(self.events) > most or self.size_bytes > MAX_WINDOW_BYTES

    @property
    def is_cut_short(self) -> bool:
        """Whether an event that has to go now leaves early."""
        return self.window.count is None or len(self.events) <= self.window.count

    @property
    def expires(self) -> float | None:
        """When the oldest event leaves by its age; None for no event, or where age does not matter."""
        if self.window.seconds is None or not self.events:
            return None
        return self.events[0][0] + self.window.seconds


def _size_of(event: Fact) -> int:
    """The length of an event as encoded; 0 where it holds what cannot travel, and so came from nobody else."""
    try:
        return len(_encode(event))
    except TypeError:
        return 0
