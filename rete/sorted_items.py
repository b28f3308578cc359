"""Items in the order of their ranks, found by bisection: a list while they are few, beyond that a list of lists.

To put an item into a list moves all behind it. That is the quickest way for some thousands, and takes a millisecond for a million.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

LARGE = 4_096
"""Items from which on a list of lists takes less time."""
_rank_of = itemgetter(0)


class SortedItems(Generic[Item]):
    """Pairs of a rank and an item; those of equal ranks stand together. Ranks can be compared with each other."""

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: Any = []  # Any: a list of pairs, or such a list of lists, which has no types

    def insert(self, rank: Any, item: Item) -> int:  # Any: opaque to this package, here and below
        """Put an item in; returns its place."""
        pairs = self._pairs
        if type(pairs) is not list:
            place: int = pairs.bisect_key_right(rank)
            pairs.add((rank, item))
            return place
        place = bisect_left(pairs, rank, key=_rank_of)
        pairs.insert(place, (rank, item))
        if len(pairs) > LARGE:
            from sortedcontainers import SortedKeyList  # tasks of Spark have no group that large, and need not have it

            self._pairs = SortedKeyList(pairs, key=_rank_of)
        return place

    def first_place(self, rank: Any) -> int:
        """The place of the first item of this rank, or where it would be."""
        pairs = self._pairs
        place: int = bisect_left(pairs, rank, key=_rank_of) if type(pairs) is list else pairs.bisect_key_left(rank)
        return place

    def __getitem__(self, place: int) -> tuple[Any, Item]:
        pair: tuple[Any, Item] = self._pairs[place]
        return pair

    def __delitem__(self, place: int) -> None:
        del self._pairs[place]

    def between(self, first: int, last: int | None) -> list[tuple[Any, Item]]:
        """The pairs from one place to before another one, or to the end."""
        pairs: list[tuple[Any, Item]] = self._pairs[first:last]
        return pairs

    def __iter__(self) -> Iterator[tuple[Any, Item]]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)
