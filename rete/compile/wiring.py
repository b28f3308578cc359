"""Joins, made below a node or found there, and nodes that nobody needs any more taken away.

Nodes are shared by what they do: equal joins of two queries are one. A node that is made hears first of all that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ..alpha import AlphaMemories, AlphaMemory, WindowMemory
from ..chain import JoinSpec
from ..conditions import AlphaSpec
from ..index import Fact
from ..operators.join import Caps, Join, Node, RequiringJoin
from ..operators.operator import Operator

FactsOf: TypeAlias = Callable[[AlphaSpec], Iterable[Fact]]


class Wiring:
    """The nodes of one network; ``facts_of`` gives the facts of an alpha memory that is made."""

    def __init__(self, memories: AlphaMemories, caps: Caps, facts_of: FactsOf) -> None:
        self._memories = memories
        self._caps = caps
        self._facts_of = facts_of

    def join(self, parent: Node, spec: JoinSpec, *, for_many: bool = False) -> Node:
        """The join below a node that is there already, or is made, maybe for many queries."""
        known = parent.shared.get(spec)
        if known is not None:
            return known
        memory = self._memories.get(spec.alpha)
        if memory is None:
            memory = self._memories.make(spec.alpha)
        index, is_new = memory.acquire(spec.fact_key, spec.new)
        if is_new:
            self._caps.load_index(index, self._held(memory, spec.alpha))
        kind = RequiringJoin if spec.tests else Join
        join = parent.shared[spec] = kind(parent, spec, index, for_many=for_many)
        self._caps.replay_into(join.wait, parent)
        parent.add_child(join)
        return join

    def _held(self, memory: AlphaMemory, alpha: AlphaSpec) -> Iterable[Fact]:
        """What is in a memory. Its definition is asked for as the query has it: with parameters, where it has them."""
        if isinstance(memory, WindowMemory):
            return [event for _, event in memory.events]
        facts = self._facts_of(alpha)
        return filter(alpha.admits, facts) if alpha.tests else facts

    def prune(self, node: Node) -> None:
        """Take away nodes without children, from ``node`` upwards."""
        if node.children:
            return
        if isinstance(node, Join) and node.parent.shared.get(node.spec) is node:
            del node.parent.shared[node.spec]
            node.forget()
            self._release(node.spec)
            node.parent.remove_child(node)
        elif isinstance(node, Operator) and node.owner.shared.get(node.key) is node:
            del node.owner.shared[node.key]
            for parent, receiver in node.feeds:
                parent.remove_child(receiver)
        else:
            return
        for parent in node.parents():
            self.prune(parent)

    def _release(self, spec: JoinSpec) -> None:
        memory = self._memories.get(spec.alpha)
        assert memory is not None, "a join holds its alpha memory"
        memory.release(spec.fact_key, spec.new)
        if not memory.indexes:
            self._memories.remove(memory)
