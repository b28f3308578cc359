"""The matcher of temporal subscriptions: events go in, one by one and with the time, and matches come out.

    event ──> conditions of single events (channels/matchers) ──> memories of windows ──> search from the event ──> absences

An event costs what the memories it enters and the searches from it cost; where its conditions hold of no pattern it costs their
matcher alone. It is told of time and has none of its own: :attr:`TemporalMatcher.next_s` says when it is to be told next.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple

import msgspec

from ..events import Event
from ..languages.expressions import Condition
from ..languages.relations import Relations
from ..languages.source import LazyTest
from ..matchers.compile import Compile
from ..matchers.matcher import Matcher
from ..remembered import Remembered
from ..values import Value
from .absence import Absences, Timers
from .generated import TooManySteps, binder, reporter
from .index import Found, Record
from .memory import Memory
from .plan import Plan, Shape
from .query import TemporalQuery, Window
from .search import Search

MAX_EVENTS: Final = 1_000
"""That are remembered, unless said otherwise, and no more characters of them than remembered.py says; the oldest is forgotten
first."""
MAX_DUE: Final = 1_000
"""Matches told by one call because their absences are over; the rest is due at the next call."""
SWEPT: Final = 8
"""Events after which one more memory is looked through for what has left its window."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one subscription; one that exceeds any is stopped, and told so by the limit's name."""

    matches: int = 1_000
    """By one event."""
    steps: int = 50_000
    """Events, and matches that wait, that are looked at for one event, and what is tested of them (checks.py): about 20 ms."""
    old_matches: int = 10_000
    """Among the events that are remembered when it begins."""
    old_steps: int = 500_000
    """The same when it begins."""
    waiting: int = 10_000
    """Matches that wait for an absence."""


class Match(msgspec.Struct, eq=False, gc=False):
    """Events that are as a subscription says. They are in no circle, so Python's collection of garbage need not look at them."""

    number: int
    """Of the subscription."""
    events: tuple[Event, ...]
    """By pattern; one event may be there several times."""
    _found: Found
    _bindings_of: Callable[[Found], dict[str, Value]]
    due_s: float | None = None
    """When its absences were over; None where that was before its last event."""

    @property
    def arrivals(self) -> tuple[int, ...]:
        """The arrival numbers of the events."""
        return tuple([record.arrival for record in self._found])

    @property
    def moment(self) -> tuple[int, float]:
        """What its last event, or the end of its absences, has in common with other matches of the subscription."""
        return (max(self.arrivals), 0.0) if self.due_s is None else (0, self.due_s)

    @property
    def bindings(self) -> dict[str, Value]:
        """What each variable is bound to, in the first pattern that has it. Another dict each time."""
        return self._bindings_of(self._found)

    def __repr__(self) -> str:
        return f"Match(number={self.number}, arrivals={self.arrivals}, bindings={self.bindings})"


class Stopped(NamedTuple):
    """A subscription has ended, since it exceeded a limit."""

    number: int
    limit: str
    """Its name in :class:`Limits`."""
    problem: str


class TemporalMatcher:
    """Subscriptions by number, and the last events: those of ``remembered``, to which its owner appends each event before it
    happens here, or its own. Times, in seconds of any clock, never go back: an earlier one is taken for the latest.

    Matches come in an order: first those whose absences are over, by the time when they were; then those that the event completes,
    by the number of the subscription, and by the arrival numbers of their events, pattern by pattern.
    """

    def __init__(
        self,
        relations: Relations,
        *,
        max_events: int = MAX_EVENTS,
        limits: Limits = Limits(),
        matcher: Matcher | None = None,
        remembered: Remembered[Event] | None = None,
    ) -> None:
        self._relations = relations
        self._max_events = max_events
        self._limits = limits
        self._conditions = Compile(relations) if matcher is None else matcher
        self._alphas: dict[Condition, _Alpha] = {}
        self._by_number: dict[int, _Alpha] = {}
        self._alpha_numbers = count(1)
        self._standing: dict[int, _Standing] = {}
        self._timers = Timers()
        self._remembered: Remembered[Event] = Remembered(max_events) if remembered is None else remembered
        self._appends = remembered is None
        self._sweep: deque[Memory] = deque()
        """All memories: with some events, one of them lets go of what has left its window, though no event enters it."""
        self._stopped: list[Stopped] = []
        self._arrivals = 0
        """Of the events that have happened here, which alone are remembered to it."""
        self._now_s = float("-inf")

    # --- subscriptions --------------------------------------------------------------------------------------------------------

    def insert(self, number: int, query: TemporalQuery, now_s: float, *, tells_old: bool = True) -> list[Match]:
        """Let a query be matched. Gives its matches among the remembered events that are in its window now; unless it ``tells_old``
        ones, of these alone what waits for an absence that is not over.

        Raises ValueError for the number of another one.
        """
        return self._insert(number, query, now_s, tells_old=tells_old)

    def modify(self, number: int, query: TemporalQuery, now_s: float) -> None:
        """Put a query in the place of another. What is a match already is not told again: of the remembered events, alone they are
        told only if they wait for an absence that is not over."""
        self.remove(number)
        self._insert(number, query, now_s, tells_old=False)

    def remove(self, number: int) -> None:
        """Forget a query, with its matches that wait; nothing where it was stopped or is not there."""
        if self._stopped:
            self._stopped = [stopped for stopped in self._stopped if stopped.number != number]
        standing = self._standing.pop(number, None)
        if standing is not None:
            for role, memory in standing.close():
                self._release(memory, number, role)

    def _insert(self, number: int, query: TemporalQuery, now_s: float, *, tells_old: bool) -> list[Match]:
        if number in self._standing:
            raise ValueError(f"a second subscription of number {number}; expected another number, or modify")
        self._now_s = now_s = max(now_s, self._now_s)
        plan = Plan(query, self._relations)
        memories = [self._memory(shape, query.window, number, role) for role, shape in enumerate(plan.shapes)]
        absent = [self._memory(each.shape, query.window, number, ~role) for role, each in enumerate(plan.absences)]
        standing = self._standing[number] = _Standing(number, plan, memories, absent, self._timers, self._limits)
        if not tells_old and not plan.absences:
            return []
        try:
            old = standing.search_old(now_s)
        except TooManySteps as problem:
            self._stop(number, str(problem), is_old=True)
            return []
        return old if tells_old else []

    # --- events and time ------------------------------------------------------------------------------------------------------

    def happened(self, event: Event, now_s: float) -> list[Match]:
        """An event arrives. Gives the matches that were due by now, then those that it completes."""
        if now_s < self._now_s:
            now_s = self._now_s
        self._now_s = now_s
        told = self.advance(now_s) if self._timers.heap else []
        if self._appends:
            self._remembered.append(event, now_s)
        self._arrivals = arrivals = self._remembered.appended
        if self._sweep and arrivals % SWEPT == 0:
            self._sweep.rotate(1)
            self._sweep[0].forget(arrivals, now_s)
        touched: dict[int, list[tuple[list[int], Record]]] = {}
        for hit in self._conditions.match(event.fields, event.environment):
            for memory in self._by_number[hit].memories.values():
                memory.forget(arrivals, now_s)
                record = memory.insert(event, arrivals, now_s)
                if record is not None:
                    for number, roles in memory.users.items():
                        if number in touched:
                            touched[number].append((roles, record))
                        else:
                            touched[number] = [(roles, record)]
        for number in sorted(touched) if len(touched) > 1 else touched:
            try:
                told += self._standing[number].happened(touched[number], arrivals, now_s)
            except TooManySteps as problem:
                self._stop(number, str(problem), is_old=False)
        return told

    def skip(self) -> None:
        """An event has happened, and nobody waits."""
        self._arrivals = self._remembered.appended

    def advance(self, now_s: float) -> list[Match]:
        """It is as late as this. Gives the matches whose absences are over, of many the first MAX_DUE."""
        self._now_s = max(now_s, self._now_s)
        told = []
        for waiting in self._timers.take_due(self._now_s, MAX_DUE):
            standing = self._standing[waiting.number]
            standing.absences.forget(waiting)
            told.append(standing.match(waiting.found, waiting.due_s))
        return told

    @property
    def unfinished(self) -> tuple[int, float] | None:
        """The subscription and the time of the next match of those that are due already and were beyond MAX_DUE."""
        first = self._timers.first
        return first if first is not None and first[1] <= self._now_s else None

    @property
    def next_s(self) -> float | None:
        """When :meth:`advance` is to be called next, if no event happens before; None while nothing waits."""
        first = self._timers.first
        return None if first is None else first[1]

    def take_stopped(self) -> list[Stopped]:
        """The subscriptions that were stopped since this was last called: their owners are to be told."""
        stopped, self._stopped = self._stopped, []
        return stopped

    def __len__(self) -> int:
        return len(self._standing)

    # --- memories -------------------------------------------------------------------------------------------------------------

    def _memory(self, shape: Shape, window: Window, number: int, role: int) -> Memory:
        alpha = self._alphas.get(shape.condition)
        if alpha is None:
            alpha = self._alphas[shape.condition] = _Alpha(next(self._alpha_numbers))
            self._by_number[alpha.number] = alpha
            self._conditions.insert(alpha.number, shape.condition)
        memory = alpha.memories.get((shape, window))
        if memory is None:
            last = min(self._max_events, window.last or self._max_events)
            memory = alpha.memories[shape, window] = Memory(shape, window, last, self._remembered)
            test = LazyTest(shape.condition, self._relations)
            for arrival, event, time_s in self._remembered.numbered():
                if arrival <= self._arrivals and test(event.fields, event.environment):
                    memory.insert(event, arrival, time_s)
            self._sweep.append(memory)
        memory.forget(self._arrivals, self._now_s)
        memory.users.setdefault(number, []).append(role)
        return memory

    def _release(self, memory: Memory, number: int, role: int) -> None:
        memory.users[number].remove(role)
        if not memory.users[number]:
            del memory.users[number]
        if memory.users:
            return
        self._sweep.remove(memory)
        alpha = self._alphas[memory.shape.condition]
        del alpha.memories[memory.shape, memory.window]
        if not alpha.memories:
            del self._alphas[memory.shape.condition], self._by_number[alpha.number]
            self._conditions.remove(alpha.number)

    def _stop(self, number: int, limit: str, *, is_old: bool) -> None:
        self.remove(number)
        name = f"old_{limit}" if is_old and limit != "waiting" else limit
        what = {
            "matches": "matches by one event",
            "steps": "events looked at and tested for one event",
            "old_matches": "matches among the remembered events",
            "old_steps": "remembered events looked at and tested",
            "waiting": "matches that wait for an absence",
        }[name]
        problem = (
            f"subscription {number} was stopped: more than {getattr(self._limits, name):,} {what} (limit {name}); "
            "expected fewer: join its events by a common variable, test more of them, or give a window such as (last 100)"
        )
        self._stopped.append(Stopped(number, name, problem))


class _Alpha:
    """A condition on single events, and the memories of those that meet it."""

    __slots__ = ("memories", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.memories: dict[tuple[Shape, Window], Memory] = {}


class _Standing:
    """One subscription. Its roles: the numbers of its patterns, and ``~0``, ``~1`` ... for what is to be absent."""

    def __init__(
        self, number: int, plan: Plan, memories: list[Memory], absent: list[Memory], timers: Timers, limits: Limits
    ) -> None:
        self._number = number
        self._plan = plan
        self._memories = memories
        self._absent = absent
        self._distinct = list(dict.fromkeys((*absent, *memories)))
        self._limits = limits
        self._search = Search(plan, memories)
        self._matches = reporter(len(memories))
        self._bindings_of = binder(plan.bindings)
        self.absences = Absences(number, plan.absences, absent, timers, self._search.spend)

    def happened(self, filled: list[tuple[list[int], Record]], arrivals: int, now_s: float) -> list[Match]:
        """An event arrives that is in some of its memories by now: those of these roles. Raises TooManySteps."""
        found = self._search.begin(self._limits.steps, self._limits.matches)
        is_possible = True
        for memory in self._distinct:
            records = memory.records
            if not records or records[-1][0] != arrivals:  # its arrival
                memory.forget(arrivals, now_s)
                is_possible = is_possible and (bool(records) or memory in self._absent)
        if self._absent:
            for roles, record in filled:
                for role in roles:
                    if role < 0:
                        self.absences.happened(~role, record)
            filled = [([role for role in roles if role >= 0], record) for roles, record in filled]
        if not is_possible:
            return []
        for patterns, record in filled:
            self._search.find(patterns, record)
        if not found:
            return []
        found.sort()
        return self._told(found, now_s)

    def search_old(self, now_s: float) -> list[Match]:
        """Its matches among remembered events, in the order in which they were completed. Raises TooManySteps."""
        found = self._search.begin(self._limits.old_steps, self._limits.old_matches)
        for record in self._memories[0].records:
            self._search.find((0,), record)
        found.sort(key=lambda each: (max([record.arrival for record in each]), each))
        return self._told(found, now_s)

    def _told(self, found: list[Found], now_s: float) -> list[Match]:
        if not self._plan.absences:
            return self._matches(Match, self._number, found, self._bindings_of)
        told = []
        for each in found:
            waiting = self.absences.begin(each)
            if waiting is not None and waiting.due_s <= now_s:
                is_later = waiting.due_s > max(record.time_s for record in each)
                told.append(self.match(each, waiting.due_s if is_later else None))
            elif waiting is not None:
                if self.absences.length >= self._limits.waiting:
                    raise TooManySteps("waiting")
                self.absences.wait(waiting)
        return told

    def match(self, found: Found, due_s: float | None) -> Match:
        """What is told of a match."""
        [match] = self._matches(Match, self._number, [found], self._bindings_of)
        match.due_s = due_s
        return match

    def close(self) -> Iterator[tuple[int, Memory]]:
        """Nothing waits any more, and its memories are released: by role."""
        self.absences.close()
        self._search.close()
        yield from enumerate(self._memories)
        yield from ((~role, memory) for role, memory in enumerate(self._absent))
