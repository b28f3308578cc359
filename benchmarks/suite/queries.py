"""What is asked: twenty templates, why each is there, and their texts in SPARQL and in GSG script.

A template's patterns hold names of the campus, variables (``?room``) and parameters (``$team``), which each subscription fills in.
Two rules make answers certain on a system without a global clock. An event is asked for with facts that never change alone, since
what else holds "at its moment" is a matter of where one stands. Nothing is asked of a window, whose edge is somebody's clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

import msgspec

from .campus import PREDICATES, Predicate, iri

Pattern: TypeAlias = tuple[str, str, str]
Bound: TypeAlias = tuple[str, str, str]
"""A variable, an operator (``<``, ``>=`` or ``>``), and a number."""


class Shape(StrEnum):
    """How the patterns of a query hang together, or which operator it needs."""

    ONE = "one condition"
    STAR = "star"
    CHAIN = "chain"
    CYCLE = "cycle"
    NOT = "not"
    RANGE = "range"
    OPTIONAL = "optional"
    UNION = "union"
    DISTINCT = "distinct"
    COUNT = "count"


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """A query in parts, for systems that read neither SPARQL nor GSG script. Items are terms of N-Triples, or variables.

    Rows have the names of ``select``, in this order, and are a bag unless ``distinct``.
    """

    select: tuple[str, ...]
    where: tuple[Pattern, ...]
    negated: tuple[Pattern, ...] = ()
    """A group that may have no solution."""
    optional: tuple[Pattern, ...] = ()
    or_else: tuple[Pattern, ...] = ()
    """The other arm of a UNION, whose first is ``where``."""
    bounds: tuple[Bound, ...] = ()
    distinct: bool = False
    count: str = ""
    """The variable whose values are counted, grouped by all names of ``select`` but the last, which is the number's."""
    events: bool = False
    """Whether the first pattern is for events."""


def patterns_of(asked: Asked) -> Sequence[Pattern]:
    """All patterns of a query, wherever they stand."""
    return (*asked.where, *asked.negated, *asked.optional, *asked.or_else)


@dataclass(frozen=True)
class Template:
    """A kind of query. Parameters are named as kinds of things; ``low`` and ``high`` are numbers."""

    name: str
    shape: Shape
    share: int
    """Of a hundred subscriptions."""
    why: str
    """Why it is there."""
    asked: Asked
    narrower: str = ""
    """The template that adds a condition or closes a bound: its answers are among this one's."""
    parameters: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        asked = self.asked
        items = [item for pattern in patterns_of(asked) for item in pattern] + [bound[2] for bound in asked.bounds]
        object.__setattr__(self, "parameters", tuple(dict.fromkeys(item[1:] for item in items if item[0] == "$")))


def _template(
    name: str, shape: Shape, share: int, why: str, select: str, where: str, narrower: str = "", **parts: object
) -> Template:
    patterns = {key: _patterns(text) for key, text in parts.items() if isinstance(text, str) and key != "count"}
    others = {key: value for key, value in parts.items() if key not in patterns}
    events = any(PREDICATES.get(predicate) is Predicate.RAISED for _, predicate, _ in _patterns(where))
    asked = Asked(tuple(select.split()), _patterns(where), events=events, **patterns, **others)  # type: ignore[arg-type]  # as its fields are
    return Template(name, shape, share, why, asked, narrower)


def _patterns(text: str) -> tuple[Pattern, ...]:
    found = []
    for part in text.split(","):
        subject, predicate, object = part.split()
        found.append((subject, predicate, object))
    return tuple(found)


TEMPLATES: tuple[Template, ...] = (
    _template(
        "presence", Shape.ONE, 12, "an object is given: the most common thing to ask, with hot constants and very many equal texts",
        "person", "?person locatedIn $room", narrower="presence-skill",
    ),
    _template(
        "profile", Shape.ONE, 6, "a subject alone is given: who indexes predicates alone must look at everything",
        "property value", "$person ?property ?value",
    ),
    _template(
        "band", Shape.RANGE, 3, "a predicate that all tuples of a kind have, and two bounds: no constant tells them apart",
        "sensor value", "?sensor reads ?value", bounds=(("?value", ">=", "$low"), ("?value", "<", "$high")),
    ),
    _template(
        "alarms", Shape.ONE, 6, "events of a kind, which nobody stores",
        "sensor", "?sensor raised $alarm", narrower="alarms-on-floor",
    ),
    _template(
        "alarms-on-floor", Shape.CHAIN, 4, "an event that joins with facts",
        "sensor room", "?sensor raised $alarm, ?sensor placedIn ?room, ?room onFloor $floor",
    ),
    _template(
        "team-sheet", Shape.STAR, 8, "three conditions of one subject, two of them with many values: rows multiply",
        "person skill room", "?person memberOf $team, ?person hasSkill ?skill, ?person locatedIn ?room", narrower="team-skill",
    ),
    _template(
        "team-skill", Shape.STAR, 5, "the same with a constant more: a rare one and a common one to begin at",
        "person room", "?person memberOf $team, ?person hasSkill $skill, ?person locatedIn ?room",
    ),
    _template(
        "presence-skill", Shape.STAR, 5, "two constants, one of which changes all the time and the other seldom",
        "person", "?person locatedIn $room, ?person hasSkill $skill",
    ),
    _template(
        "floor-presence", Shape.CHAIN, 8, "a fact that changes joined to one that never does",
        "room person", "?room onFloor $floor, ?person locatedIn ?room",
    ),
    _template(
        "project-where", Shape.CHAIN, 5, "a chain with one constant at its end: what changes most is farthest from it",
        "person room floor", "?team worksOn $project, ?person memberOf ?team, ?person locatedIn ?room, ?room onFloor ?floor",
        narrower="project-floor",
    ),
    _template(
        "project-floor", Shape.CHAIN, 3, "the same with constants at both ends",
        "person room", "?team worksOn $project, ?person memberOf ?team, ?person locatedIn ?room, ?room onFloor $floor",
    ),
    _template(
        "together", Shape.CYCLE, 5, "a triangle: two people, one of whom knows the other, in one room; no order of joins is good",
        "person other room", "?person memberOf $team, ?person knows ?other, ?person locatedIn ?room, ?other locatedIn ?room",
    ),
    _template(
        "mutual", Shape.CYCLE, 4, "a cycle of two through a constant, and where it leads",
        "other room", "$person knows ?other, ?other knows $person, ?other locatedIn ?room",
    ),
    _template(
        "unused-booking", Shape.NOT, 5, "an absence: a row goes when a fact comes",
        "room", "?room bookedBy $team", negated="?person locatedIn ?room",
    ),
    _template(
        "no-first-aid", Shape.NOT, 4, "two conditions together that are absent: what was in the way may be followed by another",
        "room person", "?room onFloor $floor, ?person locatedIn ?room", negated="?other locatedIn ?room, ?other hasSkill skill0",
    ),
    _template(
        "warm-rooms", Shape.RANGE, 6, "a chain whose last value has a bound: readings change all the time and mostly stay outside",
        "room value", "?room onFloor $floor, ?sensor placedIn ?room, ?sensor reads ?value", narrower="warm-rooms",
        bounds=(("?value", ">", "$low"),),
    ),
    _template(
        "bookings", Shape.OPTIONAL, 3, "what is there in any case, with what may be",
        "room team", "?room onFloor $floor", optional="?room bookedBy ?team",
    ),
    _template(
        "whereabouts", Shape.UNION, 3, "one of two ways, the second of which leaves a name unbound",
        "person room", "?person memberOf $team, ?person locatedIn ?room", or_else="?room bookedBy $team",
    ),
    _template(
        "skills-of-team", Shape.DISTINCT, 3, "many reasons for one row: it goes with the last of them",
        "skill", "?person memberOf $team, ?person hasSkill ?skill", distinct=True,
    ),
    _template(
        "crowding", Shape.COUNT, 2, "a number for each room: each change takes one row back and tells another",
        "room people", "?room onFloor $floor, ?person locatedIn ?room", count="person",
    ),
)  # fmt: skip
NUMBERED = {template.name: number for number, template in enumerate(TEMPLATES)}
NUMBERS = ("low", "high")
"""Parameters that are numbers."""


def filled(template: Template, values: Mapping[str, str]) -> Asked:
    """A template's query with the terms of its parameters."""

    def term(item: str) -> str:
        if item[0] == "?":
            return item
        return values[item[1:]] if item[0] == "$" else iri(item)

    def patterns(some: Sequence[Pattern]) -> tuple[Pattern, ...]:
        return tuple((term(subject), term(predicate), term(object)) for subject, predicate, object in some)

    asked = template.asked
    return msgspec.structs.replace(
        asked,
        where=patterns(asked.where),
        negated=patterns(asked.negated),
        optional=patterns(asked.optional),
        or_else=patterns(asked.or_else),
        bounds=tuple((name, operator, values[number[1:]]) for name, operator, number in asked.bounds),
    )


def sparql(asked: Asked) -> str:
    """The query as SPARQL 1.1; a triple that is an event holds for the moment in which it is told."""

    def group(patterns: Sequence[Pattern]) -> str:
        return " . ".join(" ".join(pattern) for pattern in patterns)

    names = [f"?{name}" for name in asked.select]
    if asked.count:
        names[-1] = f"(COUNT(?{asked.count}) AS {names[-1]})"
    body = group(asked.where)
    if asked.or_else:
        body = f"{{ {body} }} UNION {{ {group(asked.or_else)} }}"
    if asked.optional:
        body += f" OPTIONAL {{ {group(asked.optional)} }}"
    if asked.negated:
        body += f" FILTER NOT EXISTS {{ {group(asked.negated)} }}"
    if asked.bounds:
        body += f" FILTER({' && '.join(' '.join(bound) for bound in asked.bounds)})"
    distinct = "DISTINCT " if asked.distinct else ""
    grouped = f" GROUP BY {' '.join(names[:-1])}" if asked.count else ""
    return f"SELECT {distinct}{' '.join(names)} WHERE {{ {body} }}{grouped}"


def script(asked: Asked) -> str:
    """The query as GSG script."""

    def group(patterns: Sequence[Pattern]) -> str:
        return ", ".join(f"({', '.join(pattern)})" for pattern in patterns)

    names = [f"?{name}" for name in asked.select]
    if asked.count:
        names[-1] = f"COUNT(?{asked.count}) AS {names[-1]}"
    body = group(asked.where)
    if asked.or_else:
        body = f"{{ {body} }} UNION {{ {group(asked.or_else)} }}"
    if asked.optional:
        body += f" OPTIONAL {{ {group(asked.optional)} }}"
    if asked.negated:
        body += f" NOT {{ {group(asked.negated)} }}"
    if asked.bounds:
        body += f" FILTER {' && '.join(' '.join(bound) for bound in asked.bounds)}"
    distinct = "DISTINCT " if asked.distinct else ""
    grouped = f" GROUP BY {', '.join(names[:-1])}" if asked.count else ""
    return f"SUBSCRIBE {distinct}{', '.join(names)} {{ {body} }}{grouped}"
