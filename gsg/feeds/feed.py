"""The subscriber's side of a feed: one alpha memory, kept equal to what its rendezvous holds.

    waiting ──first part──> loading ──last part──> live ──hole in the sequence, or a gap──> waiting
                                                    ^
                                                    └── deltas, in sequence

A snapshot replaces what was there; it is expressed as differences, so that a re-synchronised feed costs its readers only what
changed meanwhile. Deltas that come before the snapshot is whole belong to an older one and are not looked at.
"""

from __future__ import annotations

from bisect import bisect_right
from enum import Enum
from itertools import repeat
from typing import TypeAlias

from ..errors import PeerMisbehaved
from ..tuples.terms import Tuple
from ..wire.messages import Deltas, Snapshot

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

    __slots__ = ("_expected", "_parts", "facts", "number", "round", "state")

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
        self._expected = 0

    def take_part(self, part: Snapshot, *, is_heard: bool = True) -> Differences | None:
        """One part of a snapshot; the differences to what was there once it is whole, None before. Where nobody hears of them, they
        are left out."""
        if part.first:
            self._parts = {}
            self.round += 1
            self.state = FeedState.LOADING
        elif self.state is not FeedState.LOADING:
            return None
        self._parts.update(zip(part.facts, part.stamps, strict=True) if part.stamps else dict.fromkeys(part.facts, 0))
        if not part.last:
            return None
        before, self.facts, self._parts = self.facts, self._parts, {}
        self.state = FeedState.LIVE
        self._expected = part.sequence
        if not is_heard:
            return []
        gone: Differences = [(fact, -1) for fact in before if fact not in self.facts]
        return gone + [(fact, 1) for fact in self.facts if fact not in before]

    def is_next(self, deltas: Deltas) -> bool:
        """Whether deltas are the next; they are to be applied then, in their turn, unless a snapshot comes before it.

        Raises SequenceHole, and waits for a snapshot, when some are missing.
        """
        if self.state is not FeedState.LIVE or deltas.sequence < self._expected:
            return False
        if deltas.sequence > self._expected:
            self.state = FeedState.WAITING
            raise SequenceHole(f"deltas {self._expected} to {deltas.sequence - 1} of feed {self.number} did not come")
        self._expected += 1
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


RECENT_RUNS = 32_768
"""Runs of events remembered per publisher to tell repetitions; beyond, an eighth of them goes, those of the least numbers. What
comes by one rendezvous may be far behind another that is quicker, so a stream is remembered by where it begins and ends."""
RECENT_PUBLISHERS = 1_024
"""Publishers remembered; beyond, the one unheard of for the longest is forgotten."""
RECENT_RUNS_OF_ALL = 1_000_000
"""Runs remembered of all publishers together, some 80 MB; beyond, likewise."""

_Runs: TypeAlias = "tuple[list[int], list[int]]"
"""The first and the last number of each run of events that were all seen, in order."""


class RecentEvents:
    """Which events were seen: the same event arrives by every rendezvous that has a matching template."""

    __slots__ = ("_by_publisher", "_firsts", "_lasts", "_latest", "_runs")

    def __init__(self) -> None:
        self._by_publisher: dict[bytes, _Runs] = {}
        """Limits: RECENT_PUBLISHERS; RECENT_RUNS of each; RECENT_RUNS_OF_ALL."""
        self._runs = 0
        """How many runs there are in all."""
        self._latest: bytes | None = None
        """The last publisher, who is mostly the next one too."""
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    def is_new(self, publisher: bytes, number: int) -> bool:
        """Whether the event was not seen before; it is from now on."""
        if publisher != self._latest:
            self._turn_to(publisher)
        firsts, lasts = self._firsts, self._lasts
        if lasts and number == lasts[-1] + 1:
            lasts[-1] = number  # nearly always
            return True
        after = bisect_right(firsts, number)
        if after and number <= lasts[after - 1]:
            return False
        goes_on = after > 0 and lasts[after - 1] == number - 1
        leads_to = after < len(firsts) and firsts[after] == number + 1
        if goes_on and leads_to:
            del firsts[after]
            del lasts[after - 1]
            self._runs -= 1
        elif goes_on:
            lasts[after - 1] = number
        elif leads_to:
            firsts[after] = number
        else:
            firsts.insert(after, number)
            lasts.insert(after, number)
            self._runs += 1
            if len(firsts) > RECENT_RUNS:
                old = RECENT_RUNS // 8 + 1
                del firsts[:old], lasts[:old]
                self._runs -= old
            while self._runs > RECENT_RUNS_OF_ALL and len(self._by_publisher) > 1:
                self._forget_oldest()
        return True

    def _forget_oldest(self) -> None:
        firsts, _ = self._by_publisher.pop(next(iter(self._by_publisher)))
        self._runs -= len(firsts)

    def _turn_to(self, publisher: bytes) -> None:
        seen = self._by_publisher.pop(publisher, None)
        if seen is None:
            seen = ([], [])
            if len(self._by_publisher) >= RECENT_PUBLISHERS:
                self._forget_oldest()
        self._by_publisher[publisher] = seen
        self._latest = publisher
        self._firsts, self._lasts = seen
