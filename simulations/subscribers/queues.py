"""The queue of one subscriber who reads slowly: what waits for it and for how long, if it is pushed, pulls, or as peers do it.

    push    everything is sent at once, and waits until it is read
    pull    nothing is sent unasked: the subscriber asks, reads the answer, and asks again, but not sooner than after a while
    hybrid  it is pushed as long as its link takes it; then kept, within bounds; and what goes beyond is asked for as a snapshot
            (gsg/rendezvous/delivery.py, feed.py): of facts nothing is lost, of events a count is told

What comes is taken at its times and read one after the other, each in the same time, so a queue is known by when it will be empty:
``ends = read_s + max(comes, ends of the one before)`` (Lindley 1952, "The theory of queues with a single server"). All comes by one
link and one feed. A reader that stands still for a while is one for whom time stands still: times are those of its own clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import ceil

import numpy as np
from numpy.typing import NDArray

from .frames import Frames

Times = NDArray[np.float64]
_BLOCK = 1 << 12
"""Arrivals that are looked at together until a link is full."""
_EPSILON = 1e-9
"""Of the time that reading one takes: what rounding may add to a whole number of them."""


class Policy(StrEnum):
    """How a subscriber is told."""

    PUSH = "push"
    PULL = "pull"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds a queue, by the peers' own limits, and what is assumed of the reader."""

    full: int
    """Bytes that wait on a link from which on it takes no more."""
    drained: int
    """Bytes at which it takes more again."""
    kept: int
    kept_bytes: int
    """What a rendezvous keeps meanwhile, whichever is reached first."""
    snapshot_part: int
    """Facts of a part of a snapshot, and of an answer to one who pulls."""
    ask_s: float
    """How long one who pulls waits at least from question to question."""
    round_trip_s: float


@dataclass(slots=True)
class Told:
    """What became of all that came for one subscriber."""

    ends_s: Times
    """When each was read, by the reader's clock; not a number where it was lost."""
    waiting: int = 0
    """The most that waited at once, what is being read included."""
    lost: int = 0
    pushed: int = 0
    """Tuples that were sent unasked, each in a message of its own."""
    answers: int = 0
    answered: int = 0
    """Tuples in answers to one who pulls."""
    parts: int = 0
    stored: int = 0
    """Facts in parts of snapshots."""
    asked: int = 0
    """Messages of the subscriber."""
    gaps: int = 0
    """How often what was kept was given up, which is told."""

    @property
    def messages(self) -> int:
        """Both ways."""
        return self.pushed + self.answers + self.parts + self.asked + self.gaps

    def bytes(self, frames: Frames, *, events: bool) -> float:
        """What went over the link, both ways."""
        head, each = (frames.happened, frames.event) if events else (frames.deltas, frames.fact)
        tuples = (self.pushed + self.answers) * head + (self.pushed + self.answered) * each
        snapshots = self.parts * frames.snapshot + self.stored * frames.stored
        return tuples + snapshots + self.asked * frames.resume + self.gaps * frames.missed


@dataclass(frozen=True, slots=True)
class Pause:
    """When a reader stands still; its own clock does so too."""

    begin_s: float = 0.0
    for_s: float = 0.0

    def own(self, at_s: Times) -> Times:
        """Times by the reader's clock."""
        return np.where(at_s < self.begin_s + self.for_s, np.minimum(at_s, self.begin_s), at_s - self.for_s)

    def real(self, own_s: Times) -> Times:
        """When that was."""
        return np.where(own_s > self.begin_s, own_s + self.for_s, own_s)


def play(policy: Policy, at_s: Times, read_s: float, limits: Limits, entry_bytes: float, *, events: bool, pause: Pause) -> Told:
    """What becomes of all that comes ``at_s``, in order, and takes ``entry_bytes`` while it waits."""
    own = pause.own(at_s)
    if policy is Policy.PULL:
        return _pull(own, read_s, limits)
    if policy is Policy.HYBRID:
        return _Hybrid(own, read_s, limits, entry_bytes, events=events).played()
    ends = ends_of(own, read_s, -np.inf)
    return Told(ends, _waiting(own, ends, read_s), pushed=len(own))


def delays_of(told: Told, at_s: Times, pause: Pause) -> Times:
    """From when each came until it was read; what was lost has none."""
    there = ~np.isnan(told.ends_s)
    return pause.real(told.ends_s[there]) - at_s[there]


def ends_of(own: Times, read_s: float, free_s: float) -> Times:
    """When each is read, where the reader is busy until ``free_s``."""
    place = np.arange(len(own)) * np.float64(read_s)
    ends: Times = np.maximum(np.maximum.accumulate(own - place), free_s) + place + read_s
    return ends


def in_system(own: Times, ends: Times, read_s: float) -> NDArray[np.int64]:
    """How many wait when each has come, itself and what is being read included."""
    return np.ceil((ends - own) / read_s - _EPSILON).astype(np.int64)


def _waiting(own: Times, ends: Times, read_s: float) -> int:
    return int(in_system(own, ends, read_s).max(initial=0))


def _pull(own: Times, read_s: float, limits: Limits) -> Told:
    ends = np.full(len(own), np.nan)
    begun = waiting = questions = 0
    at_s = 0.0
    while begun < len(own):
        if own[begun] > at_s:
            # Until something comes answers are empty, and cost as much as others.
            empty = ceil((float(own[begun]) - at_s) / max(limits.ask_s, limits.round_trip_s))
            questions += empty
            at_s += empty * max(limits.ask_s, limits.round_trip_s)
        came = max(begun + 1, int(np.searchsorted(own, at_s, side="right")))
        taken = min(came - begun, limits.snapshot_part)
        waiting = max(waiting, came - begun)
        arrives_s = at_s + limits.round_trip_s
        ends[begun : begun + taken] = arrives_s + read_s * np.arange(1, taken + 1)
        begun += taken
        questions += 1
        # Who has not got all asks again at once.
        wait_s = limits.ask_s if begun == came else 0.0
        at_s = max(arrives_s + read_s * taken, at_s + wait_s)
    return Told(ends, waiting, answers=questions, answered=len(own), asked=questions)


class _Hybrid:
    """A link that is full or not, what is kept meanwhile, and snapshots."""

    def __init__(self, own: Times, read_s: float, limits: Limits, entry_bytes: float, *, events: bool) -> None:
        self._own = own
        self._read_s = read_s
        self._round_trip_s = limits.round_trip_s
        self._part = limits.snapshot_part
        self._events = events
        self._full = max(1, ceil(limits.full / entry_bytes))
        self._low = min(self._full - 1, int(limits.drained / entry_bytes))
        self._kept = max(1, min(limits.kept, int(limits.kept_bytes / entry_bytes)))
        self._told = Told(np.full(len(own), np.nan))
        self._next = 0
        """The first that has not come."""
        self._free_s = -np.inf
        """When all that was sent is read."""

    def played(self) -> Told:
        """To the end."""
        while self._next < len(self._own):
            if (on_link := self._until_full()) is not None:
                self._while_full(on_link)
        return self._told

    def _until_full(self) -> int | None:
        """Send what comes until the link is full: how many are on it then; None where nothing more comes."""
        while self._next < len(self._own):
            block = slice(self._next, self._next + _BLOCK)
            own = self._own[block]
            ends = ends_of(own, self._read_s, self._free_s)
            waiting = in_system(own, ends, self._read_s)
            full = np.flatnonzero(waiting >= self._full)
            count = int(full[0]) + 1 if len(full) else len(own)
            self._send(ends[:count])
            self._wait(int(waiting[:count].max()))
            if len(full):
                return int(waiting[full[0]])
        return None

    def _send(self, ends: Times) -> None:
        """The next ones are read then."""
        self._told.ends_s[self._next : self._next + len(ends)] = ends
        self._next += len(ends)
        self._told.pushed += len(ends)
        if len(ends):
            self._free_s = float(ends[-1])

    def _while_full(self, on_link: int) -> None:
        """Keep what comes until the link is drained, and send it then, as often as that fills it again."""
        while on_link >= self._full:
            drained_s = self._free_s - self._read_s * self._low
            came = int(np.searchsorted(self._own, drained_s, side="left")) - self._next
            kept = min(came, self._kept)
            self._wait(self._most(kept))
            if came > kept:
                self._told.gaps += 1
                if not self._events:
                    # The gap is told behind what is on the link; who has read up to there asks.
                    self._snapshot(self._free_s + self._round_trip_s)
                    return
            self._flush(kept)
            # Of events what was kept comes first, then how many did not.
            self._next += came - kept
            self._told.lost += came - kept
            on_link = self._low + kept

    def _most(self, kept: int) -> int:
        """The most that waits while so many more come, none of which is sent yet."""
        if not kept:
            return 0
        some = slice(self._next, self._next + kept)
        return _waiting(self._own[some], self._free_s + self._read_s * np.arange(1.0, kept + 1), self._read_s)

    def _flush(self, count: int) -> None:
        self._send(self._free_s + self._read_s * np.arange(1.0, count + 1))

    def _wait(self, most: int) -> None:
        self._told.waiting = max(self._told.waiting, most)

    def _snapshot(self, begun_s: float) -> None:
        """All facts that are there when it is begun, read one after the other; what comes meanwhile is kept, or a gap again."""
        while True:
            there = int(np.searchsorted(self._own, begun_s, side="right"))
            self._told.asked += 1
            self._told.stored += there
            self._told.parts += max(1, ceil(there / self._part))
            whole_s = begun_s + self._read_s * there
            self._told.ends_s[self._next : there] = whole_s
            self._next = there
            self._free_s = whole_s
            came = int(np.searchsorted(self._own, whole_s, side="left")) - there
            self._wait(min(came, self._kept))
            if came <= self._kept:
                self._flush(came)
                self._while_full(came)
                return
            self._told.gaps += 1
            begun_s = whole_s + self._round_trip_s
