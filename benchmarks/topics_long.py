"""A topic for long: a million events, and a member that is stopped; what that costs the others, and whether memory grows.

    .venv/bin/python -m benchmarks.topics_long [--quick] [--json] [--peers 8]

The members are peers of two processes on loopback, and one more in a process of its own, which is stopped by SIGSTOP in every
second turn. In each turn bursts are published, each when all others have the one before; every event is checked to come to each of
them once and in order. Memory is what each process has resident after a tenth of the events, and in the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.deliveries import run_checked
from benchmarks.machine import machine
from benchmarks.settling import until_sure
from benchmarks.topics import role, started

WANTED = 0.95
WANTED_GROWTH = 1.10
BURST = 1_000
TURNS = 10
BACK_S = 15.0
"""Between two turns: who was stopped is back, and the tree has settled."""


@dataclass(frozen=True)
class Long:
    """What came of it."""

    events: int
    per_s: float
    """Events a second while all run."""
    beside_stopped: float
    """The same beside the member that is stopped, as a share of that."""
    memory_mib: list[float]
    """Of each process, after a tenth of the events."""
    memory_in_the_end_mib: list[float]


def resident_mib(process: int) -> float:
    """What a process has in memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


async def run(options: argparse.Namespace) -> Long:
    """All turns."""
    bursts = max(1, options.events // TURNS // BURST)
    async with AsyncExitStack() as stack:
        field = await started("topic", "topic", stack, options)
        stopped = await stack.enter_async_context(role(1, "topic", field.address, tls=True))
        if not options.quick:
            await until_sure()
        await field.open()
        await stopped.ask(do="open")
        took_s = [0.0, 0.0]
        memory: list[float] = []
        for turn in range(TURNS):
            await asyncio.sleep(1.0 if options.quick else BACK_S)
            print(f"turn {turn + 1} of {TURNS}", file=sys.stderr, flush=True)
            is_stopped = turn % 2
            if is_stopped:
                stopped.process.send_signal(signal.SIGSTOP)
            try:
                took_s[is_stopped] += sum([await field.run(BURST) for _ in range(bursts)])
            finally:
                stopped.process.send_signal(signal.SIGCONT)
            await field.forget_latencies()
            if not turn:
                memory = [resident_mib(process) for process in field.processes()]
        await field.check()
        published = bursts * BURST * TURNS
        share = took_s[0] / took_s[1]
        return Long(published, published / 2 / took_s[0], share, memory, [resident_mib(process) for process in field.processes()])


def main() -> int:
    """Status 1 where a delivery was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few events, and unsure peers: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON, at the end")
    parser.add_argument("--events", type=int, help="events in all (default: 1,000,000, and 10,000 with --quick)")
    parser.add_argument(
        "--peers", type=int, default=8, help="members beside the publisher and the one that is stopped (default: 8)"
    )
    options = parser.parse_args()
    options.processes = min(2, options.peers)
    options.events = options.events or (10_000 if options.quick else 1_000_000)
    came = run_checked(run(options))
    if options.json:
        print(json.dumps({"machine": machine(), **asdict(came)}, indent=2))
        return 0
    growth = max(end / begin for begin, end in zip(came.memory_mib, came.memory_in_the_end_mib, strict=True))
    print(f"{machine()}; {came.events:,} events to {options.peers} members")
    print(f"events a second to all, while all run              {came.per_s:9,.0f}")
    print(f"the same beside a member that is stopped           {came.beside_stopped:9.1%}  wanted {WANTED:.0%} at least")
    print(f"memory in the end, to that after a tenth of events {growth:9.2f}  wanted {WANTED_GROWTH:.2f} at most")
    return 0


if __name__ == "__main__":
    sys.exit(main())
