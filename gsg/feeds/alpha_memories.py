"""The alpha memories of the queries at one peer, and the facts that they hold."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain

import rete

from ..tuples.features import Template
from ..tuples.terms import Term, Tuple
from .alpha_memory import AlphaMemory


class LeavingFacts:
    """The facts of an alpha memory that nobody asks for any more, as far as they are in that of a template with parameters still:
    where they are many they leave it in several turns."""

    __slots__ = ("alpha", "done", "left")

    def __init__(self, alpha: rete.AlphaSpec, facts: list[Tuple]) -> None:
        self.alpha = alpha
        self.left = facts
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when none are left: before, the memory is not set up again."""

    @property
    def template(self) -> Template:
        """What they match."""
        return self.alpha.template

    def facts(self) -> Iterator[Tuple]:
        """Those that are left."""
        return iter(self.left)

    def size(self) -> int:
        """How many are left."""
        return len(self.left)


class AlphaMemories(dict[rete.AlphaSpec, AlphaMemory]):
    """Those of queries; each goes with its last user. Not bounded by number: as many as users of this peer ask for.

    Of one that is posted under several keys there is a memory for each (:mod:`gsg.feeds.intervals`), of which no two hold the
    same fact: those are ``of_intervals``.
    """

    def __init__(self) -> None:
        self.of_intervals: dict[rete.AlphaSpec, tuple[AlphaMemory, ...]] = {}
        self.leaving: dict[rete.AlphaSpec, LeavingFacts] = {}
        """Bounded by the memories that there were, each of which goes within moments."""

    def memories_of(self, alpha: rete.AlphaSpec) -> tuple[AlphaMemory, ...]:
        """Those of one that somebody asks for; none for another one."""
        memory = self.get(alpha)
        return self.of_intervals.get(alpha, ()) if memory is None else (memory,)

    def keep_memories(self, memories: tuple[AlphaMemory, ...]) -> None:
        """Those of one that nobody asked for until now."""
        if memories[0].interval is None:
            self[memories[0].alpha] = memories[0]
        else:
            self.of_intervals[memories[0].alpha] = memories

    def forget_memories(self, alpha: rete.AlphaSpec) -> None:
        """Nobody asks for it any more."""
        self.pop(alpha, None)
        self.of_intervals.pop(alpha, None)

    def facts(self, alpha: rete.AlphaSpec) -> Iterator[Tuple]:
        """The facts of an alpha memory that somebody asks for; of one with parameters, those of all its constants asked for."""
        return chain.from_iterable(memory.facts() for memory in self._covered_by(alpha))

    def size(self, alpha: rete.AlphaSpec) -> int:
        """How many facts there are, at most."""
        return sum(memory.size() for memory in self._covered_by(alpha))

    def known_size(self, alpha: rete.AlphaSpec) -> int | None:
        """How many facts there are, where somebody asks for this alpha memory already."""
        memories = self.memories_of(alpha)
        known = memories and all(memory.ready is True for memory in memories)
        return sum(memory.size() for memory in memories) if known else None

    def size_alike(self, template: rete.OpenTemplate[Term]) -> int:
        """How many facts there are of all conditions that are one with other constants, whatever tests they make."""
        return sum(memory.size() for memory in self.values() if template.covers(memory.template))

    def facts_like(self, condition: rete.Condition | rete.AlphaSpec) -> list[Tuple]:
        """The facts of all memories of a condition, whatever tests they make."""
        each = chain(self, self.of_intervals)
        alike = [alpha for alpha in each if alpha.template == condition.template and not alpha.window]
        alike.sort(key=lambda alpha: len(alpha.tests))
        if alike and not alike[0].tests:
            return list(self.facts(alike[0]))
        return list({fact: None for alpha in alike for fact in self.facts(alpha)})

    def _covered_by(self, alpha: rete.AlphaSpec) -> Sequence[AlphaMemory | LeavingFacts]:
        template = alpha.template
        if isinstance(template, rete.OpenTemplate):
            made = alpha.tests, alpha.window
            kept: Iterator[AlphaMemory | LeavingFacts] = chain(self.values(), self.leaving.values())
            alike = (memory for memory in kept if (memory.alpha.tests, memory.alpha.window) == made)
            return [memory for memory in alike if template.covers(memory.template)]
        return self.memories_of(alpha)
