"""Which events were seen here: an event may come by every holder of its key, and again after a failure.

All queries see an event together, so of theirs it is remembered by publisher which numbers were seen, in runs, as nearly all come
in order. Listeners hear of it one by one, each as its own feed brings it, so those that have are remembered by event: in two
generations, so that forgetting costs nothing. When the younger one is full, the older one goes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TypeAlias

from .alpha_memory import AlphaMemory

RUNS = 32_768
"""Runs of events remembered per publisher to tell repetitions; beyond, an eighth of them goes, those of the least numbers. What
comes by one rendezvous may be far behind another that is quicker, so a stream is remembered by where it begins and ends."""
PUBLISHERS = 1_024
"""Publishers remembered; beyond, the one unheard of for the longest is forgotten."""
RUNS_OF_ALL = 1_000_000
"""Runs remembered of all publishers together, some 80 MB; beyond, likewise."""

EVENTS = 32_768
LISTENERS = 1_000_000
"""So many events, or listeners of events together, are remembered in a generation. The copies of an event come within moments;
what is sent again after a failure may come seconds later, and is told twice where more than so many events came between."""

_Runs: TypeAlias = "tuple[list[int], list[int]]"
"""The first and the last number of each run of events that were all seen, in order."""


class SeenEvents:
    """The events that the queries and listeners of one peer have seen."""

    __slots__ = ("_by_publisher", "_firsts", "_lasts", "_latest", "_listeners", "_old", "_runs", "_young")

    def __init__(self) -> None:
        self._by_publisher: dict[bytes, _Runs] = {}
        """Limits: PUBLISHERS; RUNS of each; RUNS_OF_ALL."""
        self._runs = 0
        """How many runs there are in all."""
        self._latest: bytes | None = None
        """The last publisher, who is mostly the next one too."""
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._young: dict[tuple[bytes, int], Sequence[AlphaMemory]] = {}
        self._old: dict[tuple[bytes, int], Sequence[AlphaMemory]] = {}
        self._listeners = 0
        """How many listeners there are in the younger generation."""

    def unheard_by(self, publisher: bytes, number: int, listeners: Sequence[AlphaMemory]) -> Sequence[AlphaMemory]:
        """Those of the listeners that have not heard of an event yet; they have from now on."""
        event = (publisher, number)
        known = self._young.get(event)
        if known is None:
            known = self._old.get(event)
        if known is not None:
            had = set(known)
            listeners = [one for one in listeners if one not in had]
            if not listeners:
                return listeners
            known = [*known, *listeners]
        self._young[event] = listeners if known is None else known
        self._listeners += len(listeners)
        if len(self._young) >= EVENTS or self._listeners >= LISTENERS:
            self._old, self._young, self._listeners = self._young, {}, 0
        return listeners

    def is_new(self, publisher: bytes, number: int) -> bool:
        """Whether no query has seen an event; they all have from now on."""
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
            if len(firsts) > RUNS:
                old = RUNS // 8 + 1
                del firsts[:old], lasts[:old]
                self._runs -= old
            while self._runs > RUNS_OF_ALL and len(self._by_publisher) > 1:
                self._forget_oldest_publisher()
        return True

    def _forget_oldest_publisher(self) -> None:
        firsts, _ = self._by_publisher.pop(next(iter(self._by_publisher)))
        self._runs -= len(firsts)

    def _turn_to(self, publisher: bytes) -> None:
        seen = self._by_publisher.pop(publisher, None)
        if seen is None:
            seen = ([], [])
            if len(self._by_publisher) >= PUBLISHERS:
                self._forget_oldest_publisher()
        self._by_publisher[publisher] = seen
        self._latest = publisher
        self._firsts, self._lasts = seen
