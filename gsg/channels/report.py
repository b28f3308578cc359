"""What of an event and its environment is sent on to a consumer.

    report := (part...)
    part   := *                    all fields
            | name                 a field, under its own name
            | (name value)         a value of the predicate language, under a new name: (who userid), (cost (* price count))

What is missing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..languages.bad_text import Mistake, bad_text
from .languages.evaluation import value_of
from .languages.expressions import Expression
from .languages.predicate import PredicateReader
from .languages.syntax import Atom, Form, Kind, read_all
from .values import MISSING, Fields, Value

_EXAMPLE: Final = "(userid (cost (* price count)))"


@dataclass(frozen=True, slots=True)
class Report:
    """Fields by their new names, in order; ``everything`` for the event's own before them."""

    parts: tuple[tuple[str, Expression], ...]
    everything: bool = False

    def of_event(self, fields: Fields, environment: Fields) -> dict[str, Value]:
        """The fields of the event that is sent on."""
        made: dict[str, Value] = dict(fields) if self.everything else {}
        for name, expression in self.parts:
            value = value_of(expression, fields, environment)
            if value is not MISSING:
                made[name] = value  # type: ignore[assignment]  # what is not missing is a value
        return made


def parse(text: str) -> Report:
    """The report of a text. Raises BadText."""
    try:
        return _report(_list_of(text))
    except Mistake as mistake:
        raise bad_text(text, mistake.position, mistake.problem, what="report") from None


def _list_of(text: str) -> Form:
    nodes = read_all(text, shorten="leave parts out")
    if not nodes:
        raise Mistake(0, f"an empty report; expected a list such as {_EXAMPLE}")
    first, *others = nodes
    if isinstance(first, Atom):
        raise Mistake(first.start, f"a report that is no list; expected one such as {_EXAMPLE}")
    if others:
        raise Mistake(others[0].start, "a second list; expected one, with all parts of the report in it")
    return first


def _report(node: Form) -> Report:
    reader, parts, everything = PredicateReader(), [], False
    for item in node.items:
        if isinstance(item, Atom) and item.is_keyword("*"):
            everything = True
        elif isinstance(item, Form) and item.operator not in ("field", "env"):
            first = item.items[0] if len(item.items) == 2 else None
            if not isinstance(first, Atom) or first.kind is not Kind.SYMBOL or not first.value:
                raise Mistake(item.start, "a part of a report that is no (name value); expected one such as (who userid)")
            parts.append((str(first.value), reader.value(item.items[1])))
        else:
            field = reader.field(item)
            parts.append((field.path[-1], field))
    return Report(tuple(parts), everything)
