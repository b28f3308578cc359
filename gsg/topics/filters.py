"""Filters of topics as standing queries: what an event of a topic is beside ``(topic, NAME, VALUE, ...)``, and who asks for that.

An event of a topic is told once more in a shape that has the levels of its name, each at its place:

    (topic-levels, DEPTH, LEVEL, ... MAX_LEVELS of them, NAME, PUBLISHER, NUMBER, VALUES)

DEPTH is how many levels the name has; a place beyond them holds 0. A filter is one query over this shape. Its levels without
wildcards are the constants of its template, so it is anchored at one of them, and load spreads by levels; a filter of wildcards
alone has the first term as its anchor. What is left of it is FILTERs, which travel along: all of it is decided at the rendezvous.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..tuples.terms import Compound, Symbol, Term, Tuple, n3
from .backlog import TopicEvent
from .names import ANY_LEVEL, ANY_LEVELS, MAX_LEVELS

LEVELS: Final = Symbol("topic-levels")
VALUES: Final = Symbol("values")
"""What VALUES begin with: a compound, as there may be none."""
FIRST_LEVEL: Final = 2
"""The position of the first level; before it stand LEVELS and DEPTH."""
ARITY: Final = FIRST_LEVEL + MAX_LEVELS + 4
_ABSENT: Final = tuple((0,) * depth for depth in range(MAX_LEVELS + 1))
_FEATURES: Final = tuple((0, *range(FIRST_LEVEL, FIRST_LEVEL + depth)) for depth in range(MAX_LEVELS + 1))


def levels_event(name: str, values: Tuple, publisher: bytes, number: int) -> Tuple:
    """An event of a topic in the shape that filters ask for."""
    levels = name.split("/")
    shown = levels[:MAX_LEVELS]
    absent = _ABSENT[MAX_LEVELS - len(shown)]
    return (LEVELS, len(levels), *shown, *absent, name, publisher.hex(), number, Compound((VALUES, *values)))


def features_of(event: Tuple) -> Sequence[int]:
    """The positions of such an event at which alone filters are anchored."""
    depth: int = event[1]  # type: ignore[assignment]  # levels_event has made it
    return _FEATURES[min(depth, MAX_LEVELS)]


def query_of(topic_filter: str) -> str:
    """The standing query that a filter is, in GSG script. Its rows are read by :func:`event_of`."""
    levels = topic_filter.split("/")
    is_open = levels[-1] == ANY_LEVELS
    if is_open:
        levels.pop()
    places = ["*" if level == ANY_LEVEL else n3(level) for level in levels] + ["*"] * (MAX_LEVELS - len(levels))
    tests = [f"?depth {'>=' if is_open else '='} {len(levels)}"]
    if all(level == ANY_LEVEL for level in levels):
        kind = LEVELS.n3()
    else:
        kind = "?kind"
        tests.append(f"?kind = {LEVELS.n3()}")
    if places[0] == "*":
        # MQTT 5.0 s. 4.7.2: what begins with $ is for its own purposes, and heard by who names that.
        places[0] = "?first"
        tests.append('!STRSTARTS(?first, "$")')
    pattern = ", ".join((kind, "?depth", *places, "?name", "?publisher", "?number", "?values"))
    return f"SUBSCRIBE ?name, ?publisher, ?number, ?values {{ ({pattern}) FILTER {' && '.join(tests)} }}"


def event_of(row: Sequence[Term]) -> TopicEvent | None:
    """What a row of such a query says; None where it is of no event of ours."""
    match row:
        case (str(name), str(publisher), int(number), Compound((Symbol("values"), *values))):
            try:
                return TopicEvent(name, tuple(values), bytes.fromhex(publisher), number)
            except ValueError:
                return None
    return None
