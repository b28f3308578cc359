"""Bitmap: a set of conditions for each test that an event passes, as whole numbers, put together by a few operations on them.

A condition requires of some fields that their values pass tests. For an event, those that are left are first all conditions whose
fields it has, remembered by its set of fields; then each field in turn takes away those whose test on it the value fails. What a
value passes is found by indexes of single tests (rete/predicates) and remembered by field and value. Whatever else a condition says
(or, not, lists, arithmetic, the environment) is tried for those that are left at the end. After A-PCM (Sadoghi and Jacobsen,
"Analysis and optimization for Boolean expression indexing", ACM TODS 2013), whose bitmaps are of predicates.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

from rete.predicates import Equalities, Intervals, Prefixes, Substrings

from ..languages.expressions import And, Comparison, Condition, Constant, Exists, Field, Origin, Relation
from ..languages.relations import CI, Relations
from ..languages.signature import required_fields
from ..languages.source import LazyTest
from ..values import Fields, number_of
from .access import key_of
from .generated import parts_of
from .sig import FieldBits

REMEMBERED_BYTES: Final = 64 * 1024 * 1024
"""Of sets that are remembered by a field's value and by a set of fields; beyond, those used least lately are forgotten."""
TEXT_RELATIONS: Final = ("prefix", "suffix", "contains")


class _Remembered:
    """Sets of conditions by what they are for, bounded by what they take."""

    def __init__(self) -> None:
        self._bits: OrderedDict[Any, int] = OrderedDict()  # Any: keys of two kinds
        self._size_bytes = 0

    def get(self, key: Any) -> int | None:
        bits = self._bits.get(key)
        if bits is not None:
            self._bits.move_to_end(key)
        return bits

    def put(self, key: Any, bits: int) -> None:
        self._bits[key] = bits
        self._size_bytes += _size_of(bits)
        while self._size_bytes > REMEMBERED_BYTES:
            self._size_bytes -= _size_of(self._bits.popitem(last=False)[1])

    def clear(self) -> None:
        self._bits.clear()
        self._size_bytes = 0


def _size_of(bits: int) -> int:
    return 128 + bits.bit_length() // 8


class _FieldTests:
    """The tests of all conditions on one field: one position of theirs each, and which position a value passes."""

    def __init__(self) -> None:
        self.tested = 0
        """Conditions with a test on this field."""
        self.numbers = Intervals()
        self.texts = Intervals()
        self.equal = Equalities()
        self.by_relation: dict[str, Prefixes | Substrings] = {}

    def passed(self, value: object) -> int:
        """Conditions of which the value passes a test."""
        kind = value.__class__
        found = 0 if kind is list or kind is dict else self.equal.passed(key_of(value))
        if isinstance(value, str):
            found |= self.texts.passed(value)
            folded = ""
            for name, index in self.by_relation.items():
                if name.endswith(CI):
                    folded = folded or value.casefold()
                text = folded if name.endswith(CI) else value
                found |= index.passed(text[::-1] if name.startswith("suffix") else text)
        number = number_of(value)
        if number is not None and number == number:
            found |= self.numbers.passed(number)
        return found


class Bitmap:
    """Conditions by position, one bit each. Positions of conditions that were removed are used again."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._names = FieldBits()
        self._fields: dict[str, _FieldTests] = {}
        self._every = 0
        self._signatures: dict[int, int] = {}
        """Conditions by the fields that they require."""
        self._signature_of: dict[int, int] = {}
        self._position_of: dict[int, int] = {}
        self._numbers: list[int] = []
        self._free: list[int] = []
        self._conditions: dict[int, Condition] = {}
        self._rest: dict[int, LazyTest] = {}
        """What is left to be tried of a condition, by position."""
        self._by_value = _Remembered()
        self._by_set = _Remembered()

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
        signature = self._signature_of[number] = self._names.of_condition(required_fields(condition))
        self._signatures[signature] = self._signatures.get(signature, 0) | bit
        self._every |= bit
        tested: set[str] = set()
        rest = []
        for part in parts_of(condition):
            name = _indexed_field(part)
            if name is None or name in tested:
                # A second test on the same field is tried at the end: what a value passes is one bit a condition.
                rest.append(part)
            elif not _is_existence(part):
                tested.add(name)
                tests = self._fields.setdefault(name, _FieldTests())
                tests.tested |= bit
                for change, _ in _changes(tests, part):
                    change(bit)
        if rest:
            self._rest[position] = LazyTest(And(tuple(rest)), self._relations)
        self._forget()

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        position = self._position_of.pop(number)
        bit = 1 << position
        condition = self._conditions.pop(number)
        self._every &= ~bit
        signature = self._signature_of.pop(number)
        self._signatures[signature] &= ~bit
        if not self._signatures[signature]:
            del self._signatures[signature]
        for part in parts_of(condition):
            name = _indexed_field(part)
            tests = None if name is None or _is_existence(part) else self._fields.get(name)
            if name is not None and tests is not None and tests.tested & bit:
                tests.tested &= ~bit
                for _, undo in _changes(tests, part):
                    undo(bit)
                if not tests.tested:
                    del self._fields[name]
        self._rest.pop(position, None)
        self._free.append(position)
        self._forget()

    def _forget(self) -> None:
        self._by_value.clear()
        self._by_set.clear()

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        there = self._names.of_event(fields)
        left = self._by_set.get(there)
        if left is None:
            left = 0
            for signature, bits in self._signatures.items():
                if not signature & ~there:
                    left |= bits
            self._by_set.put(there, left)
        tested = self._fields
        for name, value in fields.items():
            if name in tested:
                if not left:
                    return []
                left &= self._passing(name, tested[name], value)
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

    def _passing(self, name: str, tests: _FieldTests, value: object) -> int:
        """All conditions but those whose test on this field the value fails."""
        kind = value.__class__
        if kind is list or kind is dict:
            return ~tests.tested
        key = (name, kind, value)
        bits = self._by_value.get(key)
        if bits is None:
            bits = ~(tests.tested & ~tests.passed(value))
            self._by_value.put(key, bits)
        return bits

    def __len__(self) -> int:
        return len(self._conditions)


def _indexed_field(part: Condition) -> str | None:
    """The field at the top level that a part tests by itself in a way that is indexed; None for another part."""
    match part:
        case Exists(Field((name,), Origin.EVENT)):
            return name
        case Comparison("=", Field((name,), Origin.EVENT), Constant()):
            return name
        case Comparison("<" | "<=" | ">" | ">=", Field((name,), Origin.EVENT), Constant(value)):
            # A text that reads as a number is in order with numbers as well: that is tried at the end.
            return name if number_of(value) is None or not isinstance(value, str) else None
        case Relation(relation, (Field((name,), Origin.EVENT), *_)) if relation.removesuffix(CI) in TEXT_RELATIONS:
            return name
        case _:
            return None


def _is_existence(part: Condition) -> bool:
    return isinstance(part, Exists)


Change = Callable[[int], None]


def _changes(tests: _FieldTests, part: Condition) -> Iterator[tuple[Change, Change]]:
    """How a condition is let wait for a part of it, and how that is undone."""
    match part:
        case Comparison("=", _, Constant(value)):
            key = key_of(value)
            yield lambda bit: tests.equal.insert(key, bit), lambda bit: tests.equal.remove(key, bit)
        case Comparison(operator, _, Constant(value)):
            bounds = tests.texts if isinstance(value, str) else tests.numbers
            yield lambda bit: bounds.insert(operator, value, bit), lambda bit: bounds.remove(operator, value, bit)
        case Relation(name, (_, *constants)):
            kind = Substrings if name.startswith("contains") else Prefixes
            index = tests.by_relation.setdefault(name, kind())
            texts = [str(one.value) for one in constants if isinstance(one, Constant)]
            for text in {text.casefold() if name.endswith(CI) else text for text in texts}:
                yield _at(index, text[::-1] if name.startswith("suffix") else text)


def _at(index: Prefixes | Substrings, text: str) -> tuple[Change, Change]:
    return lambda bit: index.insert(text, bit), lambda bit: index.remove(text, bit)
