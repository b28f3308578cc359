"""The domain: a campus on which people move, rooms are booked and sensors read and raise alarms; its sizes and its terms.

    room      onFloor    floor      never changes          person    memberOf   team       changes seldom
    sensor    placedIn   room       never changes          team      worksOn    project    changes seldom
    person    locatedIn  room       changes all the time   person    hasSkill   skill      comes and goes
    sensor    reads      integer    changes all the time   person    knows      person     comes and goes
    sensor    raised     alarm      an event               room      bookedBy   team       comes and goes

Terms are numbers here ("codes") and texts of N-Triples in files. Integers are the last codes, in their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

from simulations.engine.randomness import check_seed

IRIS = "http://example.org/campus/"
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

ROOMS_OF_FLOOR = 8
MAX_VALUE = 40_000
"""Of a reading, in thousandths of a degree, and of a count."""


class Predicate(IntEnum):
    """In the order of their codes, which are the first ones."""

    ON_FLOOR = 0
    PLACED_IN = 1
    MEMBER_OF = 2
    WORKS_ON = 3
    HAS_SKILL = 4
    KNOWS = 5
    LOCATED_IN = 6
    READS = 7
    BOOKED_BY = 8
    RAISED = 9

    @property
    def text(self) -> str:
        """Its name in IRIs."""
        first, *rest = self.name.lower().split("_")
        return first + "".join(map(str.capitalize, rest))


PREDICATES = {predicate.text: predicate for predicate in Predicate}
OF_PEOPLE = (Predicate.MEMBER_OF, Predicate.HAS_SKILL, Predicate.KNOWS, Predicate.LOCATED_IN)
"""Whose subjects are people."""
KINDS = ("person", "room", "floor", "team", "project", "skill", "sensor", "alarm")


@dataclass(frozen=True, slots=True)
class Size:
    """How large a workload is, by numbers."""

    changes: int
    """Lines of changes and events, at most."""
    subscriptions: int
    overlap: float = 0.5
    """Share of subscriptions that are one of those that the user's whole group shares."""
    narrowed: float = 0.2
    """Share that narrow one of those: a condition more, or a closer bound."""
    rounds: int = 10

    def __post_init__(self) -> None:
        if not 1_000 <= self.changes <= 100_000_000:
            raise ValueError(f"{self.changes:,} changes; expected 1,000 to 100,000,000")
        if not 1 <= self.subscriptions <= 10_000_000:
            raise ValueError(f"{self.subscriptions:,} subscriptions; expected 1 to 10,000,000")
        if not (self.overlap >= 0 and self.narrowed >= 0 and self.overlap + self.narrowed <= 1):
            raise ValueError(
                f"an overlap of {self.overlap:g} and {self.narrowed:g} narrowed; expected shares of 1 together at most"
            )
        if not 2 <= self.rounds <= 1_000:
            raise ValueError(f"{self.rounds} rounds; expected 2 to 1,000")


SIZES = {
    "small": Size(10_000, 100),
    "medium": Size(1_000_000, 10_000),
    "large": Size(10_000_000, 1_000_000),
}
TINY = Size(1_000, 60, rounds=5)
"""For tests, and to see that an adapter works at all."""


class Campus:
    """How many there are of each kind, and the terms of all of them. Raises BadParameter for a seed that is none."""

    def __init__(self, size: Size, seed: int) -> None:
        check_seed(seed)
        self.size, self.seed = size, seed
        people = size.changes // 20
        floors = max(2, people // (8 * ROOMS_OF_FLOOR))
        rooms = floors * ROOMS_OF_FLOOR
        teams = max(3, people // 12)
        counts = (people, rooms, floors, teams, max(2, teams // 3), 20 + people // 500, rooms, 6 + rooms // 50)
        self.counts = dict(zip(KINDS, counts, strict=True))
        """By kind."""
        self._begin: dict[str, int] = {}
        end = len(Predicate)
        for kind in KINDS:
            self._begin[kind] = end
            end += self.counts[kind]
        self.first_integer = end
        self.terms = end + MAX_VALUE + 1
        """How many codes there are."""

    def first(self, kind: str) -> int:
        """The code of number 0 of a kind."""
        return self._begin[kind]

    @cached_property
    def _texts(self) -> list[str]:
        texts = [f"<{IRIS}{predicate.text}>" for predicate in Predicate]
        for kind in KINDS:
            texts += [f"<{IRIS}{kind}{number}>" for number in range(self.counts[kind])]
        return texts

    def text(self, code: int) -> str:
        """A term as N-Triples writes it."""
        if code >= self.first_integer:
            return integer(code - self.first_integer)
        return self._texts[code]


def integer(value: int) -> str:
    """A number as N-Triples writes it."""
    return f'"{value}"^^<{_INTEGER}>'


def iri(name: str) -> str:
    """A predicate or a thing of the campus by its name, as N-Triples writes it."""
    return f"<{IRIS}{name}>"
