"""An agent: a program with a state, woken by events and by its timers.

    WAITING ──> (stop) ──> FINISHED            a wake either ends well, and what it published, printed and asked for is given
       │                                       to its host; or the agent is stopped, and of that wake only what it printed is
       └──> limit or mistake ──> STOPPED       told. Stopped and finished agents have no state, and are not woken again.

An agent does nothing between wakes and decides nothing by itself about time and chance: both are handed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from ...languages.bad_text import bad_text
from ..environment import CHAIN
from ..events import Event
from ..languages.expressions import Condition
from ..values import Value
from .conditions import Tested
from .costs import PARTS
from .data import Function, Record
from .limits import OWN_WAKES_S, Limits, Reason, Stop, mistake
from .machine import Machine
from .program import Program
from .run import Run, Timer


class State(Enum):
    """What an agent does."""

    WAITING = "waiting"
    FINISHED = "finished"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class AgentStopped:
    """Why an agent runs no more, for its owner. ``limit`` is the one that it went beyond; line and column are in its text, None
    where it was stopped before it ran."""

    agent: str
    reason: Reason
    problem: str
    limit: int | None = None
    line: int | None = None
    column: int | None = None
    message: str = ""
    steps: int = 0
    """Of its last wake."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a wake came to, for the host to do."""

    published: tuple[Event, ...] = ()
    """Without source and number; environment and readers are as below."""
    printed: tuple[str, ...] = ()
    subscribed: tuple[tuple[int, Condition], ...] = ()
    """Tickets, and when the agent is to be woken besides."""
    timers: tuple[tuple[int, float], ...] = ()
    """Tickets, and when :meth:`Agent.timer_due` is to be called."""
    cancelled: tuple[int, ...] = ()
    stopped: AgentStopped | None = None
    steps: int = 0
    environment: Mapping[str, Value] = field(default_factory=dict)
    """Of what is told: that of the waking event, with :data:`CHAIN`."""
    readers: frozenset[str] | None = None
    """Of what is told: those of the waking event."""
    dropped: int = 0
    """Events and lines that went beyond a chain of agents that another channel gave, which may have made it up."""


NOTHING: Final = Outcome()


class Agent:
    """One agent. ``name`` is its own among all whose events may wake it; ``source`` is that of its channel, whose events say truly
    which agents were woken before; ``random`` gives numbers from 0 to below 1."""

    def __init__(
        self,
        program: Program,
        limits: Limits | None = None,
        *,
        name: str = "agent",
        source: str = "",
        random: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self.program = program
        self.limits = limits or Limits()
        self.name = name
        self.source = source
        self.state = State.WAITING
        self.stopped: AgentStopped | None = None
        self._random = random
        self._variables: list[object] = [None] * len(program.variables)
        self._is_started = False
        self._last_ticket = 0
        self._subscribed: dict[int, tuple[Tested, Function]] = {}
        self._timers: dict[int, Timer] = {}
        self._live_bytes = 0
        self._own_wakes: deque[float] = deque(maxlen=self.limits.own_wakes)
        """When it woke itself the last times. Limit: limits.own_wakes."""
        self._own_wakes_told: deque[float] = deque(maxlen=self.limits.own_wakes)
        """When another channel's event said so the last times, truly or not. Limit: limits.own_wakes."""

    def wake(self, event: Event, recent: Sequence[Event], now_s: float, *, spent_steps: int = 0) -> Outcome:
        """Run what an event wakes: handlers of the text in their order, then those subscribed to. ``recent``: the recent
        events, the oldest first. ``spent_steps``: those of its wakes by what this event follows from."""
        if self.state is not State.WAITING:
            return NOTHING
        return self._run(event, recent, now_s, None, spent_steps, is_own=self.name in _chain(event))

    def timer_due(self, ticket: int, recent: Sequence[Event], now_s: float, *, spent_steps: int = 0) -> Outcome:
        """Run what a timer was set for; nothing for one that was cancelled."""
        timer = self._timers.pop(ticket, None)
        if timer is None or self.state is not State.WAITING:
            return NOTHING
        return self._run(timer.event, recent, now_s, timer.function, spent_steps, is_own=True)

    def _run(
        self,
        event: Event,
        recent: Sequence[Event],
        now_s: float,
        function: Function | None,
        spent_steps: int,
        *,
        is_own: bool,
    ) -> Outcome:
        """Call a function, or, where there is none, what the event wakes."""
        chain = _chain(event)
        run = Run(
            self.limits,
            self._variables,
            event,
            recent,
            now_s,
            self._random,
            last_ticket=self._last_ticket,
            held={**{own: tested.weight for own, (tested, _) in self._subscribed.items()}, **dict.fromkeys(self._timers, 0)},
            chain=len(chain),
            is_from_elsewhere=event.source not in ("", self.source),
            most_steps=max(0, min(self.limits.steps, max(self.limits.cascade_steps, self.limits.steps) - spent_steps)),
        )
        machine = Machine(run, self._live_bytes, self._roots())
        try:
            functions = self._woken(event, run) if function is None else [function]
            if not functions:
                return Outcome(steps=run.steps) if run.steps else NOTHING
            if is_own and not self._count_own_wake(now_s, is_told=run.is_from_elsewhere and function is None):
                run.dropped = 1
                return self._outcome(run, ())
            if not self._is_started:
                machine.call(Function(self.program.start, None), ())
                self._is_started = True
            for each in functions:
                machine.call(each, (run.taken_event(),) if each.body.parameters else ())
            self._live_bytes = machine.count_live()
        except Stop as stop:
            if stop.start is None:
                stop.start = (self.program.handlers[-1].body if function is None else function.body).starts[-1]
            return self._end(stop, run)
        except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
            return self._end(mistake(f"the interpreter failed: {type(error).__name__}"), run)
        return self._done(run)

    def _woken(self, event: Event, run: Run) -> list[Function]:
        """What an event wakes: handlers of the text in their order, then functions subscribed."""
        found, parts = list[Function](), 0
        woken = [(handler.tested, Function(handler.body, None)) for handler in self.program.handlers]
        woken.extend(self._subscribed.values())
        for tested, function in woken:
            if len(woken) > 1:  # the only one has just been tested by the channel, whose work that is
                parts += tested.parts(run, event.fields, event.environment)
                run.charge(parts // PARTS)
                parts %= PARTS
            if tested.test(event.fields, event.environment):
                found.append(function)
        return found

    def _roots(self) -> list[object]:
        return [
            *(function for _, function in self._subscribed.values()),
            *(timer.function for timer in self._timers.values()),
            *(Record(timer.event.fields) for timer in self._timers.values()),
        ]

    def _count_own_wake(self, now_s: float, *, is_told: bool) -> bool:
        """Whether it may wake itself now; False where that may be another channel's fault. Raises Stop where it is its own."""
        times = self._own_wakes_told if is_told else self._own_wakes
        if len(times) == times.maxlen and now_s - times[0] < OWN_WAKES_S:
            if is_told:
                return False
            limit = self.limits.own_wakes
            raise Stop(
                Reason.OWN_WAKES,
                f"it woke itself more than {limit:,} times in {OWN_WAKES_S:g} s, by timers or by what followed from its events; "
                "expected fewer: wait longer, or leave out by the condition what it publishes itself",
                limit,
            )
        times.append(now_s)
        return True

    def _done(self, run: Run) -> Outcome:
        self._last_ticket = run.last_ticket
        for ticket, (tested, handler) in run.subscribed.items():
            assert isinstance(tested, Tested)
            assert isinstance(handler, Function)
            self._subscribed[ticket] = (tested, handler)
        self._timers.update(run.timers)
        for ticket in run.cancelled:
            self._subscribed.pop(ticket, None)
            self._timers.pop(ticket, None)
        return self._outcome(
            run,
            run.published,
            subscribed=tuple((ticket, self._subscribed[ticket][0].condition) for ticket in run.subscribed),
            timers=tuple((ticket, timer.due_s) for ticket, timer in run.timers.items()),
            cancelled=tuple(run.cancelled),
        )

    def _outcome(
        self,
        run: Run,
        published: Sequence[dict[str, Value]],
        *,
        subscribed: tuple[tuple[int, Condition], ...] = (),
        timers: tuple[tuple[int, float], ...] = (),
        cancelled: tuple[int, ...] = (),
    ) -> Outcome:
        readers = run.event.readers
        environment: dict[str, Value] = {**run.environment, CHAIN: [*_chain(run.event), self.name]}
        return Outcome(
            tuple(Event(fields, environment=environment, readers=readers) for fields in published),
            tuple(run.printed),
            subscribed,
            timers,
            cancelled,
            self.stopped,
            run.steps,
            environment,
            readers,
            run.dropped,
        )

    def _end(self, stop: Stop, run: Run) -> Outcome:
        by_itself = stop.reason is Reason.ITSELF
        self.state = State.FINISHED if by_itself else State.STOPPED
        line = column = None
        message = stop.problem
        if stop.start is not None:
            shown = bad_text(self.program.text, stop.start, stop.problem, what="agent")
            line, column, message = shown.line, shown.column, str(shown)
        self.stopped = AgentStopped(self.name, stop.reason, stop.problem, stop.limit, line, column, message, run.steps)
        cancelled = (*self._subscribed, *self._timers)
        self._variables, self._subscribed, self._timers = [], {}, {}
        return self._outcome(run, run.published if by_itself else (), cancelled=cancelled)


def _chain(event: Event) -> tuple[str, ...]:
    """Which agents were woken one by the other before an event."""
    names = event.environment.get(CHAIN)
    return tuple([name for name in names if isinstance(name, str)]) if isinstance(names, list) else ()
