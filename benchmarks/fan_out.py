"""Tuples that 200 subscribers ask for, at the Pedro doors of eight peers, and beside it at a nats-server.

    .venv/bin/python -m benchmarks.fan_out [--quick] [--json] [--peers 8] [--subscribers 200]

Each peer is a process of its own, and the publisher is at the door of another one. All subscribers are read by this process, in one
loop that keeps the bytes and compares them afterwards: where one has not every tuple once and in order, the run ends with status 1.
Tuples of 100 bytes are sent at 1,000 a second first, each on its own, for latencies, which are those of every 20th subscriber;
then as fast as they are taken. Both servers are spoken to in the text of their protocol, and none has TLS to its clients.

A rendezvous fans a template out over some of its subscriber peers where there are more than 64 of them: with --peers 8, as by
default and with --quick, that does not begin.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import selectors
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Protocol

from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import Stolen, machine
from benchmarks.pace import moments
from benchmarks.pedro_wire import READ_BYTES, Wire, dial, read_line
from benchmarks.stream_brokers import has_program, served
from gsg.cli.processes import peers
from gsg.placement.holders import UNSURE_S
from gsg.rendezvous.fan_out.parts import MOST_DIRECT

WANTED_PER_S = 1_000
SAMPLED = 20
TUPLE_BYTES = 100
SILENT_S = 30.0
"""How long nothing may come while something is to come."""
SETTLED_S = UNSURE_S + 5


class Service(Protocol):
    """How a server is spoken to."""

    name: str
    end: bytes
    """What ends a line."""
    connections: list[socket.socket]
    """All that were made; whoever measures closes them."""

    def subscribe(self, number: int) -> socket.socket:
        """One subscriber more, by its number: the connection by which tuples come."""

    def publisher(self) -> socket.socket:
        """The connection by which tuples are published; what it answers is read and thrown away."""

    def written(self, line: bytes) -> bytes:
        """What is sent for a tuple."""

    def lines(self, came: bytes) -> list[bytes]:
        """The tuples of what has come to a subscriber, which may end in the middle of one."""


class PedroDoors:
    """Peers; the first is the publisher's."""

    name = "peers"
    end = b"\n"

    def __init__(self, ports: Sequence[int]) -> None:
        self._ports = ports
        self.connections: list[socket.socket] = []

    def _connect(self, port: int) -> Wire:
        wire = Wire.connect(port)
        self.connections += [wire.data, wire.ack]
        return wire

    def subscribe(self, number: int) -> socket.socket:
        wire = self._connect(self._ports[1 + number % (len(self._ports) - 1)])
        if not wire.command("subscribe(t(_, _, _), true, 0)"):
            raise WrongDelivery("a subscription was refused")
        return wire.data

    def publisher(self) -> socket.socket:
        wire = self._connect(self._ports[0])
        threading.Thread(target=_read_all, args=(wire.ack,), daemon=True).start()
        return wire.data

    def written(self, line: bytes) -> bytes:
        return line + b"\n"

    def lines(self, came: bytes) -> list[bytes]:
        # A peer says first by which subscriptions a tuple comes: "0 t(...)".
        return [line.partition(b" ")[2] for line in came.split(b"\n")[:-1]]


class Nats:
    """A nats-server, in the text of its protocol (docs.nats.io, "Client Protocol")."""

    name = "nats"
    end = b"\r\n"

    def __init__(self, port: int) -> None:
        self._port = port
        self.connections: list[socket.socket] = []

    def _connect(self, commands: bytes) -> socket.socket:
        connection = dial(self._port)
        self.connections.append(connection)
        read_line(connection)  # INFO
        connection.sendall(b'CONNECT {"verbose":false}\r\n' + commands + b"PING\r\n")
        while read_line(connection) != b"PONG\r":
            pass
        return connection

    def subscribe(self, number: int) -> socket.socket:
        return self._connect(b"SUB t 1\r\n")

    def publisher(self) -> socket.socket:
        return self._connect(b"")

    def written(self, line: bytes) -> bytes:
        return b"PUB t %d\r\n%s\r\n" % (len(line), line)

    def lines(self, came: bytes) -> list[bytes]:
        # The server also asks now and then whether somebody is there.
        return [line for line in came.split(b"\r\n")[:-1] if line.startswith(b"t(")]


@dataclass(frozen=True)
class Sizes:
    """Tuples at the rate, and as fast as they go."""

    at_rate: int = 10_000
    fast: int = 5_000


QUICK = Sizes(at_rate=300, fast=300)


@dataclass
class Figure:
    """One server: what came of tuples at the rate, and as fast as they go."""

    name: str
    per_s: float
    """Tuples a second that came to all, where WANTED_PER_S were sent."""
    median_ms: float
    p99_ms: float
    cpu: float
    """Cores that the servers kept busy meanwhile."""
    fast_per_s: float
    """Tuples a second, as fast as they go."""
    stolen: float = 0.0


def tuple_text(number: int) -> bytes:
    """One tuple, which says when it is sent."""
    text = f't({number}, {time.monotonic_ns()}, "'
    return (text + "x" * (TUPLE_BYTES - len(text) - 2) + '")').encode()


class Subscribers:
    """All of them, read by one loop."""

    def __init__(self, service: Service, count: int) -> None:
        self._service = service
        self._selector = selectors.DefaultSelector()
        self._came: dict[socket.socket, list[tuple[int, bytes]]] = {}
        for number in range(count):
            connection = service.subscribe(number)
            connection.setblocking(False)
            self._came[connection] = []
            self._selector.register(connection, selectors.EVENT_READ)

    def read(self, sent: list[bytes], count: int) -> float:
        """Read until all have so many, which ``sent`` has in the end; returns when that was. Raises WrongDelivery."""
        for came in self._came.values():
            came.clear()
        waiting = dict.fromkeys(self._came, 0)
        while waiting:
            ready = self._selector.select(SILENT_S)
            if not ready:
                raise WrongDelivery(f"{len(waiting)} subscribers of {self._service.name} got nothing for {SILENT_S:g} s")
            for key, _ in ready:
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                some = connection.recv(READ_BYTES)
                if not some:
                    raise WrongDelivery(f"a subscriber of {self._service.name} was disconnected")
                self._came[connection].append((time.monotonic_ns(), some))
                # Each tuple has one of these, at its end.
                waiting[connection] = waiting.get(connection, 0) + some.count(b")")
                if waiting[connection] >= count:
                    del waiting[connection]
        ended_s = time.monotonic()
        for came in self._came.values():
            # The end of a last line may come late.
            if self._service.lines(b"".join(some for _, some in came).strip(b"\r\n") + self._service.end) != sent:
                raise WrongDelivery(f"a subscriber of {self._service.name} has not every tuple once and in order")
        return ended_s

    def late_ms(self) -> list[float]:
        """How late tuples came to some of them."""
        late: list[float] = []
        for came in list(self._came.values())[::SAMPLED]:
            rest = b""
            for now_ns, some in came:
                *whole, rest = (rest + some).split(b"t(")
                late += [(now_ns - int(part.split(b", ", 2)[1])) / 1e6 for part in whole if part.count(b", ") > 1]
        return late


def measure(service: Service, sizes: Sizes, subscribers: int, processes: Sequence[int]) -> Figure:
    """One server, whose processes have these numbers."""
    stolen = Stolen()
    try:
        everybody = Subscribers(service, subscribers)
        publisher = service.publisher()
        sent: list[bytes] = []
        began_s, cpu_s = time.monotonic(), sum(map(cpu_of, processes))
        pacer = threading.Thread(target=lambda: asyncio.run(_publish_at_rate(service, publisher, sizes.at_rate, sent)))
        pacer.start()
        took_s = everybody.read(sent, sizes.at_rate) - began_s
        pacer.join()
        cpu = (sum(map(cpu_of, processes)) - cpu_s) / took_s
        late = everybody.late_ms()
        fast = [tuple_text(number) for number in range(sizes.fast)]
        began_s = time.monotonic()
        hurrier = threading.Thread(target=publisher.sendall, args=(b"".join(map(service.written, fast)),))
        hurrier.start()
        fast_s = everybody.read(fast, sizes.fast) - began_s
        hurrier.join()
    finally:
        for connection in service.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # whoever reads it ends
            connection.close()
    return Figure(
        service.name, sizes.at_rate / took_s, median(late), quantiles(late, n=100)[98], cpu, sizes.fast / fast_s, stolen.share()
    )


async def _publish_at_rate(service: Service, publisher: socket.socket, count: int, sent: list[bytes]) -> None:
    """In a thread and a loop of its own, which does nothing else: so it may wait until the socket takes a tuple."""
    async for _ in moments(count, WANTED_PER_S):
        sent.append(tuple_text(len(sent)))
        publisher.sendall(service.written(sent[-1]))


def _read_all(connection: socket.socket) -> None:
    with suppress(OSError):
        while connection.recv(READ_BYTES):
            pass


def cpu_of(process: int) -> float:
    """The seconds of a core that a process has used."""
    user, system = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100


@asynccontextmanager
async def running(kind: str, options: argparse.Namespace) -> AsyncIterator[tuple[Service, list[int]]]:
    """A server to measure, with its processes."""
    async with AsyncExitStack() as stack:
        if kind == "nats":
            process, port = await stack.enter_async_context(served("nats"))
            yield Nats(port), [process]
            return
        started = await stack.enter_async_context(peers(options.peers + 1, pedro=True))
        if not options.quick:
            print(f"until peers are sure of their keys: {SETTLED_S:.0f} s", file=sys.stderr, flush=True)
            await asyncio.sleep(SETTLED_S)
        ports = [int(one.pedro.rpartition(":")[2]) for one in started]
        yield PedroDoors(ports), [one.process.pid for one in started]


async def run(options: argparse.Namespace) -> list[Figure]:
    """All figures, printed as they come."""
    figures: list[Figure] = []
    sizes = QUICK if options.quick else Sizes()
    for kind in ("peers", "nats"):
        if kind == "nats" and not has_program("nats-server"):
            print("nats     left out: needs the program nats-server (Debian package nats-server)", file=sys.stderr)
            continue
        async with running(kind, options) as (service, processes):
            figure = await asyncio.to_thread(measure, service, sizes, options.subscribers, processes)
        figures.append(figure)
        if not options.json:
            print(show(figure), flush=True)
    return figures


def show(figure: Figure) -> str:
    """A line for people."""
    stolen = f"  host took {figure.stolen:.0%}" if figure.stolen >= 0.05 else ""
    return (
        f"{figure.name:8} {figure.per_s:7,.0f} tuples/s of {WANTED_PER_S:,}  median {figure.median_ms:7.2f} ms"
        f"  99% {figure.p99_ms:7.2f} ms  {figure.cpu:4.2f} cores;  as fast as they go {figure.fast_per_s:7,.0f} tuples/s{stolen}"
    )


def main() -> int:
    """Status 1 where a delivery was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few tuples, unsure peers: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON, at the end")
    parser.add_argument("--peers", type=int, default=8, help="peers with subscribers at their doors (default: 8)")
    parser.add_argument("--subscribers", type=int, default=200, help="subscribers of all doors together (default: 200)")
    options = parser.parse_args()
    if not 1 <= options.peers <= options.subscribers:
        parser.error("--peers: expected a number from 1 to that of --subscribers")
    if not options.json:
        print(f"{machine()}; {options.subscribers} subscribers at {options.peers} peers, and at one nats-server")
    if options.peers <= MOST_DIRECT:
        began = f"the fan-out over subscriber peers begins beyond {MOST_DIRECT}: with --peers {options.peers} it does not"
        print(began, file=sys.stderr)
    figures = run_checked(run(options))
    if options.json:
        print(json.dumps({"machine": machine(), "figures": [asdict(figure) for figure in figures]}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
