"""What an event has and a condition requires, as terms that name rendezvous: pure, and the same at both ends.

    every event       "every"
    a field           ["type"]
    ... and its value ["type", "error"]
    a channel that is concerned, whatever it asks for (horizon.py)   "to NAME"

A text or a name that is longer than MAX_CHARACTERS is in no feature: what requires it is posted under what is left. That holds of
events too, so they meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ...tuples.terms import List, Symbol, Term, term
from ..languages.expressions import Condition
from ..matchers.access import ANY_VALUE, EQUAL, Access, accesses_of
from ..values import Fields

MAX_CHARACTERS: Final = 200
EVERY: Final = Symbol("every")
SAID_ELSEWHERE: Final = Symbol("said elsewhere")
"""In the place of a feature, of events that clients of other doors publish: whatever they hold, they have one place."""
_BEHIND_ALL: Final = 1 << 40
"""The crowd of a test that is no feature: it is chosen last."""

Crowd = Callable[[Term], int]
"""How much is posted under a feature already."""


def features_of(fields: Fields) -> Iterator[Term]:
    """All features of an event."""
    yield EVERY
    for name, value in fields.items():
        if len(name) <= MAX_CHARACTERS:
            yield List((name,))
            valued = _valued(name, value)
            if valued is not None:
                yield valued


def of_channel(source: str) -> Term:
    """The feature of events that concern a channel, by the source of its events."""
    return Symbol(f"to {source}")


def required_by(condition: Condition, crowd: Crowd) -> list[Term]:
    """The features under which a condition is to be posted: every event of which it holds has one of them."""

    def crowd_at(access: Access) -> int:
        valued = _valued(access.field, access.key) if access.relation == EQUAL and access.key is not ANY_VALUE else None
        if valued is not None:
            return crowd(valued)
        # That a field is there is less rare than that it has a value.
        return _BEHIND_ALL + (crowd(List((access.field,))) if access.field else _BEHIND_ALL)

    return list(dict.fromkeys(_feature(access) for access in accesses_of(condition, crowd_at)))


def candidates_of(condition: Condition) -> list[Term]:
    """The features between which there is a choice for a condition."""
    found: dict[Term, None] = {}

    def noted(feature: Term) -> int:
        found[feature] = None
        return 0

    required_by(condition, noted)
    return list(found)


def _feature(access: Access) -> Term:
    valued = _valued(access.field, access.key) if access.relation == EQUAL and access.key is not ANY_VALUE else None
    if valued is not None:
        return valued
    return List((access.field,)) if 0 < len(access.field) <= MAX_CHARACTERS else EVERY


def _valued(name: str, value: object) -> Term | None:
    """The feature of a field with a value; equal values have one feature. None for values that no condition is posted under."""
    if value.__class__ is tuple:
        (value,) = value  # as key_of makes truth values
    if len(name) > MAX_CHARACTERS or not (value is None or isinstance(value, (str, int, float))) or value != value:
        return None
    if isinstance(value, str) and len(value) > MAX_CHARACTERS:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return List((name, Symbol("null") if value is None else term(value)))
