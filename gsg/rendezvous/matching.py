"""Events on their way through a rendezvous: matched in order, in slices of time, so that none keeps others waiting.

One event may meet very many templates whose tests take long. What is not matched when a slice is over goes on in the next one,
after others had their turn. An event is told when all of it is matched, and the next one is not begun before, so whoever hears of
them hears of them in order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple

from ..tuples.audiences import Audience, readers_among
from ..wire.messages import After, Event, Happened
from ..wire.trace_context import EVENT
from ..wire.waiting import later
from .fan_out.parts import FanOut
from .feed import FeedNumbers, Posting, Subscriber, feed_numbers_of
from .rendezvous import Rendezvous

HAPPENED_FEEDS = 100_000
"""A message of events is cut at about so many numbers of feeds."""


class EventBatch:
    """Some events of one publisher, which have come now; ``after`` is what is to be told before them, ``audience`` who may read
    them, ``trace`` the context with which they came. Each passes under its ``places``, which are all of its positions where there
    are none."""

    def __init__(
        self,
        rendezvous: Rendezvous,
        publisher: bytes,
        events: Sequence[Event],
        places: Sequence[Sequence[int] | None],
        after: After | None = None,
        audience: Audience | None = None,
        trace: bytes | None = None,
    ) -> None:
        self._rendezvous = rendezvous
        self._trace = trace
        self._audience = audience
        self.events = events
        self._places = places
        self._at = 0
        self._came_s = rendezvous.clock()
        self._untried: list[Posting] = []
        self._passed: list[Posting] = []
        """Of the event that is matched in several slices: what it is yet to be tried with, and whose tests it has passed. A posting
        that is removed meanwhile has no feeds, and is tried in vain."""
        self._passed_on: dict[FanOut, list[Event]] = {}
        """Events of the slice that heads are to pass on."""
        self.publisher = publisher
        self.after: After = after or []
        self.done = not events
        """Whether all of them are matched."""

    def match_slice(self, for_s: float) -> list[tuple[Event, FeedNumbers]]:
        """The events that are matched until the time is over: at least one test is made, or one event matched.

        They say how long that took since they came, so that who has subscribed since does not hear of them.
        """
        clock, events, places, at = self._rendezvous.clock, self.events, self._places, self._at
        begun_s = clock()
        ends_s = begun_s + for_s
        matched: list[tuple[Event, FeedNumbers]] = []
        while at < len(events) and (not matched or clock() < ends_s):
            reached = self._match(events[at], places[at], ends_s)
            if reached is None:
                break
            matched.append((events[at], reached))
            at += 1
        self._at = at
        self.done = at == len(events)
        waited_s = begun_s - self._came_s
        return matched if waited_s < 1.0 else [(later((event,), waited_s)[0], reached) for event, reached in matched]

    def _match(self, event: Event, positions: Sequence[int] | None, ends_s: float) -> FeedNumbers | None:
        """Whom an event reaches; None where that takes longer, and is to go on in the next slice."""
        rendezvous = self._rendezvous
        sole = None if self._untried else rendezvous.conditions.sole_candidate(event.items, positions)
        if sole is not None:
            reached, templates, met = sole.feed_numbers(), 1, [sole]
        else:
            untried = self._untried or rendezvous.conditions.candidates(event.items, positions)
            if not self._try(event, untried, ends_s):
                self._untried = untried
                return None
            # Found now, not slice by slice: a subscriber whose link broke between two of them may have other feeds by now.
            reached, templates, met = feed_numbers_of(self._passed), len(self._passed), self._passed
            self._untried, self._passed = [], []
        if self._audience is not None:
            reached = readers_among(reached, self._audience)
        fan_outs = rendezvous.fan_outs
        if fan_outs.fanned:
            if self._audience is not None:
                for subscriber, feeds in fan_outs.members_among(met, self._audience).items():
                    reached = {**reached, subscriber: [*reached.get(subscriber, ()), *feeds]}
            else:
                for posting in met:
                    if (fan_out := fan_outs.fanned.get(posting)) is not None:
                        self._passed_on.setdefault(fan_out, []).append(event)
        rendezvous.count_event(self.publisher, event, positions, reached, templates)
        return reached

    def _try(self, event: Event, untried: list[Posting], ends_s: float) -> bool:
        """Try one posting after the other until the time is over; whether those were all."""
        passes, clock = self._rendezvous.conditions.tests.passes, self._rendezvous.clock
        items, text, passed = event.items, event.text, self._passed
        for tried, posting in enumerate(untried, 1):
            if posting.test is None or passes(posting, items, text):
                passed.append(posting)
            if tried < len(untried) and clock() >= ends_s:
                del untried[:tried]
                return False
        return True

    def forward(self, for_s: float) -> bool:
        """Match a slice, and leave what it brings to the rendezvous to send; whether it was the last one."""
        rendezvous = self._rendezvous
        if self._trace is None:
            rendezvous.add_events(self._messages(for_s, None))
            return self.done
        with rendezvous.spans.match(self._trace, EVENT) as span:
            at, templates_met, matched = self._at, rendezvous.templates_met, rendezvous.matched
            rendezvous.add_events(self._messages(for_s, span.context))
            span.count_matched(self._at - at, rendezvous.templates_met - templates_met, rendezvous.matched - matched)
        return self.done

    def _messages(self, for_s: float, trace: bytes | None) -> list[tuple[Subscriber, Happened]]:
        """What a slice brings, as one message for each subscriber, with its events in order.

        A stream of events that meet the same templates reaches the same subscribers: such a run is added to each message at once,
        since the rendezvous would otherwise pay for each event and each subscriber, those included that read nothing.
        """
        messages: list[tuple[Subscriber, Happened]] = []
        filling: dict[Subscriber, Happened] = {}
        matched = self.match_slice(for_s)
        fan_outs, after, position, for_readers = self._rendezvous.fan_outs, self.after, -1, self._audience is not None
        passed_on, self._passed_on = self._passed_on, {}
        is_fanned = bool(fan_outs.fanned and matched)
        in_order = is_fanned and not fan_outs.was_passed_on_here(self.after)
        if in_order:
            ways = _Ways.of(matched, passed_on, fan_outs.member_feeds)
        if is_fanned and passed_on:
            last = max(events[-1].number for events in passed_on.values())
            before = fan_outs.come_before(self.publisher, *ways.before(last)) if in_order else []
            position = fan_outs.pass_on(passed_on, self.publisher, [*before, *after], self._rendezvous.clock())

        def add(run: list[Event], reached: FeedNumbers) -> None:
            for subscriber, feeds in reached.items():
                happened = filling.get(subscriber)
                if happened is None or len(happened.events) * len(feeds) >= HAPPENED_FEEDS:
                    after_it = [] if in_order else after
                    happened = filling[subscriber] = Happened(self.publisher, [], [], after_it, position, for_readers, trace)
                    messages.append((subscriber, happened))
                happened.events.extend(run)
                happened.feeds.extend([feeds] * len(run))

        run: list[Event] = []
        of_run: FeedNumbers = {}
        most = 0
        for event, reached in matched:
            if reached is not of_run or len(run) >= most:
                add(run, of_run)
                run, of_run = [], reached
                most = HAPPENED_FEEDS // max(map(len, reached.values()), default=1)
            run.append(event)
        add(run, of_run)
        if in_order:
            for _, happened in messages:
                before = fan_outs.come_before(self.publisher, *ways.before(happened.events[-1].number))
                happened.after.extend([*before, *after])
            directly = any(subscriber in fan_outs.member_feeds for subscriber in filling)
            fan_outs.note_sent(self.publisher, matched[-1][0].number, by_heads=bool(passed_on), directly=directly)
        return messages


class _Ways(NamedTuple):
    """Which events of those that go together go by heads, and which to members directly, by number: what one way brings of them
    comes before what the other brings of later ones."""

    by_heads: list[int]
    """In their order, as the others are."""
    directly: list[int]

    @classmethod
    def of(
        cls,
        matched: Sequence[tuple[Event, FeedNumbers]],
        passed_on: Mapping[FanOut, Sequence[Event]],
        members: Container[Subscriber],
    ) -> _Ways:
        """Those of events that were matched, some of which are passed on, where there are members."""
        directly: list[int] = []
        of_run: FeedNumbers = {}
        is_of_members = False
        for event, reached in matched:
            if reached is not of_run:
                of_run, is_of_members = reached, any(subscriber in members for subscriber in reached)
            if is_of_members:
                directly.append(event.number)
        return cls(sorted(event.number for events in passed_on.values() for event in events), sorted(directly))

    def before(self, number: int) -> tuple[int, int]:
        """The last of each before an event, by number; 0 where there is none."""
        by_heads, directly = (way[place - 1] if (place := bisect_left(way, number)) else 0 for way in self)
        return by_heads, directly
