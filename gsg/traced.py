"""The rendezvous and the publisher of a peer that traces: they do what the plain ones do, and say so to a recorder.

A peer that does not trace has the plain ones, so it pays nothing for what others trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from pathlib import Path

from .audiences import Audience
from .changes import Change
from .compiled import CompileTest
from .exchange import Exchange
from .features import HOME
from .features import positions as positions_of
from .hashed import Hashed, Remains
from .holders import Holders
from .intake import Intake
from .interests import Interests
from .memories import Memory
from .messages import Event, InsertCondition
from .model import Tuple
from .passages import Reached
from .placement import NOWHERE
from .posting import AnyFeed, Posted, StandbyFeed, Subscriber
from .publisher import Publisher
from .recorder import Parts, Recorder
from .rendezvous import Rendezvous
from .sizes import size_bytes
from .trace import Record, Role, What
from .versions import Versions

ID_BYTES = 20
"""What a peer says of itself is cut at the length of an id, and its numbers at 64 bits: what it sends is up to it."""


class Untraced:
    """Makes the parts of a peer that traces nothing."""

    def start(self) -> None:
        """The peer is about to enter the overlay."""

    def stop(self) -> None:
        """The peer has left it."""

    def rendezvous(self, compile_test: CompileTest) -> Rendezvous:
        """What holds facts and templates."""
        return Rendezvous(compile_test)

    def publisher(self, own_id: bytes, holders: Holders, exchange: Exchange, interests: Interests, versions: Versions) -> Publisher:
        """What publishes."""
        return Publisher(own_id, holders, exchange, interests, versions)

    def follow(self, intake: Intake) -> None:
        """What keeps the templates that are asked for here."""


class Tracing(Untraced):
    """Makes the parts of a peer that traces to a folder."""

    def __init__(self, folder: Path, own_id: bytes, clock: Callable[[], float]) -> None:
        self._own_id = own_id
        self._recorder = Recorder(partial(Parts, folder, own_id), clock)

    def start(self) -> None:
        """Begin the trace. Raises Unsupported without pyarrow, LocalError for a folder that cannot be written to."""
        self._recorder.start()

    def stop(self) -> None:
        """End the trace; what was lost is logged."""
        self._recorder.stop()

    def rendezvous(self, compile_test: CompileTest) -> Rendezvous:
        """What holds facts and templates, traced."""
        return TracedRendezvous(compile_test, self._recorder)

    def publisher(self, own_id: bytes, holders: Holders, exchange: Exchange, interests: Interests, versions: Versions) -> Publisher:
        """What publishes, traced."""
        return TracedPublisher(own_id, holders, exchange, interests, versions, self._recorder)

    def follow(self, intake: Intake) -> None:
        """Trace what is asked for here."""
        intake.on_memory = self._memory

    def _memory(self, memory: Memory, kept: bool) -> None:
        anchor = memory.anchor
        self._recorder.add(
            Record(
                self._recorder.now_us(),
                What.SUBSCRIBE if kept else What.UNSUBSCRIBE,
                Role.PUBLISHER,
                memory.template.pattern,
                (memory.template, memory.test),
                positions=[] if anchor is None or anchor == NOWHERE else [anchor],
                source=_name(self._own_id),
                number=memory.number,
            )
        )


class TracedRendezvous(Rendezvous):
    """Whatever comes to this peer as rendezvous; its subscribers are channels."""

    def __init__(self, compile_test: CompileTest, recorder: Recorder) -> None:
        super().__init__(compile_test)
        self._recorder = recorder

    def _change_until(self, ends_s: float, change: Change, numbers: Sequence[int]) -> int:
        """As without tracing, fact by fact."""
        at_us = self._recorder.now_us()
        what = What.INSERT if change.sign > 0 else What.RETRACT
        role = Role.RENDEZVOUS if change.as_holder else Role.FORMER
        for made, number in enumerate(numbers, 1):
            positions = change.places[number]
            if not positions:
                # Nothing of it is here: it was sorted out for others (handover.py).
                continue
            met, matched, changed = self.met, self.matched, change.changed
            super()._change_until(inf, change, (number,))
            self._recorder.add(
                Record(
                    at_us,
                    what,
                    role,
                    change.facts[number],
                    positions=list(positions),
                    stamp_us=_number(change.stamp),
                    changed=change.changed > changed if HOME in positions else None,
                    matched=self.met - met,
                    forwarded=self.matched - matched,
                )
            )
            if self.clock() >= ends_s:
                return made
        return len(numbers)

    def _has_reached(self, publisher: bytes, event: Event, positions: Iterable[int] | None, reached: Reached, met: int) -> None:
        """As without tracing."""
        super()._has_reached(publisher, event, positions, reached, met)
        there = list(positions_of(event.items) if positions is None else positions)
        if there:
            self._recorder.add(
                Record(
                    self._recorder.now_us(),
                    What.EVENT,
                    Role.RENDEZVOUS,
                    event.items,
                    positions=there,
                    source=_name(publisher),
                    number=_number(event.number),
                    matched=met,
                    forwarded=len(reached),
                )
            )

    def insert_condition(self, subscriber: Subscriber, asked: InsertCondition) -> AnyFeed:
        """As without tracing."""
        feed = super().insert_condition(subscriber, asked)
        if asked.standby:
            return feed  # what is recorded is where templates are met
        self._record(What.SUBSCRIBE, subscriber, asked.feed, feed.posted, changed=len(feed.posted.feeds) == 1)
        return feed

    def remove_condition(self, subscriber: Subscriber, number: int) -> None:
        """As without tracing."""
        feed = self._of_subscriber.get(subscriber, {}).get(number)
        super().remove_condition(subscriber, number)
        if feed is not None and not isinstance(feed, StandbyFeed):
            self._record(What.UNSUBSCRIBE, subscriber, number, feed.posted, changed=not feed.posted.feeds)

    def take_over(self, signs: Sequence[int], facts: Sequence[Remains], places: Sequence[bytes], stamps: Sequence[int]) -> None:
        """As without tracing, change by change."""
        at_us = self._recorder.now_us()
        for sign, fact, positions, stamp in zip(signs, facts, places, stamps, strict=True):
            met, matched = self.met, self.matched
            super().take_over([sign], [fact], [positions], [stamp])
            self._recorder.add(
                Record(
                    at_us,
                    What.INSERT if sign > 0 else What.RETRACT,
                    Role.COPY,
                    _in_words(fact),
                    positions=list(positions),
                    stamp_us=_number(stamp),
                    matched=self.met - met,
                    forwarded=self.matched - matched,
                )
            )

    def _record(self, what: What, subscriber: Subscriber, number: int, posted: Posted, *, changed: bool) -> None:
        self._recorder.add(
            Record(
                self._recorder.now_us(),
                what,
                Role.RENDEZVOUS,
                posted.template.pattern,
                (posted.template, posted.test),
                positions=[] if posted.anchor is None else [posted.anchor[1]],
                source=_name(subscriber.contact.id),  # type: ignore[attr-defined]  # a channel
                number=_number(number),
                changed=changed,
            )
        )


class TracedPublisher(Publisher):
    """What clients of this peer publish."""

    def __init__(
        self,
        own_id: bytes,
        holders: Holders,
        exchange: Exchange,
        interests: Interests,
        versions: Versions,
        recorder: Recorder,
    ) -> None:
        super().__init__(own_id, holders, exchange, interests, versions)
        self._recorder = recorder

    async def facts(self, sign: int, facts: Sequence[Tuple], audience: Audience | None = None) -> int:
        """As without tracing."""
        for fact in facts:
            # What is too large is refused before anything of it is sent, and so never was.
            size_bytes(fact)
        at_us = self._recorder.now_us()
        what = What.INSERT if sign > 0 else What.RETRACT
        for fact in facts:
            self._recorder.add(Record(at_us, what, Role.PUBLISHER, fact))
        return await super().facts(sign, facts, audience)

    def numbered(self, events: Sequence[tuple[Tuple, str | None]]) -> list[Event]:
        """As without tracing."""
        made = super().numbered(events)
        at_us, source = self._recorder.now_us(), _name(self.own_id)
        for event in made:
            self._recorder.add(Record(at_us, What.EVENT, Role.PUBLISHER, event.items, source=source, number=event.number))
        return made


def _number(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def _name(peer: bytes) -> str:
    return peer[:ID_BYTES].hex()


def _in_words(remains: Remains) -> Tuple:
    """What is written down of a fact that went, of whose long constants only hashes are known."""
    return tuple([str(each) if isinstance(each, Hashed) else each for each in remains])
