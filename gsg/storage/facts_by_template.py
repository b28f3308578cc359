"""A set of facts, found by template.

Indexes by one position are built when a template first asks for that position and there is enough to search, and kept until they
are dropped: a space whose queries come first pays nothing for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..tuples.features import Template
from ..tuples.terms import Term, Tuple

SCAN_LIMIT = 256
"""Facts of one arity up to which a look-up walks them all rather than building an index."""


class FactsByTemplate:
    """Facts by arity; each is there or not."""

    __slots__ = ("_by_arity", "_by_position")

    def __init__(self) -> None:
        self._by_arity: dict[int, dict[Tuple, None]] = {}
        self._by_position: dict[int, dict[int, dict[Term, dict[Tuple, None]]]] = {}

    def add(self, fact: Tuple) -> bool:
        """Whether the fact was not there before."""
        facts = self._by_arity.get(len(fact))
        if facts is None:
            facts = self._by_arity[len(fact)] = {}
        before = len(facts)
        facts[fact] = None
        if len(facts) == before:
            return False
        if self._by_position:
            for position, index in self._by_position.get(len(fact), _NO_INDEXES).items():
                index.setdefault(fact[position], {})[fact] = None
        return True

    def remove(self, fact: Tuple) -> bool:
        """Whether the fact was there."""
        facts = self._by_arity.get(len(fact))
        if facts is None or fact not in facts:
            return False
        del facts[fact]
        if not facts:
            del self._by_arity[len(fact)]
            self._by_position.pop(len(fact), None)
        for position, index in self._by_position.get(len(fact), _NO_INDEXES).items():
            bucket = index[fact[position]]
            del bucket[fact]
            if not bucket:
                del index[fact[position]]
        return True

    @property
    def is_indexed(self) -> bool:
        """Whether there are indexes beside the facts."""
        return any(self._by_position.values())

    def drop_indexes(self) -> None:
        """Free the memory of the indexes; the next template that asks for one waits until it is built again."""
        self._by_position.clear()

    def matching(self, template: Template) -> Iterator[Tuple]:
        """The facts that match the template."""
        candidates = self._candidates(template)
        anchors = template.anchors()
        is_exact = not anchors or (len(anchors) == 1 and candidates is not self._by_arity.get(len(template.pattern)))
        if is_exact and not template.same:
            return iter(candidates)
        return filter(template.matches, candidates)

    def count(self, template: Template) -> int:
        """How many facts match; of very many an upper bound, without looking at each."""
        candidates = self._candidates(template)
        return sum(map(template.matches, candidates)) if len(candidates) <= SCAN_LIMIT else len(candidates)

    def _candidates(self, template: Template) -> dict[Tuple, None]:
        arity = len(template.pattern)
        facts = self._by_arity.get(arity, _NO_FACTS)
        if len(facts) <= SCAN_LIMIT:
            return facts
        found = facts
        indexes = self._by_position.setdefault(arity, {})
        for position in template.anchors():
            index = indexes.get(position)
            if index is None:
                index = indexes[position] = _index(facts, position)
            constant = template.pattern[position]
            assert constant is not None, "an anchor is a constant"
            bucket = index.get(constant, _NO_FACTS)
            if len(bucket) < len(found):
                found = bucket
        return found

    def __contains__(self, fact: Tuple) -> bool:
        return fact in self._by_arity.get(len(fact), _NO_FACTS)

    def __iter__(self) -> Iterator[Tuple]:
        for facts in self._by_arity.values():
            yield from facts

    def __len__(self) -> int:
        return sum(map(len, self._by_arity.values()))


def _index(facts: Iterable[Tuple], position: int) -> dict[Term, dict[Tuple, None]]:
    index: dict[Term, dict[Tuple, None]] = {}
    for fact in facts:
        index.setdefault(fact[position], {})[fact] = None
    return index


_NO_FACTS: dict[Tuple, None] = {}
_NO_INDEXES: dict[int, dict[Term, dict[Tuple, None]]] = {}
