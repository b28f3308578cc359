"""What the simulation says that subscribers receive is what they count: sixteen real peers in a simulated network."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from film_queries import EXAMPLE, queries_about
from peers import overlay, quiet
from pyarrow import parquet

import gsg
from dht.simnet import SimNet, run
from gsg.cli import main as gsg_command
from gsg.placement.holders import UNSURE_S
from gsg.placement.rules import REPLICAS
from gsg.tuples.terms import Tuple
from simulations.errors import BadWorkload
from simulations.subscribers.traced import Received, received

PEERS = 16
TEMP, A = gsg.Symbol("temp"), gsg.Symbol("a")

Counts = dict[str, tuple[int, int, int]]
"""By peer: facts that were there, changes, events."""


class Seen(Exception):
    """All is known that is to be known of the peers."""


def counted(peers: Sequence[gsg.Peer]) -> Counts:
    """What each peer has counted itself."""
    feeds = {peer.contact.id.hex(): peer._parts.subscriber.feeds.received for peer in peers}
    return {peer: (one.stored, one.changes, one.events) for peer, one in feeds.items()}


def said(rows: Sequence[Received]) -> Counts:
    """What the simulation says of each."""
    return {row.peer: (row.stored, row.changes, row.events) for row in rows}


def run_peers(work: Callable[[list[gsg.Peer]], Awaitable[None]], trace: Path, rule: str = "rarest") -> Counts:
    """Have sixteen peers do something; what each of them has counted in the end."""
    counts: Counts = {}

    async def main(net: SimNet) -> None:
        # Peers that leave in order would hand everything over, one after the other.
        with contextlib.suppress(Seen):
            async with overlay(net, PEERS, trace=trace, anchor=rule) as peers:
                await asyncio.sleep(UNSURE_S)
                await work(peers)
                await quiet()
                counts.update(counted(peers))
                raise Seen

    run(main, seed=16)
    return counts


async def insert(peers: list[gsg.Peer], tuples: Sequence[Tuple]) -> None:
    """By all peers at once, each its part, and at another moment than what was before: a trace has no other order."""
    await asyncio.sleep(1)
    await asyncio.gather(*(peer.insert(tuples[number::PEERS]) for number, peer in enumerate(peers)))


@pytest.mark.parametrize("rule", ["rarest", "predicate", "random"])
def test_each_subscriber_receives_what_the_simulation_says(tmp_path: Path, rule: str) -> None:
    tuples, queries = list(gsg.load(EXAMPLE)), queries_about(EXAMPLE)
    half, some = len(tuples) // 2, len(queries) // 3

    async def work(peers: list[gsg.Peer]) -> None:
        await insert(peers, tuples[:half])
        await asyncio.sleep(1)
        ended = [await peers[number % PEERS].subscribe(query) for number, query in enumerate(queries[:some])]
        await insert(peers, tuples[half:])
        await insert(peers, tuples[:20])  # they are there already
        await asyncio.sleep(1)
        await peers[1].retract(tuples[10:30])
        await asyncio.sleep(1)
        for subscription in ended[::3]:
            await subscription.close()
        await insert(peers, tuples[15:25])
        await asyncio.sleep(1)
        for number, query in enumerate(queries[some:]):
            await peers[number % PEERS].subscribe(query)

    counts = run_peers(work, tmp_path, rule)

    assert said(received(tmp_path)[0]) == counts
    assert min(stored for stored, _, _ in counts.values()) > 0
    assert min(changes for _, changes, _ in counts.values()) > 0


@pytest.mark.parametrize("rule", ["rarest", "predicate"])
def test_each_subscriber_receives_an_event_once_from_each_rendezvous(tmp_path: Path, rule: str) -> None:
    tuples, queries = list(gsg.load(EXAMPLE)), queries_about(EXAMPLE)

    async def work(peers: list[gsg.Peer]) -> None:
        for number, query in enumerate(queries):
            await peers[number % PEERS].subscribe(query)
        # While keys may change hands, and until a publisher has asked what is wanted, it sends everything.
        await asyncio.sleep(2 * UNSURE_S)
        await peers[0].notify(tuples)

    counts = run_peers(work, tmp_path, rule)

    found, _ = received(tmp_path)
    assert said(found) == counts
    assert min(events for _, _, events in counts.values()) > 0
    assert sum(row.changes + row.stored for row in found) == 0


def test_windows_hear_of_events_alone_and_tuples_of_any_arity_count(tmp_path: Path) -> None:
    async def work(peers: list[gsg.Peer]) -> None:
        await peers[3].subscribe("(^temp, ?room, ?t) WINDOW 10 min")
        await peers[4].subscribe("(?what, ?room, ?t)")
        await peers[5].subscribe("(^a, ?b), FILTER(?b > 1)")
        await asyncio.sleep(1)
        await peers[0].insert([(TEMP, "kitchen", 20), (A, 1), (A, 2)])
        await asyncio.sleep(2 * UNSURE_S)
        await peers[0].notify([(TEMP, "hall", 19)])

    counts = run_peers(work, tmp_path)

    assert said(received(tmp_path)[0]) == counts
    assert sorted(counts.values(), reverse=True)[:3] == [(0, REPLICAS, 1), (0, 1, 0), (0, 0, 1)]


def test_the_command_says_what_each_peer_received(tmp_path: Path) -> None:
    tuples, queries = list(gsg.load(EXAMPLE)), queries_about(EXAMPLE)[:40]

    async def work(peers: list[gsg.Peer]) -> None:
        for number, query in enumerate(queries):
            await peers[number % PEERS].subscribe(query)
        await insert(peers, tuples)

    counts = run_peers(work, tmp_path / "trace")
    arguments = ["simulate", "subscribers", "--trace", str(tmp_path / "trace"), "--out", str(tmp_path / "out"), "--json"]
    ran = CliRunner().invoke(gsg_command, [*arguments, "--engine", "numpy"])

    assert ran.exit_code == 0, ran.output
    assert {row["peer"]: (row["stored"], row["changes"], row["events"]) for row in json.loads(ran.stdout)} == counts
    assert parquet.read_table(tmp_path / "out" / "received.parquet").num_rows == PEERS
    assert "The subscribers&#x27; peers received" in (tmp_path / "out" / "report.html").read_text()
    refused = CliRunner().invoke(gsg_command, [*arguments, "--engine", "numpy", "--peers", "7"])
    assert (refused.exit_code, "--peers beside --trace" in refused.output) == (2, True)


def test_a_folder_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadWorkload, match="no part of a trace"):
        received(tmp_path)
