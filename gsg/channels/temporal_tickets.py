"""The temporal subscriptions of a channel: what of their matches is delivered, to whom, and when the next timer is due.

A match is delivered as an event with what each variable is bound to, and ``events``, the fields of the events in the order of the
patterns. All of them have to be for whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from .asked import Deliver
from .events import Event
from .languages.expressions import Condition
from .languages.relations import Relations
from .temporal.matcher import Match, Stopped, TemporalMatcher
from .temporal.query import TemporalQuery
from .ticket import Ticket
from .values import Value


class TemporalTickets:
    """Tickets by the number under which their query is matched."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._matcher = TemporalMatcher(relations)
        self._waits: dict[int, tuple[Ticket, TemporalQuery]] = {}

    def insert(
        self, number: int, ticket: Ticket, query: TemporalQuery, now_s: float, *, tells_old: bool
    ) -> list[tuple[Ticket, Match]]:
        """Let a ticket wait; its matches among the events that are remembered, where it ``tells_old`` ones."""
        self._waits[number] = ticket, query
        return list(self._chosen(self._matcher.insert(number, query, now_s, tells_old=tells_old)))

    def modify(self, number: int, ticket: Ticket, query: TemporalQuery, now_s: float) -> None:
        """Let a ticket wait for something else, from now on."""
        self._waits[number] = ticket, query
        self._matcher.modify(number, query, now_s)

    def remove(self, number: int) -> None:
        """Let a ticket wait no more."""
        del self._waits[number]
        self._matcher.remove(number)
        if not self._waits:
            # Nothing is told to it from now on, so what it remembers would not be what happened last.
            self._matcher = TemporalMatcher(self._relations)

    def happened(self, event: Event, now_s: float) -> list[tuple[Ticket, Match]]:
        """The matches to deliver that an event brings, or that were due before it."""
        return list(self._chosen(self._matcher.happened(event, now_s)))

    def advance(self, now_s: float) -> list[tuple[Ticket, Match]]:
        """The matches to deliver whose absences are over."""
        return list(self._chosen(self._matcher.advance(now_s)))

    def take_stopped(self) -> list[tuple[Ticket, Stopped]]:
        """The tickets whose subscriptions exceeded a limit since this was last called."""
        return [
            (self._waits[stopped.number][0], stopped) for stopped in self._matcher.take_stopped() if stopped.number in self._waits
        ]

    @property
    def next_s(self) -> float | None:
        """When :meth:`advance` is due; None for never."""
        return self._matcher.next_s

    def interests(self) -> Iterator[tuple[Ticket, Condition]]:
        """What holds of each event that can matter to a ticket."""
        return ((ticket, query.interest) for ticket, query in self._waits.values())

    def __len__(self) -> int:
        return len(self._waits)

    def _chosen(self, matches: list[Match]) -> Iterator[tuple[Ticket, Match]]:
        for number, group in groupby(matches, key=lambda match: match.number):
            ticket, _ = self._waits[number]
            readable = [match for match in group if all(_may_notice(ticket, event) for event in match.events)]
            match ticket.asked.deliver:
                case Deliver.FIRST | Deliver.ONCE:
                    readable = readable[:1]
                case Deliver.LAST:
                    readable = readable[-1:]
            yield from ((ticket, each) for each in readable)


def fields_of_match(match: Match) -> dict[str, Value]:
    """The event as which a match is delivered."""
    return {**match.bindings, "events": [event.fields for event in match.events]}


def readers_of_match(match: Match) -> frozenset[str] | None:
    """Who may notice the event as which a match is delivered: who may notice each of its events."""
    named = [event.readers for event in match.events if event.readers is not None]
    return frozenset.intersection(*named) if named else None


def _may_notice(ticket: Ticket, event: Event) -> bool:
    return event.readers is None or ticket.asker in event.readers
