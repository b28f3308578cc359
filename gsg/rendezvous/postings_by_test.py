"""Postings that a tuple meets together and that differ in their tests: of very many, those whose tests it may pass are looked up.

A test that tells what it requires of a value (:mod:`rete.predicates`) is looked up by that; all others are tried on every tuple.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from rete.predicates import Requirement, TestIndex

from ..tuples.terms import Tuple, Variable
from ..wire.messages import Test
from .demands import Path, constants_at
from .feed import Posting


class PostingsByTest:
    """One posting for each test."""

    __slots__ = ("_by_test", "_index")

    def __init__(self, *postings: Posting) -> None:
        self._by_test: dict[Test | None, Posting] = {}
        """Limit: what subscribers may post, which have quotas."""
        self._index: TestIndex[Path, Posting] | None = None
        """Where some posting's test requires anything."""
        for posting in postings:
            self.post(posting)

    def __len__(self) -> int:
        return len(self._by_test)

    def __iter__(self) -> Iterator[Posting]:
        return iter(self._by_test.values())

    def get(self, test: Test | None) -> Posting | None:
        """What is posted with this test."""
        return self._by_test.get(test)

    def post(self, posting: Posting) -> None:
        """One more, of a test that is not there yet."""
        self._by_test[posting.test] = posting
        if self._index is not None:
            self._index.insert(posting)
        elif posting.requires:
            self._index = TestIndex(_required)
            for each in self:
                self._index.insert(each)

    def remove(self, posting: Posting) -> None:
        """One less. Raises KeyError."""
        del self._by_test[posting.test]
        if self._index is not None:
            self._index.remove(posting)
            if not len(self._index):
                self._index = None

    def candidates(self, items: Tuple) -> Iterable[Posting]:
        """Those whose tests a tuple may pass: all that it passes are among them, each once."""
        index = self._index
        if index is None or not index.by_place:
            return self._by_test.values()
        return chain(index.tried, *(_that_may_pass(index, path, items) for path in index.by_place))


def _required(posting: Posting) -> Iterable[tuple[Path, Requirement]]:
    return posting.requires


def _that_may_pass(index: TestIndex[Path, Posting], path: Path, items: Tuple) -> Iterable[Posting]:
    """What waits for a value at the end of a path that may pass it, each once."""
    waiting = index.by_place[path]
    if len(path) == 1 and path[0] < len(items) and type(items[path[0]]) is not Variable:
        return waiting.candidates(items[path[0]])
    values = constants_at(items, path)
    if values is None:
        return waiting.things()  # a variable is in the way, which may be bound to anything
    return dict.fromkeys(chain.from_iterable(map(waiting.candidates, values)))
