"""An agent: a program with a state, woken by events and by its timers.

    WAITING ──> (stop) ──> FINISHED            a wake either ends well, and what it published, printed and asked for is given
       │                                       to its host; or the agent is stopped, and of that wake only what it printed is
       └──> limit or mistake ──> STOPPED       told. Stopped and finished agents have no state, and are not woken again.

An agent does nothing between wakes and decides nothing by itself about time and chance: both are handed in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from ...languages.bad_text import bad_text
from ..events import Event
from ..languages.expressions import Condition
from ..values import Value
from .code import Body
from .conditions import Tested
from .data import Function, Record
from .limits import OWN_WAKES_S, Limits, Reason, Stop, mistake
from .machine import Machine
from .program import Program
from .run import Run, Timer

CHAIN: Final = "agents"
"""The name in the environment of events that agents publish: which agents were woken one by the other, the first one first."""


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
    """Without source and number; the environment is that of the waking event, with :data:`CHAIN`."""
    printed: tuple[str, ...] = ()
    subscribed: tuple[tuple[int, Condition], ...] = ()
    """Tickets, and when the agent is to be woken besides."""
    timers: tuple[tuple[int, float], ...] = ()
    """Tickets, and when :meth:`Agent.timer_due` is to be called."""
    cancelled: tuple[int, ...] = ()
    stopped: AgentStopped | None = None
    steps: int = 0


NOTHING: Final = Outcome()


class Agent:
    """One agent. ``name`` is its own among all whose events may wake it; ``random`` gives numbers from 0 to below 1."""

    def __init__(
        self, program: Program, limits: Limits | None = None, *, name: str = "agent", random: Callable[[], float] = lambda: 0.5
    ) -> None:
        self.program = program
        self.limits = limits or Limits()
        self.name = name
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

    def wake(self, event: Event, recent: Sequence[Event], now_s: float) -> Outcome:
        """Run what an event wakes: handlers of the text in their order, then those subscribed to. ``recent``: the recent
        events, the oldest first."""
        if self.state is not State.WAITING:
            return NOTHING
        bodies = [handler.body for handler in self.program.handlers if handler.test(event.fields, event.environment)]
        functions = [function for tested, function in self._subscribed.values() if tested.test(event.fields, event.environment)]
        if not bodies and not functions:
            return NOTHING
        return self._run(event, recent, now_s, bodies, functions, is_own=self.name in _chain(event))

    def timer_due(self, ticket: int, recent: Sequence[Event], now_s: float) -> Outcome:
        """Run what a timer was set for; nothing for one that was cancelled."""
        timer = self._timers.pop(ticket, None)
        if timer is None or self.state is not State.WAITING:
            return NOTHING
        return self._run(timer.event, recent, now_s, [], [timer.function], is_own=True)

    def _run(
        self,
        event: Event,
        recent: Sequence[Event],
        now_s: float,
        bodies: Sequence[Body],
        functions: Sequence[Function],
        *,
        is_own: bool,
    ) -> Outcome:
        chain = _chain(event)
        run = Run(
            self.limits,
            self._variables,
            event,
            recent,
            now_s,
            self._random,
            last_ticket=self._last_ticket,
            tickets=len(self._subscribed) + len(self._timers),
            chain=len(chain),
        )
        machine = Machine(run, self._live_bytes, self._roots())
        try:
            if is_own:
                self._count_own_wake(now_s)
            if not self._is_started:
                machine.call(Function(self.program.start, None), ())
                self._is_started = True
            for body in bodies:
                machine.call(Function(body, None), ())
            for function in functions:
                self._call(machine, function, run)
            self._live_bytes = machine.count_live()
        except Stop as stop:
            if stop.start is None:
                stop.start = (functions[-1].body if functions else bodies[-1]).starts[-1]
            return self._end(stop, run)
        except (ArithmeticError, ValueError, TypeError, RecursionError, MemoryError) as error:
            return self._end(mistake(f"the interpreter failed: {type(error).__name__}"), run)
        return self._done(run, (*chain, self.name))

    def _call(self, machine: Machine, function: Function, run: Run) -> None:
        machine.call(function, (run.current_event(),) if function.body.parameters else ())

    def _roots(self) -> list[object]:
        return [
            *(function for _, function in self._subscribed.values()),
            *(timer.function for timer in self._timers.values()),
            *(Record(timer.event.fields) for timer in self._timers.values()),
        ]

    def _count_own_wake(self, now_s: float) -> None:
        times = self._own_wakes
        if len(times) == times.maxlen and now_s - times[0] < OWN_WAKES_S:
            limit = self.limits.own_wakes
            raise Stop(
                Reason.OWN_WAKES,
                f"it woke itself more than {limit:,} times in {OWN_WAKES_S:g} s, by timers or by what followed from its events; "
                "expected fewer: wait longer, or leave out by the condition what it publishes itself",
                limit,
            )
        times.append(now_s)

    def _done(self, run: Run, chain: tuple[str, ...]) -> Outcome:
        self._last_ticket = run.last_ticket
        cancelled = tuple(ticket for ticket in run.cancelled if ticket in self._subscribed or ticket in self._timers)
        for ticket, (tested, handler) in run.subscribed.items():
            assert isinstance(tested, Tested)
            assert isinstance(handler, Function)
            self._subscribed[ticket] = (tested, handler)
        self._timers.update(run.timers)
        for ticket in run.cancelled:
            self._subscribed.pop(ticket, None)
            self._timers.pop(ticket, None)
        environment: dict[str, Value] = {**run.environment, CHAIN: list(chain)}
        return Outcome(
            tuple(Event(fields, environment=environment, readers=run.event.readers) for fields in run.published),
            tuple(run.printed),
            tuple((ticket, self._subscribed[ticket][0].condition) for ticket in run.subscribed if ticket in self._subscribed),
            tuple((ticket, timer.due_s) for ticket, timer in run.timers.items() if ticket in self._timers),
            cancelled,
            None,
            run.steps,
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
        published: tuple[Event, ...] = ()
        if by_itself:
            environment: dict[str, Value] = {**run.environment, CHAIN: [*_chain(run.event), self.name]}
            published = tuple(Event(fields, environment=environment, readers=run.event.readers) for fields in run.published)
        return Outcome(published, tuple(run.printed), (), (), cancelled, self.stopped, run.steps)


def _chain(event: Event) -> tuple[str, ...]:
    """Which agents were woken one by the other before an event."""
    names = event.environment.get(CHAIN)
    return tuple([name for name in names if isinstance(name, str)]) if isinstance(names, list) else ()
