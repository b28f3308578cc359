"""Peers whose disks are full or too slow: what is not kept is refused, and goes on when there is room."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest
from lives import Lives, fill, live, make_room, slow_disks
from peers import Reader

import gsg.publisher.coalescing
import gsg.storage.disk.group_commit
from gsg import Peer, Refused, Symbol

ON = Symbol("on")
PAIRS = "(?x, on, ?y)"
MENDED_S = 30.0


@pytest.fixture(autouse=True)
def disks(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_disks(monkeypatch, seed=1)


def counts(peer: Peer) -> dict[str, int]:
    return {one.name: one.count for one in peer._disk.counts()}


def test_a_full_disk_is_an_error_to_the_publisher_and_the_peer_recovers_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(lives: Lives) -> None:
        (peer,) = lives.peers.values()
        reader = Reader(await peer.subscribe(PAIRS))
        await peer.insert([("before", ON, "x")])
        fill(peer)

        with pytest.raises(Refused, match=r"its disk failed .*full.*; nothing is acknowledged there until it recovers"):
            await peer.insert([(f"{number:0400}", ON, "full") for number in range(200)])
        with pytest.raises(Refused, match="full"):
            await peer.insert([("refused", ON, "x")])
        failing = counts(peer)
        # Nobody is to wait for what was refused, as what comes before something else.
        assert peer._parts.rendezvous.progress._last[peer.contact.id] == peer._parts.publisher.record.last
        make_room(peer)
        await asyncio.sleep(2 * gsg.storage.disk.group_commit.RETRY_S)
        await peer.insert([("after", ON, "x")])

        assert failing["disk_failures"] > 0
        assert failing["disk_refused"] == 1
        assert counts(peer)["disk_waiting"] == 0
        await reader.read()
        await lives.kill(0)
        rows = (await (await lives.start(0)).subscribe(PAIRS)).rows()
        # What was not acknowledged while it was entered may be true; what was refused from the first is not.
        assert rows == reader.held
        assert {row["x"] for row in rows} >= {"before", "after"}
        assert "refused" not in {row["x"] for row in rows}
        assert [record.levelno for record in caplog.records if "peer.sqlite3" in record.message] == [logging.ERROR, logging.WARNING]

    live(work, tmp_path, seed=11, size=1)


def test_one_holder_with_a_full_disk_keeps_nobody_from_publishing(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        publisher, other, full = lives.peers.values()
        fill(full)
        facts = [(f"{number:0400}", ON, f"{number}") for number in range(200)]

        acknowledged = []
        for fact in facts:
            try:
                await publisher.insert([fact])
            except Refused:  # the full one is the primary of one of its keys
                continue
            acknowledged.append(fact)
        make_room(full)
        await asyncio.sleep(2 * MENDED_S)

        assert acknowledged
        held = {items for peer in (publisher, other) for items in peer._parts.rendezvous.held.under((3, 1, ON))}
        assert held >= set(acknowledged)
        assert set(full._parts.rendezvous.held.under((3, 1, ON))) == held
        assert counts(full)["disk_waiting"] == 0

    live(work, tmp_path, seed=12, size=3)


def test_more_than_the_disk_keeps_up_with_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.disk.group_commit, "WAITING_FACTS", 3)
    # Each call in a message of its own.
    monkeypatch.setattr(gsg.publisher.coalescing, "SMALL_FACTS", 0)

    async def work(lives: Lives) -> None:
        (peer,) = lives.peers.values()

        done = await asyncio.gather(*(peer.insert([(number, ON, "x")]) for number in range(20)), return_exceptions=True)

        refused = [problem for problem in done if isinstance(problem, Refused)]
        assert 0 < len(refused) == counts(peer)["disk_refused"]
        assert "changes wait for its disk already; publish more slowly" in str(refused[0])
        rows = (await peer.subscribe(PAIRS)).rows()
        assert rows.total() == 20 - len(refused)

    live(work, tmp_path, seed=13, size=1)
