"""Very many like queries at the Pedro door of a peer, and over three peers: what an event costs that none of them matches, and one
that ten match; adding, dropping.

    .venv/bin/python -m benchmarks.scale_doors [--n 1,100,10000] [--only goal,threshold] [--events 5000] [--quick] [--json]

Peers are processes of their own. At the Pedro door lines are sent without waiting for answers. Over three peers queries are at one,
and events are published at another, a hundred at a time, each time until all are acknowledged. Each answer and delivery is
counted: where an event reaches another number of queries than it should, the run ends with status 1. `benchmarks/scale.py` is about
one space.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import gsg
from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import machine
from benchmarks.pedro_wire import Wire, pump
from gsg.cli.processes import peers

WANTED_NONE = 3.0
"""An event that matches none of many, to one that does not match the only one."""
WANTED_ADD_S = 1.0
"""For 10,000."""
SOME = 10
"""Queries that an event matches."""
AT_ONCE = 100
"""Events of one request."""
IN_FLIGHT = 500
"""Subscriptions that are asked for before the first of them is answered."""
PATIENCE_S = 30.0


@dataclass(frozen=True)
class Kind:
    """Queries that differ in a number, events that match none of them, and an event that matches the first ten."""

    name: str
    text: Callable[[int], str]
    none: str
    """With {n} for a number that is another one in each event."""
    some: str


PEDRO = [
    Kind("goal", lambda n: f"temp(kitchen,T,_),(T>{1_000 + n})", "temp(kitchen, 20, {n})", f"temp(kitchen, {1_000 + SOME}, {{n}})"),
    Kind(
        "member",
        lambda n: f"temp(K,T,_),member(K,[a{n // SOME},b{n // SOME}])",
        "temp(kitchen, 20, {n})",
        "temp(b0, 20, {n})",
    ),
]
PEERS = [
    Kind(
        "threshold",
        lambda n: f"(temp, kitchen, ?t, *) FILTER ?t > {1_000 + n}",
        "temp kitchen 20 {n}",
        f"temp kitchen {1_000 + SOME} {{n}}",
    ),
    Kind(
        "in",
        lambda n: f"(temp, kitchen, ?t, *) FILTER ?t IN ({n // SOME}, {-1 - n // SOME})",
        "temp kitchen 0.5 {n}",
        "temp kitchen 0 {n}",
    ),
    Kind("join", lambda n: f"(temp, room{n // SOME}, ?t, *), (?t, is, high)", "temp kitchen 20 {n}", "temp room0 20 {n}"),
]


@dataclass
class Figure:
    """What N queries of one kind came to."""

    kind: str
    queries: int
    none_us: float
    some: int
    some_us: float
    add_s: float
    drop_s: float


def at_pedro_door(kind: Kind, number: int, events: int, port: int) -> Figure:
    """Subscriptions of one client, lines of another. Raises WrongDelivery."""
    sender, receiver = Wire.connect(port), Wire.connect(port)
    subscribed = b"".join(f"subscribe({kind.text(n)},{n % SOME})\n".encode() for n in range(number))
    add_s = pump(receiver, subscribed, b"".join(b"%d\n" % (n + 1) for n in range(number)), receiver, b"")
    some = min(SOME, number)

    def per_event_us(line: str, times: int, rocks: range) -> float:
        said = [line.replace("{n}", str(n)).encode() + b"\n" for n in range(times)]
        # The newest subscription hears first, as at the original.
        delivered = b"".join(b"%d %b" % (rock, each) for each in said for rock in rocks)
        return pump(sender, b"".join(said), b"1\n" * times, receiver, delivered) / times * 1e6

    per_event_us(kind.none, events // 10, range(0))  # the first ones warm up
    none_us = per_event_us(kind.none, events, range(0))
    some_us = per_event_us(kind.some, events // SOME, range(some)[::-1])
    dropped = b"".join(b"unsubscribe(%d)\n" % (n + 1) for n in range(number))
    drop_s = pump(receiver, dropped, b"1\n" * number, receiver, b"")
    sender.close()
    receiver.close()
    return Figure(kind.name, number, none_us, some, some_us, add_s, drop_s)


async def over_peers(kind: Kind, number: int, events: int, subscriber: str, publisher: str) -> Figure:
    """Queries at one peer, events of another. Raises WrongDelivery."""
    reached = expected = 0
    all_came = asyncio.Event()

    def hear(sign: gsg.Sign, row: gsg.Row) -> None:
        nonlocal reached
        reached += 1
        if reached == expected:
            all_came.set()

    async with gsg.connect(subscriber) as reader, gsg.connect(publisher) as writer:
        await writer.insert([_items("20 is high"), _items(f"{1_000 + SOME} is high")])
        began_s = time.perf_counter()
        live: list[gsg.LiveSubscription] = []
        for first in range(0, number, IN_FLIGHT):
            some = range(first, min(number, first + IN_FLIGHT))
            live += await asyncio.gather(*(reader.subscribe(kind.text(n), callback=hear) for n in some))
        add_s = time.perf_counter() - began_s

        async def per_event_us(line: str, times: int, matched: int) -> float:
            nonlocal expected
            expected += times * matched
            all_came.clear()
            began_s = time.perf_counter()
            for first in range(0, times, AT_ONCE):
                await writer.notify(_items(line.replace("{n}", str(n))) for n in range(first, min(times, first + AT_ONCE)))
            if reached < expected:
                async with asyncio.timeout(PATIENCE_S):
                    await all_came.wait()
            return (time.perf_counter() - began_s) / times * 1e6

        await per_event_us(kind.none, events // 10, 0)  # the first ones warm up
        none_us = await per_event_us(kind.none, events, 0)
        some_us = await per_event_us(kind.some, events // SOME, min(SOME, number))
        if reached != expected:
            raise WrongDelivery(f"{kind.name} at {number:,} queries: {reached:,} rows; expected {expected:,}")
        began_s = time.perf_counter()
        await asyncio.gather(*(subscription.close() for subscription in live))
        drop_s = time.perf_counter() - began_s
    return Figure(kind.name, number, none_us, min(SOME, number), some_us, add_s, drop_s)


def _items(line: str) -> tuple[object, ...]:
    return tuple(_item(word) for word in line.split())


def _item(word: str) -> object:
    try:
        return float(word) if "." in word else int(word)
    except ValueError:
        return gsg.Symbol(word)


def show(figure: Figure, first: Figure) -> str:
    """A line for people; ``first`` is the figure of the fewest queries of the kind."""
    ratio = figure.none_us / first.none_us
    marks = [] if ratio <= WANTED_NONE else [f"more than {WANTED_NONE:g} times that of {first.queries}"]
    if figure.queries == 10_000:
        took = (("adding", figure.add_s), ("dropping", figure.drop_s))
        marks += [f"{what} takes more than {WANTED_ADD_S:g} s" for what, took_s in took if took_s > WANTED_ADD_S]
    return (
        f"{figure.kind:10} {figure.queries:7,}  none {figure.none_us:8.1f} µs ({ratio:6.1f})  {figure.some:2} match "
        f"{figure.some_us:8.1f} µs  add {figure.add_s:7.3f} s  drop {figure.drop_s:7.3f} s"
        + (f"  MISSED: {', '.join(marks)}" if marks else "")
    )


async def measured(kind: Kind, number: int, events: int) -> Figure:
    """New peers each time, so that nothing is left of others."""
    if kind in PEDRO:
        async with peers(1, pedro=True) as [peer]:
            return at_pedro_door(kind, number, events, int(peer.pedro.rpartition(":")[2]))
    # A client may have 10,000 as a peer starts.
    async with peers(3, options=("--client-subscriptions", str(max(number, 1)))) as [one, other, _]:
        return await over_peers(kind, number, events, one.url, other.url)


async def run(kinds: list[Kind], numbers: list[int], events: int, *, quietly: bool) -> list[Figure]:
    """All figures, printed as they come."""
    found: list[Figure] = []
    for kind in kinds:
        first: Figure | None = None
        for number in numbers:
            figure = await measured(kind, number, events)
            first = first or figure
            found.append(figure)
            if not quietly:
                print(show(figure, first), flush=True)
    return found


def main() -> int:
    """Status 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = {kind.name: kind for kind in (*PEDRO, *PEERS)}
    parser.add_argument("--n", default="1,100,10000", help="numbers of queries (default: 1,100,10000)")
    parser.add_argument("--only", default="", help=f"kinds, of {', '.join(kinds)} (default: all)")
    parser.add_argument("--events", type=int, default=5_000, help="events that match none (default: 5,000)")
    parser.add_argument("--quick", action="store_true", help="few queries and events: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    options = parser.parse_args()
    numbers = [1, 30] if options.quick else [int(number) for number in options.n.split(",")]
    names = options.only.split(",") if options.only else list(kinds)
    if unknown := set(names) - set(kinds):
        parser.error(f"--only: there is no kind {min(unknown)!r}")
    if not options.json:
        print(machine())
    events = 100 if options.quick else options.events
    figures = run_checked(run([kinds[name] for name in names], numbers, events, quietly=options.json))
    if options.json:
        print(json.dumps({"machine": machine(), "figures": [asdict(figure) for figure in figures]}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
