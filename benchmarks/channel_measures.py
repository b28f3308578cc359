"""How benchmarks/channels.py measures: matchers in turns on the same events, the longest of their calls, and their memory.

In CPU time, since two cores have other work as well. All matchers take a turn on the same new events, one after another, and every
answer is compared with the floor's, sorted; a figure is the median of the turns, and so is the ratio of two in the same turn.
Calls are timed one by one in a run of its own, without Python's collection of garbage, which is reported by itself.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Final

from benchmarks.channel_workloads import Draw, Fields, Rarest, Workload
from gsg import shorten_collections
from gsg.channels.languages.expressions import Condition
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.auto import Auto
from gsg.channels.matchers.matcher import Matcher

Make = Callable[[Relations], Matcher]
FLOOR: Final = "rarest"
WARM_S: Final = 0.4
"""CPU time for which a slow matcher sees events before it is measured; one that is not slow sees all."""
SLOW_S: Final = 5.0
"""A matcher is slow that would need more for all turns."""
TURN_S: Final = 0.25
"""A slow matcher takes only as many events of a turn as fit into this, and five at least."""
ADAPTING: Final = ("compile", "bitmap", "auto")
"""Those that are slow at first and make something while events come; they see all events before the first turn."""
LARGE: Final = 10_000
TOO_LARGE: Final = {
    "scan": "an event would take it a quarter of a second",
    "sig": "it looks at all sets of fields with each event",
    "memo": "it looks at all conditions with each new set of fields",
    "lattice": "it would take minutes to make",
    "bitmap": "its sets of bits would take more than a gigabyte",
}
"""Of more than LARGE conditions."""


@dataclass(frozen=True)
class Sizes:
    """How much is matched."""

    warm: int = 8_000
    """Events before the first turn: what is made while events come is made then."""
    turns: int = 5
    events: int = 500
    """Of a turn."""
    calls: int = 3_000
    """Events whose calls are timed one by one."""


@dataclass(frozen=True)
class Measured:
    """One matcher on one workload."""

    workload: str
    matcher: str
    events_per_s: float
    ratio: float
    """To the dict on the rarest equality."""
    chosen: str = ""
    """By auto."""
    why: str = ""


@dataclass(frozen=True)
class Calls:
    """The calls of one matcher on one workload, one by one."""

    workload: str
    matcher: str
    insert_us: float
    insert_worst_ms: float
    inserts_over_1_ms: int
    remove_us: float
    remove_worst_ms: float
    match_worst_ms: float
    garbage_ms: float
    """One full collection of Python's garbage, with all conditions there."""


class Runner:
    """A matcher with its conditions, which change as the workload says."""

    def __init__(self, make: Make, conditions: list[Condition], spares: list[Condition], changes: float) -> None:
        self.matcher = make(Relations())
        self._spares = spares
        self._changes = changes
        for number, condition in enumerate(conditions):
            self.matcher.insert(number, condition)
        self._oldest, self._newest, self._owed = 0, len(conditions), 0.0
        self.limit = 1 << 30
        """Events of a turn that it matches."""

    def take(self, events: list[Fields]) -> tuple[float, list[list[int]]]:
        """Events a second, and what was found for each event that was matched."""
        matcher, found = self.matcher, []
        began_s = time.process_time()
        for event in events[: self.limit]:
            if self._changes:
                self._change()
            found.append(matcher.match(event, {}))
        took_s = time.process_time() - began_s
        self.skip(len(events) - len(found))
        return len(found) / max(took_s, 1e-9), found

    def skip(self, events: int) -> None:
        """Change what changes while so many events come, so that it stays level with the others."""
        if self._changes:
            for _ in range(events):
                self._change()

    def _change(self) -> None:
        self._owed += self._changes
        while self._owed >= 1.0:
            self._owed -= 1.0
            self.matcher.remove(self._oldest)
            self.matcher.insert(self._newest, self._spares[self._newest % len(self._spares)])
            self._oldest, self._newest = self._oldest + 1, self._newest + 1


def compared(workload: Workload, matchers: Mapping[str, Make], sizes: Sizes) -> Iterator[Measured | str]:
    """All matchers on one workload beside the floor; or why one is left out. Raises AssertionError where answers differ."""
    draw = Draw(workload)
    conditions = [draw.condition() for _ in range(workload.conditions)]
    spares = [draw.condition() for _ in range(1_000)]
    warm = [draw.event() for _ in range(sizes.warm)]
    runners = {FLOOR: Runner(Ready, conditions, spares, workload.changes)}
    runners[FLOOR].take(warm)
    for name, make in matchers.items():
        if workload.conditions > LARGE and name in TOO_LARGE:
            yield f"{workload.name}: {name} is left out: {TOO_LARGE[name]}"
            continue
        runner = Runner(make, conditions, spares, workload.changes)
        event_s = 1 / runner.take(warm[:5])[0]
        if event_s < WARM_S / 5:  # the first events are slow for those that make something while they come
            event_s = 1 / runner.take(warm[5:305])[0]
        else:
            runner.skip(300)
        if name not in ADAPTING and event_s * sizes.events * sizes.turns > SLOW_S:
            runner.limit = max(5, int(WARM_S / event_s))
        runner.take(warm[305:])
        runner.limit = sizes.events if runner.limit >= len(warm) else max(5, int(TURN_S / event_s))
        runners[name] = runner
    gc.collect()
    gc.freeze()  # what is there by now is not looked through again and again while others take their turns
    speeds: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(sizes.turns):
        events = [draw.event() for _ in range(sizes.events)]
        right: list[list[int]] = []
        for name, runner in runners.items():
            speed, found = runner.take(events)
            found = [sorted(each) for each in found]
            right = right or found
            assert found == right[: len(found)], f"{name} on {workload.name}: other answers than {FLOOR}"
            speeds[name].append(speed)
    for name, runner in runners.items():
        matcher = runner.matcher
        chosen, why = (matcher.name, matcher.why) if isinstance(matcher, Auto) else ("", "")
        ratios = [one / floor for one, floor in zip(speeds[name], speeds[FLOOR], strict=True)]
        yield Measured(workload.name, name, median(speeds[name]), median(ratios), chosen, why)
    gc.unfreeze()


class Ready(Rarest):
    """The floor with all its closures made: what it is after a long time, which would be long to wait for."""

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        super().insert(number, condition)
        self.test_of(number)({}, {})


def called(workload: Workload, name: str, make: Make, sizes: Sizes) -> Calls:
    """How long the calls of a matcher take, while one condition is replaced with each tenth event, with the collector of garbage as
    in a peer."""
    draw = Draw(workload)
    conditions = [draw.condition() for _ in range(workload.conditions)]
    spares = [draw.condition() for _ in range(1_000)]
    events = [draw.event() for _ in range(sizes.calls)]
    clock = time.process_time
    matcher = make(Relations())
    inserts, removals, matches = [], [], []
    longest_s = began_collection_s = 0.0

    def collected(phase: str, _: dict[str, int]) -> None:
        nonlocal longest_s, began_collection_s
        if phase == "start":
            began_collection_s = clock()
        else:
            longest_s = max(longest_s, clock() - began_collection_s)

    gc.collect()
    undo = shorten_collections()
    gc.callbacks.append(collected)
    try:
        for number, condition in enumerate(conditions):
            began_s = clock()
            matcher.insert(number, condition)
            inserts.append(clock() - began_s)
        for at, event in enumerate(events):
            if at % 10 == 0:
                began_s = clock()
                matcher.remove(at)
                removals.append(clock() - began_s)
                began_s = clock()
                matcher.insert(len(conditions) + at, spares[at % len(spares)])
                inserts.append(clock() - began_s)
            began_s = clock()
            matcher.match(event, {})
            matches.append(clock() - began_s)
    finally:
        gc.callbacks.remove(collected)
        undo()
    return Calls(
        workload.name,
        name,
        median(inserts) * 1e6,
        max(inserts) * 1e3,
        sum(each > 1e-3 for each in inserts),
        median(removals) * 1e6,
        max(removals) * 1e3,
        max(matches) * 1e3,
        longest_s * 1e3,
    )


def memory_bytes(workload: Workload, make: Make, events: int = 500) -> tuple[float, float]:
    """Bytes for each condition that a matcher takes beside the condition itself: when all are inserted, and after some events."""
    draw = Draw(workload)
    conditions = [draw.condition() for _ in range(workload.conditions)]
    coming = [draw.event() for _ in range(events)]
    gc.collect()
    tracemalloc.start()
    try:
        matcher = make(Relations())
        for number, condition in enumerate(conditions):
            matcher.insert(number, condition)
        inserted = tracemalloc.get_traced_memory()[0]
        for event in coming:
            matcher.match(event, {})
        return inserted / len(conditions), tracemalloc.get_traced_memory()[0] / len(conditions)
    finally:
        tracemalloc.stop()
