"""Intervals, and which of them a value lies in: found in logarithmic time, and one step for each that is found.

A treap (Seidel and Aragon, "Randomized search trees", Algorithmica 16, 1996) in the order of lower bounds, in which each node knows
the greatest upper bound below it, after Cormen et al., "Introduction to Algorithms", section on interval trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Generic, TypeVar

Thing = TypeVar("Thing")
_priority = Random().random
"""Nobody foresees them, so that no order of intervals makes the tree deep."""


class _Node(Generic[Thing]):
    """One interval, with all that waits for it. None stands for no bound."""

    __slots__ = ("high", "left", "low", "priority", "right", "things", "top")

    def __init__(self, low: Any, high: Any, priority: float) -> None:  # Any: whatever can be compared
        self.low = low
        self.high = high
        self.priority = priority
        self.things: dict[Thing, None] = {}
        self.left: _Node[Thing] | None = None
        self.right: _Node[Thing] | None = None
        self.top = high
        """The greatest upper bound of the subtree."""

    def look_below(self) -> None:
        """The nodes below are others than before."""
        top = self.high
        for child in (self.left, self.right):
            if child is not None and top is not None and (child.top is None or child.top > top):
                top = child.top
        self.top = top


class IntervalTree(Generic[Thing]):
    """Things by closed intervals, whose bounds can be compared with each other and with all values."""

    __slots__ = ("_root",)

    def __init__(self) -> None:
        self._root: _Node[Thing] | None = None

    def __bool__(self) -> bool:
        return self._root is not None

    def __iter__(self) -> Iterator[Thing]:
        """All things, in no order."""
        pending = [self._root]
        while pending:
            node = pending.pop()
            if node is not None:
                yield from node.things
                pending += (node.left, node.right)

    def insert(self, low: Any, high: Any, thing: Thing) -> None:  # Any: as above
        """Let a thing be found by values from ``low`` to ``high``, both included."""
        path: list[_Node[Thing]] = []
        node = self._root
        while node is not None:
            side = _side(low, high, node)
            if not side:
                node.things[thing] = None
                return
            path.append(node)
            node = node.left if side < 0 else node.right
        made: _Node[Thing] = _Node(low, high, _priority())
        made.things[thing] = None
        self._hang(made, path)

    def _hang(self, node: _Node[Thing], path: list[_Node[Thing]]) -> None:
        """Put a new node below the last one of a path, and turn it up past those of lower priority."""
        while path:
            parent = path.pop()
            is_left = _side(node.low, node.high, parent) < 0
            if node.priority <= parent.priority:
                if is_left:
                    parent.left = node
                else:
                    parent.right = node
                self._widen([*path, parent], node.top)
                return
            if is_left:
                parent.left, node.right = node.right, parent
            else:
                parent.right, node.left = node.left, parent
            parent.look_below()
            node.look_below()
            if path:
                self._replace(path[-1], parent, node)
        self._root = node

    @staticmethod
    def _widen(path: list[_Node[Thing]], top: Any) -> None:  # Any: as above
        for node in reversed(path):
            if node.top is None or (top is not None and top <= node.top):
                return
            node.top = top

    @staticmethod
    def _replace(parent: _Node[Thing], child: _Node[Thing], by: _Node[Thing] | None) -> None:
        if parent.left is child:
            parent.left = by
        elif parent.right is child:
            parent.right = by

    def remove(self, low: Any, high: Any, thing: Thing) -> None:  # Any: as above
        """Undo :meth:`insert`. Raises KeyError for what is not there."""
        path: list[_Node[Thing]] = []
        node = self._root
        while node is not None and (side := _side(low, high, node)):
            path.append(node)
            node = node.left if side < 0 else node.right
        if node is None:
            raise KeyError(thing)
        del node.things[thing]
        if node.things:
            return
        below = _merged(node.left, node.right)
        if path:
            self._replace(path[-1], node, below)
        else:
            self._root = below
        for above in reversed(path):
            above.look_below()

    def add_all_at(self, value: Any, found: list[Thing]) -> None:  # Any: as above
        """Add all things in whose interval the value lies."""
        pending = [self._root]
        while pending:
            node = pending.pop()
            while node is not None:
                top = node.top
                if top is not None and top < value:
                    break
                low = node.low
                if low is None or low <= value:
                    high = node.high
                    if high is None or value <= high:
                        found.extend(node.things)
                    if node.right is not None:
                        pending.append(node.right)
                node = node.left


def _side(low: Any, high: Any, node: _Node[Any]) -> int:  # Any: as above
    """Where an interval stands beside that of a node: -1 before it, 1 behind it, 0 where it is the same."""
    if low != node.low:
        return -1 if low is None or (node.low is not None and low < node.low) else 1
    if high != node.high:
        return 1 if high is None or (node.high is not None and high > node.high) else -1
    return 0


def _merged(left: _Node[Thing] | None, right: _Node[Thing] | None) -> _Node[Thing] | None:
    """One tree of two, all of whose left one comes before the right one."""
    if left is None or right is None:
        return right if left is None else left
    if left.priority > right.priority:
        left.right = _merged(left.right, right)
        left.look_below()
        return left
    right.left = _merged(left, right.left)
    right.look_below()
    return right
