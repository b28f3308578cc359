"""The memories behind one template that have tests, or a window: a fact finds those that it may belong to by what tests require."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

from .conditions import AlphaSpec, Window
from .functions import Test, requirements_of
from .index import Fact
from .predicates import Requirement, TestIndex

Kind: TypeAlias = tuple[tuple[tuple[Test, tuple[int, ...]], ...], Window | None]
"""What tells memories of one template apart: tests and window."""


class _Memory(Hashable, Protocol):
    """What is kept here: an alpha memory."""

    spec: AlphaSpec


Memory = TypeVar("Memory", bound=_Memory)


class Narrowed(Generic[Memory]):
    """Memories by their kind, and by what their tests require."""

    __slots__ = ("_by_kind", "_index")

    def __init__(self) -> None:
        self._by_kind: dict[Kind, Memory] = {}
        """Limit: the conditions of the network's queries."""
        self._index: TestIndex[int, Memory] = TestIndex(_required)

    def get(self, kind: Kind) -> Memory | None:
        """The memory of this kind."""
        return self._by_kind.get(kind)

    def add_memory(self, memory: Memory) -> None:
        """One more, of a kind that is not there yet."""
        self._by_kind[_kind_of(memory)] = memory
        self._index.insert(memory)

    def remove_memory(self, memory: Memory) -> None:
        """One less."""
        del self._by_kind[_kind_of(memory)]
        self._index.remove(memory)

    def admitting(self, fact: Fact) -> list[Memory]:
        """The memories that a fact of the template belongs to."""
        index = self._index
        found = [memory for memory in index.tried if memory.spec.admits(fact)]
        for place, waiting in index.by_place.items():
            found += [memory for memory in waiting.candidates(fact[place]) if memory.spec.admits(fact)]
        return found

    def __iter__(self) -> Iterator[Memory]:
        return iter(self._by_kind.values())

    def __len__(self) -> int:
        return len(self._by_kind)


def _kind_of(memory: _Memory) -> Kind:
    return memory.spec.tests, memory.spec.window


def _required(memory: _Memory) -> Iterator[tuple[int, Requirement]]:
    """What the tests of a definition require of the values at positions."""
    for test, places in memory.spec.tests:
        for at, requirement in requirements_of(test):
            yield places[at], requirement
