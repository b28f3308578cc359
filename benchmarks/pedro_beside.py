"""How long others wait at Pedro's door while one client does its worst: the round trips of a client beside a flood of lines.

    .venv/bin/python -m benchmarks.pedro_beside [--seconds 3]

The flood comes pipelined from a thread, the round trips from this one, the door is a process of its own. Wanted: never more than
WANTED_MS. What is printed is the median, the 99th per cent and the worst.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import threading
import time
from contextlib import closing
from dataclasses import dataclass
from statistics import median, quantiles

from benchmarks.machine import machine
from benchmarks.pedro_wire import Wire, pump, read_line
from gsg.cli.processes import peers

WANTED_MS = 100
LINES = 500
"""In one part of the flood, which ends when its time is over."""


@dataclass(frozen=True)
class Flood:
    """What one client sends, and what it has subscribed to before."""

    name: str
    lines: tuple[bytes, ...]
    answer: bytes
    """Of each line; empty where they differ."""
    subscriptions: tuple[str, ...] = ()


def floods() -> list[Flood]:
    """From harmless to hostile."""
    items = ",".join(["a"] * 60)
    shared = ", ".join(f"X{n} = g(X{n + 1},X{n + 1}), Y{n} = g(Y{n + 1},Y{n + 1})" for n in range(18))
    costly = (
        f"subscribe(f(_), (member(A,[{items}]), member(B,[{items}]), member(C,[{items}]), A = b), 0)",
        'subscribe(f(S), (splitstring(S,A,B), splitstring(S,C,D), splitstring(S,E,F), A = "y"), 0)',
        f"subscribe(f(_), ({shared}, X0 = Y0), 0)",
    )
    rng = random.Random(7)
    noise = tuple(bytes(rng.randrange(11, 256) for _ in range(rng.randrange(1, 200))) + b"\n" for _ in range(LINES))
    return [
        Flood("nothing", (), b""),
        Flood("notifications", (b"f(g(1))\n",), b"1\n"),
        Flood("random bytes", noise, b""),
        Flood("deep lines that do not parse", (b"f(" * 500 + b"\n",), b"0\n"),
        Flood("deep notifications", (b"f(" * 330 + b"a" + b")" * 330 + b"\n",), b"1\n"),
        Flood("lines of a megabyte", (b"x" * 1_000_000 + b"\n",), b"0\n"),
        Flood("subscribing and unsubscribing", (), b""),
        Flood("three costly goals", (b'f("' + b"x" * 60 + b'")\n',), b"1\n", costly),
        Flood("ninety costly goals", (b'f("' + b"x" * 60 + b'")\n',), b"1\n", costly * 30),
    ]


def pour(flood: Flood, port: int, over: threading.Event) -> int:
    """Send parts until the time is over; how many lines were answered."""
    sent = 0
    with closing(Wire.connect(port)) as wire:
        for line in flood.subscriptions:
            wire.command(line)
        while not over.is_set() and flood.name != "nothing":
            if flood.name.startswith("subscribing"):
                first = wire.command("subscribe(f(X), (X > 1, member(X,[1,2,3])), 0)")
                said = [b"subscribe(f(X,%d), (X > 1, member(X,[1,2,3])), 0)\n" % number for number in range(LINES)]
                said += [b"unsubscribe(%d)\n" % (first + number + 1) for number in range(LINES)]
                answers = b"".join(b"%d\n" % (first + number + 1) for number in range(LINES)) + b"1\n" * LINES
            elif flood.answer:
                said = [flood.lines[0]] * (LINES if len(flood.lines[0]) < 10_000 else 5)
                answers = flood.answer * len(said)
            else:
                said = list(flood.lines)
                wire.data.sendall(b"".join(said))
                for _ in said:
                    read_line(wire.ack)
                sent += len(said)
                continue
            pump(wire, b"".join(said), answers, wire, b"")
            sent += len(said)
    return sent


async def beside(flood: Flood, seconds: float) -> tuple[list[float], int]:
    """The round trips in milliseconds, and the lines of the flood."""
    async with peers(1, pedro=True) as [peer]:
        port = int(peer.pedro.rpartition(":")[2])
        over = threading.Event()
        poured: list[int] = []
        with closing(Wire.connect(port)) as wire:
            wire.command("subscribe(witness(_), true, 1)")
            thread = threading.Thread(target=lambda: poured.append(pour(flood, port, over)))
            thread.start()
            times = []
            ends_s = time.perf_counter() + seconds
            while time.perf_counter() < ends_s:
                began_s = time.perf_counter()
                wire.command("witness(1)")
                read_line(wire.data)
                times.append((time.perf_counter() - began_s) * 1e3)
            over.set()
            thread.join()
    return times, poured[0] if poured else 0


async def run(seconds: float) -> bool:
    """Whether everybody was served in time, and prints how fast."""
    good = True
    for flood in floods():
        times, lines = await beside(flood, seconds)
        worst, most = max(times), quantiles(times, n=100)[98]
        good &= worst <= WANTED_MS
        print(
            f"beside {flood.name:32} median {median(times):6.2f} ms  99% {most:6.2f} ms  worst {worst:6.1f} ms"
            f"  {'reached' if worst <= WANTED_MS else 'MISSED'}  {lines / seconds:9,.0f} lines/s beside it",
            flush=True,
        )
    return good


def main() -> int:
    """Status 1 where somebody waited for longer than is wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each flood (default: %(default)s)")
    options = parser.parse_args()
    print(machine())
    return 0 if asyncio.run(run(options.seconds)) else 1


if __name__ == "__main__":
    sys.exit(main())
