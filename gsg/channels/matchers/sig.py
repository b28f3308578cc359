"""Sig: a condition is looked at only where an event has all the fields that it requires.

Filman and Lee, section "Event channel algorithms". Required sets are whole numbers, one bit a name, and equal ones are one entry,
so that each is compared once an event. What is required is less than what a condition names: see languages/signature.py.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..languages.expressions import Condition
from ..languages.relations import Relations
from ..languages.signature import required_fields
from ..languages.source import LazyTest
from ..values import Fields


class FieldBits:
    """A bit for each name of a field that some condition requires; the bit of a name that none requires any more is used again."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._uses: dict[str, int] = {}
        """How many conditions require a name."""
        self._free: list[int] = []

    def of_condition(self, names: Iterable[str]) -> int:
        """The bits of names that a condition requires, until :meth:`give_back`."""
        bits = 0
        for name in names:
            if name not in self._bits:
                self._bits[name] = self._free.pop() if self._free else 1 << len(self._bits)
            self._uses[name] = self._uses.get(name, 0) + 1
            bits |= self._bits[name]
        return bits

    def give_back(self, names: Iterable[str]) -> int:
        """A condition that required these names is gone. The bits that may stand for other names from now on."""
        freed = 0
        for name in names:
            self._uses[name] -= 1
            if not self._uses[name]:
                del self._uses[name]
                bit = self._bits.pop(name)
                self._free.append(bit)
                freed |= bit
        return freed

    def of_event(self, fields: Fields) -> int:
        """The bits of the fields of an event, as far as anybody requires them."""
        bits, known = 0, self._bits
        for name in fields:
            if name in known:
                bits |= known[name]
        return bits


class Sig:
    """Conditions by the set of fields that they require."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._bits = FieldBits()
        self._required: dict[int, tuple[int, frozenset[str]]] = {}
        self._tests: dict[int, dict[int, LazyTest]] = {}

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        names = required_fields(condition)
        signature = self._bits.of_condition(names)
        self._required[number] = signature, names
        self._tests.setdefault(signature, {})[number] = LazyTest(condition, self._relations)

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        signature, names = self._required.pop(number)
        tests = self._tests[signature]
        del tests[number]
        if not tests:
            del self._tests[signature]
        self._bits.give_back(names)

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        there = self._bits.of_event(fields)
        return [
            number
            for signature, tests in self._tests.items()
            if not signature & ~there
            for number, test in tests.items()
            if test(fields, environment)
        ]

    def __len__(self) -> int:
        return len(self._required)
