"""One alpha memory, indexed for joins: rows by key, and beside them the tokens that wait for each key.

``rows[key]`` holds the facts with this key (an event that equals a fact makes it two for its moment); buckets in ``waiting`` hold
the tokens that ask for a key. A new fact does few look-ups a level and meets only partners that match, however many joins share the
memory (right unlinking by key, after Doorenbos, "Production Matching for Large Learning Systems", chapter 5, taken to single keys).
Some joins have buckets of their own; others share theirs, and each token there has its join before it: (join, *token). All are kept
as small as :mod:`rete.bag` can: they are what a network's memory consists of.

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


MAX_ALONE = 4
"""Plain joins of a level that have buckets of their own, each of which costs a fact a look-up. Further ones share theirs, and each
token there has its join before it. Those whose tokens wait by their tests have their own always: one a template."""


class Index:
    """The facts of one alpha memory by the values at some positions."""

    __slots__ = ("_shared", "_sharing", "extension_of", "key_of", "rows", "waiting")

    def __init__(self, fact_key: tuple[int, ...], new: tuple[int, ...]) -> None:
        self.key_of = key_getter(fact_key)
        self.extension_of = tuple_getter(new)
        self.rows: dict[Any, Bag] = {}
        self.waiting: list[tuple[int, dict[Any, Any], Any]] = []  # Any: bags, and what else a join has for one; a join
        """(level, buckets by key, join): of a join that has its buckets alone; None for buckets that several share."""
        self._shared: dict[int, dict[Any, Bag]] = {}
        """The buckets that joins of a level share. Limit: MAX_CONDITIONS levels."""
        self._sharing: dict[int, int] = {}
        """How many joins those are."""

    def enter_fact(self, fact: Fact) -> None:
        """A fact comes."""
        enter(self.rows, self.key_of(fact), fact, 1)

    def clear(self) -> None:
        """Nobody joins any more. Joins that have gone know their index and it may know them: what it holds does not wait for the
        cyclic garbage collector."""
        self.rows = {}
        self.waiting = []

    def wait_at_level(self, level: int, join: Any, *, for_many: bool) -> tuple[dict[Any, Bag], bool]:  # Any: a join
        """The buckets for one more join of a level, and whether it has them alone: the first has, and some that work for many
        queries; others share theirs, so that a fact makes few look-ups."""
        waiting = [alone for known, _, alone in self.waiting if known == level]
        if not waiting or (for_many and sum(alone is not None for alone in waiting) < MAX_ALONE):
            return self.wait_alone(level, join), True
        self._sharing[level] = self._sharing.get(level, 0) + 1
        if level not in self._shared:
            self._shared[level] = {}
            self.waiting.append((level, self._shared[level], None))
        return self._shared[level], False

    def wait_alone(self, level: int, join: Any) -> dict[Any, Any]:  # Any: as above, and a bag, or what the join has for one
        """Buckets for one join, which shares them with no other."""
        made: dict[Any, Any] = {}  # Any: as above
        self.waiting.append((level, made, join))
        return made

    @property
    def joins(self) -> int:
        """How many joins use it."""
        return sum(self._sharing.values()) + sum(1 for _, _, alone in self.waiting if alone is not None)

    def is_last(self, level: int) -> bool:
        """Whether one join is left of those that share the buckets of this level: what waits there goes with it."""
        return self._sharing[level] == 1

    def leave_level(self, level: int) -> None:
        """One join fewer shares the buckets of that level: facts stop looking there when there is none."""
        self._sharing[level] -= 1
        if not self._sharing[level]:
            del self._sharing[level]
            self.leave_alone(self._shared.pop(level))

    def leave_alone(self, buckets: dict[Any, Bag]) -> None:
        """A join that had these to itself goes, or the last one that shared them."""
        self.waiting = [entry for entry in self.waiting if entry[1] is not buckets]
