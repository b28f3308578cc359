"""One alpha memory, indexed for joins: rows by key, and beside them the tokens that wait for each key.

``rows[key]`` holds the facts with this key (an event that equals a fact makes it two for its moment); ``waiting[key]`` the tokens
that ask for the key, each with its join before it: (join, *token). A new fact does one look-up and meets only partners that match,
however many joins share the memory (right unlinking by key, after Doorenbos, "Production Matching for Large Learning Systems",
chapter 5, taken to single keys). Both are kept as small as :mod:`rete.bag` can: they are what a network's memory consists of.

``waiting`` is split by level, the depth of the join in the network: whoever activates joins goes from the deepest level up.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, TypeAlias

from .bag import Bag, counted

Token: TypeAlias = tuple[Any, ...]  # Any: constants are opaque to this package
Fact: TypeAlias = tuple[Any, ...]  # Any: as above


def key_getter(positions: tuple[int, ...]) -> Callable[[tuple[Any, ...]], Any]:  # Any: a bare term or a tuple of them
    """The join key at ``positions``: the bare value of one position (it hashes faster than a 1-tuple), else a tuple."""
    if not positions:
        return _no_key
    return itemgetter(*positions)


def tuple_getter(positions: tuple[int, ...]) -> Callable[[tuple[Any, ...]], Token]:
    """The tuple of the values at ``positions``, of any length; runs of positions are cut out as one slice."""
    if not positions:
        return _no_key
    first = positions[0]
    if positions == tuple(range(first, first + len(positions))):
        return itemgetter(slice(first, first + len(positions)))
    return itemgetter(*positions)


def _no_key(_: tuple[Any, ...]) -> tuple[()]:
    return ()


def enter(bags: dict[Any, Bag], key: Any, item: Token, weight: int) -> None:
    """Count an item into (or out of) the bag of a key."""
    known = bags.get(key)
    bag = counted(known, item, weight)
    if bag is None:
        del bags[key]
    elif bag is not known:
        bags[key] = bag


class Index:
    """The facts of one alpha memory by the values at some positions."""

    __slots__ = ("_alone", "_joins", "_shared", "extension_of", "key_of", "rows", "waiting")

    def __init__(self, fact_key: tuple[int, ...], new: tuple[int, ...]) -> None:
        self.key_of = key_getter(fact_key)
        self.extension_of = tuple_getter(new)
        self.rows: dict[Any, Bag] = {}
        self.waiting: list[tuple[int, dict[Any, Any]]] = []  # Any: bags, and what else joins that wait alone have for one
        """(level, buckets by key), one entry for the joins of a level, and one for each that waits alone."""
        self._shared: dict[int, dict[Any, Bag]] = {}
        """The buckets of the joins of a level."""
        self._joins: dict[int, int] = {}
        """How many those are."""
        self._alone = 0

    def enter_fact(self, fact: Fact) -> None:
        """A fact comes."""
        enter(self.rows, self.key_of(fact), fact, 1)

    def clear(self) -> None:
        """Nobody joins any more. Joins that have gone know their index and it may know them: what it holds does not wait for the
        cyclic garbage collector."""
        self.rows = {}
        self.waiting = []

    def join_level(self, level: int) -> dict[Any, Bag]:
        """The buckets of one level, for one more join of that level."""
        self._joins[level] = self._joins.get(level, 0) + 1
        if level not in self._shared:
            self._shared[level] = {}
            self.waiting.append((level, self._shared[level]))
        return self._shared[level]

    def join_alone(self, level: int) -> dict[Any, Bag]:
        """Buckets for one join of that level, which shares them with no other."""
        made: dict[Any, Bag] = {}
        self.waiting.append((level, made))
        self._alone += 1
        return made

    @property
    def joins(self) -> int:
        """How many joins use it."""
        return sum(self._joins.values()) + self._alone

    def is_last(self, level: int) -> bool:
        """Whether one join is left of this level: what waits there goes with it."""
        return self._joins[level] == 1

    def leave_level(self, level: int) -> None:
        """One join of that level fewer: facts stop looking at a level without joins."""
        self._joins[level] -= 1
        if not self._joins[level]:
            del self._joins[level]
            self._leave(self._shared.pop(level))

    def leave_alone(self, buckets: dict[Any, Bag]) -> None:
        """A join that had these to itself goes."""
        self._alone -= 1
        self._leave(buckets)

    def _leave(self, buckets: dict[Any, Bag]) -> None:
        self.waiting = [entry for entry in self.waiting if entry[1] is not buckets]
