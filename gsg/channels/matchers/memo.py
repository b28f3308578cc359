"""Memo: which conditions an event with a set of fields can meet is remembered for that set.

Filman and Lee, section "Event channel algorithms". They clear the whole memory at each change; here a change concerns the
remembered sets that hold all that the condition requires, and no others.
"""

from __future__ import annotations

from typing import Final

from ..languages.expressions import Condition
from ..languages.relations import Relations
from ..languages.signature import required_fields
from ..languages.source import LazyTest
from ..values import Fields
from .sig import FieldBits

MAX_SETS: Final = 2_048
"""Sets of fields that are remembered; at the limit the one that was remembered first is forgotten."""
MAX_ENTRIES: Final = 2_000_000
"""Conditions in all remembered sets together; at the limit as above."""


class Memo:
    """Conditions, and those that concern each set of fields."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._bits = FieldBits()
        self._conditions: dict[int, tuple[int, frozenset[str], LazyTest]] = {}
        self._remembered: dict[int, dict[int, LazyTest]] = {}
        self._entries = 0

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        names = required_fields(condition)
        signature = self._bits.of_condition(names)
        test = LazyTest(condition, self._relations)
        self._conditions[number] = signature, names, test
        for there, tests in self._remembered.items():
            if not signature & ~there:
                tests[number] = test
                self._entries += 1
        while self._entries > MAX_ENTRIES:
            self._forget_first()

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        _, names, _ = self._conditions.pop(number)
        if self._bits.give_back(names):
            # A bit that may stand for another name says nothing about the sets that were remembered with it.
            self._remembered.clear()
            self._entries = 0
            return
        for tests in self._remembered.values():
            self._entries -= tests.pop(number, None) is not None

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        there = self._bits.of_event(fields)
        tests = self._remembered.get(there)
        if tests is None:
            tests = self._remember(there)
        return [number for number, test in tests.items() if test(fields, environment)]

    def _remember(self, there: int) -> dict[int, LazyTest]:
        tests = {number: test for number, (signature, _, test) in self._conditions.items() if not signature & ~there}
        while self._remembered and (len(self._remembered) >= MAX_SETS or self._entries + len(tests) > MAX_ENTRIES):
            self._forget_first()
        self._remembered[there] = tests
        self._entries += len(tests)
        return tests

    def _forget_first(self) -> None:
        self._entries -= len(self._remembered.pop(next(iter(self._remembered))))

    def __len__(self) -> int:
        return len(self._conditions)
