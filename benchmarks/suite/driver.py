"""A run of a workload against a system: round by round, first as fast as it goes, and in the last round at a pace.

    round 0        what is there to begin with, for whoever is subscribed from the beginning: the load
    rounds 1 ...   users leave and come, then changes in batches, one after the other as fast as the system takes them
    the last one   the first changes at a rate, each handed in when it is due, for latencies; the rest as before

Between rounds the system settles, and the rows that all subscriptions hold are compared with what is right; where they are not yet
right, the driver waits, for so long as its patience is. In the end each subscription is compared by itself.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from statistics import quantiles

from .digests import MASK
from .files import AnswerLine, Change, Progress, Workload
from .ledger import Ledger, Verdict
from .systems.system import Measures, Refused, System, Tell
from .users import Line

AT_ONCE = 16
"""Subscriptions that are being made at once."""
_LOOK_S = 0.02
_ASKED = 1_000
"""Subscriptions of which the system's own answers are asked for, in the end."""


@dataclass(frozen=True)
class Pace:
    """How changes are handed in."""

    batch: int = 1_000
    per_s: float = 200.0
    """Of the changes of the last round that are handed in at a pace."""
    paced: int = 2_000
    """How many those are."""
    patience_s: float = 60.0
    exact: bool = False
    """One change after the other, each with all that it leads to: positions are compared too, and nothing is paced."""


@dataclass
class Outcome:
    """What a run has shown."""

    system: str
    subscriptions: int
    verdict: Verdict
    late_rounds: int
    """Rounds at whose ends rows were not right in time."""
    load_per_s: float
    """Changes a second of round 0."""
    changes_per_s: float
    """Of the rounds between the first and the last."""
    told: int
    latencies_ms: tuple[float, float, float] | None
    """Median, 99th of 100 and worst; None where none was measured."""
    timed: int
    """How many differences those are of."""
    subscribed_per_s: float
    disagreeing: int
    """Subscriptions whose own answers are not what was told of them, of those that were asked."""
    measures: Measures
    reasons: dict[str, int] = field(default_factory=dict)
    """Why subscriptions were refused, with how many."""

    @property
    def is_right(self) -> bool:
        """Whether everything that was answered is right."""
        return not self.verdict.wrong and not self.disagreeing


class Driver:
    """One run. ``make`` makes the system, which is given what to call with each difference."""

    def __init__(self, workload: Workload, make: Callable[[Tell], System], pace: Pace, progress: Progress) -> None:
        self._workload, self._pace, self._progress = workload, pace, progress
        self._ledger = Ledger(exact=pace.exact)
        self._system = make(self._ledger.tell)
        self._lines = self._workload.subscriptions()
        self._next: Line | None = next(self._lines, None)
        self._leaving: dict[int, list[int]] = {}
        self._changes = workload.changes()
        self._done = 0
        self._spent: list[tuple[int, float]] = []
        """By round: changes handed in, and seconds until the last of them was taken or told."""
        self._subscribing_s = 0.0
        self._subscribed = 0

    async def run(self) -> Outcome:
        """Run it. Raises what the system raises."""
        answers = list(self._workload.answers())
        for answer in answers:
            if answer.history is not None:
                self._ledger.expect(answer)
        late = 0
        async with self._system:
            for number, end in enumerate(self._workload.described.rounds):
                await self._come_and_go(number)
                await self._round(number, end.ends)
                late += not await self._until_right(number)
            disagreeing = await self._compare_answers()
            measures = await self._system.measures()
        return self._outcome(answers, late, disagreeing, measures)

    async def _come_and_go(self, number: int) -> None:
        for leaving in self._leaving.pop(number - 1, ()):
            if leaving not in self._ledger.refused:
                # First the ledger: what is told meanwhile is of the round that has ended.
                self._ledger.close(leaving)
                await self._system.unsubscribe(leaving)
        # What is there already is told of in this round, at the position at which it begins.
        self._ledger.round, self._ledger.position = number, self._done
        self._ledger.span = self._done, self._workload.described.rounds[number].ends
        began_s, coming = time.perf_counter(), self._coming(number)
        lock = asyncio.Semaphore(AT_ONCE)

        async def subscribe(line: Line) -> None:
            try:
                await self._system.subscribe(line)
            except Refused as error:
                self._ledger.refuse(line.subscription, str(error))
            finally:
                lock.release()

        async with asyncio.TaskGroup() as tasks:
            for line in coming:
                await lock.acquire()
                self._ledger.open(line.subscription)
                self._leaving.setdefault(line.ends, []).append(line.subscription)
                tasks.create_task(subscribe(line))
                self._subscribed += 1
        self._subscribing_s += time.perf_counter() - began_s
        await self._system.settle()

    def _coming(self, number: int) -> Iterator[Line]:
        while self._next is not None and self._next.begins == number:
            yield self._next
            self._next = next(self._lines, None)

    async def _round(self, number: int, end: int) -> None:
        count, pace = end - self._done, self._pace
        is_last = number == len(self._workload.described.rounds) - 1
        if is_last and not pace.exact:
            await self._paced(min(count, pace.paced))
        began_s = self._ledger.last_told_s = time.perf_counter()
        fast = end - self._done
        while self._done < end:
            batch = self._take(1 if pace.exact else min(pace.batch, end - self._done))
            self._ledger.position = self._done
            await self._system.change(batch)
            if pace.exact:
                await self._system.settle()
            self._progress("changes", self._done, self._workload.described.changes)
        taken_s = time.perf_counter()
        await self._system.settle()
        if not is_last:
            self._spent.append((fast, max(taken_s, self._ledger.last_told_s) - began_s))

    async def _paced(self, count: int) -> None:
        """Hand in what is due, all of it together where the system has kept us waiting; it is late from when it was due."""
        per_s, began, began_s = self._pace.per_s, self._done, time.perf_counter()
        while (sent := self._done - began) < count:
            due = min(count, 1 + int((time.perf_counter() - began_s) * per_s))
            if due <= sent:
                await asyncio.sleep(began_s + sent / per_s - time.perf_counter())
                continue
            for number in range(sent, due):
                self._ledger.handed[began + number + 1] = began_s + number / per_s
            await self._system.change(self._take(due - sent))
            self._progress("changes", self._done, self._workload.described.changes)
        await self._system.settle()

    def _take(self, count: int) -> list[Change]:
        self._done += count
        return list(islice(self._changes, count))

    async def _until_right(self, number: int) -> bool:
        """Whether all rows are what they should be, in time; with subscriptions that were refused that is not known yet."""
        end = self._workload.described.rounds[number]
        if self._ledger.refused:
            return True
        deadline_s = time.perf_counter() + self._pace.patience_s
        while not self._ledger.is_right(end):
            if time.perf_counter() > deadline_s:
                return False
            await asyncio.sleep(_LOOK_S)
        return True

    async def _compare_answers(self) -> int:
        """How many subscriptions of the system hold other rows than it has told."""
        numbers = sorted(self._ledger.accounts)
        disagreeing = 0
        for number in numbers[:: max(1, -(-len(numbers) // _ASKED))]:
            rows = await self._system.answers(number)
            if rows is not None:
                disagreeing += sum(map(self._ledger.hash_of, rows)) & MASK != self._ledger.accounts[number].held
        return disagreeing

    def _outcome(self, answers: list[AnswerLine], late: int, disagreeing: int, measures: Measures) -> Outcome:
        ledger = self._ledger
        reasons: dict[str, int] = {}
        for why in ledger.refused.values():
            reasons[why] = reasons.get(why, 0) + 1
        latencies = sorted(1000 * latency for latency in ledger.latencies_s)
        load, between = self._spent[0], self._spent[1:]
        return Outcome(
            self._system.name,
            len(answers),
            ledger.judge(answers),
            late,
            _rate(*load),
            _rate(sum(count for count, _ in between), sum(spent_s for _, spent_s in between)),
            ledger.told,
            _percentiles(latencies),
            len(latencies),
            _rate(self._subscribed, self._subscribing_s),
            disagreeing,
            measures,
            reasons,
        )


def _rate(count: int, seconds: float) -> float:
    return count / seconds if seconds > 0 else 0.0


def _percentiles(latencies: list[float]) -> tuple[float, float, float] | None:
    if len(latencies) < 2:
        return None
    cuts = quantiles(latencies, n=100, method="inclusive")
    return cuts[49], cuts[98], latencies[-1]
