"""What a temporal subscription says, as a tree: patterns of events, tests of their variables, absences and a window.

What it means, by which tests compare every other way to find it: a *match* is one event for each pattern, such that each event
meets its pattern's condition, all that one variable is bound to is equal (:func:`gsg.channels.values.equal`), all tests hold, and
all events are in the window when the last of them arrives. It waits for its absences, if it has any, until the time of each has
passed, and is no match if an event meets one of them before. An event may stand for several patterns of a match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..languages.expressions import Condition, Field, Origin, fields_of
from ..languages.predicate import any_of


@dataclass(frozen=True, slots=True)
class Column:
    """A variable, and the field of the event that it is bound to; None for the event's arrival number."""

    variable: str
    field: Field | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """One event: a condition on it alone, which all fields of its columns exist for, and variables that are bound to its fields."""

    condition: Condition
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True, slots=True)
class Absence:
    """No event as the pattern says arrives after the event of pattern number ``after``, and less than so many seconds later.

    Variables of the pattern that no other pattern binds are known in its own tests alone.
    """

    pattern: Pattern
    duration_s: float
    after: int
    tests: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Which events can be part of a match: the last so many of all, and those less than so many seconds old; None for no such
    bound but that of the history."""

    last: int | None = None
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class TemporalQuery:
    """A subscription. In tests, a variable ``?x`` is the field ``x``: of what the variables are bound to."""

    patterns: tuple[Pattern, ...]
    tests: tuple[Condition, ...] = ()
    absences: tuple[Absence, ...] = ()
    window: Window = Window()

    @property
    def interest(self) -> Condition:
        """What holds of each event that can matter to it: those that its absences wait for as well."""
        return any_of(tuple(each.condition for each in (*self.patterns, *(absence.pattern for absence in self.absences))))


def variables_of(test: Condition) -> Iterator[str]:
    """The names of the variables that a test reads, as often as it does."""
    return (field.path[0] for field in fields_of(test) if field.origin is Origin.EVENT)
