"""One item, or several by key, in little memory: most hold one, and a dict for it would be most of what it takes.

    None     nothing
    an item  that one
    a dict   several, by key, oldest first

Whoever holds such a value replaces it by what :func:`with_item` and :func:`without_item` return: maybe the same dict, changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any, TypeAlias, TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)

OneOrMany: TypeAlias = "Item | dict[Key, Item] | None"
"""No item is a dict itself."""


def with_item(items: OneOrMany[Item, Key], item: Item, key_of: Callable[[Item], Key]) -> OneOrMany[Item, Key]:
    """The items and one more."""
    if items is None:
        return item
    if not isinstance(items, dict):
        items = {key_of(items): items}
    items[key_of(item)] = item
    return items


def without_item(items: OneOrMany[Item, Key], item: Item, key_of: Callable[[Item], Key]) -> OneOrMany[Item, Key]:
    """The items but for one that is among them."""
    if not isinstance(items, dict):
        return None
    del items[key_of(item)]
    return items or None


def items_of(items: Item | dict[Any, Item] | None) -> Collection[Item]:  # Any: whatever their keys are
    """All of them."""
    return items.values() if isinstance(items, dict) else () if items is None else (items,)
