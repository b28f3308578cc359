"""The agents of a channel: whom an event wakes, what they see of recent events, and when their timers are due.

An agent's consumer is its owner: what the agent prints comes as events ``{"printed": line}``, and that it was stopped as
``{"stopped": reason, "problem", "limit", "line", "column", "message"}``, for the readers of the event that woke it and with its
environment. What it publishes is published by the channel.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from ..errors import BadTerm, Refused
from .agent.agent import NOTHING, Agent, Outcome
from .agent.limits import MAX_RECENT
from .agent.program import Program
from .events import Event
from .languages.expressions import Condition
from .remembered import Remembered
from .ticket import State, Ticket
from .values import Value

log = logging.getLogger(__name__)

KEPT_CANCELLED: Final = 64
"""Timers that were cancelled and are not due yet."""


DROPPED: Final = (
    "an event of another channel says that too many agents were woken by each other before; what this one would publish and "
    "print in answer to such events is left out and counted, and this is told once"
)


class Host(Protocol):
    """What agents ask of their channel."""

    def insert_condition(self, condition: Condition, ticket: Ticket) -> int:
        """Let a ticket hear of events of which a condition holds; the number to remove it by."""

    def remove_condition(self, number: int) -> None:
        """Let it hear of these no more."""

    def publish_of_agent(self, event: Event) -> None:
        """Publish what came without source and number. Raises Refused where too much waits."""

    def tell_owner(self, ticket: Ticket, event: Event) -> None:
        """Deliver what came without source and number to the ticket's consumer alone."""


PROGRAM: Final = 0
"""In the place of an agent's own ticket: what its program says wakes it. Own tickets count from 1."""


class _Woken:
    """A ticket's agent, and the conditions that wake it: by the agent's own tickets, and with the number to remove each by."""

    def __init__(self, agent: Agent, program: Program) -> None:
        self.agent = agent
        self.program = program
        self.wanted: dict[int, Condition] = {PROGRAM: program.condition}
        self.numbers: dict[int, int] = {}
        self.timers: dict[int, float] = {}
        """Those that are set: when, by the agent's own ticket. Limit: limits.MAX_TICKETS."""
        self.is_told_of_dropped = False


class AgentTickets:
    """Agents by their ticket's number. ``random`` gives numbers from 0 to below 1; ``source`` is that of the channel's
    events, in the names of its agents."""

    def __init__(self, host: Host, random: Callable[[], float], source: str) -> None:
        self._host = host
        self._random = random
        self._source = source
        self._agents: dict[int, tuple[Ticket, _Woken]] = {}
        self._suspended: dict[int, _Woken] = {}
        """Agents that hear of nothing for a while, and keep their state. Bounded by the tickets."""
        self._due: list[tuple[float, int, int]] = []
        """When, the ticket's number and the agent's own ticket: a heap, and the first was not cancelled. Limit: twice those that
        were not cancelled, and KEPT_CANCELLED."""
        self._active_timers = 0
        """Timers of :attr:`_due` that were not cancelled."""
        self._spent_steps: dict[int, int] = {}
        """Of agents that were woken in this cascade, by their ticket's number. Bounded by the tickets."""
        self._recent: Remembered[Event] = Remembered(MAX_RECENT)
        """For agents to search; kept while there are any."""
        self.stopped = 0
        """Agents that were stopped since the start."""
        self.dropped = 0
        """Events and lines of agents that went beyond a chain of agents which another channel gave."""

    def insert(self, ticket: Ticket, program: Program) -> None:
        """Let an agent begin, or go on where it was suspended with this program."""
        woken = self._suspended.pop(ticket.number, None)
        if woken is None or woken.program is not program:
            woken = _Woken(self._new_agent(ticket, program), program)
        self._agents[ticket.number] = ticket, woken
        for own, condition in woken.wanted.items():
            woken.numbers[own] = self._host.insert_condition(condition, ticket)
        for own, due_s in woken.timers.items():
            self._set_timer(ticket, own, due_s)

    def _new_agent(self, ticket: Ticket, program: Program) -> Agent:
        return Agent(program, name=f"{self._source}/{ticket.number}", source=self._source, random=self._random)

    def remove(self, ticket: Ticket) -> None:
        """Let an agent hear of nothing, until it is inserted again or ended."""
        _, woken = self._agents.pop(ticket.number)
        for number in woken.numbers.values():
            self._host.remove_condition(number)
        woken.numbers.clear()
        self._active_timers -= len(woken.timers)
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

    def wake(self, ticket: Ticket, event: Event, now_s: float) -> None:
        """Run what an event wakes, and do what follows."""
        _, woken = self._agents[ticket.number]
        spent_steps = self._spent_steps.get(ticket.number, 0)
        self._done(ticket, woken, woken.agent.wake(event, self._seen_by(ticket), now_s, spent_steps=spent_steps))

    def run_due(self, now_s: float) -> None:
        """Run what timers are for that are due, and do what follows."""
        while self._due and self._due[0][0] <= now_s:
            _, number, own = heapq.heappop(self._due)
            ticket, woken = self._agents[number]
            del woken.timers[own]
            self._active_timers -= 1
            spent_steps = self._spent_steps.get(number, 0)
            self._done(ticket, woken, woken.agent.timer_due(own, self._seen_by(ticket), now_s, spent_steps=spent_steps))
            self._drop_cancelled()

    def end_cascade(self) -> None:
        """Nothing that was published is left to be told: what happens from now on does not follow from it."""
        self._spent_steps.clear()

    @property
    def next_s(self) -> float | None:
        """When :meth:`run_due` has something to do; None for never."""
        return self._due[0][0] if self._due else None

    def _seen_by(self, ticket: Ticket) -> list[Event]:
        return [event for event in self._recent if event.readers is None or ticket.asker in event.readers]

    def _done(self, ticket: Ticket, woken: _Woken, outcome: Outcome) -> None:
        if outcome is NOTHING:
            return
        self._spent_steps[ticket.number] = self._spent_steps.get(ticket.number, 0) + outcome.steps
        for own in outcome.cancelled:
            self._active_timers -= woken.timers.pop(own, None) is not None
            number = woken.numbers.pop(own, None)
            if number is not None:
                del woken.wanted[own]
                self._host.remove_condition(number)
        for own, condition in outcome.subscribed:
            woken.wanted[own] = condition
            woken.numbers[own] = self._host.insert_condition(condition, ticket)
        for own, due_s in outcome.timers:
            woken.timers[own] = due_s
            self._set_timer(ticket, own, due_s)
        self._drop_cancelled()
        self._do(ticket, woken, outcome)

    def _do(self, ticket: Ticket, woken: _Woken, outcome: Outcome) -> None:
        """What an agent wants done after a wake."""
        for event in outcome.published:
            try:
                self._host.publish_of_agent(event)
            except (Refused, BadTerm) as error:
                log.warning("%s: what agent %d publishes is refused: %s", self._source, ticket.number, error)
                break
        told = list(told_to_owner(outcome))
        if outcome.dropped:
            self.dropped += outcome.dropped
            if not woken.is_told_of_dropped:
                told.append({"dropped": outcome.dropped, "problem": DROPPED})
            woken.is_told_of_dropped = True
        for fields in told:
            if ticket.state is not State.ACTIVE:  # its consumer may cancel it at each line
                break
            self._host.tell_owner(ticket, Event(fields, environment=outcome.environment, readers=outcome.readers))
        if outcome.stopped is not None:
            ticket.stopped = outcome.stopped.message
            self.stopped += outcome.stopped.limit is not None
            ticket.cancel()

    def _set_timer(self, ticket: Ticket, own: int, due_s: float) -> None:
        heapq.heappush(self._due, (due_s, ticket.number, own))
        self._active_timers += 1

    def _is_set(self, due: tuple[float, int, int]) -> bool:
        due_s, number, own = due
        return number in self._agents and self._agents[number][1].timers.get(own) == due_s

    def _drop_cancelled(self) -> None:
        if len(self._due) > 2 * self._active_timers + KEPT_CANCELLED:
            self._due = list({due for due in self._due if self._is_set(due)})
            heapq.heapify(self._due)
        while self._due and not self._is_set(self._due[0]):
            heapq.heappop(self._due)


def told_to_owner(outcome: Outcome) -> Iterator[dict[str, Value]]:
    """What an agent's owner is told of a wake, as events."""
    for line in outcome.printed:
        yield {"printed": line}
    stopped = outcome.stopped
    if stopped is not None:
        fields: dict[str, Value] = {"stopped": stopped.reason.value, "problem": stopped.problem, "message": stopped.message}
        more: dict[str, Value] = {"limit": stopped.limit, "line": stopped.line, "column": stopped.column}
        yield {**fields, **{name: value for name, value in more.items() if value is not None}}
