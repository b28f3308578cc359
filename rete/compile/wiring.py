"""Joins and negations, made below a node or found there, and nodes that nobody needs any more taken away.

Nodes are shared by what they do: equal chains of two queries are one. A node that is made hears first of all that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ..alpha import AlphaMemories, AlphaMemory, WindowMemory
from ..chain import JoinSpec, NotSpec, Spec
from ..conditions import AlphaSpec
from ..index import Fact
from ..operators.join import Join, Meter, Node
from ..operators.negation import GroupEnd, Negation
from ..operators.operator import Operator

FactsOf: TypeAlias = Callable[[AlphaSpec], Iterable[Fact]]


class Wiring:
    """The nodes of one network; ``facts_of`` gives the facts of an alpha memory that is made."""

    def __init__(self, memories: AlphaMemories, meter: Meter, facts_of: FactsOf) -> None:
        self._memories = memories
        self._meter = meter
        self._facts_of = facts_of

    def extend(self, node: Node, specs: Iterable[Spec]) -> Node:
        """The end of a chain below a node: joins and negations that are there already, and such as are made."""
        for spec in specs:
            known = node.shared.get(spec)
            if known is None:
                known = self._join(node, spec) if isinstance(spec, JoinSpec) else self._negation(node, spec)
                node.shared[spec] = known
            node = known
        return node

    def _join(self, parent: Node, spec: JoinSpec) -> Join:
        memory = self._memories.get(spec.alpha)
        if memory is None:
            memory = self._memories.make(spec.alpha)
        index, is_new = memory.acquire(spec.fact_key, spec.new)
        if is_new:
            self._meter.load(index, self._held(memory, spec.alpha))
        join = Join(parent, spec, index)
        self._meter.fill(join.wait, parent)
        parent.add_child(join)
        return join

    def _held(self, memory: AlphaMemory, alpha: AlphaSpec) -> Iterable[Fact]:
        """What is in a memory. Its definition is asked for as the query has it: with parameters, where it has them."""
        if isinstance(memory, WindowMemory):
            return [event for _, event in memory.events]
        facts = self._facts_of(alpha)
        return filter(alpha.admits, facts) if alpha.tests else facts

    def _negation(self, parent: Node, spec: NotSpec) -> Negation:
        negation = Negation(parent, spec)
        tail = self.extend(negation.demand, spec.chain)
        tail.add_child(GroupEnd(negation))
        negation.tail = tail
        negation.level = tail.level + 1
        self._meter.fill(negation.left, parent)
        parent.add_child(negation)
        return negation

    def prune(self, node: Node) -> None:
        """Take away nodes without children, from ``node`` upwards."""
        while not node.children and isinstance(node, Join | Negation):
            parent = node.parent
            if parent.shared.get(node.spec) is not node:
                return
            if isinstance(node, Join):
                node.forget()
                self._release(node.spec)
            else:
                tail = node.tail
                tail.children.clear()
                self.prune(tail)
            parent.remove_child(node)
            del parent.shared[node.spec]
            node = parent
        if not node.children and isinstance(node, Operator) and node.owner.shared.get(node.key) is node:
            del node.owner.shared[node.key]
            for parent, receiver in node.feeds:
                parent.remove_child(receiver)
            for parent, _ in node.feeds:
                self.prune(parent)

    def _release(self, spec: JoinSpec) -> None:
        memory = self._memories.get(spec.alpha)
        assert memory is not None, "a join holds its alpha memory"
        memory.release(spec.fact_key, spec.new)
        if not memory.indexes:
            self._memories.remove(memory)
