"""The subscriber's side of a feed: one alpha memory, kept equal to what its rendezvous holds.

    waiting ──first part──> loading ──last part──> live ──hole in the sequence, or a gap──> waiting
                                                    ^
                                                    └── deltas, in sequence

A snapshot replaces what was there; it is expressed as differences, so that a re-synchronised feed costs its readers only what
changed meanwhile. Deltas that come before the snapshot is whole belong to an older one and are not looked at. Where nothing was
there, each part may be told as it comes: all of a large snapshot at once would keep others waiting. What all feeds of a peer bring
is counted in :class:`Received`.
"""

from __future__ import annotations

from enum import Enum
from itertools import repeat
from typing import TypeAlias

from ..errors import PeerMisbehaved
from ..tuples.terms import Tuple
from ..wire.messages import Deltas, Happened, Snapshot
from ..wire.status_messages import Count

Differences: TypeAlias = list[tuple[Tuple, int]]


class FeedState(Enum):
    """How a feed stands."""

    WAITING = "waiting"
    LOADING = "loading"
    LIVE = "live"


class SequenceHole(PeerMisbehaved):
    """Deltas are missing: the feed has to be resumed by a fresh snapshot."""


class AlphaFeed:
    """The facts of one template from one rendezvous."""

    __slots__ = ("_in_parts", "_parts", "expected", "facts", "number", "round", "state")

    def __init__(self, number: int, facts: dict[Tuple, int] | None = None) -> None:
        self.number = number
        self.facts: dict[Tuple, int] = {} if facts is None else facts
        """What the rendezvous held when last heard, each with its stamp, or 0 where that was not told; of an earlier feed where
        this one takes its place."""
        self.state = FeedState.WAITING
        self.round = 0
        """Counts snapshots: what came before one that has begun is part of it."""
        self._parts: dict[Tuple, int] = {}
        """Of a snapshot that is not whole. Bounded by what its rendezvous holds, as ``facts`` are."""
        self._in_parts = False
        """Whether they are ``facts`` as they come."""
        self.expected = 0
        """The sequence number of the next deltas."""

    def take_part(self, part: Snapshot, *, is_heard: bool = True, in_parts: bool = False) -> Differences | None:
        """One part of a snapshot; the differences to what was there once it is whole, None before. Where nobody hears of them, they
        are left out. ``in_parts``: where nothing was there, those of each part as it comes."""
        if part.first:
            self._parts = {}
            self.round += 1
            self.state = FeedState.LOADING
            self._in_parts = in_parts and not self.facts
        elif self.state is not FeedState.LOADING:
            return None
        stamped = zip(part.facts, part.stamps, strict=True) if part.stamps else dict.fromkeys(part.facts, 0)
        if part.last:
            self.state = FeedState.LIVE
            self.expected = part.sequence
        if self._in_parts:
            self.facts.update(stamped)
            return [(fact, 1) for fact in part.facts] if is_heard else []
        self._parts.update(stamped)
        if not part.last:
            return None
        before, self.facts, self._parts = self.facts, self._parts, {}
        if not is_heard:
            return []
        gone: Differences = [(fact, -1) for fact in before if fact not in self.facts]
        return gone + [(fact, 1) for fact in self.facts if fact not in before]

    def is_next(self, deltas: Deltas) -> bool:
        """Whether deltas are the next; they are to be applied then, in their turn, unless a snapshot comes before it.

        Raises SequenceHole, and waits for a snapshot, when some are missing.
        """
        if self.state is not FeedState.LIVE or deltas.sequence < self.expected:
            return False
        if deltas.sequence > self.expected:
            self.state = FeedState.WAITING
            raise SequenceHole(f"deltas {self.expected} to {deltas.sequence - 1} of feed {self.number} did not come")
        self.expected += 1
        return True

    def apply(self, deltas: Deltas) -> Differences:
        """Facts that came and went: what changed."""
        changes: Differences = []
        facts = self.facts
        for fact, sign, stamp in zip(deltas.facts, deltas.signs, deltas.stamps or repeat(0), strict=False):
            # The rendezvous sends each change once; a repetition would corrupt counts, so it is not taken on trust.
            if sign > 0:
                if fact not in facts:
                    changes.append((fact, 1))
                # What is there still is told again by a later stamp (gsg/storage/visibility.py).
                facts[fact] = stamp
            elif sign < 0 and fact in facts:
                del facts[fact]
                changes.append((fact, -1))
        return changes


class Received:
    """What feeds have brought since the start, from this peer itself too: what a simulation of subscribers is held against."""

    __slots__ = ("changes", "events", "stored")

    def __init__(self) -> None:
        self.changes = 0
        """Facts that came or went, those of several feeds once for each."""
        self.stored = 0
        """Facts of snapshots, those of several feeds once for each."""
        self.events = 0
        """Events, those of several feeds once, and those of several rendezvous once for each."""

    def add(self, message: Deltas | Snapshot | Happened) -> None:
        """A message has come that some feed of this peer is to have."""
        match message:
            case Deltas():
                self.changes += len(message.facts)
            case Snapshot():
                self.stored += len(message.facts)
            case Happened():
                self.events += len(message.events)

    def counts(self) -> list[Count]:
        """By the names of :mod:`gsg.monitoring.metrics`."""
        return [
            Count("feed_changes_received", self.changes),
            Count("feed_events_received", self.events),
            Count("feed_facts_received", self.stored),
        ]
