"""Events of one topic from one member to all others, which are peers of their own in some processes on loopback.

    .venv/bin/python -m benchmarks.topics [--quick] [--json] [--peers 8] [--processes 2]

Beside it in the same run: nats-server and mosquitto with as many connections that subscribe, in as many processes; who is not
installed is left out, by name. Events of 100 bytes are sent at a rate, each on its own, for latencies; then at full speed, in
bursts, each when everybody has the one before. Every event is checked to come to each member once and in order; one that does not
ends the run with status 1. Then, in virtual time, what a topic of 500 members sends for an event: payloads, and small frames apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.deliveries import WrongDelivery, run_checked
from benchmarks.machine import Stolen, machine
from benchmarks.settling import until_sure
from benchmarks.stream import STOLEN_SAID, Process, answer_of
from benchmarks.stream_brokers import BROKERS, missing, served
from simulations.dissemination.virtual_peers import VirtualPeers

PATIENCE_S = 60.0
"""How long a burst, or the events of a rate, may take to come."""
SETTLE_S = 12.0
"""Two rounds of exchanges, in which members find their neighbours."""
QUIET_S = 0.5
"""How long is listened in the end for what comes once more."""
SMALL = ("Marks", "Graft", "Prune")
"""Small frames of diffusion; those of membership are sent with and without events."""
WANTED_PAYLOADS, WANTED_SMALL = 1.05, 1.0


@dataclass(frozen=True)
class Sizes:
    """How much is sent: events in a burst, bursts, and a rate in events a second for so many seconds."""

    burst: int = 1_000
    bursts: int = 20
    per_s: int = 200
    rate_s: float = 10.0
    members: int = 500
    virtual_s: float = 20.0


QUICK = Sizes(burst=100, bursts=2, per_s=100, rate_s=1.0, members=60, virtual_s=3.0)


@dataclass
class Figure:
    """One line of the report: events a second delivered in all and to each, latencies at the rate, CPU for a delivery."""

    name: str
    delivered_per_s: float
    events_per_s: float
    median_us: float
    p99_us: float
    cpu_us: float
    stolen: float = 0.0
    """What the host took of the cores' time meanwhile, from 0 to 1."""


@dataclass
class Sent:
    """What a topic sends in virtual time: payloads a member and event, and small frames."""

    members: int
    per_s: float
    payloads: float
    small: float
    last_ms: float
    """How long after it was published the last member had the slowest event."""
    wrong: int


@asynccontextmanager
async def role(members: int, kind: str, address: str, *, tls: bool) -> AsyncIterator[Process]:
    """A process with so many members until the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.topics_role", str(members), kind, address, json.dumps({"tls": tls})),
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


class Field:
    """A publisher and the processes of the others, all of them members."""

    def __init__(self, name: str, publisher: Process, others: Sequence[Process], members: int, address: str) -> None:
        self.name = name
        self.address = address
        self._publisher = publisher
        self._others = others
        self._members = members
        self._sent = 0

    async def open(self) -> None:
        """Let all subscribe, one process after the other."""
        for process in (self._publisher, *self._others):
            await process.ask(do="open")

    async def run(self, count: int, per_s: float = 0.0) -> float:
        """So many events, at full speed or at a rate; how long it took until all members had them, in seconds."""
        self._sent += count
        try:
            async with asyncio.timeout(PATIENCE_S + (count / per_s if per_s else 0.0)):
                publishing = self._publisher.ask(do="publish", count=count, per_s=per_s)
                sent, *came = await asyncio.gather(publishing, *self._receiving())
        except TimeoutError:
            raise WrongDelivery(f"{self.name}: {count} events have not come to all within {PATIENCE_S:.0f} s") from None
        ended_s: float = max(each["ended_s"] for each in came)
        return ended_s - float(sent["began_s"])

    def _receiving(self) -> list[Coroutine[Any, Any, dict[str, Any]]]:  # Any: as coroutines and JSON have it
        return [each.ask(do="receive", until=self._sent) for each in self._others]

    async def figure(self, sizes: Sizes) -> Figure:
        """What is measured."""
        stolen = Stolen()
        await self.run(sizes.burst)
        await self._ask_all(do="begin")
        await self.run(int(sizes.per_s * sizes.rate_s), per_s=sizes.per_s)
        late = await self._ask_all(do="report")
        await self._ask_all(do="begin")
        took_s = sum([await self.run(sizes.burst) for _ in range(sizes.bursts)])
        await asyncio.sleep(QUIET_S)
        reports = await self.check()
        count = sizes.burst * sizes.bursts
        cpu_us = sum(report["cpu_s"] for report in reports) / (count * self._members) * 1e6
        # The worst process speaks for all of them.
        median_us, p99_us = (max(report[what] for report in late[1:]) for what in ("median_us", "p99_us"))
        return Figure(self.name, count * self._members / took_s, count / took_s, median_us, p99_us, cpu_us, stolen.share())

    async def check(self) -> list[dict[str, Any]]:  # Any: JSON
        """What each process reports. Raises WrongDelivery where a member has not every event once and in order."""
        reports = await self._ask_all(do="report")
        for report in reports[1:]:
            if report["wrong"] or report["lost"] or set(report["came"]) != {self._sent}:
                raise WrongDelivery(
                    f"{self.name}: {report['wrong']} events came at another place than they should, {report['lost']} were lost, "
                    f"members have {report['came']} of {self._sent}"
                )
        return reports

    async def forget_latencies(self) -> None:
        """Let the members forget how late events were, which takes memory."""
        await self._ask_all(do="begin")

    def processes(self) -> list[int]:
        """Their numbers."""
        return [each.process.pid for each in (self._publisher, *self._others)]

    async def _ask_all(self, **request: str) -> list[dict[str, Any]]:  # Any: JSON
        return await asyncio.gather(*(each.ask(**request) for each in (self._publisher, *self._others)))


async def started(name: str, kind: str, stack: AsyncExitStack, options: argparse.Namespace) -> Field:
    """The members, as peers or as connections of a broker."""
    print(f"{name}: starting", file=sys.stderr, flush=True)
    address, tls = "", name == "topic"
    if kind != "topic":
        _, port = await stack.enter_async_context(served(kind))
        address = f"127.0.0.1:{port}"
    publisher = await stack.enter_async_context(role(1, kind, address, tls=tls))
    address = address or publisher.hello["address"]
    shares = [options.peers // options.processes + (n < options.peers % options.processes) for n in range(options.processes)]
    others = [await stack.enter_async_context(role(share, kind, address, tls=tls)) for share in shares]
    return Field(name, publisher, others, options.peers, address)


async def measured(field: Field, settle_s: float, sizes: Sizes) -> Figure:
    """Let all subscribe, and measure."""
    await field.open()
    await asyncio.sleep(settle_s)
    print(f"{field.name}: measuring", file=sys.stderr, flush=True)
    return await field.figure(sizes)


def sent_for_an_event(sizes: Sizes, per_s: float = 20.0, seed: int = 1) -> Sent:
    """What a topic in virtual time sends, in the steady state of one publisher, with links of 10 to 50 ms."""
    peers = VirtualPeers(sizes.members, seed)
    for peer in peers.peers:
        members = peers.rng.sample(peers.peers[: peer.number], min(5, peer.number))
        peers.join(peer, "bench", [member.contact for member in members])
        peers.run(0.02)
    peers.run(15.0)
    source, made_s = peers.peers[0], dict[tuple[bytes, int], float]()
    for _ in range(40):
        made_s[peers.publish(source, "bench")] = peers.now_s
        peers.run(1 / per_s)
    peers.run(5.0)
    before = peers.sent.copy()
    count = int(sizes.virtual_s * per_s)
    for _ in range(count):
        made_s[peers.publish(source, "bench")] = peers.now_s
        peers.run(1 / per_s)
    peers.run(5.0)
    sent = peers.sent - before
    wanted = list(made_s)
    wrong = sum([each[2:] for each in peer.told] != wanted for peer in peers.peers)
    steady = set(wanted[40:])
    last_s = max((told[0] - made_s[told[2:]] for peer in peers.peers for told in peer.told if told[2:] in steady), default=0.0)
    each = count * sizes.members
    return Sent(sizes.members, per_s, sent["Payload"] / each, sum(sent[kind] for kind in SMALL) / each, last_s * 1000, wrong)


def show(figure: Figure, ours: Figure | None) -> str:
    """A line for people."""
    ratio = "" if ours is None else f"  ours is {ours.delivered_per_s / figure.delivered_per_s:.2f} of it"
    stolen = f"  host took {figure.stolen:.0%}" if figure.stolen >= STOLEN_SAID else ""
    return (
        f"{figure.name:12} {figure.delivered_per_s:9,.0f} deliveries/s  {figure.events_per_s:7,.0f} events/s"
        f"  median {figure.median_us:7,.0f} µs  99% {figure.p99_us:8,.0f} µs  CPU {figure.cpu_us:6.1f} µs a delivery{ratio}{stolen}"
    )


def show_sent(sent: Sent) -> str:
    """The lines of what is sent."""
    return (
        f"{sent.members} members in virtual time, {sent.per_s:g} events/s of one publisher:\n"
        f"  payloads a member and event      {sent.payloads:6.3f}  wanted at most {WANTED_PAYLOADS}\n"
        f"  small frames a member and event  {sent.small:6.3f}  wanted at most {WANTED_SMALL:g}\n"
        f"  all members had each event after {sent.last_ms:6.0f} ms at most, with links of 10 to 50 ms"
    )


async def run(options: argparse.Namespace, sizes: Sizes) -> tuple[list[Figure], dict[str, str]]:
    """All figures of real peers and brokers, printed as they come, and what was left out with the reason."""
    figures: list[Figure] = []
    left_out: dict[str, str] = {}

    def report(figure: Figure, ours: Figure | None = None) -> None:
        figures.append(figure)
        if not options.json:
            print(show(figure, ours), flush=True)

    async with AsyncExitStack() as stack:
        fields = [await started(name, "topic", stack, options) for name in ("topic", "topic, no TLS")]
        if not options.quick:
            await until_sure()
        for field in fields:
            report(await measured(field, QUIET_S if options.quick else SETTLE_S, sizes))
    for kind in BROKERS:
        if lacks := missing(kind):
            left_out[kind] = f"needs {lacks}"
            if not options.json:
                print(f"{kind:12} left out: needs {lacks}", flush=True)
            continue
        async with AsyncExitStack() as stack:
            report(await measured(await started(kind, kind, stack, options), QUIET_S, sizes), figures[0])
    return figures, left_out


def main() -> int:
    """Status 1 where a delivery was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few events, unsure peers, 60 virtual members: does it work at all?")
    parser.add_argument("--json", action="store_true", help="figures as JSON, at the end")
    parser.add_argument("--peers", type=int, default=8, help="members beside the publisher (default: 8)")
    parser.add_argument("--processes", type=int, default=2, help="processes that these share (default: 2)")
    options = parser.parse_args()
    if not 1 <= options.processes <= options.peers:
        parser.error("--processes: expected a number from 1 to that of --peers")
    sizes = QUICK if options.quick else Sizes()
    if not options.json:
        print(f"{machine()}; {options.peers} members in {options.processes} processes; latencies at {sizes.per_s} events/s")
    figures, left_out = run_checked(run(options, sizes))
    print(f"{sizes.members} members in virtual time", file=sys.stderr, flush=True)
    began_s = time.monotonic()
    sent = sent_for_an_event(sizes)
    print(f"{sizes.members} members in virtual time: took {time.monotonic() - began_s:.0f} s", file=sys.stderr, flush=True)
    if options.json:
        shown = [asdict(figure) for figure in figures]
        print(json.dumps({"machine": machine(), "figures": shown, "virtual": asdict(sent), "left_out": left_out}, indent=2))
    else:
        print(show_sent(sent))
    if sent.wrong:
        print(f"wrong: {sent.wrong} virtual members were not told each event once and in order", file=sys.stderr)
    return 1 if sent.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
