"""What the builder passes from part to part of a tree: a node, and what the columns of its tokens are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import filterfalse
from typing import TypeAlias

from ..conditions import Condition, is_parameter
from ..functions import Test, is_portable
from ..operators.join import Node
from ..operators.pair_join import Pairing

Tests: TypeAlias = tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """A node, what the columns of its tokens are called, and which of them are never None."""

    node: Node
    layout: tuple[str, ...]
    certain: frozenset[str]

    def place(self, name: str) -> int:
        """The column of a name that it has."""
        return self.layout.index(name)


def at_memories(conditions: tuple[Condition, ...], tests: Tests) -> tuple[dict[Condition, Tests], list[Test]]:
    """The tests that an alpha memory makes, because one condition binds all that they read; and those that remain.

    A window of so many events counts what its condition matches, whatever a query makes of it: it takes no tests. Which conditions
    are chosen depends on the query alone, never on how many facts there are: whoever feeds the memories must choose the same. So it
    is the first that can, and any that has the same variables in the same places: with constants in the places of parameters it may
    be the same condition.
    """
    made: dict[Condition, Tests] = {}
    remaining = []
    for test in tests:
        names = set(test.names)
        able = [
            condition
            for condition in conditions
            if names <= {name for name, _ in condition.variables} and (condition.window is None or condition.window.count is None)
        ]
        if able and names and is_portable(test):
            for condition in dict.fromkeys(able):
                if _variables(condition) == _variables(able[0]):
                    made[condition] = (*made.get(condition, ()), test)
        else:
            remaining.append(test)
    return made, remaining


def _variables(condition: Condition) -> list[tuple[str, int]]:
    return [(name, place) for name, place in condition.variables if not is_parameter(name)]


def tested_by_arguments(conditions: tuple[Condition, ...], tests: Iterable[Test]) -> frozenset[Condition]:
    """The conditions that bind all that some test reads beside arguments of queries."""
    read = [names for test in tests if (names := set(filterfalse(is_parameter, test.names))) and len(names) < len(test.names)]
    return frozenset(
        condition for condition in conditions if any(names <= {name for name, _ in condition.variables} for names in read)
    )


def by_arguments(tests: Tests, layout: tuple[str, ...], new: int) -> tuple[tuple[Test, tuple[int, ...]], ...]:
    """Those of the tests that read arguments of queries, and something of the last ``new`` columns, each with the places of what it
    reads: by what they require, tokens wait for what extends them (:mod:`rete.waiting_tokens`)."""
    appended = frozenset(layout[len(layout) - new :])
    able = [test for test in tests if any(map(is_parameter, test.names)) and not appended.isdisjoint(test.names)]
    return tuple((test, tuple(map(layout.index, test.names))) for test in able if set(test.names) <= set(layout))


def split(tests: Tests, bound: frozenset[str], names: Iterable[str], context: Stream) -> tuple[Tests, Tests]:
    """The tests that can be made where just ``bound`` and the context are bound, of ``names`` in all; and those that cannot."""
    later = frozenset(names) - bound - context.certain
    early = tuple(test for test in tests if later.isdisjoint(test.names))
    return early, tuple(test for test in tests if not later.isdisjoint(test.names))


def pairing_of(left: Stream, right: Stream) -> Pairing:
    """How tokens of two streams agree: on each name that both have."""
    shared = [(name, left.place(name), right.place(name)) for name in left.layout if name in right.layout]
    sure = left.certain & right.certain
    return Pairing(
        key=tuple((mine, theirs) for name, mine, theirs in shared if name in sure),
        maybe=tuple((mine, theirs) for name, mine, theirs in shared if name not in sure),
        new=tuple(place for place, name in enumerate(right.layout) if name not in left.layout),
    )


def both(left: Stream, right: Stream) -> tuple[str, ...]:
    """The layout of a left token that a right one extends."""
    return left.layout + tuple(name for name in right.layout if name not in left.layout)
