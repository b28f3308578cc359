"""All film triples through real links into peers in their own processes, while standing queries come before, during and after.

    .venv/bin/python -m benchmarks.films --peers 8

At the end every query's rows must equal what pyoxigraph answers on the same data; then half of the triples are retracted and they
must be equal again. The floor printed beside our rate is a bare asyncio relay: the same frames through one socket pair,
without a store or a match.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import msgspec
import pyoxigraph

import gsg
from benchmarks.machine import machine
from benchmarks.shared import FILM_DATA
from gsg.cli.processes import PeerProcess, peers
from gsg.http.protocol import Report
from gsg.languages.files import load
from gsg.tuples.terms import Tuple, n3

MOVIES = "http://www.taotesting.com/movies.rdf#"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
FLOOR_PER_S = 5_000
BATCH = 1_000
UNDER_WAY = 8


def m(name: str) -> str:
    """An IRI of the film data."""
    return f"<{MOVIES}{name}>"


Bindings = Counter[tuple[tuple[str, str], ...]]
Publish = Callable[[list[Tuple]], Awaitable[int]]
Pattern = tuple[str, str, str]
Query = tuple[list[Pattern], list[list[Pattern]]]
"""Patterns, and negated groups of patterns, over terms written as in N-Triples and variables as ``?x``."""

QUERIES: list[Query] = [
    ([("?f", m("directedBy"), m("ClintEastwood"))], []),
    ([("?f", m("directedBy"), m("StevenSpielberg"))], []),
    ([("?f", m("starring"), m("NicolasCage"))], []),
    ([("?f", m("starring"), "?a"), ("?f", m("directedBy"), m("StevenSpielberg"))], []),
    ([("?f", m("starring"), m("NicolasCage")), ("?f", m("year"), "?y")], []),
    ([("?f", m("directedBy"), "?p"), ("?f", m("starring"), "?p")], []),
    ([("?f", m("directedBy"), "?p"), ("?f", m("starring"), "?p"), ("?f", m("year"), '"2010"')], []),
    ([("?f", m("directedBy"), "?d"), ("?f", m("year"), '"2012"')], [[("?f", m("starring"), "?a")]]),
    ([("?f", f"<{RDF_TYPE}>", m("Movie"))], [[("?f", m("directedBy"), "?d")]]),
    ([("?f", m("year"), '"2009"'), ("?f", m("directedBy"), "?d"), ("?f", m("starring"), m("RobertDeNiro"))], []),
    ([("?f", m("starring"), m("BruceWillis")), ("?f", m("starring"), "?other")], []),
    ([("?f", m("starring"), m("BruceWillis")), ("?f", m("directedBy"), "?d"), ("?g", m("directedBy"), "?d")], []),
    ([("?f", m("year"), '"2011"'), ("?f", m("starring"), "?a"), ("?g", m("directedBy"), "?a")], []),
    ([("?d", f"<{RDF_TYPE}>", m("Director"))], []),
    ([("?f", f"<{LABEL}>", '"Avatar"@en-us')], []),
    ([(m("Avatar"), m("starring"), "?a"), ("?f", m("starring"), "?a"), ("?f", m("directedBy"), "?d")], []),
    ([(m("Avatar"), "?p", "?o")], []),
    ([("?f", m("year"), '"2008"')], [[("?f", m("starring"), "?a"), ("?g", m("directedBy"), "?a")]]),
    ([("?f", m("starring"), "?a"), ("?f", m("directedBy"), m("WoodyAllen"))], [[("?g", m("directedBy"), "?a")]]),
    ([("?f", "?p", m("GeorgeClooney"))], [[("?f", m("year"), '"2009"')]]),
]


def as_script(query: Query) -> str:
    """The query as GSG script."""
    patterns, negated = query
    groups = [f"NOT {{ {', '.join(map(_tuple, group))} }}" for group in negated]
    return ", ".join([*map(_tuple, patterns), *groups])


def _tuple(pattern: Pattern) -> str:
    return f"({', '.join(pattern)})"


def as_sparql(query: Query) -> str:
    """The query as SPARQL, for the oracle."""
    patterns, negated = query
    groups = [f"FILTER NOT EXISTS {{ {_bgp(group)} }}" for group in negated]
    names = dict.fromkeys(part for pattern in patterns for part in pattern if part.startswith("?"))
    return f"SELECT {' '.join(names)} WHERE {{ {_bgp(patterns)} {' '.join(groups)} }}"


def _bgp(patterns: Iterable[Pattern]) -> str:
    return " . ".join(" ".join(pattern) for pattern in patterns)


def ours(rows: Counter[gsg.Row]) -> Bindings:
    """Rows in a form that both sides can be brought to."""
    return Counter({tuple(sorted((name, n3(row[name])) for name in row)): times for row, times in rows.items()})


def oracle(store: pyoxigraph.Store, query: Query) -> Bindings:
    """What pyoxigraph answers now."""
    solutions = store.query(as_sparql(query))
    assert isinstance(solutions, pyoxigraph.QuerySolutions)
    names = [variable.value for variable in solutions.variables]
    return Counter(tuple(sorted((name, str(solution[name])) for name in names)) for solution in solutions)


async def publish(tuples: Sequence[Tuple], send: Publish, at_share: Callable[[float], None]) -> float:
    """Publish in order, UNDER_WAY batches at once; returns the seconds until the last acknowledgement."""
    started = time.perf_counter()
    under_way: deque[asyncio.Task[int]] = deque()
    for start in range(0, len(tuples), BATCH):
        under_way.append(asyncio.ensure_future(send(list(tuples[start : start + BATCH]))))
        await asyncio.sleep(0)
        if len(under_way) >= UNDER_WAY:
            await under_way.popleft()
            at_share(start / len(tuples))
    while under_way:
        await under_way.popleft()
    return time.perf_counter() - started


async def settled(subscriptions: Sequence[gsg.LiveSubscription], wanted: Sequence[Bindings], limit_s: float = 60.0) -> list[int]:
    """Wait until every answer equals the oracle's; the numbers of those that still differ when the time is over."""
    deadline = time.perf_counter() + limit_s
    while True:
        different = [number for number, one in enumerate(subscriptions) if ours(one.rows()) != wanted[number]]
        if not different or time.perf_counter() > deadline:
            return different
        await asyncio.sleep(0.05)


async def bare_relay(tuples: Sequence[Tuple]) -> float:
    """Tuples a second through one loopback stream, encoded, decoded and acknowledged in the same batches, and nothing else."""
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(list[tuple[Any, ...]]).decode  # Any: whatever the terms are

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                decode(await reader.readexactly(size))
                writer.write(b".")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        started = time.perf_counter()
        sent = 0
        for start in range(0, len(tuples), BATCH):
            payload = encode(tuples[start : start + BATCH])
            writer.write(len(payload).to_bytes(4, "big") + payload)
            await writer.drain()
            sent += 1
            if sent >= UNDER_WAY:
                await reader.readexactly(1)
                sent -= 1
        await reader.readexactly(sent)
        seconds = time.perf_counter() - started
        writer.close()
        await writer.wait_closed()
    return len(tuples) / seconds


async def run(count: int, limit: int | None) -> bool:
    """The whole benchmark; whether every answer was right."""
    print(f"{machine()}; {count} peers, each in its own process")
    tuples = list(load(FILM_DATA))[:limit]
    random.Random(1).shuffle(tuples)
    print(f"{len(tuples):,} triples of {FILM_DATA.name}, in random order; {len(QUERIES)} standing queries")
    floor = await bare_relay(tuples)
    async with peers(count) as processes, contextlib.AsyncExitStack() as stack:
        doors = [await stack.enter_async_context(gsg.connect(process.url)) for process in processes]
        subscriptions: list[gsg.LiveSubscription] = []
        third = len(QUERIES) // 3

        async def subscribe(number: int) -> None:
            subscriptions.append(await doors[number % count].subscribe(as_script(QUERIES[number]), callback=lambda sign, row: None))

        for number in range(third):
            await subscribe(number)
        due = deque(range(third, 2 * third))
        registering: deque[asyncio.Task[None]] = deque()

        def at_share(share: float) -> None:
            # One after the other, spread over the publication.
            while due and share >= (due[0] - third + 1) / (third + 1):
                number = due.popleft()
                before = registering[-1] if registering else None

                async def after(before: asyncio.Task[None] | None = before, number: int = number) -> None:
                    if before is not None:
                        await before
                    await subscribe(number)

                registering.append(asyncio.ensure_future(after()))

        seconds = await publish(tuples, doors[0].insert, at_share)
        for task in registering:
            await task
        for number in range(2 * third, len(QUERIES)):
            await subscribe(number)

        store = pyoxigraph.Store()
        store.extend(pyoxigraph.Quad(*triple) for triple in map(_oxigraph, tuples))
        different = await settled(subscriptions, [oracle(store, query) for query in QUERIES])
        rows = sum(sum(one.rows().values()) for one in subscriptions)
        print(f"after insertion: {len(QUERIES) - len(different)} of {len(QUERIES)} answers equal pyoxigraph's ({rows:,} rows)")
        after_insertion = await doors[0].report()

        gone = tuples[: len(tuples) // 2]
        retraction_s = await publish(gone, doors[0].retract, lambda _: None)
        for triple in map(_oxigraph, gone):
            store.remove(pyoxigraph.Quad(*triple))
        different_later = await settled(subscriptions, [oracle(store, query) for query in QUERIES])
        rows = sum(sum(one.rows().values()) for one in subscriptions)
        print(f"after retracting half: {len(QUERIES) - len(different_later)} of {len(QUERIES)} equal ({rows:,} rows)")
        for number in different + different_later:
            print(f"  WRONG: {as_script(QUERIES[number])}")
        _print_figures(len(tuples), seconds, len(gone), retraction_s, after_insertion, processes, floor)
    return not different and not different_later and len(tuples) / seconds >= FLOOR_PER_S


def _oxigraph(items: Tuple) -> tuple[Any, Any, Any]:  # Any: pyoxigraph's classes for each position
    triple = next(iter(pyoxigraph.parse(f"{' '.join(n3(item) for item in items)} .", pyoxigraph.RdfFormat.N_TRIPLES)))
    return triple.subject, triple.predicate, triple.object


def _print_figures(
    inserted: int,
    seconds: float,
    retracted: int,
    retraction_s: float,
    report: Report,
    processes: Sequence[PeerProcess],
    floor: float,
) -> None:
    messages = sum(peer.sent_messages for peer in report.peers)
    sent_bytes = sum(peer.sent_bytes for peer in report.peers)
    memory = [process.peak_memory_bytes() / 1e6 for process in processes]
    print(f"insertion    {inserted / seconds:10,.0f} tuples/s   (wanted: {FLOOR_PER_S:,}; bare relay of one copy: {floor:,.0f})")
    print(f"retraction   {retracted / retraction_s:10,.0f} tuples/s")
    print(f"messages     {messages / inserted:10.3f} per tuple between peers, acknowledgements and deltas included")
    print(f"bytes        {sent_bytes / inserted:10.0f} per tuple between peers")
    print(f"copies       {sum(peer.entries for peer in report.peers) / inserted:10.2f} keys per tuple")
    print(f"peak memory  {max(memory):10.0f} MB in the largest peer, {sum(memory) / len(memory):.0f} MB in the mean")


def main() -> None:
    """Run, and exit 1 when an answer was wrong or the floor was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=int, default=8)
    parser.add_argument("--limit", type=int, default=None, help="publish only the first so many triples")
    arguments = parser.parse_args()
    if not FILM_DATA.exists():
        raise SystemExit(f"{FILM_DATA.name} is not there: it comes with the shared data, beside the project's root")
    raise SystemExit(0 if asyncio.run(run(arguments.peers, arguments.limit)) else 1)


if __name__ == "__main__":
    main()
