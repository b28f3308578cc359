"""Events through each of a peer's HTTP doors, beside nats over WebSocket and a bare relay in the same run; SPARQL queries that are
answered once over all film data, beside an endpoint over pyoxigraph.

    .venv/bin/python -m benchmarks.doors [--events 20000] [--rounds 3] [--quick] [--json]

One publisher and one subscriber in this process, a server in another. Events go a hundred to a request, and the next request when
that was acknowledged, but for nats, which acknowledges none: there the next hundred go when these have come. The ways take turns,
and each figure is the median of the rounds. Each event is counted: where one is missing the run ends with status 1.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from urllib.parse import urlencode

from websockets.asyncio.client import ClientConnection, connect

import gsg
from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import machine
from benchmarks.shared import FILM_DATA
from gsg.cli.processes import PeerProcess, peers

AT_ONCE = 100
"""Events of one request."""
ROUND_TRIPS = 300
PATIENCE_S = 30.0
_M = "http://www.taotesting.com/movies.rdf#"

Publish = Callable[[list[int]], Awaitable[None]]
Hear = Callable[[int], Awaitable[None]]
"""Waits until so many events more have come."""


@dataclass(frozen=True)
class Figure:
    """One way of events."""

    way: str
    per_s: float
    round_trip_us: float


class Heard:
    """Counts what comes."""

    def __init__(self) -> None:
        self._count = self._wanted = 0
        self._came = asyncio.Event()

    def add(self, count: int) -> None:
        self._count += count
        if self._count >= self._wanted:
            self._came.set()

    async def more(self, count: int) -> None:
        """Wait until so many more have come than were waited for before."""
        self._wanted += count
        if self._count < self._wanted:
            self._came.clear()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._came.wait()
            except TimeoutError:
                raise WrongDelivery(f"{self._count} of {self._wanted} events came within {PATIENCE_S:g} s") from None
        if self._count > self._wanted:
            raise WrongDelivery(f"{self._count} events came, and {self._wanted} were published")


@asynccontextmanager
async def reading(work: Awaitable[None]) -> AsyncIterator[None]:
    """Read beside the rest."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def through_v1(url: str) -> AsyncIterator[tuple[Publish, Hear]]:
    """By the package's own client, msgpack."""
    async with gsg.connect(url) as publisher, gsg.connect(url) as subscriber:
        heard = Heard()
        live = await subscriber.subscribe("(tick, v1, ?n)", callback=lambda _, __: heard.add(1))
        tick, name = gsg.Symbol("tick"), gsg.Symbol("v1")

        async def publish(numbers: list[int]) -> None:
            await publisher.notify([(tick, name, number) for number in numbers])

        yield publish, heard.more
        await live.close()


def _ticks(way: str, numbers: list[int]) -> list[list[object]]:
    return [[{"symbol": "tick"}, {"symbol": way}, number] for number in numbers]


async def _published_as_json(socket: ClientConnection, way: str, numbers: list[int]) -> None:
    await socket.send(json.dumps({"type": "notify", "id": 2, "tuples": _ticks(way, numbers)}))
    answer = json.loads(await socket.recv())
    if answer["type"] != "done":
        raise WrongDelivery(f"a publication was answered {answer}")


def _websocket(url: str) -> connect:
    return connect(f"ws{url.removeprefix('http')}/v1", subprotocols=["gsg.v1+json"], compression=None)  # type: ignore[list-item]  # a name


@asynccontextmanager
async def through_json(url: str) -> AsyncIterator[tuple[Publish, Hear]]:
    """Objects of JSON over the WebSocket, read with Python's json."""
    async with _websocket(url) as publisher, _websocket(url) as subscriber:
        heard = Heard()
        await subscriber.send(json.dumps({"type": "subscribe", "id": 1, "query": "(tick, json, ?n)"}))
        while json.loads(await subscriber.recv())["type"] != "up_to_date":
            pass

        async def read() -> None:
            async for message in subscriber:
                heard.add(len(json.loads(message)["rows"]))

        async with reading(read()):
            yield lambda numbers: _published_as_json(publisher, "json", numbers), heard.more


@asynccontextmanager
async def through_sse(url: str) -> AsyncIterator[tuple[Publish, Hear]]:
    """Server-sent events; published as JSON over the WebSocket."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=16 * 1024 * 1024)
    path = f"/watch?{urlencode({'query': '(tick, sse, ?n)'})}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/event-stream\r\n\r\n".encode())
    heard = Heard()
    while not (await reader.readline()).startswith(b"event: up_to_date"):
        pass

    async def read() -> None:
        # Chunks of HTTP may divide an event, but neither its first word nor its line.
        while line := await reader.readline():
            heard.add(line.startswith(b"event: row"))

    async with _websocket(url) as publisher, reading(read()):
        yield lambda numbers: _published_as_json(publisher, "sse", numbers), heard.more
    writer.close()


@asynccontextmanager
async def through_relay(port: int) -> AsyncIterator[tuple[Publish, Hear]]:
    """The floor: the same JSON, relayed as it is."""
    async with (
        connect(f"ws://127.0.0.1:{port}/publish", compression=None) as publisher,
        connect(f"ws://127.0.0.1:{port}/subscribe", compression=None) as subscriber,
    ):
        heard = Heard()

        async def publish(numbers: list[int]) -> None:
            await publisher.send(json.dumps({"tuples": _ticks("relay", numbers)}))
            await publisher.recv()

        async def read() -> None:
            async for message in subscriber:
                heard.add(len(json.loads(message)["tuples"]))

        async with reading(read()):
            yield publish, heard.more


@asynccontextmanager
async def through_nats(port: int) -> AsyncIterator[tuple[Publish, Hear]]:
    """The protocol of nats in frames of a WebSocket (docs.nats.io, client protocol), one message an event."""
    url = f"ws://127.0.0.1:{port}"
    async with connect(url, compression=None) as publisher, connect(url, compression=None) as subscriber:
        heard = Heard()
        for socket in (publisher, subscriber):
            await socket.recv()
            await socket.send(b'CONNECT {"verbose":false,"pedantic":false}\r\n')
        await subscriber.send(b"SUB tick 1\r\nPING\r\n")
        while b"PONG" not in (said := await subscriber.recv()):
            del said

        async def publish(numbers: list[int]) -> None:
            texts = [json.dumps(tick).encode() for tick in _ticks("nats", numbers)]
            await publisher.send(b"".join(b"PUB tick %d\r\n%b\r\n" % (len(text), text) for text in texts))

        async def read() -> None:
            async for frame in subscriber:
                heard.add(frame.count(b"MSG tick 1 "))  # type: ignore[arg-type]  # as above

        async with reading(read()):
            yield publish, heard.more


@asynccontextmanager
async def floor(*arguments: str) -> AsyncIterator[int]:
    """The port of a server of doors_floor.py."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.doors_floor", *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


@asynccontextmanager
async def nats() -> AsyncIterator[int | None]:
    """The port of the WebSockets of a nats-server; None where there is none."""
    program = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        import socket

        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        settings = Path(folder) / "nats.conf"
        settings.write_text(f'listen: "127.0.0.1:-1"\nwebsocket {{ host: "127.0.0.1", port: {port}, no_tls: true }}\n', "utf-8")
        process = await asyncio.create_subprocess_exec(
            program, "-c", str(settings), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(PATIENCE_S):
                while True:
                    with contextlib.suppress(OSError):
                        (await asyncio.open_connection("127.0.0.1", port))[1].close()
                        break
                    await asyncio.sleep(0.02)
            yield port
        finally:
            process.kill()
            await process.wait()


async def measured(way: str, path: contextlib.AbstractAsyncContextManager[tuple[Publish, Hear]], events: int) -> Figure:
    """One way, once."""
    async with path as (publish, hear):
        trips = []
        for number in range(ROUND_TRIPS):
            began_s = time.perf_counter()
            await asyncio.gather(publish([number]), hear(1))
            trips.append(time.perf_counter() - began_s)
        began_s = time.perf_counter()
        waits = way.startswith("nats")
        for begin in range(0, events, AT_ONCE):
            await publish(list(range(begin, begin + AT_ONCE)))
            if waits:
                await hear(AT_ONCE)
        if not waits:
            await hear(events)
        return Figure(way, events / (time.perf_counter() - began_s), median(trips) * 1e6)


async def of_events(peer: PeerProcess, events: int, rounds: int) -> list[Figure]:
    """All ways, in turns."""
    found: dict[str, list[Figure]] = {}
    async with floor("relay") as relay, nats() as broker:
        if broker is None:
            print("nats over WebSocket: left out, there is no nats-server")
        for _ in range(rounds):
            ways = [
                ("/v1, msgpack", through_v1(peer.url)),
                ("/v1, gsg.v1+json", through_json(peer.url)),
                ("/watch, server-sent events", through_sse(peer.url)),
                ("bare Starlette relay", through_relay(relay)),
                *([("nats over WebSocket", through_nats(broker))] if broker is not None else []),
            ]
            for way, path in ways:
                found.setdefault(way, []).append(await measured(way, path, events))
    return [Figure(way, median(f.per_s for f in each), median(f.round_trip_us for f in each)) for way, each in found.items()]


QUERIES = {
    "films of a director": f"SELECT ?f {{ ?f <{_M}directedBy> <{_M}ClintEastwood> }}",
    "their actors, ordered": f"SELECT ?a {{ ?f <{_M}directedBy> <{_M}StevenSpielberg> ; <{_M}starring> ?a }} ORDER BY ?a",
    "films per director": f"SELECT ?d (COUNT(?f) AS ?n) {{ ?f <{_M}directedBy> ?d }} GROUP BY ?d ORDER BY DESC(?n) ?d LIMIT 10",
    "films without actors": f'SELECT ?f {{ ?f <{_M}year> "2012" FILTER NOT EXISTS {{ ?f <{_M}starring> ?a }} }}',
    "all who act": f"SELECT ?f ?a {{ ?f <{_M}starring> ?a }}",
}


@dataclass(frozen=True)
class Answered:
    """One query."""

    query: str
    rows: int
    ours_ms: float
    pyoxigraph_ms: float


async def of_queries(peer: PeerProcess, rounds: int) -> list[Answered]:
    """Each query at both, in turns."""
    from gsg.languages.files import load

    async with gsg.connect(peer.url, wait_for_quota=True) as client:
        await client.insert(load(FILM_DATA))
    found = []
    async with floor("sparql", str(FILM_DATA)) as port:
        for name, query in QUERIES.items():
            ours, theirs = [], []
            for _ in range(rounds + 1):
                ours_ms, ours_rows = await _asked(int(peer.url.rpartition(":")[2]), query)
                theirs_ms, theirs_rows = await _asked(port, query)
                if ours_rows != theirs_rows:
                    raise WrongDelivery(f"{name}: {ours_rows} rows, and pyoxigraph has {theirs_rows}")
                ours.append(ours_ms)
                theirs.append(theirs_ms)
            # The first prepares what reads queries.
            found.append(Answered(name, ours_rows, median(ours[1:]), median(theirs[1:])))
    return found


async def _asked(port: int, query: str) -> tuple[float, int]:
    def ask() -> tuple[float, int]:
        from http.client import HTTPConnection

        began_s = time.perf_counter()
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/sparql?{urlencode({'query': query})}", headers={"Accept": "application/sparql-results+json"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        took_ms = (time.perf_counter() - began_s) * 1e3
        if answer.status != 200:
            raise WrongDelivery(f"a query was answered {answer.status}: {body[:300]!r}")
        return took_ms, len(json.loads(body)["results"]["bindings"])

    return await asyncio.to_thread(ask)


async def run(events: int, rounds: int) -> tuple[list[Figure], list[Answered]]:
    """All figures, printed as they come."""
    print(f"{machine()}; medians of {rounds} turns, {events:,} events")
    async with peers(1) as [peer]:
        figures = await of_events(peer, events, rounds)
        (bare,) = (one for one in figures if "relay" in one.way)
        for one in figures:
            print(
                f"{one.way:28}{one.per_s:10,.0f} events/s ({one.per_s / bare.per_s:5.2f} of the relay)"
                f"{one.round_trip_us:8,.0f} µs a round trip ({one.round_trip_us / bare.round_trip_us:4.1f} times)"
            )
        if not FILM_DATA.exists():
            print("SPARQL over the film data: left out, it comes with the shared data, beside the project's root")
            return figures, []
        answers = await of_queries(peer, rounds)
        for answer in answers:
            print(
                f"{answer.query:24}{answer.rows:8,} rows{answer.ours_ms:10.1f} ms   pyoxigraph {answer.pyoxigraph_ms:8.1f} ms"
                f"   {answer.ours_ms / answer.pyoxigraph_ms:6.1f} times"
            )
    return figures, answers


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few events, once: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON, at the end")
    options = parser.parse_args()
    events, rounds = (1_000, 1) if options.quick else (options.events, options.rounds)
    figures, answers = run_checked(run(events - events % AT_ONCE, rounds))
    if options.json:
        print(json.dumps({"events": [asdict(one) for one in figures], "queries": [asdict(one) for one in answers]}))


if __name__ == "__main__":
    main()
