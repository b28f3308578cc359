"""A client that outlives its peers: three of them, one killed and started again every few seconds, while another client, which
loses its peers as well, changes facts and says events.

    python tests/harness/client_trial.py
    python tests/harness/client_trial.py --kills 5 --every 3 --rate 500

Prints what it came to, and exits 1 where the reader does not hold the answer in the end, was told a difference not once, or missed
events without being told.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from client_verdict import Fact, Told, violations  # noqa: E402  # after the path to the project

import gsg  # noqa: E402
from gsg.cli.processes import PeerProcess, start  # noqa: E402
from gsg.tuples.terms import Symbol  # noqa: E402

PEERS = 3
KILLS, EVERY_S, RATE = 20, 5.0, 1_000
AWAY_S = 1.0
"""How long a peer that was killed is away."""
STREAMS = 5
"""Of facts, that change at the same time, each after its last change is acknowledged; one more says events."""
FACTS = 400
"""Facts of a stream."""
STEP_S = 0.05
"""How often each stream says something."""
CATCH_UP = 10
"""How many times as much a stream may say at once to catch up."""
QUIET_S = 60.0
"""How long the reader may take to hold the answer when all peers are back."""
ON, RANG = Symbol("on"), Symbol("rang")


@dataclass
class Said:
    """What was said, and is acknowledged."""

    true: set[Fact] = field(default_factory=set)
    events: list[Fact] = field(default_factory=list)
    changes: int = 0
    unsure: int = 0
    """Events of which nobody knows whether they were told."""


class Fleet:
    """The processes, each with a disk and a door of its own that stays where it is."""

    def __init__(self, folder: Path) -> None:
        self.ports = free_ports(2 * PEERS)
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports[:PEERS]]
        self.running: list[PeerProcess] = []
        self._folder = folder

    async def launch(self) -> None:
        for number in range(PEERS):
            self.running.append(await self._start(number))

    async def _start(self, number: int) -> PeerProcess:
        options = ["--data", str(self._folder / str(number)), "--http", f"127.0.0.1:{self.ports[number]}"]
        options += ["--listen", f"127.0.0.1:{self.ports[PEERS + number]}"]
        return await start(join=self.running[0].listen if self.running and number else None, options=options, quietly=True)

    async def kill(self, number: int) -> None:
        """Kill one, and start it again."""
        process = self.running[number].process
        process.kill()
        await process.wait()
        await asyncio.sleep(AWAY_S)
        self.running[number] = await self._start(number)

    async def end(self) -> None:
        for one in self.running:
            with contextlib.suppress(ProcessLookupError):
                one.process.kill()
        for one in self.running:
            await one.process.wait()


def free_ports(count: int) -> list[int]:
    """Ports that nobody has for now."""
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _ in range(count)]


class Pace:
    """How much one stream is to say: what it could not say while there was no peer it says later, some at a time."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._begun_s = asyncio.get_running_loop().time()
        self._said = 0

    async def due(self) -> int:
        """How many changes are to be said now, in a moment."""
        await asyncio.sleep(STEP_S)
        owed = round((asyncio.get_running_loop().time() - self._begun_s) * self._rate) - self._said
        due = max(1, min(owed, CATCH_UP * round(self._rate * STEP_S)))
        self._said += due
        return due


async def change_facts(client: gsg.AsyncClient, name: str, said: Said, rng: Random, rate: float, stop: asyncio.Event) -> None:
    """Make some facts true and others untrue, again and again."""
    pace = Pace(rate)
    while not stop.is_set():
        numbers = rng.sample(range(FACTS), min(await pace.due(), FACTS))
        gone = [number for number in numbers if (name, number) in said.true]
        come = [number for number in numbers if (name, number) not in said.true]
        if come:
            await client.insert([(name, ON, number) for number in come])
        if gone:
            await client.retract([(name, ON, number) for number in gone])
        said.true.update((name, number) for number in come)
        said.true.difference_update((name, number) for number in gone)
        said.changes += len(numbers)


async def say_events(client: gsg.AsyncClient, name: str, said: Said, rate: float, stop: asyncio.Event) -> None:
    """Say events with numbers that follow each other."""
    pace, number = Pace(rate), 0
    while not stop.is_set():
        each = await pace.due()
        events = [(name, at) for at in range(number, number + each)]
        number += each
        try:
            await client.notify([(RANG, *event) for event in events])
        except gsg.PeerUnreachable:
            said.unsure += each
        else:
            said.events += events
        said.changes += each


async def listen(subscription: gsg.LiveSubscription, told: Told) -> None:
    """Put down what is told, until the subscription is closed."""
    while True:
        try:
            async for sign, row in subscription:
                who, number = row.values()
                if sign:
                    told.difference(int(sign), (str(who), int(str(number))))
                else:
                    told.events.append((str(who), int(str(number))))
        except gsg.Reconnected:
            told.reconnected += 1
        except gsg.Overrun:
            told.overruns += 1
        except gsg.Stale:
            told.stale += 1
        else:
            return


def held_by(subscription: gsg.LiveSubscription) -> Counter[Fact]:
    """What it holds."""
    return Counter({(str(row["who"]), int(str(row["n"]))): count for row, count in subscription.rows().items()})


async def trial(kills: int, every_s: float, rate: float, seed: int, folder: Path) -> tuple[str, list[str]]:
    """One run: what it came to, and what of it is not as promised."""
    fleet, said, of_facts, of_events = Fleet(folder), Said(), Told(), Told()
    stop, begun_s = asyncio.Event(), time.monotonic()
    losses = Counter[str]()

    def count(who: str) -> gsg.http.client.client.OnState:
        return lambda state, _: losses.update([who] if state is gsg.ConnectionState.RECONNECTING else [])

    try:
        await fleet.launch()
        async with (
            gsg.connect(fleet.urls, on_state=count("reader")) as reader,
            gsg.connect(fleet.urls, on_state=count("publisher")) as publisher,
            await reader.subscribe("(?who, on, ?n)") as facts,
            await reader.subscribe("(rang, ?who, ?n)") as events,
            asyncio.TaskGroup() as work,
        ):
            listening = [work.create_task(listen(facts, of_facts)), work.create_task(listen(events, of_events))]
            each = rate / (STREAMS + 1)
            saying = [
                work.create_task(change_facts(publisher, f"s{number}", said, Random(f"{seed} {number}"), each, stop))
                for number in range(STREAMS)
            ]
            saying.append(work.create_task(say_events(publisher, "e", said, each, stop)))
            began_s = time.monotonic()
            for number in range(kills):
                await asyncio.sleep(max(0.0, began_s + (number + 1) * every_s - time.monotonic()))
                await fleet.kill(number % PEERS)
            stop.set()
            await asyncio.gather(*saying)
            spoke_s = time.monotonic() - began_s
            found: list[str] = []
            quiet_s = time.monotonic() + QUIET_S
            while True:
                both = [*violations(of_facts, held_by(facts), said.true, []), *violations(of_events, Counter(), set(), said.events)]
                found = both
                if not found or time.monotonic() > quiet_s:
                    break
                await asyncio.sleep(0.5)
            right_s = time.monotonic() - began_s - spoke_s
            for task in listening:
                task.cancel()
    finally:
        await fleet.end()
    heard = len(of_events.events)
    missed = len(set(said.events) - set(of_events.events))
    markers = [f"{what.reconnected} Reconnected, {what.overruns} Overrun, {what.stale} Stale" for what in (of_facts, of_events)]
    came_to = (
        f"{kills} kills in {spoke_s:.0f} s, {said.changes / spoke_s:,.0f} changes/s acknowledged; the reader lost its peer "
        f"{losses['reader']} times, the publisher {losses['publisher']} times; facts: {of_facts.differences:,} differences, "
        f"{len(said.true):,} rows in the end, {markers[0]}; events: {len(said.events):,} acknowledged, {said.unsure:,} unsure, "
        f"{heard:,} heard, {missed:,} missed, {markers[1]}; right {right_s:.1f} s after the last change, "
        f"{time.monotonic() - begun_s:.0f} s in all"
    )
    return came_to, found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=KILLS, help=f"how many (default: {KILLS})")
    parser.add_argument("--every", type=float, default=EVERY_S, help=f"seconds between them (default: {EVERY_S:g})")
    parser.add_argument("--rate", type=float, default=RATE, help=f"changes a second (default: {RATE:,})")
    parser.add_argument("--seed", type=int, default=0, help="of the changes (default: 0)")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        came_to, found = asyncio.run(trial(options.kills, options.every, options.rate, options.seed, Path(folder)))
    print(f"{len(found)} violations; {came_to}", *(f"    {line}" for line in found), sep="\n", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
