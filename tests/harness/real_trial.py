"""Real processes in trouble: peers on loopback, with disks, killed, ended, stopped and started again while two clients go on, and
newcomers that come and leave.

    python tests/harness/real_trial.py --runs 5
    python tests/harness/real_trial.py --seconds 30 --first 7

What no simulated network shows is here: the kernel's buffers and schedules, and what a machine does that is busy. A seed draws
the same faults at the same times; what meets them is another matter each time, so a run that fails is not repeated exactly.
Prints what each run came to, and exits 1 if any is not as promised.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from real_verdict import ON, RANG, Reader, Said, violations  # noqa: E402  # after the path to the project

import gsg  # noqa: E402
from gsg.cli.processes import PeerProcess, start  # noqa: E402

PEERS = 8
CLIENTS = 2
"""They work at the first peers, to which nothing happens."""
AWAY = 2
"""Peers that may be away at once: all but one of a key's holders."""
STREAMS = 12
"""Of each client: what says one thing after the other, half of them events."""
FACTS = 20
"""Facts of a stream that come and go."""
RUN_S, RUNS = 100.0, 3
QUIET_S = 60.0
"""How long everybody may take to be right again when all peers are back."""
AWAY_S = {signal.SIGKILL: (0.0, 4.0), signal.SIGTERM: (0.0, 4.0), signal.SIGSTOP: (1.0, 30.0)}
"""What befalls a peer, and how long it is away."""
PAUSE_S = (0.0, 4.0)
"""Between two things that one of AWAY does to peers, and between two newcomers."""
STAYS_S = (0.0, 20.0)
"""How long a newcomer stays, once it has entered."""
QUERIES = ("(rang, ?who, ?n)", '(rang, "A0", ?n)', "(?what, ?who, ?n)", "(?who, on, ?n)")


class Fleet:
    """The processes by number, and what befalls them."""

    def __init__(self, folder: Path) -> None:
        self.running: list[PeerProcess] = []
        self.away: set[int] = set()
        self.done: list[str] = []
        """What was done to whom, with the time."""
        self._folder = folder
        self._guest: PeerProcess | None = None
        """The newcomer that is there."""

    async def launch(self) -> None:
        """Start all of them."""
        for number in range(PEERS):
            self.running.append(await self._start(number, self.running[0].listen if number else None))

    async def _start(self, number: int, join: str | None = None) -> PeerProcess:
        return await start(join=join, options=["--data", str(self._folder / str(number))])

    async def trouble(self, rng: Random, until_s: float) -> None:
        """One thing after the other, until then; whoever is away is back in the end."""
        while time.monotonic() < until_s:
            await asyncio.sleep(rng.uniform(*PAUSE_S))
            number = rng.choice([number for number in range(CLIENTS, PEERS) if number not in self.away])
            how = rng.choice(list(AWAY_S))
            away_s = rng.uniform(*AWAY_S[how])
            self.away.add(number)
            self.done.append(f"{time.time():.3f} {how.name} for {away_s:.1f} s: peer {number}, {self.running[number].id.hex()[:8]}")
            await self._befall(number, how, away_s)
            self.done.append(f"{time.time():.3f} back: peer {number}")
            self.away.discard(number)

    async def _befall(self, number: int, how: signal.Signals, away_s: float) -> None:
        process = self.running[number].process
        process.send_signal(how)
        if how is signal.SIGSTOP:
            try:
                await asyncio.sleep(away_s)
            finally:
                process.send_signal(signal.SIGCONT)
        else:
            await process.wait()
            await asyncio.sleep(away_s)
            self.running[number] = await self._start(number)

    async def newcomers(self, rng: Random, until_s: float) -> None:
        """One after the other enters, without a disk, and leaves, until then."""
        while time.monotonic() < until_s:
            await asyncio.sleep(rng.uniform(*PAUSE_S))
            self._guest = guest = await start(join=self.running[0].listen)
            self.done.append(f"{time.time():.3f} newcomer: {guest.id.hex()[:8]}")
            await asyncio.sleep(rng.uniform(*STAYS_S))
            guest.process.send_signal(signal.SIGTERM)
            await guest.process.wait()
            self.done.append(f"{time.time():.3f} back: the newcomer has left")
            self._guest = None

    async def end(self) -> None:
        """All of them, at once."""
        for one in filter(None, [*self.running, self._guest]):
            with contextlib.suppress(ProcessLookupError):
                one.process.kill()
        for one in filter(None, [*self.running, self._guest]):
            await one.process.wait()


async def say(client: gsg.AsyncClient, said: Said, rng: Random, until_s: float) -> None:
    """One stream: an event or a change of facts after the other, each when the one before it is acknowledged."""
    while time.monotonic() < until_s:
        if said.facts:
            await _change(client, said, rng)
        else:
            numbers = range(said.next, said.next + rng.choice((1, 1, 5)))
            said.next = numbers.stop
            begun_s = time.time()
            try:
                await client.notify([(RANG, said.name, number) for number in numbers])
            except gsg.GsgError as error:
                said.unsure[numbers] = str(error)
            else:
                said.acknowledged[numbers] = (begun_s, time.time())
        await asyncio.sleep(rng.uniform(0.0, 0.02))


async def _change(client: gsg.AsyncClient, said: Said, rng: Random) -> None:
    """Make some facts true, or untrue, and say so again until that is acknowledged."""
    numbers = rng.sample(range(FACTS), 3)
    comes = rng.random() < 0.5
    facts = [(said.name, ON, number) for number in numbers]
    while True:
        try:
            await (client.insert(facts) if comes else client.retract(facts))
        except gsg.GsgError:
            await asyncio.sleep(0.1)
        else:
            break
    (said.true.update if comes else said.true.difference_update)(numbers)


async def listen(reader: Reader, subscription: gsg.LiveSubscription) -> None:
    """Put down what one subscription is told."""
    while True:
        try:
            async for sign, row in subscription:
                reader.told(int(sign), tuple(row.values()))
        except gsg.Overrun as missed:
            reader.missed += missed.lost
            reader.overruns += 1
        except gsg.Stale:
            reader.stale += 1
        else:
            return


async def trial(seed: int, run_s: float, folder: Path) -> tuple[str, list[str]]:
    """One run: what it came to, and what of it is not as promised."""
    rng = Random(f"real {seed}")
    fleet = Fleet(folder)
    streams = [Said(f"{'AB'[client]}{number}", facts=number % 2 == 1) for client in range(CLIENTS) for number in range(STREAMS)]
    readers = [Reader(f"{text} at {client}", text) for client in range(CLIENTS) for text in QUERIES]
    try:
        await fleet.launch()
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(gsg.connect(fleet.running[number].url)) for number in range(CLIENTS)]
            async with asyncio.TaskGroup() as listening:
                asked = [await clients[number // len(QUERIES)].subscribe(reader.text) for number, reader in enumerate(readers)]
                tasks = [listening.create_task(listen(*each)) for each in zip(readers, asked, strict=True)]
                until_s = time.monotonic() + run_s
                async with asyncio.TaskGroup() as working:
                    for number in range(AWAY):
                        working.create_task(fleet.trouble(Random(f"trouble {seed} {number}"), until_s))
                    working.create_task(fleet.newcomers(Random(f"newcomers {seed}"), until_s))
                    for number, said in enumerate(streams):
                        working.create_task(say(clients[number // STREAMS], said, Random(rng.random()), until_s))
                quiet_s = time.monotonic() + QUIET_S
                while violations(streams, readers) and time.monotonic() < quiet_s:  # noqa: ASYNC110  # other processes are waited for
                    await asyncio.sleep(0.5)
                for task in tasks:
                    task.cancel()
    finally:
        await fleet.end()
    found = violations(streams, readers)
    events = sum(len(numbers) for said in streams for numbers in said.acknowledged)
    unsure = sum(len(numbers) for said in streams for numbers in said.unsure)
    told = Counter[str]()
    for reader in readers:
        told.update(reader.counts())
    counts = ", ".join(f"{count:,} {what}" for what, count in told.items())
    done = Counter(line.split()[1] for line in fleet.done)
    faults = ", ".join(f"{count} {what.rstrip(':')}" for what, count in done.items() if what != "back:")
    return f"{events:,} events acknowledged, {unsure:,} unsure; {counts}; {faults}", found + (fleet.done if found else [])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS, help=f"how many (default: {RUNS})")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first (default: 0)")
    parser.add_argument("--seconds", type=float, default=RUN_S, help=f"how long each has trouble (default: {RUN_S:g})")
    options = parser.parse_args(arguments)
    failed = 0
    for seed in range(options.first, options.first + options.runs):
        with tempfile.TemporaryDirectory() as folder:
            came_to, found = asyncio.run(trial(seed, options.seconds, Path(folder)))
        failed += bool(found)
        print(f"{seed}: {len(found)} violations; {came_to}", *(f"    {line}" for line in found), sep="\n", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
