"""Bitmap: a set of conditions for each test that an event fails, as whole numbers, put together by a few operations on them.

A condition requires of some fields that they are there and that their values pass tests. Of an event it is found for each field
which conditions its value fails, and for its set of fields which conditions lack one; all others are left. What a value fails is
found by indexes of single tests (rete/predicates) and remembered by field and value. Whatever else a condition says (or, not,
lists, arithmetic, the environment) is tried for those that are left at the end. After A-PCM (Sadoghi and Jacobsen, "Analysis and
optimization for Boolean expression indexing", ACM TODS 2013), whose bitmaps are of predicates.

A change is made up for where something remembered is next asked for: see field_tests.py.
"""

from __future__ import annotations

from typing import Final

from ..languages.expressions import And, Condition
from ..languages.relations import Relations
from ..languages.signature import required_fields
from ..languages.source import LazyTest
from ..values import Fields
from .field_tests import MAX_CHANGES, FieldTests, indexed_field, is_existence
from .generated import parts_of
from .memory import Memory, entry_bytes
from .sig import FieldBits

REMEMBERED_BYTES: Final = 64 * 1024 * 1024
"""Of sets that are remembered by a field's value and by a set of fields, with their keys; beyond, all are forgotten."""


class Bitmap:
    """Conditions by position, one bit each. Positions of conditions that were removed are used again."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._memory = Memory(REMEMBERED_BYTES)
        self._lacking = _Lacking(self._memory)
        self._fields: dict[str, FieldTests] = {}
        self._every = 0
        """All conditions."""
        self._position_of: dict[int, int] = {}
        self._numbers: list[int] = []
        self._free: list[int] = []
        self._conditions: dict[int, Condition] = {}
        self._rest: dict[int, LazyTest] = {}
        """What is left to be tried of a condition, by position."""

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        if self._free:
            position = self._free.pop()
            self._numbers[position] = number
        else:
            position = len(self._numbers)
            self._numbers.append(number)
        bit = 1 << position
        self._position_of[number] = position
        self._conditions[number] = condition
        self._every |= bit
        self._lacking.insert(required_fields(condition), bit)
        rest = []
        tested: set[str] = set()
        for part in parts_of(condition):
            name = indexed_field(part)
            if name is None or name in tested:
                # A second test on the same field is tried at the end: what a value fails is one bit a condition.
                rest.append(part)
            elif not is_existence(part):
                tested.add(name)
                tests = self._fields.get(name)
                if tests is None:
                    tests = self._fields[name] = FieldTests(name, self._memory, self._relations)
                tests.insert(part, bit)
        if rest:
            self._rest[position] = LazyTest(And(tuple(rest)), self._relations)

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        position = self._position_of.pop(number)
        bit = 1 << position
        condition = self._conditions.pop(number)
        self._every &= ~bit
        self._lacking.remove(required_fields(condition), bit)
        for part in parts_of(condition):
            name = indexed_field(part)
            tests = None if name is None or is_existence(part) else self._fields.get(name)
            if name is not None and tests is not None and tests.tested & bit:
                tests.remove(part, bit)
                if not tests.tested:
                    self._memory.give_back(tests)
                    del self._fields[name]
        self._rest.pop(position, None)
        self._free.append(position)

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        if not self._every:
            return []
        failing = self._lacking.of_event(fields)
        tested = self._fields
        for name, value in fields.items():
            tests = tested.get(name)
            if tests is not None:
                kind = value.__class__
                if kind is int or kind is str:
                    known = tests.remembered.get(value)  # type: ignore[arg-type]  # a key, by its kind
                    if known is not None and known[1] == tests.version:
                        failing |= known[0]
                        continue
                failing |= tests.failed(value)
        left = self._every ^ (self._every & failing)
        found = []
        numbers, rest = self._numbers, self._rest
        while left:
            lowest = left & -left
            left ^= lowest
            position = lowest.bit_length() - 1
            test = rest.get(position)
            if test is None or test(fields, environment):
                found.append(numbers[position])
        return found

    def __len__(self) -> int:
        return len(self._conditions)


class _Lacking:
    """Which conditions require a field that an event has not, remembered by the event's set of fields."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._names = FieldBits()
        self._requiring: dict[str, int] = {}
        """Conditions by a field that they require."""
        self._remembered: dict[int, tuple[int, int]] = {}
        """By the bits of the fields that are there: conditions that lack one, and how many changes are in that.

        Limit: the memory's.
        """
        self._changes: list[tuple[int, int]] = []
        """What was inserted: a condition and what it requires. Limit: MAX_CHANGES; beyond, all is forgotten."""

    def insert(self, names: frozenset[str], bit: int) -> None:
        """A condition requires these fields."""
        for name in names:
            self._requiring[name] = self._requiring.get(name, 0) | bit
        if len(self._changes) >= MAX_CHANGES:
            self._forget_all()
        self._changes.append((self._names.of_condition(names), bit))

    def remove(self, names: frozenset[str], bit: int) -> None:
        """A condition requires them no more. What is remembered of its bit counts again when that is given to another."""
        for name in names:
            self._requiring[name] &= ~bit
            if not self._requiring[name]:
                del self._requiring[name]
        if self._names.give_back(names):
            self._forget_all()

    def of_event(self, fields: Fields) -> int:
        """The conditions that lack a field of this event; bits that no condition has may be among them."""
        there = self._names.of_event(fields)
        known = self._remembered.get(there)
        if known is None:
            lacking = 0
            for name, bits in self._requiring.items():
                if name not in fields:
                    lacking |= bits
            self._remembered[there] = lacking, len(self._changes)
            self._memory.take(self, entry_bytes(there, lacking))
            return lacking
        lacking, version = known
        if version != len(self._changes):
            for required, bit in self._changes[version:]:
                lacking = lacking | bit if required & ~there else lacking & ~bit
            self._remembered[there] = lacking, len(self._changes)
        return lacking

    def forget(self) -> None:
        """Remember no set of fields."""
        self._remembered.clear()
        self._changes.clear()

    def _forget_all(self) -> None:
        self.forget()
        self._memory.give_back(self)


def is_indexed(condition: Condition) -> bool:
    """Whether nothing is left to be tried of a condition, as each part is a test on a field of its own."""
    names = list(map(indexed_field, parts_of(condition)))
    return None not in names and len(set(names)) == len(names)
