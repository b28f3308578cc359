"""Facts that rendezvous bring, by snapshots and deltas: what they mean for the alpha memory that they are fed to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

import rete

from ..tuples.terms import Tuple
from ..wire.exchange import PeerLink, show
from ..wire.messages import Deltas, Snapshot
from ..wire.trace_context import NO_SPANS, Spans, kind_of
from .alpha_memory import AlphaMemory, Source
from .feed import Differences, SequenceHole
from .ordered_delivery import OrderedDelivery
from .resync import Resync

log = logging.getLogger(__name__)

LEAVING_FACTS = 2_000
"""Facts of a memory that nobody asks for any more which leave in one turn: some milliseconds."""


class FactReader(Protocol):
    """Whoever uses alpha memories."""

    def change_memory(self, alpha: rete.AlphaSpec, differences: Differences) -> None:
        """Facts of an alpha memory have come and gone."""

    def is_fed(self, alpha: rete.AlphaSpec) -> bool:
        """Whether :meth:`change_memory` concerns anybody."""


class IncomingFacts:
    """The facts that feeds bring to one peer.

    ``settle_union(memory, facts, had)``: facts have come or gone in a feed of a memory that all peers feed; it ``had`` some, with
    these stamps, that are not in it any more. ``leave(memory, facts)``: nobody asks for a memory any more that had these, of which
    :meth:`tell_reader` is to be told.
    """

    def __init__(
        self,
        reader: FactReader,
        order: OrderedDelivery,
        resync: Resync,
        settle_union: Callable[[AlphaMemory, Iterable[Tuple], Mapping[Tuple, int]], None],
        leave: Callable[[AlphaMemory, list[Tuple]], None],
    ) -> None:
        self._reader = reader
        self._order = order
        self._resync = resync
        self._settle_union = settle_union
        self._leave = leave
        self.spans: Spans = NO_SPANS

    def take_snapshot(self, link: PeerLink, source: Source, part: Snapshot) -> None:
        """A part of a feed's stored facts has come, and was checked."""
        self._resync.note_part(link)
        before, memory = source.facts, source.memory
        is_alone = memory.union is None and len(memory.sources) == 1 and not source.is_replaced
        is_heard = not is_alone or self._reader.is_fed(memory.alpha)
        differences = source.feed.take_part(part, is_heard=is_heard, in_parts=is_alone and source.loading is not None)
        if differences is None:
            return
        if memory.union is None:
            self.tell_reader(memory, memory.changes_from(source, differences))
            if not part.last:
                return
        else:
            for fact, stamp in zip(part.went, part.went_stamps, strict=True):
                memory.union.note_retraction(fact, stamp)
            # One that was there may be there by a later stamp now, or gone at another holder.
            facts = {**before, **source.facts, **dict.fromkeys(memory.union.facts_of(part.went), 0)}
            self._settle_union(memory, facts, {fact: stamp for fact, stamp in before.items() if fact not in source.facts})
        source.end_loading()
        self._resync.end_wait(source)

    def take_deltas(self, source: Source, deltas: Deltas) -> None:
        """Changes of a feed's facts have come, and were checked: they are applied when it is their turn."""
        try:
            if source.feed.is_next(deltas):
                apply = partial(self._apply, source, source.feed.round, deltas)
                self._order.take_deltas(source.way, deltas, apply, one_of_all=source.memory.union is not None)
        except SequenceHole:
            log.warning("feed %d from %s has a hole: asking for a snapshot", deltas.feed, show(source.holder))
            self._resync.ask_snapshot(source)

    def _apply(self, source: Source, round: int, deltas: Deltas) -> None:
        feed, memory = source.feed, source.memory
        # While these waited their feed may have ended, or a snapshot begun that has them.
        if feed.round != round or not memory.is_fed_by(source):
            return
        if deltas.origin is None or deltas.origin.trace is None:
            self._change(source, deltas)
        else:
            with self.spans.deliver(deltas.origin.trace, kind_of(next(iter(deltas.signs), 1)), len(deltas.facts)):
                self._change(source, deltas)

    def _change(self, source: Source, deltas: Deltas) -> None:
        feed, memory = source.feed, source.memory
        if memory.union is None:
            self.tell_reader(memory, memory.changes_from(source, feed.apply(deltas)))
            return
        known, signed = feed.facts, zip(deltas.facts, deltas.signs, strict=True)
        had = {fact: known[fact] for fact, sign in signed if sign < 0 and fact in known}
        feed.apply(deltas)
        for fact, sign, stamp in zip(deltas.facts, deltas.signs, deltas.stamps, strict=False):
            if sign < 0:
                memory.union.note_retraction(fact, stamp)
        # Also what this feed did not have, as another may have it by an older stamp.
        self._settle_union(memory, deltas.facts, had)

    def remove_feed(self, source: Source) -> None:
        """A feed ends, and facts that no other feed has go with it."""
        memory = source.memory
        # Where nobody uses the memory any more, one of a template with parameters may have its facts still.
        if memory.union is None and (memory.users or self._reader.is_fed(memory.alpha)):
            if memory.users or len(memory.sources) > 1 or len(source.facts) <= LEAVING_FACTS:
                self.tell_reader(memory, memory.remove_feed(source))
            else:
                self._leave(memory, list(source.facts))
                memory.sources = ()
            return
        memory.sources = memory.other_sources(source)
        if memory.union is not None:
            self._settle_union(memory, source.facts, source.facts)

    def tell_reader(self, memory: AlphaMemory, differences: Differences) -> None:
        """Facts of a memory have come and gone."""
        if not memory.tested:
            differences = [(fact, sign) for fact, sign in differences if memory.alpha.admits(fact)]
        if differences:
            self._reader.change_memory(memory.alpha, differences)
