"""What the simulation says is what peers do: sixteen of them run with a trace, and simulating it gives the same, peer by peer."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner
from film_queries import EXAMPLE, queries_about
from peers import overlay, rendezvous
from pyarrow import parquet

import gsg
from dht.simnet import SimNet, run
from gsg.cli import main as gsg_command
from gsg.monitoring.trace import tuple_of
from gsg.placement.holders import UNSURE_S
from gsg.placement.rules import REPLICAS
from gsg.tuples.terms import Tuple
from simulations.load_balance.strategies import parse

SHARED = Path(os.environ.get("GSG_SHARED", Path(__file__).resolve().parents[4] / "shared"))
FILMS = SHARED / "data" / "films-2008-2014.nt.gz"

PEERS = 16
EVERY = 100
"""Of the film data one tuple of so many is taken here; benchmarks/prediction.py takes all."""

Counts = dict[str, int]
"""By peer."""


def part_of_the_films(folder: Path) -> Path:
    """A part of the film data as a file of its own."""
    part = folder / "films.nt"
    with gzip.open(FILMS, "rb") as lines:
        part.write_bytes(b"".join(islice(lines, 0, None, EVERY)))
    return part


def as_primary(peers: Sequence[gsg.Peer], peer: gsg.Peer) -> int:
    """Facts under the keys of which a peer is the primary: the two other holders of a key have as many copies each."""
    held = peer._parts.rendezvous.held
    keys = held.keys()
    return sum(len(held.under(key)) for key in keys if rendezvous(peers, *key) is peer)


class Seen(Exception):
    """All is known that is to be known of the peers."""


def run_peers(tuples: Sequence[Tuple], queries: Sequence[str], trace: Path, rule: str) -> tuple[Counts, Counts, Counts]:
    """What each of sixteen peers has in the end, given tuples and subscriptions by turns.

    That is its copies of tuples as the primary of their keys, its templates, and its copies of tuples in all.
    """
    half, some = len(tuples) // 2, len(queries) // 3
    copies: Counts = {}
    templates: Counts = {}
    held: Counts = {}

    async def main(net: SimNet) -> None:
        # Peers that leave in order would hand everything over, one after the other.
        with contextlib.suppress(Seen):
            await use(net)

    async def use(net: SimNet) -> None:
        async with overlay(net, PEERS, trace=trace, anchor=rule) as peers:
            await asyncio.sleep(UNSURE_S)
            await asyncio.gather(*(peer.insert(tuples[number:half:PEERS]) for number, peer in enumerate(peers)))
            for number, query in enumerate(queries[:some]):
                await peers[number % PEERS].subscribe(query)
            await asyncio.gather(*(peer.insert(tuples[half + number :: PEERS]) for number, peer in enumerate(peers)))
            for number, query in enumerate(queries[some:]):
                await peers[number % PEERS].subscribe(query)
            for peer in peers:
                copies[peer.contact.id.hex()] = as_primary(peers, peer)
                templates[peer.contact.id.hex()] = peer._parts.rendezvous.conditions.templates()
                held[peer.contact.id.hex()] = len(peer._parts.rendezvous.held)
            raise Seen

    run(main, seed=16)
    return copies, templates, held


def simulated(trace: Path, strategy: str, *options: str) -> tuple[Counts, Counts]:
    """The same, as gsg simulate says."""
    out = trace.parent / "out"
    arguments = ["simulate", "load-balance", "--trace", str(trace), "--strategy", strategy, "--out", str(out), "--json", *options]
    ran = CliRunner().invoke(gsg_command, arguments)
    assert ran.exit_code == 0, ran.output
    (summary,) = json.loads(ran.stdout)
    assert summary["sampled_pairs"] == summary["sampled_pairs_met"] > 0
    table = parquet.read_table(out / "peers" / f"strategy={parse(strategy).name}").to_pydict()
    return dict(zip(table["id"], table["tuples"], strict=True)), dict(zip(table["id"], table["templates"], strict=True))


def received(trace: Path, what: str = "insert") -> Counts:
    """The copies of triples that peers received, by their own word."""
    copies: Counts = {}
    for part in trace.glob("*.parquet"):
        for row in parquet.read_table(part, columns=["peer", "role", "what", "terms", "positions"]).to_pylist():
            if row["role"] == "rendezvous" and row["what"] == what and len(tuple_of(row["terms"])) == 3:
                copies[row["peer"]] = copies.get(row["peer"], 0) + len(row["positions"])
    return copies


@pytest.mark.parametrize("rule", ["rarest", "predicate", "random"])
def test_the_simulation_says_what_each_peer_holds(tmp_path: Path, rule: str) -> None:
    tuples, queries = list(gsg.load(EXAMPLE)), queries_about(EXAMPLE)

    copies, templates, held = run_peers(tuples, queries, tmp_path / "trace", rule)

    assert simulated(tmp_path / "trace", rule, "--engine", "numpy") == (copies, templates)
    assert simulated(tmp_path / "trace", f"{rule}+replicas-{REPLICAS}", "--engine", "numpy") == (held, templates)
    assert received(tmp_path / "trace") == copies
    assert sum(copies.values()) == 3 * len(tuples)
    assert sum(held.values()) == REPLICAS * 3 * len(tuples)
    assert min(templates.values()) > 0


@pytest.mark.skipif(not FILMS.exists(), reason="the shared data is not there")
@pytest.mark.usefixtures("spark")
def test_of_the_film_data_too_and_on_spark(tmp_path: Path) -> None:
    file = part_of_the_films(tmp_path)

    copies, templates, held = run_peers(list(gsg.load(file)), queries_about(file), tmp_path / "trace", "rarest")

    assert simulated(tmp_path / "trace", "rarest", "--master", "local[2]") == (copies, templates)
    assert simulated(tmp_path / "trace", f"replicas-{REPLICAS}", "--master", "local[2]") == (held, templates)
    assert received(tmp_path / "trace") == copies


def test_events_go_only_where_the_simulation_says_that_they_are_in_demand(tmp_path: Path) -> None:
    tuples, queries = list(gsg.load(EXAMPLE)), queries_about(EXAMPLE)[:60]

    async def main(net: SimNet) -> None:
        with contextlib.suppress(Seen):
            async with overlay(net, PEERS, trace=tmp_path / "trace") as peers:
                for number, query in enumerate(queries):
                    await peers[number % PEERS].subscribe(query)
                # While keys may change hands, and until a publisher has asked what is wanted, it sends everything.
                await asyncio.sleep(2 * UNSURE_S)
                await peers[0].notify([("nobody", "wants this")])
                await asyncio.sleep(1)
                await peers[0].notify(tuples)
                raise Seen

    run(main, seed=17)

    said, _ = simulated(tmp_path / "trace", "demand", "--engine", "numpy")
    copies = received(tmp_path / "trace", "event")
    assert copies == {peer: count for peer, count in said.items() if count}
    assert len(copies) == PEERS
    assert sum(copies.values()) < 3 * len(tuples)
