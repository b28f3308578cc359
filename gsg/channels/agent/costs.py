"""What it costs to test a condition, known before it is tested: by how many comparisons it has, how many characters they look at,
and how many elements any, all and exactly walk through.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from ..languages.costs import Part, operands_of, parts_of
from ..languages.expressions import (
    EVERY_FIELD,
    Arithmetic,
    Comparison,
    Condition,
    Constant,
    Field,
    Not,
    Origin,
    Quantified,
    Relation,
    fields_of,
)
from ..values import MAX_NUMBER_CHARACTERS, Fields, value_at
from .data import COMPARED_BYTES
from .run import Run
from .texts import search_steps

PARTS: Final = 512
"""Of a step, in which costs are given."""
COMPARISON_PARTS: Final = 64
"""What a comparison costs, beside the characters that it looks at."""
ELEMENT_PARTS: Final = 128
"""What each element costs that is walked through."""
READ_PARTS: Final = 128
"""What 16 characters cost that are read as a number."""
SMALL_PATTERN: Final = 256
"""States of a regular expression that RE2 keeps an automaton for."""
MAX_STATES: Final = 10_000
"""States that a regular expression is taken to have at most, as relations bounds its memory."""
STATES_PER_COMPILE_STEP: Final = 8
"""Of patterns, made ready for a step."""
CLASS_STEPS: Final = 300
"""What a class of Unicode in a pattern costs to be made ready."""
MAX_COMPILE_STEPS: Final = 4_000
"""What one pattern costs at most to be made ready, as its memory is bounded (relations.MAX_PATTERN_BYTES)."""
STATES_PER_COMPARISON: Final = 16
"""States of a pattern that count for as much as a comparison in a matcher."""
_COUNTS = re.compile(r"\{(?:\d+,)?(\d+)", re.ASCII)


def states_of(pattern: str) -> int:
    """How many states a regular expression is taken to have."""
    states = len(pattern)
    for most in _COUNTS.findall(pattern):
        states = min(MAX_STATES, states * max(1, int(most[-5:])))
    return states


def compile_steps_of(text: str) -> int:
    """What a text costs to be made ready, if it is a pattern: classes of Unicode, such as \\pL, are large."""
    repeated = states_of(text) // max(1, len(text))
    classes = (text.count("\\p") + text.count("\\P")) * max(1, repeated)
    return min(MAX_COMPILE_STEPS, states_of(text) // STATES_PER_COMPILE_STEP + CLASS_STEPS * classes)


def _size_of_pattern(pattern: str) -> int:
    """What a regular expression counts for: RE2 takes a step of its own automaton for each character, or, where it becomes
    too large, one for each of its states."""
    states = states_of(pattern)
    return states if states <= SMALL_PATTERN else 8 * states


def size_of_condition(condition: Condition) -> int:
    """How many comparisons and constants a condition has."""
    return sum([_size_of_part(part) for part in parts_of(condition)])


def _size_of_part(part: Part) -> int:
    match part:
        case Not():
            return 0
        case Quantified():
            return 1 + size_of_condition(part.condition)
        case Relation():
            return _size_of_relation(part)
        case Comparison(_, left, right):
            return 1 + sum(1 for side in (left, right) for _ in operands_of(side))
        case _:
            return 1


def weight_of_condition(condition: Condition) -> int:
    """What a condition counts for in a matcher: its comparisons and constants, and what its patterns take."""
    return sum([_weight_of_part(part) for part in parts_of(condition)])


def _weight_of_part(part: Part) -> int:
    match part:
        case Quantified():
            return 1 + weight_of_condition(part.condition)
        case Relation():
            return len(part.operands) + sum(map(states_of, _texts_of(part))) // STATES_PER_COMPARISON
        case _:
            return _size_of_part(part)


def _texts_of(relation: Relation) -> list[str]:
    return [one.value for one in relation.operands if isinstance(one, Constant) and isinstance(one.value, str)]


def _size_of_relation(relation: Relation) -> int:
    texts = _texts_of(relation)
    if relation.name.startswith("regex"):
        return sum(map(_size_of_pattern, texts))
    return len(relation.operands) + sum(text.count("*") for text in texts if relation.name.startswith("wildcard"))


class Cost:
    """What a condition costs, but for what it quantifies over; and the same of those parts."""

    __slots__ = ("_base", "_is_flat", "_pairs", "_quantified", "_searches", "_texts")

    def __init__(self, condition: Condition) -> None:
        self._base = 0
        self._texts: list[tuple[Field, int]] = []
        """Fields, and the parts for 16 characters of each."""
        self._searches: list[tuple[Field, tuple[int, ...]]] = []
        """Fields that are searched, and how long what is searched for is."""
        self._pairs: list[tuple[Field, Field]] = []
        """Fields that are compared with each other."""
        self._quantified: list[tuple[Field, Cost]] = []
        for part in parts_of(condition):
            self._collect(part)
        self._is_flat = not self._quantified and not self._pairs and all(map(_is_whole, fields_of(condition)))
        """Whether it looks at an element as a whole, if at all."""

    def _collect(self, part: Part) -> None:
        match part:
            case Not():
                pass
            case Quantified():
                self._quantified.append((part.over, Cost(part.condition)))
            case Relation("contains" | "contains-ci", (Field() as field, *rest)):
                lengths = [len(each.value) for each in rest if isinstance(each, Constant) and isinstance(each.value, str)]
                self._base += COMPARISON_PARTS * len(lengths)
                self._searches.append((field, tuple(lengths)))
                self._texts.append((field, 16))
            case Relation():
                size = _size_of_part(part)
                self._base += COMPARISON_PARTS * size
                self._texts.extend([(field, 16 * size) for field in fields_of(part)])
            case Comparison(operator, left, right):
                self._base += COMPARISON_PARTS * _size_of_part(part)
                if isinstance(left, Field) and isinstance(right, Field):
                    self._pairs.append((left, right))
                is_of_texts = operator in ("=", "!=") and not isinstance(left, Arithmetic) and not isinstance(right, Arithmetic)
                self._texts.extend([(field, 1 if is_of_texts else READ_PARTS) for field in fields_of(part)])
            case _:
                self._base += COMPARISON_PARTS

    def parts(self, run: Run, fields: Fields, environment: Fields, element: object) -> int:
        """What testing it costs, in PARTS of a step. What is walked through for that is charged."""
        total = self._base
        for field, weight in self._texts:
            value = _value(field, fields, environment, element)
            if isinstance(value, str) and (weight != READ_PARTS or len(value) <= MAX_NUMBER_CHARACTERS):
                total += weight * len(value) // 16
        for field, lengths in self._searches:
            value = _value(field, fields, environment, element)
            if isinstance(value, str):
                total += PARTS * sum([search_steps(len(value), length) for length in lengths])
        for one, other in self._pairs:
            value = _value(one, fields, environment, element)
            if isinstance(value, (list, dict)) and isinstance(_value(other, fields, environment, element), (list, dict)):
                total += PARTS * (run.size_of_found(value) // COMPARED_BYTES)
        for over, inner in self._quantified:
            found = fields if over == EVERY_FIELD else _value(over, fields, environment, element)
            if isinstance(found, list):
                total += inner.parts_of_each(run, fields, environment, found)
            elif over == EVERY_FIELD:
                total += inner.parts_of_each(run, fields, environment, fields.values())
        return total

    def parts_of_each(self, run: Run, fields: Fields, environment: Fields, elements: Collection[object]) -> int:
        """What testing it of each element costs."""
        if not elements:
            return 0
        if not self._is_flat:
            total = 0
            for element in elements:
                run.charge(1)
                total += self.parts(run, fields, environment, element)
            return total
        run.charge(len(elements) // 32)
        total = len(elements) * (ELEMENT_PARTS + self.parts(run, fields, environment, None))
        lengths = [len(each) for each in elements if isinstance(each, str)]
        for field, weight in self._texts:
            if field.origin is Origin.ELEMENT:
                total += weight * sum(lengths) // 16
        for field, wanted in self._searches:
            if field.origin is Origin.ELEMENT:
                total += PARTS * sum([search_steps(length, part) for part in wanted for length in lengths])
        return total


def _is_whole(field: Field) -> bool:
    return field.origin is not Origin.ELEMENT or field.path == ()


def _value(field: Field, fields: Fields, environment: Fields, element: object) -> object:
    match field.origin:
        case Origin.ELEMENT:
            return value_at(element, field.path)
        case Origin.ENVIRONMENT:
            return value_at(environment, field.path)
        case _:
            return value_at(fields, field.path)
