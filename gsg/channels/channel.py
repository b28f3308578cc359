"""A channel: producers publish events to it, consumers describe those that interest them, and it sends them on.

    publish ──> seen before? ──> matcher ──> tickets by number ──> readers? ──> report ──> consumer

Filman and Lee, section "Architecture". A channel is itself a consumer, so channels can be put behind each other, in circles too:
an event is known by its source and number, and goes through a channel once. What a consumer publishes while it is told of an event
comes after that event, for everybody. A channel belongs to one thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import Context
from itertools import chain
from random import SystemRandom
from typing import Any, Final

from msgspec.structs import replace

from ..errors import LocalError, Refused
from . import environment as environments
from .agent.program import Program
from .agent_tickets import AgentTickets
from .asked import Deliver, read_asked
from .closure import closure_of
from .events import Event, check_origin, counted_fields_of, names_of
from .languages.expressions import Condition
from .languages.relations import Make, Relations
from .languages.why_not import why_not
from .languages.writing import written
from .matchers.auto import Auto
from .matchers.matcher import Matcher
from .notation import read as read_notation
from .remembered import Remembered
from .seen import SeenEvents
from .temporal import TemporalQuery
from .temporal.matcher import MAX_EVENTS, Match
from .temporal_tickets import TemporalTickets, fields_of_match, readers_of_match
from .ticket import TRANSITIONS, Consume, Consumer, State, Ticket
from .values import Value

log = logging.getLogger(__name__)

_RANDOM: Final = SystemRandom()
MAX_NAME: Final = 200
"""Characters of a channel's name, which is a part of its events' source."""
MAX_TICKETS: Final = 1_000_000
"""Subscriptions of one channel; one more is refused."""
MAX_PENDING: Final = 10_000
"""Events that wait, as consumers published them while they were told of others; one more is refused, to whoever publishes it."""
PENDING_CHARACTERS: Final = 64 * 1024 * 1024
"""Of all that consumers published because of one event; what comes then is refused, to whoever publishes it, until all are told."""
MAX_CASCADE: Final = 100_000
"""Events that one call of publish may bring about; beyond, what is pending is dropped, counted and told."""


class Channel:
    """One event channel. ``name`` is for logs; ``matcher`` makes the matcher, from the channel's relations. ``clock``
    gives seconds and never goes back; ``random`` is that of its agents, from 0 to below 1. Raises LocalError for a long name."""

    def __init__(
        self,
        name: str = "",
        *,
        matcher: Callable[[Relations], Matcher] = Auto,
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = _RANDOM.random,
    ) -> None:
        if len(name) > MAX_NAME:
            raise LocalError(f"a channel with a name of {len(name):,} characters; expected at most {MAX_NAME}")
        self.name = name or "channel"
        self.source = f"{self.name}-{uuid.uuid4().hex[:16]}"
        """Of its events: another one after each start, as numbers begin anew."""
        self.relations = Relations()
        """What its subscriptions can say; :meth:`register_relation` adds to it."""
        self._matcher = matcher(self.relations)
        self._tickets: dict[int, Ticket] = {}
        self._waits: dict[int, Ticket] = {}
        """Active tickets by the number under which a condition of theirs is matched."""
        self._conditions: dict[int, Condition] = {}
        """These conditions."""
        self._number_of: dict[int, int] = {}
        self._last_ticket = self._last_event = self._last_condition = 0
        self._remembered: Remembered[Event] = Remembered(MAX_EVENTS)
        self._temporal = TemporalTickets(self.relations, self._remembered)
        self._agents = AgentTickets(self, random, self.source)
        self._clock = clock
        self._timer: asyncio.TimerHandle | None = None
        """Where asyncio runs: calls :meth:`advance` when it is due."""
        self._seen = SeenEvents()
        self._pending: deque[Event] = deque()
        """Published while others are told of an event. Limits: MAX_PENDING, PENDING_CHARACTERS."""
        self._pending_characters = 0
        """Of all that was published in this cascade."""
        self._is_telling = False
        self._closure: Condition | None = None
        self.on_interest: list[Callable[[Condition, str, int], None]] = []
        """Called with what somebody wants from now on (1) or no more (-1), as others may know it, and who asks."""
        self.on_event: list[Callable[[Event], None]] = []
        """Called with each event that came for the first time, before consumers are told."""
        self.announced_version = 0
        """Of what its links have told of it last. Later links go on from there, as others take no lower one."""
        self.published = 0
        """Events that were made here: by who publishes here, and by agents."""
        self.received = 0
        """Events of other channels, and from elsewhere, that came for the first time."""
        self.delivered = 0
        self.dropped = 0
        """Events of a cascade that went beyond MAX_CASCADE, or was ended by an error."""
        self.withheld = 0
        """Deliveries that did not happen because the event names other readers."""

    @property
    def matcher(self) -> Matcher:
        """What finds the conditions that hold of an event; Auto says in ``name`` and ``why`` what it has chosen."""
        return self._matcher

    def register_relation(self, name: str, make: Make) -> None:
        """Let subscriptions use a relation of the application (:meth:`Relations.register`)."""
        self.relations.register(name, make)

    # --- events ------------------------------------------------------------

    def publish(
        self,
        event: Event | Mapping[str, Any] | str,  # Any: checked where it is copied
        *,
        readers: Iterable[str] | None = None,
        environment: Mapping[str, Any] | None = None,
    ) -> Event:
        """Send an event to all who are interested: fields, a text of name-value pairs, or an event of another channel, which is
        sent on unless it came before.

        ``readers``: who may notice it, None for everybody. ``environment``: what it is published with, by default that which the
        context carries. Returns the event with its source and number. Raises BadTerm, BadText, and Refused where consumers publish
        without end.
        """
        if isinstance(event, Event) and event.source:
            if readers is not None or environment is not None:
                raise LocalError(f"readers or environment of an event of {event.source}, which has its own; leave them out")
            check_origin(event)
            return self._take(event, is_own=False)
        return self._take(self._new(event, readers, environment))

    def _take(self, event: Event, *, is_own: bool = True) -> Event:
        if self._is_telling:
            self._check_pending(event)
        if self._seen.is_new(event.source, event.number):
            self.published += is_own
            self.received += not is_own
            self._pending.append(event)
            if not self._is_telling:
                self._tell_pending()
        return event

    def _check_pending(self, more: Event) -> None:
        self._pending_characters += more.size()
        if len(self._pending) >= MAX_PENDING or self._pending_characters > PENDING_CHARACTERS:
            raise Refused(
                f"an event was not published: {len(self._pending):,} that consumers published while told of others wait already; "
                "look for consumers that answer each event with events that they are told of again"
            )

    def _new(
        self, event: Event | Mapping[str, Any] | str, readers: Iterable[str] | None, environment: Mapping[str, Any] | None
    ) -> Event:
        if isinstance(event, Event):
            readers = event.readers if readers is None else readers
            environment = event.environment if environment is None else environment
            event = event.fields
        fields, characters = (read_notation(event), 0) if isinstance(event, str) else counted_fields_of(event)
        carried = environments.current() if environment is None else environments.of_user(environment)
        return self._made(fields, carried, None if readers is None else names_of(readers), characters)

    def own_event(self, fields: dict[str, Value]) -> Event:
        """What came without source and number, as the next event of this channel; it is not published yet."""
        return self._made(fields, {}, None)

    def _made(
        self, fields: dict[str, Value], environment: Mapping[str, Value], readers: frozenset[str] | None, characters: int = 0
    ) -> Event:
        self._last_event += 1
        return Event(fields, self.source, self._last_event, environment, readers, characters)

    def _made_here(self, fields: dict[str, Value], environment: Mapping[str, Value], readers: frozenset[str] | None) -> Event:
        """An event for one consumer, which is not news here where that is a channel from which it comes back."""
        made = self._made(fields, environment, readers)
        self._seen.is_new(made.source, made.number)
        return made

    def _tell_pending(self) -> None:
        self._is_telling = True
        told = 0
        try:
            while self._pending:
                told += 1
                if told > MAX_CASCADE:
                    log.error("channel %s: one event brought about %d others; %d are dropped", self.name, told, len(self._pending))
                    break
                self._tell(self._pending.popleft())
        finally:
            self.dropped += len(self._pending)
            self._pending.clear()
            self._pending_characters = 0
            self._is_telling = False
            self._agents.end_cascade()

    def _tell(self, event: Event) -> None:
        for hear in self.on_event:
            hear(event)
        now_s = self._clock()
        self._remembered.append(event, now_s)
        waits, woken = self._waits, dict[int, Ticket]()
        found = self._matcher.match(event.fields, event.environment)
        for number in sorted(found) if len(found) > 1 else found:
            ticket = waits.get(number)  # it may have been cancelled by a consumer just told
            if ticket is None:
                continue
            if event.readers is not None and ticket.asker not in event.readers:
                self.withheld += 1
                continue
            if ticket in self._agents:
                woken[ticket.number] = ticket
            else:
                self._deliver(ticket, event)
        self._agents.remember(event)
        for ticket in woken.values():
            if ticket in self._agents:
                ticket.matched += 1
                self._agents.wake(ticket, event, self._clock())
        if (matches := self._temporal.happened(event, now_s)) is not None:
            self._deliver_matches(matches)
        if matches is not None or woken:
            self._set_timer()

    def advance(self) -> bool:
        """Do what is due by now: absences that are over, and timers of agents. Where asyncio runs this is called by itself. Tells
        of 1,000 absences; whether more are due already, for the next call."""
        now_s = self._clock()
        self._deliver_matches(self._temporal.advance(now_s))
        is_telling, self._is_telling = self._is_telling, True  # what timers bring about is one cascade
        try:
            self._agents.run_due(now_s)
        finally:
            if not is_telling:
                self._tell_pending()
        self._set_timer()
        return self._temporal.has_more

    def publish_of_agent(self, event: Event) -> None:
        """Publish what an agent made. For the channel's own parts."""
        self._take(self._made(event.fields, event.environment, event.readers))

    def tell_owner(self, ticket: Ticket, event: Event) -> None:
        """Deliver to one consumer what is told to it alone. For the channel's own parts."""
        self._deliver(ticket, self._made_here(event.fields, event.environment, event.readers), is_match=False)

    def _deliver_matches(self, matches: Iterable[tuple[Ticket, Match]]) -> None:
        for ticket, match in matches:
            fields, readers = fields_of_match(match), readers_of_match(match)
            self._deliver(ticket, self._made_here(fields, match.events[-1].environment, readers))
        for ticket, stopped in self._temporal.take_stopped():
            ticket.stopped = stopped.problem
            log.warning("channel %s: subscription %d is cancelled: %s", self.name, ticket.number, stopped.problem)
            ticket.cancel()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = [due_s for due_s in (self._temporal.next_s, self._agents.next_s) if due_s is not None]
        if due:
            with contextlib.suppress(RuntimeError):  # where asyncio does not run, whoever owns the channel calls advance
                wait_s = max(0.0, min(due) - self._clock())
                self._timer = asyncio.get_running_loop().call_later(wait_s, self.advance, context=Context())

    def _deliver(self, ticket: Ticket, event: Event, *, is_match: bool = True) -> None:
        ticket.matched += is_match
        report = ticket.asked.report
        if report is not None:
            fields = report.of_event(event.fields, event.environment)
            event = Event(fields, event.source, event.number, event.environment, event.readers)
        if ticket.asked.deliver is Deliver.ONCE:
            ticket.cancel()
        try:
            ticket.consume(event)
        except Exception:  # whatever a consumer raises is its own
            ticket.failed += 1
            log.exception("channel %s: the consumer of subscription %d failed at event %d", self.name, ticket.number, event.number)
        else:
            ticket.delivered += 1
            self.delivered += 1

    def has_come(self, source: str, number: int) -> bool:
        """Whether an event came here already."""
        return self._seen.has_come(source, number)

    # --- subscriptions ------------------------------------------------------------

    def subscribe(
        self,
        consumer: Consumer | Consume,
        text: str,
        language: str = "predicate",
        *,
        report: str | None = None,
        signature: Iterable[str] = (),
        deliver: str = "each",
        asker: str = "",
        private: bool = False,
    ) -> Ticket:
        """Send on to a consumer what a text describes.

        ``report``: what of event and environment is sent (report.py), None for the event as it is. ``signature``: fields that an
        event has to have besides. ``asker``: who asks, for events that name their readers. ``private``: the text is kept from
        others, who are told no constants of it. Raises BadText, LocalError.
        """
        if len(self._tickets) >= MAX_TICKETS:
            raise LocalError(f"channel {self.name} has {MAX_TICKETS:,} subscriptions, the most that it may have; cancel some")
        names_of([asker])
        asked = read_asked(text, language, self.relations, report=report, deliver=deliver, signature=signature)
        consume = consumer if callable(consumer) else consumer.publish
        self._last_ticket += 1
        ticket = Ticket(self._last_ticket, asked, consume, self, asker, private)
        self._tickets[ticket.number] = ticket
        self._wait(ticket, tells_old=True)
        return ticket

    def modify(self, ticket: Ticket, text: str, *, language: str | None, report: str | None, deliver: str | None) -> None:
        """As :meth:`Ticket.modify`."""
        before, way = ticket.asked, deliver or ticket.asked.deliver.value
        if ticket.state is State.CANCELLED:
            raise LocalError(f"subscription {ticket.number} was cancelled; subscribe again")
        asked = read_asked(
            text, language or before.language, self.relations, report=report, deliver=way, signature=before.signature
        )
        if report is None:
            asked = replace(asked, report=before.report)
        if ticket.state is not State.ACTIVE:
            ticket.asked = asked
            return
        if isinstance(before.asks, TemporalQuery) and isinstance(asked.asks, TemporalQuery):
            # What was a match before is not told again.
            ticket.asked = asked
            self._temporal.modify(self._number_of[ticket.number], ticket, asked.asks, self._clock())
            self._interests_changed(ticket, asked.asks.interest, 1)
            self._interests_changed(ticket, before.asks.interest, -1)
            self._deliver_matches(())
            self._set_timer()
            return
        self._wait_no_more(ticket)
        ticket.asked = asked
        self._wait(ticket, tells_old=True)

    def enter_state(self, ticket: Ticket, state: State) -> None:
        """Suspend, resume or cancel a subscription; what it is already it stays. Raises LocalError for one that was cancelled."""
        if state is ticket.state:
            return
        if state not in TRANSITIONS[ticket.state]:
            raise LocalError(f"subscription {ticket.number} was cancelled; subscribe again")
        if ticket.state is State.ACTIVE:
            self._wait_no_more(ticket)
        ticket.state = state
        if state is State.ACTIVE:
            self._wait(ticket, tells_old=False)
        if state is State.CANCELLED:
            del self._tickets[ticket.number]
            self._agents.end(ticket)
            ticket.on_end()

    def _wait(self, ticket: Ticket, *, tells_old: bool) -> None:
        asks = ticket.asked.asks
        if isinstance(asks, TemporalQuery):
            self._last_condition += 1
            number = self._number_of[ticket.number] = self._last_condition
            matches = self._temporal.insert(number, ticket, asks, self._clock(), tells_old=tells_old)
            self._interests_changed(ticket, asks.interest, 1)
            self._deliver_matches(matches)
            self._set_timer()
        elif isinstance(asks, Program):
            self._agents.insert(ticket, asks)
        else:
            self._number_of[ticket.number] = self.insert_condition(asks, ticket)

    def _wait_no_more(self, ticket: Ticket) -> None:
        if ticket in self._agents:
            self._agents.remove(ticket)
            return
        number = self._number_of.pop(ticket.number)
        if isinstance(ticket.asked.asks, TemporalQuery):
            self._temporal.remove(number)
            self._interests_changed(ticket, ticket.asked.asks.interest, -1)
        else:
            self.remove_condition(number)

    def insert_condition(self, condition: Condition, ticket: Ticket) -> int:
        """Let a ticket hear of events of which a condition holds; the number to remove it by. For the channel's own parts."""
        self._last_condition += 1
        self._waits[self._last_condition] = ticket
        self._conditions[self._last_condition] = condition
        self._matcher.insert(self._last_condition, condition)
        self._interests_changed(ticket, condition, 1)
        return self._last_condition

    def remove_condition(self, number: int) -> None:
        """Let it hear of these no more."""
        ticket, condition = self._waits.pop(number), self._conditions.pop(number)
        self._matcher.remove(number)
        self._interests_changed(ticket, condition, -1)

    def _interests_changed(self, ticket: Ticket, condition: Condition, sign: int) -> None:
        self._closure = None
        for hear in self.on_interest:
            hear(ticket.shown(condition), ticket.asker, sign)

    # --- what is asked about it ------------------------------------------------------------

    def closure(self) -> str:
        """One subscription of the predicate language for the union of all interests: it may be too large, never too small."""
        if self._closure is None:
            self._closure = closure_of([condition for condition, _ in self.interests()], self.relations)
        return written(self._closure)

    def interests(self) -> Iterator[tuple[Condition, str]]:
        """What somebody wants here, as others may know it, and who asks."""
        single = ((ticket, self._conditions[number]) for number, ticket in self._waits.items())
        return ((ticket.shown(condition), ticket.asker) for ticket, condition in chain(single, self._temporal.interests()))

    def askers(self) -> list[str]:
        """Who asks here, without repetition: for events that name their readers."""
        return sorted({ticket.asker for ticket in self._tickets.values() if ticket.state is State.ACTIVE})

    def tickets(self) -> list[Ticket]:
        """All subscriptions that are not cancelled, in the order in which they were made."""
        return list(self._tickets.values())

    def why_not(self, ticket: Ticket, event: Event | Mapping[str, Any] | str) -> list[str]:
        """Because of which comparisons a subscription is not met by an event, one line each; none where it is met."""
        made = event if isinstance(event, Event) else self._new(event, None, None)
        if made.readers is not None and ticket.asker not in made.readers:
            return [f"the event names its readers, and {ticket.asker or 'a subscriber without a name'} is not among them"]
        asks = ticket.asked.asks
        condition = asks.interest if isinstance(asks, TemporalQuery) else asks.condition if isinstance(asks, Program) else asks
        return why_not(condition, made.fields, made.environment, self.relations)
