"""Bags of tuples in little memory: most hold one tuple, once, and there are very many of them.

    None          nothing; whoever keeps bags by key keeps no key then
    a tuple       that tuple, once
    a list        a few tuples, each once
    a dict        counts of tuples: more of them, or other counts than one

A dict of one entry takes 224 bytes and a list of two 72. Up to FEW a list is searched as fast as tuples are hashed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

FEW = 6

Item: TypeAlias = tuple[Any, ...]  # Any: constants are opaque to this package
Bag: TypeAlias = "Item | list[Item] | dict[Item, int]"


def items_of(bag: Bag | None) -> Iterable[tuple[Item, int]]:
    """What is in a bag, with counts."""
    if isinstance(bag, dict):
        return bag.items()
    return [(item, 1) for item in ([bag] if isinstance(bag, tuple) else bag or ())]


def bag_of(counts: dict[Item, int]) -> Bag:
    """A bag of these, of which there is one at least."""
    if len(counts) > FEW or any(count != 1 for count in counts.values()):
        return counts
    items = list(counts)
    return items if len(items) > 1 else items[0]


def counted(bag: Bag | None, item: Item, weight: int) -> Bag | None:
    """The bag with the item ``weight`` times more in it (less, where negative). It may be the same object, changed."""
    if bag is None:
        return item if weight == 1 else {item: weight}
    if isinstance(bag, tuple):
        if weight == -1 and bag == item:
            return None
        if weight == 1 and bag != item:
            return [bag, item]
        bag = {bag: 1}
    elif isinstance(bag, list):
        if weight == -1 and item in bag:
            bag.remove(item)
            return bag if len(bag) > 1 else bag[0]
        if weight == 1 and len(bag) < FEW and item not in bag:
            bag.append(item)
            return bag
        bag = dict.fromkeys(bag, 1)
    count = bag.get(item, 0) + weight
    if count:
        bag[item] = count
        return bag
    del bag[item]
    return bag or None
