"""Lattice: required sets of fields in the order of inclusion; where an event lacks one, it lacks all above it.

Filman and Lee, section "Event channel algorithms". Kept is the sparse lattice itself: from a set to larger ones of which it is a
largest part that is there. An edge too few costs a comparison, never a match: a set is reached by each of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..languages.expressions import Condition
from ..languages.relations import Relations
from ..languages.signature import required_fields
from ..languages.source import LazyTest
from ..values import Fields
from .sig import FieldBits


@dataclass(slots=True, eq=False)
class _Node:
    """One required set, as bits, and the conditions that require just these fields."""

    signature: int
    tests: dict[int, LazyTest] = field(default_factory=dict)
    above: dict[int, _Node] = field(default_factory=dict)
    below: dict[int, _Node] = field(default_factory=dict)


class Lattice:
    """Conditions by the set of fields that they require, larger sets behind smaller ones."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._bits = FieldBits()
        self._bottom = _Node(0)
        self._nodes = {0: self._bottom}
        self._node_of: dict[int, tuple[_Node, frozenset[str]]] = {}
        """With the fields that a condition requires."""

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        names = required_fields(condition)
        signature = self._bits.of_condition(names)
        node = self._nodes.get(signature) or self._add_node(signature)
        node.tests[number] = LazyTest(condition, self._relations)
        self._node_of[number] = node, names

    def _add_node(self, signature: int) -> _Node:
        node = self._nodes[signature] = _Node(signature)
        seen, todo = {0}, [self._bottom]
        while todo:
            part = todo.pop()
            inside = [each for each in part.above.values() if not each.signature & ~signature]
            for each in inside:
                if each.signature not in seen:
                    seen.add(each.signature)
                    todo.append(each)
            if not inside:
                # The largest parts of the new set: what is above them and holds the new set goes above that.
                for larger in [each for each in part.above.values() if not signature & ~each.signature]:
                    del part.above[larger.signature], larger.below[part.signature]
                    _link(node, larger)
                _link(part, node)
        return node

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        node, names = self._node_of.pop(number)
        del node.tests[number]
        self._bits.give_back(names)
        if node.tests or node is self._bottom:
            return
        del self._nodes[node.signature]
        for part in node.below.values():
            del part.above[node.signature]
        for larger in node.above.values():
            del larger.below[node.signature]
            for part in node.below.values():
                _link(part, larger)

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        lacking = ~self._bits.of_event(fields)
        found = []
        seen, todo = {0}, [self._bottom]
        while todo:
            node = todo.pop()
            found += [number for number, test in node.tests.items() if test(fields, environment)]
            for signature, larger in node.above.items():
                if not signature & lacking and signature not in seen:
                    seen.add(signature)
                    todo.append(larger)
        return found

    def __len__(self) -> int:
        return len(self._node_of)


def _link(part: _Node, larger: _Node) -> None:
    part.above[larger.signature] = larger
    larger.below[part.signature] = part
