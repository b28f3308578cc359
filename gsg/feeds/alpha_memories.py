"""The alpha memories of the queries at one peer, and the facts that they hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import rete

from ..tuples.terms import Tuple
from .alpha_memory import AlphaMemory


class AlphaMemories(dict[rete.AlphaSpec, AlphaMemory]):
    """Those of queries; each goes with its last user. Not bounded by number: as many as users of this peer ask for."""

    def facts(self, alpha: rete.AlphaSpec) -> Iterator[Tuple]:
        """The facts of an alpha memory that somebody asks for; of one with parameters, those of all its constants asked for."""
        return chain.from_iterable(memory.facts() for memory in self._covered_by(alpha))

    def size(self, alpha: rete.AlphaSpec) -> int:
        """How many facts there are, at most."""
        return sum(memory.size() for memory in self._covered_by(alpha))

    def known_size(self, alpha: rete.AlphaSpec) -> int | None:
        """How many facts there are, where somebody asks for this alpha memory already."""
        memory = self.get(alpha)
        return memory.size() if memory is not None and memory.ready is True else None

    def facts_like(self, condition: rete.Condition | rete.AlphaSpec) -> list[Tuple]:
        """The facts of all memories of a condition, whatever tests they make."""
        alike = [memory for alpha, memory in self.items() if alpha.template == condition.template and not alpha.window]
        alike.sort(key=lambda memory: len(memory.alpha.tests))
        if alike and not alike[0].alpha.tests:
            return list(alike[0].facts())
        return list({fact: None for memory in alike for fact in memory.facts()})

    def _covered_by(self, alpha: rete.AlphaSpec) -> list[AlphaMemory]:
        template = alpha.template
        if isinstance(template, rete.OpenTemplate):
            alike = (memory for kept, memory in self.items() if (kept.tests, kept.window) == (alpha.tests, alpha.window))
            return [memory for memory in alike if template.covers(memory.template)]
        return [self[alpha]]
