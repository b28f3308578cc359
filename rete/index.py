"""One alpha memory, indexed for joins: rows by key, and beside them the tokens that wait for each key.

``rows[key]`` holds the extensions that facts with this key add to a token; ``waiting[key]`` the (join, token) pairs that ask
for the key. A new fact does one look-up and meets only partners that match, however many joins share the memory (right unlinking by
key, after Doorenbos, "Production Matching for Large Learning Systems", chapter 5, taken to single keys). Counts are kept because a
wildcard lets several facts give the same extension.

``waiting`` is split by level, the depth of the join in the network: whoever activates joins goes from the deepest level up.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .join import Join

Token: TypeAlias = tuple[Any, ...]  # Any: constants are opaque to this package
Fact: TypeAlias = tuple[Any, ...]  # Any: as above
Bucket: TypeAlias = "dict[tuple[Join, Token], int]"


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


class Index:
    """The facts of one alpha memory by the values at some positions."""

    __slots__ = ("_joins", "extension_of", "key_of", "rows", "waiting")

    def __init__(self, fact_key: tuple[int, ...], new: tuple[int, ...]) -> None:
        self.key_of = key_getter(fact_key)
        self.extension_of = tuple_getter(new)
        self.rows: dict[Any, dict[Token, int]] = {}
        self.waiting: list[tuple[int, dict[Any, Bucket]]] = []
        """(level, buckets by key), one entry per level in use."""
        self._joins: dict[int, int] = {}

    def add(self, key: Any, extension: Token, weight: int) -> None:
        """Count a fact in (weight 1) or out (-1)."""
        row = self.rows.get(key)
        if row is None:
            self.rows[key] = {extension: weight}
            return
        count = row.get(extension, 0) + weight
        if count:
            row[extension] = count
        else:
            del row[extension]
            if not row:
                del self.rows[key]

    def join_level(self, level: int) -> dict[Any, Bucket]:
        """The buckets of one level, for one more join of that level."""
        self._joins[level] = self._joins.get(level, 0) + 1
        for known, buckets in self.waiting:
            if known == level:
                return buckets
        made: dict[Any, Bucket] = {}
        self.waiting.append((level, made))
        return made

    def leave_level(self, level: int) -> None:
        """One join of that level fewer: facts stop looking at a level without joins."""
        self._joins[level] -= 1
        if not self._joins[level]:
            del self._joins[level]
            self.waiting = [entry for entry in self.waiting if entry[0] != level]
