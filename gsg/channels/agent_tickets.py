"""The agents of a channel: whom an event wakes, what they see of recent events, and when their timers are due.

An agent's consumer is its owner: what the agent prints comes as events ``{"printed": line}``, and that it was stopped as
``{"stopped": reason, "problem", "limit", "line", "column", "message"}``. What it publishes is published by the channel.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from .agent.agent import NOTHING, Agent, Outcome
from .agent.limits import MAX_RECENT
from .agent.program import Program
from .events import Event
from .languages.expressions import Condition
from .remembered import Remembered
from .ticket import Ticket
from .values import Value

KEPT_CANCELLED: Final = 64
"""Timers that were cancelled and are not due yet."""


class Conditions(Protocol):
    """What agents ask of their channel."""

    def insert_condition(self, condition: Condition, ticket: Ticket) -> int:
        """Let a ticket hear of events of which a condition holds; the number to remove it by."""

    def remove_condition(self, number: int) -> None:
        """Let it hear of these no more."""


PROGRAM: Final = 0
"""In the place of an agent's own ticket: what its program says wakes it. Own tickets count from 1."""


class _Woken:
    """A ticket's agent, and the conditions that wake it: by the agent's own tickets, and with the number to remove each by."""

    def __init__(self, agent: Agent, program: Program) -> None:
        self.agent = agent
        self.program = program
        self.wanted: dict[int, Condition] = {PROGRAM: program.condition}
        self.numbers: dict[int, int] = {}
        self.timers: list[tuple[float, int]] = []
        """While it is suspended: when, and the agent's own ticket."""


class AgentTickets:
    """Agents by their ticket's number. ``random`` gives numbers from 0 to below 1; ``source`` is that of the channel's
    events, in the names of its agents."""

    def __init__(self, conditions: Conditions, random: Callable[[], float], source: str) -> None:
        self._conditions = conditions
        self._random = random
        self._source = source
        self._agents: dict[int, tuple[Ticket, _Woken]] = {}
        self._suspended: dict[int, _Woken] = {}
        """Agents that hear of nothing for a while, and keep their state. Bounded by the tickets."""
        self._due: list[tuple[float, int, int]] = []
        """When, the ticket's number and the agent's own ticket: a heap. Limit: twice those that
        were not cancelled, and KEPT_CANCELLED."""
        self._active_timers: set[tuple[int, int]] = set()
        """Timers that were not cancelled: the ticket's number and the agent's own ticket. Limit: that of the agents' tickets."""
        self._recent: Remembered[Event] = Remembered(MAX_RECENT)
        """For agents to search; kept while there are any."""
        self.stopped = 0
        """Agents that were stopped since the start."""

    def insert(self, ticket: Ticket, program: Program) -> None:
        """Let an agent begin, or go on where it was suspended with this program."""
        woken = self._suspended.pop(ticket.number, None)
        if woken is None or woken.program is not program:
            woken = _Woken(Agent(program, name=f"{self._source}/{ticket.number}", random=self._random), program)
        self._agents[ticket.number] = ticket, woken
        for own, condition in woken.wanted.items():
            woken.numbers[own] = self._conditions.insert_condition(condition, ticket)
        for due_s, own in woken.timers:
            self._set_timer(ticket, own, due_s)
        woken.timers.clear()

    def remove(self, ticket: Ticket) -> None:
        """Let an agent hear of nothing, until it is inserted again or ended."""
        _, woken = self._agents.pop(ticket.number)
        for number in woken.numbers.values():
            self._conditions.remove_condition(number)
        woken.numbers.clear()
        woken.timers = [
            (due_s, own) for due_s, number, own in self._due if (number, own) in self._active_timers and number == ticket.number
        ]
        self._active_timers = {timer for timer in self._active_timers if timer[0] != ticket.number}
        self._drop_cancelled()
        self._suspended[ticket.number] = woken
        if not self._agents:
            self._recent.clear()

    def end(self, ticket: Ticket) -> None:
        """Forget an agent that hears of nothing; nothing where there is none."""
        self._suspended.pop(ticket.number, None)

    def __contains__(self, ticket: Ticket) -> bool:
        return ticket.number in self._agents

    def remember(self, event: Event) -> None:
        """An event has happened."""
        if self._agents:
            self._recent.append(event)

    def wake(self, ticket: Ticket, event: Event, now_s: float) -> Outcome:
        """Run what an event wakes."""
        _, woken = self._agents[ticket.number]
        return self._done(ticket, woken, woken.agent.wake(event, self._seen_by(ticket), now_s))

    def take_due(self, now_s: float) -> tuple[Ticket, Outcome] | None:
        """Run what the timer that is due first is for; None while none is due."""
        if not self._due or self._due[0][0] > now_s:
            return None
        _, number, own = heapq.heappop(self._due)
        self._active_timers.discard((number, own))
        ticket, woken = self._agents[number]
        return ticket, self._done(ticket, woken, woken.agent.timer_due(own, self._seen_by(ticket), now_s))

    @property
    def next_s(self) -> float | None:
        """When :meth:`take_due` has something to do; None for never."""
        return self._due[0][0] if self._due else None

    def _seen_by(self, ticket: Ticket) -> list[Event]:
        return [event for event in self._recent if event.readers is None or ticket.asker in event.readers]

    def _done(self, ticket: Ticket, woken: _Woken, outcome: Outcome) -> Outcome:
        if outcome is NOTHING:
            return outcome
        for own in outcome.cancelled:
            self._active_timers.discard((ticket.number, own))
            number = woken.numbers.pop(own, None)
            if number is not None:
                del woken.wanted[own]
                self._conditions.remove_condition(number)
        for own, condition in outcome.subscribed:
            woken.wanted[own] = condition
            woken.numbers[own] = self._conditions.insert_condition(condition, ticket)
        for own, due_s in outcome.timers:
            self._set_timer(ticket, own, due_s)
        if len(self._due) > 2 * len(self._active_timers) + KEPT_CANCELLED:
            self._drop_cancelled()
        return outcome

    def _set_timer(self, ticket: Ticket, own: int, due_s: float) -> None:
        heapq.heappush(self._due, (due_s, ticket.number, own))
        self._active_timers.add((ticket.number, own))

    def _drop_cancelled(self) -> None:
        self._due = [due for due in self._due if due[1:] in self._active_timers]
        heapq.heapify(self._due)


def told_to_owner(outcome: Outcome) -> Iterator[dict[str, Value]]:
    """What an agent's owner is told of a wake, as events."""
    for line in outcome.printed:
        yield {"printed": line}
    stopped = outcome.stopped
    if stopped is not None:
        fields: dict[str, Value] = {"stopped": stopped.reason.value, "problem": stopped.problem, "message": stopped.message}
        more: dict[str, Value] = {"limit": stopped.limit, "line": stopped.line, "column": stopped.column}
        yield {**fields, **{name: value for name, value in more.items() if value is not None}}
