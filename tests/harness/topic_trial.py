"""Members of a topic in trouble: real peers on loopback, half of which are killed while an event is published, and then stopped.

    python tests/harness/topic_trial.py
    python tests/harness/topic_trial.py --peers 64 --killed 0.9

Whoever is to be killed or stopped is a process of its own; the others, of which one publishes, share one. Prints each figure beside
the wanted one, and exits 1 where an event is missing, comes twice or out of order, or late while the machine was not busy: that it
was is seen from how late event loops were.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from benchmarks.machine import machine  # noqa: E402  # after the path to the project
from benchmarks.stream import Process, answer_of  # noqa: E402  # as above

PEERS, MOST_PEERS = 24, 64
KILLED = STOPPED = 0.5
"""Which share of those that live is killed, and then stopped."""
SETTLE_S = 12.0
"""Two rounds of exchanges, in which members find their neighbours."""
APART_S = 0.5
"""From when the living have an event to the next one, where payloads are counted: what belongs to one has come before that."""
WITHIN_KILLED_S, WITHIN_STOPPED_S = 1.0, 2.0
"""How soon after it was published the living are to have an event."""
WANTED_PAYLOADS = 1.1
STAYS_STOPPED_S = 5.0
PATIENCE_S = 30.0
"""How long an event may take at all."""
BUSY_S = 0.1
"""How late an event loop is on a machine that is too busy for a time to mean anything."""
AT_ONCE = 4
"""Processes that start at the same time."""
CLOSING = 5
"""Events that each member publishes in the end."""
SHOWN = 5
"""Violations of one kind that are named."""

Event: TypeAlias = tuple[int, int]
"""Who published it, and its number, which grows with each event of anybody."""
Report: TypeAlias = dict[str, Any]  # Any: JSON


@dataclass
class Outcome:
    """What a run came to."""

    lines: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    """What is not as promised."""


def amiss(name: str, told: Sequence[Event], lost: int, published: Sequence[Event]) -> Iterator[str]:
    """What is not as promised of what one member was told, who subscribed before anything was published."""
    repeated = {event for event in told if told.count(event) > 1}
    if repeated:
        yield f"{name} was told twice of {sorted(repeated)[:SHOWN]}"
    missing = set(published) - set(told)
    if len(missing) > lost:
        yield f"{name} misses {len(missing)} events, {lost} of them told as a gap: {sorted(missing)[:SHOWN]}"
    if invented := set(told) - set(published):
        yield f"{name} was told of what nobody published: {sorted(invented)[:SHOWN]}"
    for who in {who for who, _ in told}:
        early = [f"{one} after {before}" for before, one in pairwise([number for by, number in told if by == who]) if one < before]
        if early:
            yield f"{name} was told out of order by {who}: {early[:SHOWN]}"


class Trial:
    """The processes, each with the numbers of its members."""

    def __init__(self, peers: int, killed: float) -> None:
        self.killed = round(peers * killed)
        self.stopped = round((peers - self.killed) * STOPPED)
        self.shared = peers - self.killed - self.stopped
        self._processes: dict[int, Process] = {}
        """By the number of the first member; 0 is that of those to which nothing happens."""
        self.published: list[Event] = []
        self._late_s = 0.0

    async def launch(self) -> None:
        """Start all of them, and let them subscribe."""
        address = (await self._start(0, self.shared)).hello["address"]
        places = asyncio.Semaphore(AT_ONCE)

        async def start(number: int) -> None:
            async with places:
                process = await self._start(number, 1, address)
                await process.ask(do="subscribe")

        await self._processes[0].ask(do="subscribe")
        async with asyncio.TaskGroup() as starting:
            for number in range(self.shared, self.shared + self.stopped + self.killed):
                starting.create_task(start(number))

    async def _start(self, first: int, count: int, *address: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(HERE / "topic_role.py"), str(first), str(count), *address),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 26,
            # Ctrl-C is for the trial, which then ends what it has started.
            process_group=0,
        )
        self._processes[first] = started = Process(process, {})
        started.hello = await answer_of(process)
        return started

    async def end(self) -> None:
        """All of them, at once."""
        for each in self._processes.values():
            with contextlib.suppress(ProcessLookupError):
                each.process.kill()
        for each in self._processes.values():
            await each.process.wait()

    def signal_all(self, numbers: Sequence[int], number: signal.Signals) -> None:
        """Send a signal to the processes of some members."""
        for each in numbers:
            self._processes[each].process.send_signal(number)

    async def bury(self, numbers: Sequence[int]) -> None:
        """Wait for the ends of those that were killed."""
        for number in numbers:
            await self._processes.pop(number).process.wait()

    def publish(self) -> Coroutine[Any, Any, Report]:  # Any: as coroutines have it
        """Let member 0 publish the next event; the answer has the moment in ``at_s``."""
        return self._processes[0].ask(do="publish", events=[self._next(0)])

    async def publish_all(self) -> None:
        """Let each member publish an event."""
        events = {each: [self._next(who) for who in self._members(each)] for each in self._processes}
        await asyncio.gather(*(process.ask(do="publish", events=events[each]) for each, process in self._processes.items()))

    def _members(self, first: int) -> range:
        return range(first, first + 1) if first else range(self.shared)

    def _next(self, who: int) -> Event:
        self.published.append((who, len(self.published)))
        return self.published[-1]

    async def reports(self, without: Sequence[int] = ()) -> dict[int, Report]:
        """What each member says that lives, and is not stopped."""
        found: dict[int, Report] = {}
        asked = {first: process for first, process in self._processes.items() if first not in without}
        for first, answer in zip(asked, await asyncio.gather(*(each.ask(do="report") for each in asked.values())), strict=True):
            self._late_s = max(self._late_s, answer["late_s"])
            found.update({first + place: report for place, report in enumerate(answer["members"])})
        return found

    async def arrived(self, event: Event, at_s: float, without: Sequence[int] = ()) -> tuple[list[float], int]:
        """How long after a moment each member had an event, in order, and how many have not had it within PATIENCE_S."""
        until_s = time.monotonic() + PATIENCE_S
        while True:
            reports = await self.reports(without)
            came = [[at for who, number, at in each["told"] if (who, number) == event] for each in reports.values()]
            if all(came) or time.monotonic() > until_s:
                return sorted(at[0] - at_s for at in came if at), sum(not at for at in came)
            await asyncio.sleep(0.2)

    async def payloads(self, without: Sequence[int] = ()) -> float:
        """Payloads of one more event, for each member."""
        before = await self.reports(without)
        at_s = float((await self.publish())["at_s"])
        await self.arrived(self.published[-1], at_s, without)
        await asyncio.sleep(APART_S)
        after = await self.reports(without)
        return sum(after[each]["payloads"] - before[each]["payloads"] for each in after) / len(after)

    async def told_all(self, *, within_s: float) -> list[str]:
        """What is not as promised by then."""
        until_s = time.monotonic() + within_s
        while True:
            found = violations(await self.reports(), self.published)
            if not found or time.monotonic() > until_s:
                return found
            await asyncio.sleep(0.5)

    def lateness_s(self) -> float:
        """How late event loops were since this was asked last."""
        late_s, self._late_s = self._late_s, 0.0
        return late_s


def violations(reports: Mapping[int, Report], published: Sequence[Event]) -> list[str]:
    """What is not as promised of any member."""
    return [
        line
        for number, report in reports.items()
        for line in amiss(f"member {number}", [(who, event) for who, event, _ in report["told"]], report["lost"], published)
    ]


class Phase:
    """One thing that befalls members while an event is published."""

    def __init__(self, trial: Trial, outcome: Outcome) -> None:
        self._trial = trial
        self._outcome = outcome

    async def run(self, number: signal.Signals, victims: Sequence[int], within_s: float) -> None:
        """Publish, signal, and see who has it when."""
        trial = self._trial
        await trial.reports()
        trial.lateness_s()
        publishing = asyncio.ensure_future(trial.publish())
        # The request is written in the first turn of the loop, and the signals follow at once.
        await asyncio.sleep(0)
        trial.signal_all(victims, number)
        at_s = float((await publishing)["at_s"])
        if number is signal.SIGKILL:
            await trial.bury(victims)
        late_s, missing = await trial.arrived(trial.published[-1], at_s, victims)
        loop_s = trial.lateness_s()
        name = f"{number.name} for {len(victims)} of {len(victims) + len(late_s) + missing} at the moment of publishing"
        worst_s, busy = max(late_s, default=0.0), loop_s > BUSY_S
        self._say(name, f"last of the living after {worst_s:.3f} s", f"{within_s:g} s", good=worst_s <= within_s and not missing)
        ignored = ", so no time is held against it" if busy else ""
        self._outcome.lines.append(f"    event loops were up to {loop_s * 1000:.0f} ms late{ignored}")
        if missing:
            self._outcome.found.append(f"{name}: {missing} of the living have not had the event within {PATIENCE_S:g} s")
        elif worst_s > within_s and not busy:
            self._outcome.found.append(f"{name}: the last of the living had the event after {worst_s:.3f} s")

    async def count(self, name: str, without: Sequence[int] = ()) -> None:
        """Payloads a member, two events later."""
        between = [await self._trial.payloads(without) for _ in range(2)]
        payloads = await self._trial.payloads(without)
        said = f"{payloads:.2f} payloads a member, after {between[0]:.2f} and {between[1]:.2f}"
        self._say(name, said, f"{WANTED_PAYLOADS:g}", good=payloads <= WANTED_PAYLOADS)

    def _say(self, name: str, figure: str, wanted: str, *, good: bool) -> None:
        self._outcome.lines.append(f"{name}: {figure}; wanted {wanted}: {'reached' if good else 'MISSED'}")


async def run(peers: int, killed: float) -> Outcome:
    """One run."""
    outcome, trial = Outcome(), Trial(peers, killed)
    phase = Phase(trial, outcome)
    stopped = range(trial.shared, trial.shared + trial.stopped)
    dead = range(stopped.stop, stopped.stop + trial.killed)
    try:
        print(f"{peers} peers start", file=sys.stderr, flush=True)
        await trial.launch()
        await asyncio.sleep(SETTLE_S)
        await phase.count("two events after the beginning")
        print(f"{len(dead)} are killed", file=sys.stderr, flush=True)
        await phase.run(signal.SIGKILL, dead, WITHIN_KILLED_S)
        await phase.count("two events after that")
        print(f"{len(stopped)} are stopped", file=sys.stderr, flush=True)
        await phase.run(signal.SIGSTOP, stopped, WITHIN_STOPPED_S)
        await phase.count("two events after that", stopped)
        await asyncio.sleep(STAYS_STOPPED_S)
        trial.signal_all(stopped, signal.SIGCONT)
        began_s = time.monotonic()
        outcome.found += await trial.told_all(within_s=PATIENCE_S)
        reports = await trial.reports()
        gaps = sum(reports[each]["lost"] for each in stopped)
        outcome.lines.append(
            f"those that were stopped had caught up, or were told of a gap, after {time.monotonic() - began_s:.1f} s; {gaps} lost"
        )
        for _ in range(CLOSING):
            await trial.publish_all()
        outcome.found += await trial.told_all(within_s=PATIENCE_S)
        outcome.lines.append(f"{CLOSING} events of each of {len(reports)} at the same time: {len(trial.published)} events in all")
    finally:
        await trial.end()
    return outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 1 where something is not as promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=int, default=PEERS, help=f"how many, {MOST_PEERS} at most (default: {PEERS})")
    parser.add_argument("--killed", type=float, default=KILLED, help=f"the share of them that is killed (default: {KILLED:g})")
    parser.add_argument("--runs", type=int, default=1, help="how many runs (default: 1)")
    options = parser.parse_args(arguments)
    if not 4 <= options.peers <= MOST_PEERS:
        parser.error(f"--peers: expected a number from 4 to {MOST_PEERS}")
    if not 0 < options.killed <= 0.9:
        parser.error("--killed: expected a share above 0 and up to 0.9")
    print(machine())
    failed = 0
    for number in range(options.runs):
        outcome = asyncio.run(run(options.peers, options.killed))
        failed += bool(outcome.found)
        print(f"{number}: {len(outcome.found)} violations", *(f"    {line}" for line in outcome.lines + outcome.found), sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
