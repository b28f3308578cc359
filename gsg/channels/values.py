"""Values of events, and when two are equal or in order: text and number are told apart, and 0, false and "" are values.

A value is a text, a number, true or false, null, a reference to a remote object, a list of values, or an event within the event (a
dict from names to values). What is not there is :data:`MISSING`, which is no value: a comparison with it is false.

* Equal are values of one kind: 1 and 1.0 are one number, 1 and true are not, "10" and 10 are not; nothing equals NaN.
* In order are two texts (by code points) and two numbers. Beside a number a text stands for the number that it reads as ("the
  interpreter is responsible for doing data conversion for numeric operators", Filman and Lee, "Managing distributed systems with
  smart subscriptions", section "Events"); one that reads as none is in no order with it. The rest is in no order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias


@dataclass(frozen=True, slots=True)
class Reference:
    """A remote object, by its address, such as ``gsg://host:port/name``."""

    address: str


Value: TypeAlias = "str | int | float | bool | Reference | list[Value] | dict[str, Value] | None"
Fields: TypeAlias = Mapping[str, Value]


class Missing:
    """The type of :data:`MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""What a field has that is not there."""
MAX_NUMBER_CHARACTERS: Final = 400
"""Of a text that is to be read as a number; a longer one reads as none."""

_NUMERAL = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)


def value_at(found: object, path: Sequence[str]) -> object:
    """The value at a path, or MISSING."""
    for name in path:
        if not isinstance(found, Mapping):
            return MISSING
        found = found.get(name, MISSING)
    return found


def number_of(value: object) -> int | float | None:
    """The number that a value is, or that a text reads as; None for anything else."""
    kind = type(value)
    if kind is int or kind is float:
        return value  # type: ignore[return-value]  # as just seen
    if isinstance(value, str) and len(value) <= MAX_NUMBER_CHARACTERS and _NUMERAL.fullmatch(value):
        try:
            return int(value)
        except ValueError:
            return float(value)
    return None


def equal(one: object, other: object) -> bool:
    """Whether two values are equal; MISSING equals nothing. The depth of values is bounded where events are made."""
    kind, its_kind = type(one), type(other)
    if kind is bool or its_kind is bool:
        return one is other
    if kind is its_kind:
        if kind is list:
            return len(one) == len(other) and all(map(equal, one, other))  # type: ignore[arg-type,call-overload]  # lists
        if kind is dict:
            return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)  # type: ignore[attr-defined,index]  # dicts
        return kind is not Missing and one == other
    return (kind is int or kind is float) and (its_kind is int or its_kind is float) and one == other


def compare(one: object, other: object) -> int | None:
    """Negative, 0 or positive where one value is before, level with or after another; None where they are in no order."""
    if type(one) is str and type(other) is str:
        return (one > other) - (one < other)
    left, right = number_of(one), number_of(other)
    if left is None or right is None or left != left or right != right:
        return None
    return (left > right) - (left < right)
