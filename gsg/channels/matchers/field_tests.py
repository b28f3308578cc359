"""The tests of many conditions on one field: which of them does a value fail?

What a value fails is remembered together with how many changes it knows of. When it is next asked for, the tests that came since
are tried on the value one by one; after MANY of them it is found anew. So a change costs next to nothing for values that do not
come again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Final

from rete.predicates import Equalities, Intervals, Prefixes, Substrings

from ..languages.evaluation import holds
from ..languages.expressions import Comparison, Condition, Constant, Exists, Field, Origin, Relation
from ..languages.relations import CI, Relations
from ..values import Value, number_of
from .access import key_of
from .memory import Memory, entry_bytes, is_worth_remembering

TEXT_RELATIONS: Final = ("prefix", "suffix", "contains")
MAX_CHANGES: Final = 256
"""Changes that can be made up for; beyond, all that is remembered of a field is forgotten."""
MANY: Final = 24
"""Changes after which it costs less to find anew what a value fails."""


class FieldTests:
    """One test a condition: one position each, and which positions a value fails."""

    def __init__(self, name: str, memory: Memory, relations: Relations) -> None:
        self.tested = 0
        """Conditions with a test on this field."""
        self.version = 0
        """How many changes there were since all was forgotten."""
        self.remembered: dict[Hashable, tuple[int, int]] = {}
        """By value: the conditions whose test fails, and how many changes are in that. Limit: the memory's."""
        self._name = name
        self._memory = memory
        self._relations = relations
        self._changes: list[tuple[int, Condition | None]] = []
        """A condition and its new test, or None where it has none any more; limit: MAX_CHANGES."""
        self._numbers = Intervals()
        self._texts = Intervals()
        self._equal = Equalities()
        self._by_relation: dict[str, Prefixes | Substrings] = {}

    def insert(self, part: Condition, bit: int) -> None:
        """A condition has a test on this field."""
        self.tested |= bit
        for change, _ in self._indexes_of(part):
            change(bit)
        self._changed(bit, part)

    def remove(self, part: Condition, bit: int) -> None:
        """A condition has no test on this field any more."""
        self.tested &= ~bit
        for _, undo in self._indexes_of(part):
            undo(bit)
        self._changed(bit, None)

    def _changed(self, bit: int, part: Condition | None) -> None:
        if not self.remembered:
            return
        if len(self._changes) >= MAX_CHANGES:
            self.forget()
            self._memory.give_back(self)
            return
        self._changes.append((bit, part))
        self.version += 1

    def forget(self) -> None:
        """Remember no value."""
        self.remembered.clear()
        self._changes.clear()
        self.version = 0

    def failed(self, value: Value) -> int:
        """The conditions whose test a value fails; bits that no condition has may be among them."""
        kind = value.__class__
        if kind is list or kind is dict:
            return self.tested
        key = key_of(value)
        known = self.remembered.get(key)
        if known is not None:
            bits, version = known
            if version == self.version:
                return bits
            if self.version - version <= MANY:
                bits = self._made_up(bits, version, value)
                self.remembered[key] = bits, self.version
                return bits
        bits = self.tested & ~self._passed(value)
        if known is not None:
            self.remembered[key] = bits, self.version
        elif is_worth_remembering(value):
            self.remembered[key] = bits, self.version
            self._memory.take(self, entry_bytes(value, bits))
        return bits

    def _made_up(self, bits: int, version: int, value: Value) -> int:
        fields = {self._name: value}
        for bit, part in self._changes[version:]:
            if part is None or holds(part, fields, {}, self._relations):
                bits &= ~bit
            else:
                bits |= bit
        return bits

    def _passed(self, value: Value) -> int:
        found = self._equal.passed(key_of(value))
        if isinstance(value, str):
            found |= self._texts.passed(value)
            folded = ""
            for name, index in self._by_relation.items():
                if name.endswith(CI):
                    folded = folded or value.casefold()
                text = folded if name.endswith(CI) else value
                found |= index.passed(text[::-1] if name.startswith("suffix") else text)
        number = number_of(value)
        if number is not None and number == number:
            found |= self._numbers.passed(number)
        return found

    def _indexes_of(self, part: Condition) -> Iterator[tuple[Change, Change]]:
        """How a condition is let wait for its test, and how that is undone."""
        match part:
            case Comparison("=", _, Constant(value)):
                key = key_of(value)
                yield lambda bit: self._equal.insert(key, bit), lambda bit: self._equal.remove(key, bit)
            case Comparison(operator, _, Constant(value)):
                bounds = self._texts if isinstance(value, str) else self._numbers
                yield lambda bit: bounds.insert(operator, value, bit), lambda bit: bounds.remove(operator, value, bit)
            case Relation(name, (_, *constants)):
                kind = Substrings if name.startswith("contains") else Prefixes
                index = self._by_relation.setdefault(name, kind())
                texts = [str(one.value) for one in constants if isinstance(one, Constant)]
                for text in {text.casefold() if name.endswith(CI) else text for text in texts}:
                    yield _at(index, text[::-1] if name.startswith("suffix") else text)


Change = Callable[[int], None]


def _at(index: Prefixes | Substrings, text: str) -> tuple[Change, Change]:
    return lambda bit: index.insert(text, bit), lambda bit: index.remove(text, bit)


def indexed_field(part: Condition) -> str | None:
    """The field at the top level that a part tests by itself in a way that is indexed; None for another part."""
    match part:
        case Exists(Field((name,), Origin.EVENT)):
            return name
        case Comparison("=", Field((name,), Origin.EVENT), Constant(value)) if value == value:
            return name
        case Comparison("<" | "<=" | ">" | ">=", Field((name,), Origin.EVENT), Constant(value)) if value == value:
            # A text that reads as a number is in order with numbers as well: that is tried at the end.
            return name if number_of(value) is None or not isinstance(value, str) else None
        case Relation(relation, (Field((name,), Origin.EVENT), *_)) if relation.removesuffix(CI) in TEXT_RELATIONS:
            return name
        case _:
            return None


def is_existence(part: Condition) -> bool:
    """Whether a part asks only whether a field is there."""
    return isinstance(part, Exists)
