"""Why a condition does not hold of an event: the comparisons that fail, each with what the event has in their place."""

from __future__ import annotations

from collections.abc import Iterator

from ..values import MISSING, Fields
from .evaluation import holds, value_of
from .expressions import And, Comparison, Condition, Exists, Field, Not, Or, Quantified, Relation, fields_of
from .relations import Relations
from .writing import value_text, written

SHOWN_CHARACTERS = 120
"""Of a value in a reason; a longer one is cut."""


def why_not(condition: Condition, fields: Fields, environment: Fields, relations: Relations) -> list[str]:
    """One line for each comparison because of which the condition does not hold; none where it does.

    Of an ``or`` all parts fail; under ``not`` it is what holds that is in the way.
    """
    return (
        []
        if holds(condition, fields, environment, relations)
        else list(_reasons(condition, fields, environment, relations, wanted=True))
    )


def _reasons(condition: Condition, fields: Fields, environment: Fields, relations: Relations, *, wanted: bool) -> Iterator[str]:
    """Why a condition has not the wanted truth."""
    if holds(condition, fields, environment, relations) == wanted:
        return
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _reasons(part, fields, environment, relations, wanted=wanted)
        case Not(part):
            yield from _reasons(part, fields, environment, relations, wanted=not wanted)
        case Comparison() | Relation() | Exists() | Quantified():
            verb = "fails" if wanted else "holds"
            yield f"{written(condition)} {verb}: {', '.join(_values(condition, fields, environment))}"


def _values(condition: Condition, fields: Fields, environment: Fields) -> Iterator[str]:
    for field in dict.fromkeys(_read(condition)):
        value = value_of(field, fields, environment)
        yield f"{written(field)} is {'missing' if value is MISSING else _shown(value)}"


def _read(condition: Condition) -> Iterator[Field]:
    yield from [condition.over] if isinstance(condition, Quantified) else fields_of(condition)


def _shown(value: object) -> str:
    text = value_text(value) if value is None or isinstance(value, (str, int, float)) else repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "..."
