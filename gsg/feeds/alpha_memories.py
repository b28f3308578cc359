"""The alpha memories of the queries at one peer, and the facts that they hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import rete

from ..tuples.terms import Tuple
from .alpha_memory import AlphaMemory


class AlphaMemories(dict[rete.AlphaSpec, AlphaMemory]):
    """Those of queries; each goes with its last user. Not bounded by number: as many as users of this peer ask for.

    Of one that is posted under several keys there is a memory for each (:mod:`gsg.feeds.intervals`), of which no two hold the
    same fact: those are ``of_intervals``.
    """

    def __init__(self) -> None:
        self.of_intervals: dict[rete.AlphaSpec, tuple[AlphaMemory, ...]] = {}

    def of(self, alpha: rete.AlphaSpec) -> tuple[AlphaMemory, ...]:
        """Those of one that somebody asks for; none for another one."""
        memory = self.get(alpha)
        return self.of_intervals.get(alpha, ()) if memory is None else (memory,)

    def keep(self, memories: tuple[AlphaMemory, ...]) -> None:
        """Those of one that nobody asked for until now."""
        if memories[0].interval is None:
            self[memories[0].alpha] = memories[0]
        else:
            self.of_intervals[memories[0].alpha] = memories

    def forget(self, alpha: rete.AlphaSpec) -> None:
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
        memories = self.of(alpha)
        known = memories and all(memory.ready is True for memory in memories)
        return sum(memory.size() for memory in memories) if known else None

    def facts_like(self, condition: rete.Condition | rete.AlphaSpec) -> list[Tuple]:
        """The facts of all memories of a condition, whatever tests they make."""
        each = chain(self, self.of_intervals)
        alike = [alpha for alpha in each if alpha.template == condition.template and not alpha.window]
        alike.sort(key=lambda alpha: len(alpha.tests))
        if alike and not alike[0].tests:
            return list(self.facts(alike[0]))
        return list({fact: None for alpha in alike for fact in self.facts(alpha)})

    def _covered_by(self, alpha: rete.AlphaSpec) -> list[AlphaMemory]:
        template = alpha.template
        if isinstance(template, rete.OpenTemplate):
            alike = (memory for kept, memory in self.items() if (kept.tests, kept.window) == (alpha.tests, alpha.window))
            return [memory for memory in alike if template.covers(memory.template)]
        return list(self.of(alpha))
