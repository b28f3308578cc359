"""All film data and 500 subscriptions through sixteen real peers with --trace, and the simulation of their trace beside them.

    .venv/bin/python -m benchmarks.prediction --anchor rarest

Peers run in processes of their own, on loopback. What each holds in the end, and what its subscriptions have received, must be what
the simulation says, peer by peer. With ``--untraced`` the same is done without a trace as well, to see what tracing costs.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import gsg
from benchmarks.machine import machine
from benchmarks.shared import FILM_DATA
from gsg.cli.processes import peers
from gsg.placement.rules import REPLICAS
from gsg.tuples.terms import Tuple, n3
from simulations.load_balance.balance import InOneThread
from simulations.load_balance.peer_loads import loads_in
from simulations.load_balance.peers import Peers, Region
from simulations.load_balance.plan import make_plan
from simulations.load_balance.strategies import parse
from simulations.subscribers.traced import received
from simulations.workload.files import read
from simulations.workload.traces import read_trace
from simulations.workload.workload import COMMON_MIX

PEERS = 16
SUBSCRIPTIONS = 500
BATCH = 1_000

Held = dict[str, tuple[int, int]]
"""By the id of a peer its copies of tuples and its templates."""
Told = dict[str, tuple[int, int]]
"""By the id of a peer the facts that its subscriptions found there, and the changes that they heard of."""


def queries() -> list[str]:
    """One condition each, with constants of the data."""
    reading = read(FILM_DATA, keeps_terms=True)
    terms = reading.terms()
    codes = reading.recorded.subscriptions(SUBSCRIPTIONS, COMMON_MIX, 1).codes.T.tolist()
    names = ("?s", "?p", "?o")
    return [
        "(" + ", ".join(name if code < 0 else n3(known[code]) for known, code, name in zip(terms, row, names, strict=True)) + ")"
        for row in codes
    ]


async def peers_hold(tuples: Sequence[Tuple], asked: Sequence[str], options: Sequence[str]) -> tuple[Held, Told, float]:
    """Half of the tuples, half of the subscriptions, and both again; what each peer holds and was told then, and the seconds."""
    async with peers(PEERS, options=options) as processes, AsyncExitStack() as stack:
        doors = [await stack.enter_async_context(gsg.connect(process.url)) for process in processes]
        await until_all_know_all(doors)
        began = time.perf_counter()
        for part in range(2):
            end = (part + 1) * len(tuples) // 2
            for begin in range(part * len(tuples) // 2, end, BATCH):
                await doors[begin // BATCH % PEERS].insert(tuples[begin : min(begin + BATCH, end)])
            for number in range(part * len(asked) // 2, (part + 1) * len(asked) // 2):
                await doors[number % PEERS].subscribe(asked[number], callback=lambda sign, row: None)
        seconds = time.perf_counter() - began
        report = await doors[0].report()
    told: Told = {}
    for peer in report.peers:
        counts = {one.name: one.count for one in peer.counts}
        told[peer.peer.hex()] = counts["feed_facts_received"], counts["feed_changes_received"]
    return {peer.peer.hex(): (peer.entries, peer.templates) for peer in report.peers}, told, seconds


async def until_all_know_all(doors: Sequence[gsg.AsyncClient]) -> None:
    """Whoever does not know all peers takes others for the holders of some keys."""
    for door in doors:
        while len((await door.report()).peers) < PEERS:  # noqa: ASYNC110  # another process knows, and is asked
            await asyncio.sleep(0.2)


def main() -> None:
    """Run both ways, and the simulation."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--anchor", choices=["rarest", "predicate", "random"], default="rarest")
    parser.add_argument("--every", type=int, default=1, help="take one tuple of so many")
    parser.add_argument("--untraced", action="store_true", help="also without a trace, to compare the time")
    options = parser.parse_args()
    tuples, asked = list(gsg.load(FILM_DATA))[:: options.every], queries()
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        held, told, seconds = asyncio.run(peers_hold(tuples, asked, ["--anchor", options.anchor, "--trace", folder]))
        size = sum(part.stat().st_size for part in Path(folder).iterdir())
        print(
            f"{len(tuples):,} tuples and {len(asked)} subscriptions, {PEERS} peers: {seconds:.1f} s with a trace of {size:,} bytes"
        )
        began = time.perf_counter()
        trace = read_trace(folder)
        rows, _ = received(folder)
        print(f"trace read and anchors chosen in {time.perf_counter() - began:.1f} s; {'; '.join(trace.remarks) or 'nothing lost'}")
    # What a peer keeps: the copies at all holders of each key.
    strategy = parse(f"{options.anchor}+replicas-{REPLICAS}")
    subscriptions = trace.workload.subscriptions(0, COMMON_MIX, 0)
    peers = Peers.of([bytes.fromhex(peer) for peer in trace.ids])
    plan = make_plan(strategy, trace.workload, subscriptions, len(peers))
    loads = loads_in(Region(0, 0), plan, InOneThread().counted(plan, trace.workload, peers), peers)
    said = dict(zip(trace.ids, zip(loads.tuples.tolist(), loads.templates.tolist(), strict=True), strict=True))
    wrong = [peer for peer in held if said.get(peer) != held[peer]]
    print(f"{len(held) - len(wrong)} of {len(held)} peers hold as many tuples and templates as the simulation says")
    heard = {row.peer: (row.stored, row.changes) for row in rows}
    misheard = [peer for peer in told if heard.get(peer) != told[peer]]
    facts, changes = (sum(column) for column in zip(*told.values(), strict=True))
    print(
        f"{len(told) - len(misheard)} of {len(told)} peers were told what the simulation says, of {facts:,} facts and {changes:,} "
        "changes in all"
    )
    wrong += [peer for peer in misheard if peer not in wrong]
    if options.untraced:
        _, _, plain = asyncio.run(peers_hold(tuples, asked, ["--anchor", options.anchor]))
        print(f"without a trace: {plain:.1f} s")
    if wrong:
        raise SystemExit(
            "\n".join(
                f"{peer}: holds {held[peer]}, said {said.get(peer)}; told {told[peer]}, simulated {heard.get(peer)}"
                for peer in wrong
            )
        )


if __name__ == "__main__":
    main()
