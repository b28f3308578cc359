"""The temporal subscriptions of a channel: what of their matches is delivered, to whom, and when the next timer is due.

A match is delivered as an event with what each variable is bound to, and ``events``, the fields of the events in the order of the
patterns. All of them have to be for whoever asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .asked import Deliver
from .events import Event
from .languages.expressions import Condition
from .languages.relations import Relations
from .remembered import Remembered
from .temporal.matcher import Match, Stopped, TemporalMatcher
from .temporal.query import TemporalQuery
from .ticket import Ticket
from .values import Value


class _Waits(NamedTuple):
    """What a ticket waits for. Another one after each change."""

    ticket: Ticket
    query: TemporalQuery


class TemporalTickets:
    """Tickets by the number under which their query is matched, and ``remembered`` events, to which each is appended before it
    happens here.

    Matches to deliver are given one by one: when it is the turn of one, its ticket waits for it still.
    """

    def __init__(self, relations: Relations, remembered: Remembered[Event]) -> None:
        self._matcher = TemporalMatcher(relations, remembered=remembered)
        self._waits: dict[int, _Waits] = {}
        self._first_told: tuple[int, tuple[int, float]] | None = None
        """The number of a ticket that has had its first match of a moment, and the moment, where more of it are due."""
        self._last_kept: tuple[_Waits, Match] | None = None
        """The last match so far, for a ticket that takes the last, of a moment more of which are due."""

    def insert(
        self, number: int, ticket: Ticket, query: TemporalQuery, now_s: float, *, tells_old: bool
    ) -> Iterator[tuple[Ticket, Match]]:
        """Let a ticket wait; its matches among the events that are remembered, where it ``tells_old`` ones."""
        self._waits[number] = _Waits(ticket, query)
        return self._to_deliver(self._matcher.insert(number, query, now_s, tells_old=tells_old))

    def modify(self, number: int, ticket: Ticket, query: TemporalQuery, now_s: float) -> None:
        """Let a ticket wait for something else, from now on."""
        self._waits[number] = _Waits(ticket, query)
        self._matcher.modify(number, query, now_s)

    def remove(self, number: int) -> None:
        """Let a ticket wait no more."""
        del self._waits[number]
        self._matcher.remove(number)

    def happened(self, event: Event, now_s: float) -> Iterator[tuple[Ticket, Match]] | None:
        """The matches to deliver that an event brings, or that were due before it; None where nobody waits."""
        if not self._waits:
            self._matcher.skip()
            return None
        return self._to_deliver(self._matcher.happened(event, now_s))

    def advance(self, now_s: float) -> Iterator[tuple[Ticket, Match]]:
        """The matches to deliver whose absences are over, of many the first ones."""
        return self._to_deliver(self._matcher.advance(now_s))

    def take_stopped(self) -> list[tuple[Ticket, Stopped]]:
        """The tickets whose subscriptions exceeded a limit since this was last called."""
        return [
            (self._waits[stopped.number][0], stopped) for stopped in self._matcher.take_stopped() if stopped.number in self._waits
        ]

    @property
    def has_more(self) -> bool:
        """Whether matches were due when :meth:`advance` was last called, and are left for the next call."""
        return self._matcher.unfinished is not None

    @property
    def next_s(self) -> float | None:
        """When :meth:`advance` is due; None for never."""
        return self._matcher.next_s

    def interests(self) -> Iterator[tuple[Ticket, Condition]]:
        """What holds of each event that can matter to a ticket."""
        return ((ticket, query.interest) for ticket, query in self._waits.values())

    def __len__(self) -> int:
        return len(self._waits)

    def _to_deliver(self, matches: list[Match]) -> Iterator[tuple[Ticket, Match]]:
        chosen = self._chosen(matches) if matches else []
        return ((waits.ticket, match) for waits, match in chosen if self._waits.get(match.number) is waits)

    def _chosen(self, matches: list[Match]) -> list[tuple[_Waits, Match]]:
        """Those that may be noticed, and of each moment of a ticket those that it takes."""
        chosen: dict[object, tuple[_Waits, Match]] = {}
        if self._last_kept is not None:
            kept = self._last_kept[1]
            chosen[kept.number, kept.moment] = self._last_kept
        for match in matches:
            waits = self._waits[match.number]
            if not _may_notice(waits.ticket, match):
                continue
            way = waits.ticket.asked.deliver
            if way is Deliver.EACH or way is Deliver.ONCE:
                chosen[match] = waits, match
                continue
            key = match.number, match.moment
            if way is Deliver.LAST:
                chosen.pop(key, None)
                chosen[key] = waits, match
            elif key != self._first_told:
                chosen.setdefault(key, (waits, match))
        # What is due, and left for the next call, goes on with what was given by this one.
        unfinished = self._matcher.unfinished
        of_rest = None if unfinished is None else (unfinished[0], (0, unfinished[1]))
        self._last_kept = None
        if of_rest != self._first_told:
            self._first_told = None
        if of_rest in chosen:
            if chosen[of_rest][0].ticket.asked.deliver is Deliver.LAST:
                self._last_kept = chosen.pop(of_rest)
            else:
                self._first_told = of_rest
        return list(chosen.values())


def fields_of_match(match: Match) -> dict[str, Value]:
    """The event as which a match is delivered."""
    fields = match.bindings
    fields["events"] = [event.fields for event in match.events]
    return fields


def readers_of_match(match: Match) -> frozenset[str] | None:
    """Who may notice the event as which a match is delivered: who may notice each of its events."""
    named = [event.readers for event in match.events if event.readers is not None]
    return frozenset.intersection(*named) if named else None


def _may_notice(ticket: Ticket, match: Match) -> bool:
    readers = readers_of_match(match)
    return readers is None or ticket.asker in readers
