"""A stream of 100-byte tuples from one publisher to one subscriber through a rendezvous on a third peer, each a process.

    .venv/bin/python -m benchmarks.stream [--quick] [--json] [--only WORD]

Beside it in the same run: a bare asyncio relay of frames (`stream_relay.py`), nats-server with nats-py and mosquitto with
paho-mqtt, which are left out, by name, where they are not installed. Every message is checked: each comes once, in order; a wrong
one ends the run with status 1. CPU is that of each process for one tuple, the middle one being the rendezvous, relay or broker.
On a virtual machine whose host is busy latencies are the host's: what it took of the cores' time meanwhile stands beside a figure.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

import gsg
from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import Stolen, machine
from benchmarks.pedro_wire import resident_bytes
from benchmarks.settling import until_sure
from benchmarks.stream_brokers import BROKERS, missing, served
from gsg.cli.processes import peers
from gsg.tuples.features import HOME, key

RUNS = 5
TURNS = 15
"""Runs of each of two streams that are compared: single ones differ by more than what is looked for."""
BATCH = 500
"""Tuples in one call of a publisher."""
RATE = 1_000
"""Tuples a second for latencies, each in a call of its own."""
WANTED_PER_S = 60_000
WANTED_MEDIAN_US = 1_000
WANTED_SHARE = 0.95
"""Of the throughput that is left beside a subscriber that reads nothing."""
ARITY = 3
STOLEN_SAID = 0.01
"""From which share of the cores' time on it is said what the host took."""
PATIENCE_S = 120.0
"""How long a run may take."""


class ToldOfLoss(Exception):
    """A subscriber was told that it has missed something, as where it did not keep up: an answer, and no figure."""


@dataclass(frozen=True)
class Setting:
    """How an overlay is run."""

    name: str
    durable: bool = False
    tls: bool = True
    """Whether links are ciphered, as they are unless one says otherwise."""


SETTINGS = (
    Setting("memory"),
    Setting("durable", durable=True),
    Setting("memory, no TLS", tls=False),
    Setting("durable, no TLS", durable=True, tls=False),
)


@dataclass
class Figure:
    """One line of the report; CPU is in microseconds for a tuple."""

    name: str
    per_s: float
    cpu_us: tuple[float, float, float]
    median_us: float = 0.0
    p99_us: float = 0.0
    wanted: str = ""
    good: bool = True
    note: str = ""
    stolen: float = 0.0
    """What the host took of the cores' time meanwhile, from 0 to 1."""


class Process:
    """An end of a way in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, hello: dict[str, Any]) -> None:  # Any: JSON
        self.process = process
        self.hello = hello

    async def ask(self, **request: Any) -> dict[str, Any]:  # Any: JSON
        """Let it do something."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return await answer_of(self.process)

    @property
    def pid(self) -> int:
        """Its number."""
        return self.process.pid


async def answer_of(process: asyncio.subprocess.Process) -> dict[str, Any]:  # Any: JSON
    """The next line that a process says. Raises WrongDelivery where it has ended."""
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise WrongDelivery(f"a process ended with status {await process.wait()}")
    answer: dict[str, Any] = json.loads(line)  # Any: JSON
    return answer


@asynccontextmanager
async def role(name: str, kind: str, address: str, **options: object) -> AsyncIterator[Process]:
    """A publisher or subscriber until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.stream_role", name, kind, address, json.dumps(options)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        # Ctrl-C is for the benchmark, which then ends what it has started.
        process_group=0,
    )
    try:
        yield Process(process, await answer_of(process))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def cpu_s(pid: int) -> float:
    """What a process has used."""
    # proc(5): after the name, which may hold anything, utime and stime are the 12th and 13th.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Line:
    """The three processes of a way."""

    publisher: Process
    middle_pid: int
    subscriber: Process

    async def run(self, count: int, *, per_s: float = 0.0) -> Figure:
        """So many messages, at full speed or at a rate."""
        before, stolen = cpu_s(self.middle_pid), Stolen()
        receiving = self.subscriber.ask(do="receive", count=count)
        publishing = self.publisher.ask(do="publish", count=count, batch=BATCH, per_s=per_s)
        try:
            async with asyncio.timeout(PATIENCE_S):
                received, sent = await asyncio.gather(receiving, publishing)
        except TimeoutError:
            raise WrongDelivery(f"{count} messages have not come within {PATIENCE_S:.0f} s") from None
        if "overrun" in received:
            raise ToldOfLoss(received["overrun"])
        if received["wrong"]:
            raise WrongDelivery(f"{received['wrong']} of {count} messages came at another place than they should")
        middle = cpu_s(self.middle_pid) - before
        cpu = tuple(1e6 * used / count for used in (sent["cpu_s"], middle, received["cpu_s"]))
        rate = count / (received["ended_s"] - sent["began_s"])
        late = received["median_us"], received["p99_us"]
        return Figure("", rate, cpu, *late, stolen=stolen.share())  # type: ignore[arg-type]  # three of them

    async def measure(self, name: str, count: int, runs: int) -> Figure:
        """The median of several runs; the first one warms up."""
        return middle_of(name, [await self.run(count) for _ in range(runs + 1)][1:])

    async def in_turn(self, names: Sequence[str], count: int, runs: int) -> list[Figure]:
        """The median of several runs of each of some streams, in turn, so that the machine is as busy for all.

        Forwards and backwards: a stream that always came after another would find what that one left behind.
        """
        figures: dict[str, list[Figure]] = {name: [] for name in names}
        for number in range(2 * runs + 1):
            for name in names[:: 1 if number % 2 else -1]:
                for process in (self.subscriber, self.publisher):
                    await process.ask(do="turn", name=name)
                figures[name].append(await self.run(count))
        return [middle_of(name, figures[name][1:]) for name in names]

    async def latency(self, name: str, seconds: float) -> Figure:
        """How long a message takes at a moderate rate."""
        await self.run(RATE, per_s=RATE)
        figure = await self.run(int(RATE * seconds), per_s=RATE)
        figure.name = name
        return figure


def middle_of(name: str, figures: Sequence[Figure]) -> Figure:
    """The median of each figure; the mean of what the host took."""
    cpu = tuple(median(figure.cpu_us[number] for figure in figures) for number in range(3))
    stolen = mean(figure.stolen for figure in figures)
    return Figure(name, median(figure.per_s for figure in figures), cpu, stolen=stolen)  # type: ignore[arg-type]  # three of them


def told(label: str, error: ToldOfLoss) -> Figure:
    """The line of a stream whose subscriber was told that something is lost."""
    return Figure(label, 0.0, (0.0, 0.0, 0.0), wanted="no loss", good=False, note=f"its subscriber was told: {error}")


def name_at(rendezvous: bytes, others: Sequence[bytes], numbers: itertools.count[int]) -> str:
    """A name for a stream whose rendezvous is this peer."""

    def distance(peer: bytes, place: bytes) -> int:
        return int.from_bytes(peer) ^ int.from_bytes(place)

    while True:
        name = f"stream{next(numbers):04d}"
        place = key(ARITY, HOME, gsg.Symbol(name))
        if all(distance(rendezvous, place) < distance(other, place) for other in others):
            return name


class Overlay:
    """A rendezvous in a process, and a publisher and a subscriber that have peers of their own."""

    def __init__(self, setting: Setting, options: argparse.Namespace) -> None:
        self.setting = setting
        self._options = options
        self._numbers = itertools.count()
        self._stack = AsyncExitStack()
        self._ids: list[bytes] = []
        self._line: Line
        self._deaf: Process

    async def begin(self) -> None:
        """Start the processes."""
        enter = self._stack.enter_async_context
        data = [Path(self._stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(4)]
        durable = self.setting.durable
        options = [*([] if self.setting.tls else ["--link-tls", "off"]), *(["--data", str(data[0])] if durable else [])]
        [middle] = await enter(peers(1, options=options))
        more = [{"data": str(folder) if durable else None, "tls": self.setting.tls} for folder in data[1:]]
        publisher = await enter(role("publisher", "peer", middle.listen, **more[0]))
        subscriber = await enter(role("subscriber", "peer", middle.listen, **more[1]))
        self._deaf = await enter(role("subscriber", "peer", middle.listen, **more[2]))
        async with gsg.connect(middle.url) as client:
            self._ids = [(await client.report()).peers[0].peer]
        self._ids += [bytes.fromhex(process.hello["id"]) for process in (publisher, subscriber, self._deaf)]
        self._line = Line(publisher, middle.process.pid, subscriber)

    async def end(self) -> None:
        """Stop them."""
        await self._stack.aclose()

    async def _open(self, *, facts: bool) -> str:
        name = name_at(self._ids[0], self._ids[1:], self._numbers)
        for process in (self._line.subscriber, self._line.publisher):
            await process.ask(do="open", name=name, facts=facts)
        return name

    async def figures(self) -> AsyncIterator[Figure]:
        """What is measured here."""
        quick, setting = self._options.quick, self.setting.name
        for what, count in (("events", 100_000), ("facts", 20_000)):
            label = f"{what}, {setting}"
            if self._options.only not in label:
                continue
            count = count // 10 if quick else count
            try:
                async for figure in self._figures_of(what, label, count, 1 if quick else RUNS):
                    yield figure
            except ToldOfLoss as error:
                yield told(label, error)

    async def _figures_of(self, what: str, label: str, count: int, runs: int) -> AsyncIterator[Figure]:
        await self._open(facts=what == "facts")
        figure = await self._line.measure(f"{label}, full speed", count, runs)
        if what == "events":
            figure.wanted, figure.good = f"{WANTED_PER_S:,}/s", figure.per_s >= WANTED_PER_S
        yield figure
        latency = await self._line.latency(f"{label}, at {RATE:,}/s", 1 if self._options.quick else 10)
        latency.wanted, latency.good = f"median {WANTED_MEDIAN_US} µs", latency.median_us <= WANTED_MEDIAN_US
        yield latency
        if what == "events":
            async for beside in self._beside_the_deaf(label, count, runs):
                yield beside

    async def _beside_the_deaf(self, label: str, count: int, runs: int) -> AsyncIterator[Figure]:
        """Two streams in turn: another subscriber to the second reads nothing."""
        alone = await self._open(facts=False)
        name = await self._open(facts=False)
        await self._deaf.ask(do="open", name=name, facts=False)
        await self._deaf.ask(do="pause", peer=self._ids[0].hex())
        before = resident_bytes(self._line.middle_pid)
        without, figure = await self._line.in_turn([alone, name], count, 1 if self._options.quick else TURNS)
        after = resident_bytes(self._line.middle_pid)
        # As a holder of facts it is to read again: what comes next is measured beside peers that do.
        await self._deaf.ask(do="resume", peer=self._ids[0].hex())
        without.name, figure.name = f"{label}, in turn with the next", f"{label}, beside one that reads nothing"
        share = figure.per_s / without.per_s
        yield without
        figure.wanted, figure.good = f"{WANTED_SHARE:.0%} of it", share >= WANTED_SHARE
        figure.note = f"{share:.0%} of it; rendezvous {before / 2**20:,.0f} MiB before, {after / 2**20:,.0f} MiB after"
        yield figure


async def by_clients(options: argparse.Namespace) -> AsyncIterator[Figure]:
    """Publisher and subscriber are clients of the doors of two peers."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        running = await enter(peers(3))
        publisher = await enter(role("publisher", "client", running[1].url))
        subscriber = await enter(role("subscriber", "client", running[2].url))
        async with gsg.connect(running[0].url) as client:
            ids = [status.peer for status in (await client.report()).peers]
        if not options.quick:
            await until_sure()
        name = name_at(ids[0], ids[1:], itertools.count())
        for process in (subscriber, publisher):
            await process.ask(do="open", name=name, facts=False)
        line = Line(publisher, running[0].process.pid, subscriber)
        try:
            yield await line.measure(
                "events, clients, full speed", 5_000 if options.quick else 50_000, 1 if options.quick else RUNS
            )
            yield await line.latency(f"events, clients, at {RATE:,}/s", 1 if options.quick else 10)
        except ToldOfLoss as error:
            yield told("events, clients", error)


async def beside(kind: str, options: argparse.Namespace) -> AsyncIterator[Figure]:
    """The relay, or a broker."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        pid, port = await enter(served(kind))
        address = f"127.0.0.1:{port}"
        subscriber = await enter(role("subscriber", kind, address))
        publisher = await enter(role("publisher", kind, address))
        line = Line(publisher, pid, subscriber)
        yield await line.measure(f"{kind}, full speed", 10_000 if options.quick else 100_000, 1 if options.quick else RUNS)
        yield await line.latency(f"{kind}, at {RATE:,}/s", 1 if options.quick else 10)


def show(figure: Figure) -> str:
    """A line for people."""
    cpu = " + ".join(f"{used:5.1f}" for used in figure.cpu_us)
    late = f"  median {figure.median_us:7,.0f} µs  99% {figure.p99_us:8,.0f} µs" if figure.median_us else ""
    wanted = f"  wanted {figure.wanted} {'reached' if figure.good else 'MISSED'}" if figure.wanted else ""
    note = f"  {figure.note}" if figure.note else ""
    stolen = f"  host took {figure.stolen:.0%}" if figure.stolen >= STOLEN_SAID else ""
    return f"{figure.name:54} {figure.per_s:9,.0f}/s  CPU {cpu} µs{late}{wanted}{note}{stolen}"


async def run(options: argparse.Namespace) -> tuple[list[Figure], dict[str, str]]:
    """All figures, printed as they come, and what was left out with the reason."""
    figures: list[Figure] = []
    left_out: dict[str, str] = {}

    def report(figure: Figure) -> None:
        figures.append(figure)
        if not options.json:
            print(show(figure), flush=True)

    for kind in ("relay", *BROKERS):
        if options.only and options.only not in kind and options.only in "relay nats mqtt":
            continue
        if lacks := missing(kind):
            left_out[kind] = f"needs {lacks}"
            if not options.json:
                print(f"{kind:54} left out: needs {lacks}", flush=True)
            continue
        async for figure in beside(kind, options):
            report(figure)
    wanted = [
        Overlay(setting, options)
        for setting in SETTINGS
        if any(options.only in f"{what}, {setting.name}" for what in ("events", "facts"))
    ]
    try:
        for overlay in wanted:
            await overlay.begin()
        if wanted and not options.quick:
            await until_sure()
        for overlay in wanted:
            async for figure in overlay.figures():
                report(figure)
    finally:
        for overlay in wanted:
            await overlay.end()
    if options.only in "events, clients":
        async for figure in by_clients(options):
            report(figure)
    return figures, left_out


def main() -> int:
    """Status 1 where a delivery was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the tuples, once, and unsure peers: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON, at the end")
    parser.add_argument(
        "--only",
        metavar="WORD",
        default="",
        help="only what has this in its name: events, facts, memory, durable, clients; relay is always there",
    )
    options = parser.parse_args()
    if not options.json:
        print(f"{machine()}; medians of {1 if options.quick else RUNS}; CPU of publisher + middle + subscriber for a tuple")
    figures, left_out = run_checked(run(options))
    if options.json:
        found = {"machine": machine(), "figures": [asdict(figure) for figure in figures], "left_out": left_out}
        print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
