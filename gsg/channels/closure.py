"""The union of some interests as one condition: what others are told, so that they send no event that nobody wants.

What is more special than something else in it is left out. It may be too large and never too small: where it would be longer than
what others are to read, conditions give way to tests that they require, then everything is wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from .languages.expressions import (
    FALSE,
    TRUE,
    Comparison,
    Condition,
    Constant,
    Exists,
    Field,
    Or,
    Relation,
    relations_in,
)
from .languages.implication import implies
from .languages.predicate import any_of
from .languages.relations import STANDARD, Relations
from .languages.signature import required_fields
from .languages.writing import written
from .matchers.access import ANY_VALUE, EQUAL, EVERYWHERE, Access, accesses_of

MAX_PARTS: Final = 1_000
"""Conditions of a closure; of more, each gives way to a test that it requires, and of more of these to the field that it is on."""
MAX_CHARACTERS: Final = 128 * 1024
"""Of a closure's text; beyond, as above."""
COMPARED: Final = 5_000
"""Pairs of conditions that are compared for one closure; what is left then stands side by side."""


def closure_of(interests: Iterable[Condition], relations: Relations) -> Condition:
    """A condition that holds of each event of which one of the interests does."""
    parts = list(
        dict.fromkeys(part for interest in interests for part in (interest.parts if isinstance(interest, Or) else (interest,)))
    )
    for coarser in (_portable, _tested, _existing):
        parts = _without_special(list(dict.fromkeys(each for part in parts for each in coarser(part))), relations)
        made = any_of(parts)
        if len(parts) <= MAX_PARTS and len(written(made)) <= MAX_CHARACTERS:
            return made
    return TRUE


def _portable(part: Condition) -> list[Condition]:
    """A condition as others can try it; the tests that it requires where it has a relation of the application's own."""
    return [part] if all(name in STANDARD for name in relations_in(part)) else _tested(part)


def _tested(part: Condition) -> list[Condition]:
    """The tests under which it would wait: one of them holds wherever it does."""
    return [_test_of(access) for access in accesses_of(part, lambda access: 0)]


def shown(condition: Condition, *, is_private: bool) -> Condition:
    """What others may know of a subscription: of a private one a field that it requires."""
    return _existing(condition)[0] if is_private and condition != FALSE else condition


def _existing(part: Condition) -> list[Condition]:
    fields = required_fields(part)
    return [Exists(Field((min(fields),)))] if fields else [TRUE]


def _test_of(access: Access) -> Condition:
    if access.field == EVERYWHERE.field:
        return TRUE
    field = Field((access.field,))
    if access.key is ANY_VALUE:
        return Exists(field)
    constant = Constant(access.key[0] if isinstance(access.key, tuple) else access.key)  # type: ignore[arg-type]  # the key of a constant
    return Comparison("=", field, constant) if access.relation == EQUAL else Relation(access.relation, (field, constant))


def _without_special(parts: Sequence[Condition], relations: Relations) -> list[Condition]:
    """Without those that imply another: general ones, which require fewer fields, are looked at first."""
    if TRUE in parts:
        return [TRUE]
    kept: list[tuple[frozenset[str], Condition]] = []
    left = COMPARED
    for fields, part in sorted(((required_fields(part), part) for part in parts if part != FALSE), key=lambda item: len(item[0])):
        if left > 0:
            left -= 2 * len(kept)
            if any(its_fields <= fields and implies(part, general, relations) for its_fields, general in kept):
                continue
            kept = [(its, each) for its, each in kept if its != fields or not implies(each, part, relations)]
        kept.append((fields, part))
    return [part for _, part in kept]
