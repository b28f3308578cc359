"""Rete: a network of one-input nodes, in which conditions that begin with equal tests share them.

    event ──> = type "error" ──> > size 7 ──> terminal: conditions 3 and 8
         └──> (hashed by value: one lookup for all equalities of a field at a node)

Forgy, "Rete: a fast algorithm for the many pattern/many object pattern match problem", 1982, section 2: the nodes before the joins.
Equalities come first, and all those of one field at one node are a single lookup (a hashed alpha network). A test that stands at
several nodes is made once an event.
"""

from __future__ import annotations

from typing import Any

from ..languages.expressions import Comparison, Condition, Constant, Field, Origin
from ..languages.relations import Relations
from ..languages.source import LazyTest
from ..values import Fields
from .access import key_of
from .generated import parts_of, test_cost


class _Node:
    """What follows when an event has passed all tests up to here."""

    __slots__ = ("equal", "terminal", "tests")

    def __init__(self) -> None:
        self.terminal: dict[int, None] = {}
        """Conditions that hold here."""
        self.equal: dict[str, dict[Any, _Node]] = {}  # Any: keys of values
        """By field and value."""
        self.tests: dict[Condition, tuple[_Test, _Node]] = {}

    def __bool__(self) -> bool:
        return bool(self.terminal or self.equal or self.tests)


class _Test:
    """A test that stands at some nodes: its truth for one event is known by itself, as conditions are slow to hash."""

    __slots__ = ("holds", "uses")

    def __init__(self, holds: LazyTest) -> None:
        self.holds = holds
        self.uses = 0
        """At how many nodes it stands."""


class Rete:
    """Conditions as paths through the network."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._root = _Node()
        self._conditions: dict[int, Condition] = {}
        self._tests: dict[Condition, _Test] = {}
        """Each test that stands at some node."""

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        self._conditions[number] = condition
        node = self._root
        for part in _path_of(condition):
            following = _next(node, part)
            if following is None:
                following = _Node()
                hashed = _hashed(part)
                if hashed is None:
                    test = self._tests.get(part)
                    if test is None:
                        test = self._tests[part] = _Test(LazyTest(part, self._relations))
                    test.uses += 1
                    node.tests[part] = test, following
                else:
                    name, key = hashed
                    node.equal.setdefault(name, {})[key] = following
            node = following
        node.terminal[number] = None

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        condition = self._conditions.pop(number)
        path = [(self._root, part) for part in _path_of(condition)]
        node = self._root
        for at, (_, part) in enumerate(path):
            path[at] = node, part
            following = _next(node, part)
            assert following is not None
            node = following
        del node.terminal[number]
        for before, part in reversed(path):
            if node:
                return
            self._unlink(before, part)
            node = before

    def _unlink(self, node: _Node, part: Condition) -> None:
        hashed = _hashed(part)
        if hashed is None:
            test, _ = node.tests.pop(part)
            test.uses -= 1
            if not test.uses:
                del self._tests[part]
        else:
            name, key = hashed
            del node.equal[name][key]
            if not node.equal[name]:
                del node.equal[name]

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        found: list[int] = []
        made: dict[_Test, bool] = {}
        todo = [self._root]
        while todo:
            node = todo.pop()
            found += node.terminal
            equal = node.equal
            for name in fields if len(fields) < len(equal) else equal:
                table = equal.get(name)
                if table is not None and name in fields:
                    value = fields[name]
                    kind = value.__class__
                    if kind is not list and kind is not dict and (following := table.get(key_of(value))) is not None:
                        todo.append(following)
            for test, following in node.tests.values():
                passes = made.get(test)
                if passes is None:
                    passes = made[test] = test.holds(fields, environment)
                if passes:
                    todo.append(following)
        return found

    def __len__(self) -> int:
        return len(self._conditions)


def _path_of(condition: Condition) -> list[Condition]:
    """The tests of a condition in the order in which they stand in the network: the same for all conditions."""
    return sorted(dict.fromkeys(parts_of(condition)), key=lambda part: (test_cost(part), repr(part)))


def _hashed(part: Condition) -> tuple[str, object] | None:
    match part:
        case Comparison("=", Field((name,), Origin.EVENT), Constant(value)) if value == value:
            return name, key_of(value)
        case _:
            return None


def _next(node: _Node, part: Condition) -> _Node | None:
    hashed = _hashed(part)
    if hashed is None:
        found = node.tests.get(part)
        return None if found is None else found[1]
    name, key = hashed
    return node.equal.get(name, {}).get(key)
