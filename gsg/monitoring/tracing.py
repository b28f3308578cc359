"""What a peer that traces writes down: it hears of what its clients publish and ask for, and of what its rendezvous does.

A peer that does not trace has nobody who hears of it, and pays nothing for what others trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..feeds.alpha_memory import AlphaMemory
from ..feeds.feeds import Feeds
from ..placement.rules import NOWHERE
from ..publisher.publisher import Publisher
from ..rendezvous.feed import AnyFeed
from ..rendezvous.rendezvous import Rendezvous
from ..tuples.features import Template
from ..tuples.features import positions as positions_of
from ..tuples.long_constants import Hashed, Remains
from ..tuples.terms import Tuple
from ..wire.messages import Event, Test
from .trace import Items, Record, Role, What
from .trace_recorder import Parts, Recorder

ID_BYTES = 20
"""What a peer says of itself is cut at the length of an id, and its numbers at 64 bits: what it sends is up to it."""


class Tracing:
    """The trace of one peer to a folder, which observes its rendezvous and its publisher; ``clock`` says the time."""

    def __init__(self, folder: Path, own_id: bytes, clock: Callable[[], float]) -> None:
        self._own_id = own_id
        self._recorder = Recorder(partial(Parts, folder, own_id), clock)

    def observe(self, rendezvous: Rendezvous, publisher: Publisher, feeds: Feeds) -> None:
        """Hear of what these do from now on."""
        rendezvous.on_fact, rendezvous.on_copy, rendezvous.on_event = self.fact_changed, self.fact_copied, self.event_matched
        rendezvous.conditions.on_change = self.condition_changed
        publisher.on_facts, publisher.record.on_events = self.facts_published, self.events_published
        feeds.on_memory = self.memory_changed

    def start(self) -> None:
        """Begin the trace. Raises Unsupported without pyarrow, LocalError for a folder that cannot be written to."""
        self._recorder.start()

    def stop(self) -> None:
        """End the trace; what was lost is logged."""
        self._recorder.stop()

    # --- what clients of this peer publish and ask for ----------------------------------------------------------------------

    def facts_published(self, sign: int, facts: Sequence[Tuple]) -> None:
        """Facts are about to come or go, by a client of this peer."""
        for fact in facts:
            self._record(_change(sign), Role.PUBLISHER, fact)

    def events_published(self, events: Sequence[Event]) -> None:
        """Events are about to be sent by a client of this peer."""
        for event in events:
            self._record(What.EVENT, Role.PUBLISHER, event.items, source=_name(self._own_id), number=event.number)

    def memory_changed(self, memory: AlphaMemory, is_there: bool) -> None:
        """A template is asked for here, or is no more."""
        self._condition(
            is_there,
            Role.PUBLISHER,
            memory.template,
            memory.test,
            positions=[] if memory.anchor is None or memory.anchor == NOWHERE else [memory.anchor],
            source=_name(self._own_id),
            number=memory.number,
            events_only=memory.events_only,
        )

    # --- what this peer does as rendezvous; subscribers are links -------------------------------------------------------------

    def condition_changed(self, feed: AnyFeed, is_there: bool) -> None:
        """A condition was posted, or removed."""
        posting = feed.posting
        self._condition(
            is_there,
            Role.RENDEZVOUS,
            posting.template,
            posting.test,
            positions=[] if posting.anchor is None else [posting.anchor[1]],
            source=_name(feed.subscriber.contact.id),  # type: ignore[attr-defined]  # a link
            number=_number(feed.number),
            changed=len(posting.feeds) == (1 if is_there else 0),
        )

    def fact_changed(
        self,
        sign: int,
        fact: Tuple,
        positions: bytes,
        stamp: int,
        as_holder: bool,
        changed: bool | None,
        templates: int,
        forwarded: int,
    ) -> None:
        """A fact has come, or gone."""
        role = Role.RENDEZVOUS if as_holder else Role.FORMER
        self._fact(sign, role, fact, positions, stamp, changed=changed, matched=templates, forwarded=forwarded)

    def fact_copied(self, sign: int, fact: Remains, positions: bytes, stamp: int, templates: int, forwarded: int) -> None:
        """Another holder has told of a fact; of one that went, of whose long constants only hashes are known, those are written."""
        items = tuple([str(each) if isinstance(each, Hashed) else each for each in fact])
        self._fact(sign, Role.COPY, items, positions, stamp, matched=templates, forwarded=forwarded)

    def event_matched(
        self, publisher: bytes, event: Event, positions: Sequence[int] | None, templates: int, forwarded: int
    ) -> None:
        """An event has passed."""
        if there := list(positions_of(event.items) if positions is None else positions):
            counts = {"matched": templates, "forwarded": forwarded}
            number = _number(event.number)
            self._record(
                What.EVENT, Role.RENDEZVOUS, event.items, positions=there, source=_name(publisher), number=number, **counts
            )

    def _condition(
        self, is_there: bool, role: Role, template: Template, test: Test | None, **columns: Any
    ) -> None:  # as Record has
        what = What.SUBSCRIBE if is_there else What.UNSUBSCRIBE
        self._record(what, role, template.pattern, condition=(template, test), **columns)

    def _fact(self, sign: int, role: Role, fact: Tuple, positions: bytes, stamp: int, **columns: Any) -> None:  # as Record has
        self._record(_change(sign), role, fact, positions=list(positions), stamp_us=_number(stamp), **columns)

    def _record(self, what: What, role: Role, items: Items, **columns: Any) -> None:  # as Record has
        self._recorder.add(Record(self._recorder.now_us(), what, role, items, **columns))


def _change(sign: int) -> What:
    return What.INSERT if sign > 0 else What.RETRACT


def _number(value: int) -> int | None:
    return value if -(2**63) <= value < 2**63 else None


def _name(peer: bytes) -> str:
    return peer[:ID_BYTES].hex()
