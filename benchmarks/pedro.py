"""Pedro's door under load: a pipelined client in a process of its own, each figure the median of five and beside a floor.

    .venv/bin/python -m benchmarks.pedro [--quick] [--json] [--only WORD]

The floor is a bare asyncio line relay in the same run (`pedro_relay.py`): what Python takes to read lines, answer and pass them on
without looking at them. The bare door beside it (`pedro_bare.py`) also parses and matches; what the original reaches today is
reckoned from it. Every answer and every delivery is compared byte by byte; a wrong one ends the run with status 1. What is
wanted is what the original server reached on such a machine, times the factor of the plan (`docs/benchmarks/pedro.md`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass
from statistics import median

from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import machine
from benchmarks.pedro_bare import ORIGINAL_SHARE
from benchmarks.pedro_wire import Wire, dial, pump, read_line, resident_bytes, round_trips
from benchmarks.settling import until_sure
from gsg.cli.processes import PeerProcess, peers

RUNS = 5
PEERS = 4
ROCK = 7
ROUND_TRIPS = 1_000


@dataclass(frozen=True)
class Case:
    """What is subscribed to, what is sent, and how fast it should go."""

    name: str
    covering: str
    """The subscription that covers every line."""
    others: tuple[str, ...]
    """Subscriptions that cover none."""
    line: str
    """With {n} for a number that is another one in each line."""
    original_per_s: int
    wanted_per_s: int
    registered: bool = False
    """Whether the line is a message to the receiver's name, from the sender's."""


@dataclass
class Figure:
    """One line of the report."""

    name: str
    peers: int
    reached: float
    wanted: float
    unit: str
    floor: float = 0.0
    original: float = 0.0
    note: str = ""

    @property
    def good(self) -> bool:
        """Whether what is wanted was reached."""
        return self.reached >= self.wanted if self.unit == "/s" else self.reached <= self.wanted


def cases(rooms: int, crowd: int) -> list[Case]:
    """The workloads; ``rooms`` and ``crowd`` are how many subscriptions the two large ones have."""
    goal_lists = tuple(f"subscribe(reading(K,V),member(K,[a{i},b{i},c{i}]),0)" for i in range(1_000))
    notified_lists = tuple(f"subscribe(report(S,L),member(fault{i},L),0)" for i in range(1_000))
    return [
        Case("one covering subscription", "temp(kitchen,T,_),(T>20)", (), "temp(kitchen, 25, {n})", 59_000, 77_000),
        Case("p2pmsg", "", (), "p2pmsg(fred@localhost, bill@localhost, bid({n}))", 48_000, 62_000, registered=True),
        Case("1,001: member/2, list in the goal", "reading(K,V),member(K,[x,y,z])", goal_lists, "reading(y, {n})", 4_600, 69_000),
        Case(
            "1,001: member/2, list in the line",
            "report(S,L),member(smoke,L)",
            notified_lists,
            "report({n}, [heat,smoke,dust])",
            4_600,
            69_000,
        ),
        _rooms(rooms, 473, 71_000),
        _rooms(crowd, 50, 75_000),
    ]


def _rooms(count: int, original_per_s: int, wanted_per_s: int) -> Case:
    others = tuple(f"subscribe(temp(room{i},T,_),true,0)" for i in range(1, count))
    return Case(f"{count:,} subscriptions", "temp(room0,T,_),true", others, "temp(room0, 21, {n})", original_per_s, wanted_per_s)


def lines(case: Case, count: int, run: int) -> list[bytes]:
    """What is sent in one run."""
    return [case.line.replace("{n}", str(run * count + number)).encode() + b"\n" for number in range(count)]


def measure(case: Case, sending_port: int, receiving_port: int, count: int) -> tuple[list[float], Wire, Wire]:
    """The rates of all runs, and the clients, still connected."""
    sender, receiver = Wire.connect(sending_port), Wire.connect(receiving_port)
    rock = ROCK
    if case.registered:
        rock = 0
        if (sender.command("register(bill)"), receiver.command("register(fred)")) != (1, 1):
            raise WrongDelivery("a name was refused")
    else:
        made = "".join(f"{other}\n" for other in case.others)
        ids = b"".join(b"%d\n" % number for number in range(1, len(case.others) + 1))
        pump(receiver, made.encode(), ids, receiver, b"")
        receiver.command(f"subscribe({case.covering},{ROCK})")
    rates = []
    for run in range(RUNS + 1):
        said = lines(case, count, run)
        delivered = b"".join(b"%d %b" % (rock, line) for line in said)
        took = pump(sender, b"".join(said), b"1\n" * count, receiver, delivered)
        if run:  # the first one warms up
            rates.append(count / took)
    return rates, sender, receiver


@contextmanager
def running(module: str) -> Iterator[int]:
    """A server of this folder, in a process of its own; gives its port."""
    process = subprocess.Popen([sys.executable, "-m", module], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def floors(case: Case, count: int) -> tuple[float, float]:
    """The rate of the relay for the same lines, and its round trip in seconds: medians of as many runs."""
    rates = []
    with running("benchmarks.pedro_relay") as port:
        connections = []
        for _ in range(3):
            connections.append(dial(port))
            read_line(connections[-1])
        data, answers, deliveries = connections
        sender, receiver = Wire(answers, data), Wire(answers, deliveries)
        for run in range(RUNS + 1):
            said = lines(case, count, run)
            took = pump(sender, b"".join(said), b"1\n" * count, receiver, b"".join(b"%d %b" % (ROCK, line) for line in said))
            if run:
                rates.append(count / took)
        trip = median(median(round_trips(sender, lines(case, 1, 0)[0], ROUND_TRIPS)) for _ in range(RUNS))
        sender.close()
        deliveries.close()
    return median(rates), trip


def bare_door(case: Case, count: int) -> float:
    """The rate of the bare door for the same lines."""
    with running("benchmarks.pedro_bare") as port:
        rates, sender, receiver = measure(case, port, port, count)
        sender.close()
        receiver.close()
    return median(rates)


async def one_peer(case: Case, count: int) -> list[Figure]:
    """A case at one peer, with memory where there are very many subscriptions and the round trip where there is one."""
    figures = []
    async with peers(1, pedro=True) as [peer]:
        before = resident_bytes(peer.process.pid)
        rates, sender, receiver = measure(case, _port(peer), _port(peer), count)
        after = resident_bytes(peer.process.pid)
        rate, trip = floors(case, count)
        figures.append(Figure(case.name, 1, median(rates), case.wanted_per_s, "/s", rate, case.original_per_s))
        if len(case.others) > 10_000:
            figures.append(Figure("memory of a subscription", 1, (after - before) / len(case.others), 1_000, "B"))
        if not case.others and not case.registered:
            line = lines(case, 1, 0)[0]
            trips = [median(round_trips(sender, line, ROUND_TRIPS)) for _ in range(RUNS)]
            bare = bare_door(case, count)
            today = bare * ORIGINAL_SHARE
            beside = f"{figures[0].reached / today:.2f} times it"
            figures[0].note = f"  bare door {bare:,.0f}/s: the original today about {today:,.0f}/s, and this {beside}"
            figures.append(Figure("round trip with its answer", 1, median(trips) * 1e6, 100, "µs", trip * 1e6, 46))
        sender.close()
        receiver.close()
    return figures


async def several_peers(options: argparse.Namespace, count: int, alone: dict[str, float]) -> AsyncGenerator[Figure, None]:
    """Every case that was measured at one peer, with the publisher at one peer and the subscriber at another."""
    async with peers(PEERS, pedro=True) as overlay:
        if not options.quick:
            # Until then every peer takes each key for one that may just be changing hands, and sends what nobody may want.
            await until_sure()
        for case in chosen(options):
            rates, sender, receiver = measure(case, _port(overlay[0]), _port(overlay[-1]), count)
            sender.close()
            receiver.close()
            yield Figure(case.name, PEERS, median(rates), alone[case.name] / 2, "/s")


def _port(peer: PeerProcess) -> int:
    return int(peer.pedro.rpartition(":")[2])


def show(figure: Figure) -> str:
    """A line for people."""
    beside = f"  floor {figure.floor:9,.0f}{figure.unit} ({figure.reached / figure.floor:4.0%})" if figure.floor else ""
    beside += f"  original {figure.original:,.0f}{figure.unit}" if figure.original else ""
    mark = "reached" if figure.good else "MISSED"
    return (
        f"{figure.peers} peer{'s' * (figure.peers > 1):1}  {figure.name:36} {figure.reached:9,.0f}{figure.unit:3}"
        f" wanted {figure.wanted:9,.0f}{figure.unit:3} {mark:7}{beside}{figure.note}"
    )


def chosen(options: argparse.Namespace) -> list[Case]:
    """The workloads that were asked for."""
    some = cases(1_000 if options.quick else 10_000, 11_000 if options.quick else 100_000)
    return [case for case in some if options.only in case.name]


async def run(options: argparse.Namespace) -> list[Figure]:
    """All figures, printed as they come."""
    count = 5_000 if options.quick else 50_000
    figures: list[Figure] = []

    def report(figure: Figure) -> None:
        figures.append(figure)
        if not options.json:
            print(show(figure), flush=True)

    for case in chosen(options):
        for figure in await one_peer(case, count):
            report(figure)
    if not options.alone:
        alone = {figure.name: figure.reached for figure in figures}
        async with aclosing(several_peers(options, count, alone)) as more:
            async for figure in more:
                report(figure)
    return figures


def main() -> int:
    """Status 1 where a delivery or an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the lines and subscriptions: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON, at the end")
    parser.add_argument("--only", metavar="WORD", default="", help="only the workloads whose name holds this")
    parser.add_argument("--alone", action="store_true", help="not across several peers")
    options = parser.parse_args()
    if not options.json:
        print(f"{machine()}; medians of {RUNS}")
    figures = run_checked(run(options))
    if options.json:
        print(
            json.dumps({"machine": machine(), "figures": [asdict(figure) | {"good": figure.good} for figure in figures]}, indent=2)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
