"""What a predicate says, as a tree: conditions over the fields of one event and of its environment.

Nodes are values: equal trees are equal and hash alike, so that matchers evaluate what several subscriptions have in common once.
Constants of different kinds differ although Python takes 1, 1.0 and True for one key. Whoever makes a tree directly is to flatten
nothing: :mod:`.predicate` does. They are in no circle, so Python's collection of garbage need not look at them, and there may be
millions.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final, TypeAlias

import msgspec
from msgspec.structs import force_setattr

Path: TypeAlias = tuple[str, ...]
"""The name of a field, and those of the fields within it."""


class Constant(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A text, a number, true, false or null."""

    value: str | int | float | bool | None
    kind: str = ""

    def __post_init__(self) -> None:
        force_setattr(self, "kind", type(self.value).__name__)


class Origin(Enum):
    """Where a name is looked up."""

    EVENT = "event"
    ENVIRONMENT = "environment"
    ELEMENT = "element"


class Field(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The value at a path of the event, of its environment or, within any, all and exactly, of the element in turn, for which the
    path may be empty: the element itself."""

    path: Path
    origin: Origin = Origin.EVENT


EVERY_FIELD: Final = Field(())
"""In the place of a list within any, all and exactly: the values of all fields at the top level of the event."""


class Arithmetic(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A number computed: ``+ - * / mod min max abs``; missing where an operand is no number, or the divisor is 0."""

    operator: str
    operands: tuple[Expression, ...]


Expression: TypeAlias = Constant | Field | Arithmetic


class Comparison(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """``= != < <= > >=`` of two values; false where one is missing or they are in no order."""

    operator: str
    left: Expression
    right: Expression


class Relation(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """A named relation, such as contains, between a value and constants; false where an operand is missing."""

    name: str
    operands: tuple[Expression, ...]


class Exists(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Whether a field is there, whatever its value."""

    field: Field


class And(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """All parts hold; with none it is true."""

    parts: tuple[Condition, ...]


class Or(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Some part holds; with none it is false."""

    parts: tuple[Condition, ...]


class Not(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """The part does not hold: so it is, too, where a field of it is missing."""

    part: Condition


class Quantity(Enum):
    """Of how many elements a condition is to hold."""

    ANY = "any"
    ALL = "all"
    EXACTLY = "exactly"


class Quantified(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """How many elements of a list, or values of :data:`EVERY_FIELD`, meet a condition, in which a field may be one of the element;
    false for what is no list.

    ALL holds for an empty list. ``count`` is that of EXACTLY.
    """

    quantity: Quantity
    over: Field
    condition: Condition
    count: int = 0


Condition: TypeAlias = Comparison | Relation | Exists | And | Or | Not | Quantified

TRUE = And(())
FALSE = Or(())


def fields_of(node: Condition | Expression) -> Iterator[Field]:
    """All fields that a condition reads, elements' too."""
    match node:
        case Field():
            yield node
        case Exists():
            yield node.field
        case Arithmetic() | Relation():
            for operand in node.operands:
                yield from fields_of(operand)
        case Comparison():
            yield from fields_of(node.left)
            yield from fields_of(node.right)
        case And() | Or():
            for part in node.parts:
                yield from fields_of(part)
        case Not():
            yield from fields_of(node.part)
        case Quantified():
            yield node.over
            yield from fields_of(node.condition)


def relations_in(condition: Condition) -> Iterator[str]:
    """The names of all relations of a condition."""
    match condition:
        case Relation(name, _):
            yield name
        case And(parts) | Or(parts):
            for part in parts:
                yield from relations_in(part)
        case Not(part) | Quantified(_, _, part):
            yield from relations_in(part)


def has_relation(condition: Condition) -> bool:
    """Whether there is a relation in a condition."""
    return any(True for _ in relations_in(condition))
