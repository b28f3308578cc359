"""What a subscription asks: a text in one of four languages, read once, with how its matches are to be delivered."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from ..errors import LocalError
from . import temporal
from .agent import program
from .agent.program import Program
from .languages import predicate, propositional
from .languages.expressions import Condition, Exists, Field
from .languages.predicate import all_of
from .languages.relations import Relations
from .report import Report
from .report import parse as parse_report
from .temporal import TemporalQuery


class Deliver(Enum):
    """Which matches of one event are delivered."""

    EACH = "each"
    FIRST = "first"
    LAST = "last"
    ONCE = "once"
    """The first ever; then the subscription is cancelled."""


class Asked(msgspec.Struct, frozen=True, gc=False):
    """What was subscribed to. As the nodes of a condition it is in no circle."""

    text: str
    language: str
    asks: Condition | TemporalQuery | Program
    report: Report | None = None
    deliver: Deliver = Deliver.EACH
    signature: tuple[str, ...] = ()
    """Fields that an event has to have besides."""


def read_asked(
    text: str, language: str, relations: Relations, *, report: str | None, deliver: str, signature: Iterable[str]
) -> Asked:
    """What a text asks. Raises BadText; LocalError for a language and the like that there is not."""
    try:
        way = Deliver(deliver)
    except ValueError:
        raise LocalError(f"deliver={deliver!r}; expected each, first, last or once") from None
    made = None if report is None else parse_report(report)
    if language == "predicate":
        asks: Condition | TemporalQuery | Program = predicate.parse(text, relations)
    elif language == "propositional":
        asks = propositional.parse(text)
    elif language == "temporal":
        asks = temporal.parse(text, relations)
    elif language == "agent":
        asks = program.parse(text, relations)
    else:
        raise LocalError(f"a subscription in {language!r}; expected propositional, predicate, temporal or agent")
    required = (signature,) if isinstance(signature, str) else tuple(sorted(signature))
    if not all(isinstance(name, str) and name for name in required):
        raise LocalError(f"signature={required}; expected names of fields, which have at least one character")
    if required:
        if isinstance(asks, (TemporalQuery, Program)):
            raise LocalError(f"signature={required} of a subscription in {language!r}; expected propositional or predicate")
        asks = all_of([*(Exists(Field((name,))) for name in required), asks])
    return Asked(text, language, asks, made, way, required)
