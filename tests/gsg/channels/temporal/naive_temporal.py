"""The definition of temporal subscriptions: every combination of all events of a stream is tried, when all is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gsg.channels.events import Event
from gsg.channels.languages.evaluation import holds
from gsg.channels.languages.expressions import Condition, Origin
from gsg.channels.languages.relations import Relations
from gsg.channels.languages.source import value_at
from gsg.channels.temporal.query import Absence, Pattern, TemporalQuery
from gsg.channels.values import equal

RELATIONS = Relations()
Bindings = dict[str, object]


@dataclass(frozen=True)
class Arrived:
    """An event, when it came, and the number of the step at which it did."""

    event: Event
    arrival: int
    time_s: float
    step: int


@dataclass
class Subscribed:
    """A query that stands from one step up to another."""

    number: int
    query: TemporalQuery
    tells_old: bool
    arrivals: int
    """How many events had come when it began."""
    time_s: float
    step: int
    end: float = float("inf")


@dataclass(frozen=True, order=True)
class Told:
    """A match, at a step; what is over is before what is complete just then."""

    step: int
    is_complete: bool
    order: tuple[object, ...]
    number: int
    arrivals: tuple[int, ...]
    bindings: Mapping[str, object] = field(compare=False)


@dataclass
class Stream:
    """What happened, from which :meth:`told` says what is told of it."""

    max_events: int
    events: list[Arrived] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)
    """The latest time of each step."""
    subscriptions: list[Subscribed] = field(default_factory=list)

    def told(self) -> list[Told]:
        """All matches, in the order in which they are to be told."""
        return sorted(match for subscribed in self.subscriptions for match in self._of(subscribed))

    def _of(self, subscribed: Subscribed) -> Iterator[Told]:
        query = subscribed.query
        candidates = [[one for one in self.events if self._meets(one, pattern)] for pattern in query.patterns]
        for found in itertools.product(*candidates):
            last = max(found, key=lambda one: one.arrival)
            is_old = last.arrival <= subscribed.arrivals
            arrivals, time_s = (subscribed.arrivals, subscribed.time_s) if is_old else (last.arrival, last.time_s)
            if not all(self._is_in_window(one, query, arrivals, time_s) for one in found):
                continue
            bindings: Bindings | None = {}
            for one, pattern in zip(found, query.patterns, strict=True):
                bindings = self._bound(one, pattern, bindings)
            if bindings is None or not self._hold(query.tests, bindings):
                continue
            step = max(last.step, subscribed.step)
            due_s = 0.0
            for absence in query.absences:
                due_s = max(due_s, found[absence.after].time_s + absence.duration_s)
                if any(self._is_in_the_way(one, found[absence.after], absence, bindings) for one in self.events):
                    break
            else:
                numbers = tuple(one.arrival for one in found)
                over = [number for number, now_s in enumerate(self.times_s) if now_s >= due_s and number >= step]
                if not over or over[0] >= subscribed.end:
                    continue
                if over[0] > step:
                    order: tuple[object, ...] = (due_s, subscribed.number, last.arrival, numbers)
                    yield Told(over[0], False, order, subscribed.number, numbers, bindings)
                elif not is_old:
                    yield Told(step, True, (subscribed.number, 0, 0, numbers), subscribed.number, numbers, bindings)
                elif subscribed.tells_old:
                    yield Told(step, True, (subscribed.number, 0, last.arrival, numbers), subscribed.number, numbers, bindings)

    def _is_in_window(self, one: Arrived, query: TemporalQuery, arrivals: int, time_s: float) -> bool:
        last = min(self.max_events, query.window.last or self.max_events)
        within_s = query.window.within_s
        return one.arrival > arrivals - last and (within_s is None or one.time_s + within_s > time_s)

    def _meets(self, one: Arrived, pattern: Pattern) -> bool:
        return holds(pattern.condition, one.event.fields, one.event.environment, RELATIONS)

    def _bound(self, one: Arrived, pattern: Pattern, before: Bindings | None) -> Bindings | None:
        bindings = dict(before) if before is not None else None
        for column in pattern.columns:
            if column.field is None:
                value: object = one.arrival
            else:
                is_field = column.field.origin is Origin.EVENT
                value = value_at(one.event.fields if is_field else one.event.environment, column.field.path)
            if bindings is None or (column.variable in bindings and not equal(bindings[column.variable], value)):
                return None
            bindings.setdefault(column.variable, value)
        return bindings

    def _hold(self, tests: tuple[Condition, ...], bindings: Bindings) -> bool:
        return all(holds(test, bindings, {}, RELATIONS) for test in tests)  # type: ignore[arg-type]  # values

    def _is_in_the_way(self, one: Arrived, after: Arrived, absence: Absence, bindings: Bindings) -> bool:
        if one.arrival <= after.arrival or one.time_s >= after.time_s + absence.duration_s:
            return False
        if not self._meets(one, absence.pattern):
            return False
        bound = self._bound(one, absence.pattern, bindings)
        return bound is not None and self._hold(absence.tests, bound)
