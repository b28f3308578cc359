"""Peers whose disks are damaged: what is lost there comes back from others, nothing that is missing is taken for retracted, and
nobody acknowledges what cannot be found again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lives import Lives, slow_disks
from peers import quiet

import gsg.storage.disk.group_commit
from dht.simnet import SimNet, run
from gsg import Peer, PeerUnreachable, Refused
from gsg.errors import BadData
from gsg.storage.clock import RIGHT_FROM_S
from gsg.storage.disk.data_directory import DataDirectory
from gsg.storage.disk.group_commit import GroupCommit
from gsg.storage.disk.journal import Group
from gsg.tuples.terms import Tuple

ALL = "(?x, on, ?y)"


@pytest.fixture(autouse=True)
def disks(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_disks(monkeypatch, seed=1)


def live(
    work: Callable[[Lives], Coroutine[Any, Any, None]],  # Any: as coroutines have it
    folder: Path,
    *,
    size: int = 3,
    ahead_s: float = 0.0,
) -> None:
    """Run ``work`` with so many peers, each of which holds everything, as they are three at most."""

    async def main(net: SimNet) -> None:
        lives = Lives(net, folder)
        lives.ahead_s = dict.fromkeys(range(size), ahead_s)
        await lives.begin(size)
        await work(lives)
        await lives.end()

    run(main, seed=6)


def facts(begin: int, end: int) -> list[Tuple]:
    return [(f"thing{number}", "on", f"{number % 7}") for number in range(begin, end)]


async def insert_each(peer: Peer, some: list[Tuple]) -> None:
    """One by one, so that each is a group of its own."""
    for fact in some:
        await peer.insert([fact])


def damage_groups(file: Path, numbers: str) -> None:
    """Let the facts of some groups be others, as if many bits had turned over."""
    with closing(sqlite3.connect(file)) as connection, connection:
        changed = connection.execute(
            f"UPDATE groups SET rows = CAST(replace(CAST(rows AS TEXT), 'thing', 'bling') AS BLOB) WHERE number IN ({numbers})"
        )
        assert changed.rowcount > 0


def held(peer: Peer) -> set[Tuple]:
    entries = peer._parts.rendezvous.held
    return set[Tuple]().union(*map(entries.under, entries.keys()))


def count(peer: Peer, name: str) -> int:
    return {one.name: one.count for one in peer._disk.counts()}[name]


def test_what_is_damaged_on_one_disk_comes_back_from_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(lives: Lives) -> None:
        there = facts(0, 20)
        await insert_each(lives.peers[0], there)
        await quiet()
        await lives.stop(1)
        damage_groups(lives.folder(1) / "peer.sqlite3", "SELECT number FROM groups WHERE number % 3 = 0")

        after = await lives.start(1)
        assert 0 < after.resumed_facts < 20
        assert count(after, "disk_records_damaged") >= 6
        await quiet()
        await quiet()

        assert [held(peer) for peer in lives.peers.values()] == [set(there)] * 3
        assert "of its records are wrong or missing, and left out; others give this peer what they hold of them" in caplog.text
        # And it is on its disk again.
        await lives.stop(1)
        again = await lives.start(1)
        assert again.resumed_facts == 20
        assert count(again, "disk_records_damaged") == 0

    live(work, tmp_path)


def test_what_went_does_not_come_back_with_a_disk_that_has_forgotten_it(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        there, gone = facts(0, 10), facts(10, 20)
        await insert_each(lives.peers[0], [*there, *gone])
        await quiet()
        before = lives.peers[1]._disk
        assert isinstance(before, GroupCommit)
        newest = before._disk.newest
        for fact in gone:
            await lives.peers[0].retract([fact])
        await quiet()
        await lives.stop(1)
        damage_groups(lives.folder(1) / "peer.sqlite3", f"SELECT number FROM groups WHERE number > {newest}")

        await lives.start(1)
        await quiet()
        await quiet()

        assert [held(peer) for peer in lives.peers.values()] == [set(there)] * 3

    live(work, tmp_path)


def test_a_disk_that_lost_what_was_written_last_is_told_so_and_catches_up(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(lives: Lives) -> None:
        await insert_each(lives.peers[0], facts(0, 5))
        await quiet()
        await lives.stop(1)
        old = (lives.folder(1) / "peer.sqlite3").read_bytes()
        await lives.start(1)
        await quiet()
        await insert_each(lives.peers[0], facts(5, 10))
        await lives.peers[0].retract(facts(0, 2))
        await quiet()
        await lives.stop(1)
        (lives.folder(1) / "peer.sqlite3").write_bytes(old)

        after = await lives.start(1)
        assert count(after, "disk_records_damaged") >= 6
        await quiet()
        await quiet()

        assert [held(peer) for peer in lives.peers.values()] == [set(facts(2, 10))] * 3
        assert "of its records are wrong or missing" in caplog.text

    live(work, tmp_path)


def test_one_alone_starts_with_what_is_sound_and_says_that_the_rest_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(lives: Lives) -> None:
        await insert_each(lives.peers[0], facts(0, 5))
        await lives.stop(0)
        damage_groups(lives.folder(0) / "peer.sqlite3", "2, 4")

        after = await lives.start(0)
        await quiet()

        assert held(after) == {each for at, each in enumerate(facts(0, 5), 1) if at not in (2, 4)}
        assert "one record may be of 10000 facts, as many as were written at once" in caplog.text
        assert "this peer knows of no other: what 2 damaged records of its disk said is lost" in caplog.text

    live(work, tmp_path, size=1)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"")], ids=["gone", "empty"])
def test_where_what_was_acknowledged_is_not_known_any_more_it_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], object]
) -> None:
    said = "that says what was acknowledged is damaged or gone: what is lost may not be known"

    async def work(lives: Lives) -> None:
        await insert_each(lives.peers[0], facts(0, 2))
        await lives.stop(0)
        assert said not in caplog.text
        damage(lives.folder(0) / "acknowledged")

        assert held(await lives.start(0)) == set(facts(0, 2))
        await lives.stop(0)
        await lives.start(0)

        assert caplog.text.count(said) == 1

    live(work, tmp_path, size=1)


def test_what_becomes_damaged_while_the_peer_runs_is_written_anew_from_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gsg.storage.disk.group_commit, "SCRUB_AGAIN_S", 5.0)

    async def work(lives: Lives) -> None:
        peer = lives.peers[0]
        await insert_each(peer, facts(0, 10))
        await peer.retract(facts(8, 10))
        keeping = peer._disk
        assert isinstance(keeping, GroupCommit)
        disk = keeping._disk
        newest = disk.newest
        disk._opened.execute("UPDATE groups SET rows = zeroblob(length(rows)) WHERE number = 3")
        disk._opened.execute("DELETE FROM groups WHERE number = 5")

        await asyncio.sleep(15)

        assert count(peer, "disk_records_damaged") == 2
        assert caplog.text.count("2 records in") == 1
        assert disk._opened.execute("SELECT min(number) FROM groups").fetchone() == (newest + 1,)
        await lives.kill(0)
        after = await lives.start(0)
        assert held(after) == set(facts(0, 8))
        assert count(after, "disk_records_damaged") == 0
        # What went is still known to have gone.
        assert after._parts.rendezvous.held.stamp_of((3, 0, "thing8"), facts(8, 9)[0]) > 0

    live(work, tmp_path, size=1)


def test_a_peer_whose_directory_goes_acknowledges_nothing_until_it_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(lives: Lives) -> None:
        peer = lives.peers[0]
        await peer.insert(facts(0, 1))
        away = lives.folder(0).with_name("away")
        lives.folder(0).rename(away)

        with pytest.raises((Refused, PeerUnreachable), match="was removed or renamed under this peer"):
            await peer.insert(facts(1, 2))
        await asyncio.sleep(5)
        with pytest.raises((Refused, PeerUnreachable), match="nothing is acknowledged there until it recovers"):
            await peer.insert(facts(2, 3))
        away.rename(lives.folder(0))
        await asyncio.sleep(5)
        await peer.insert(facts(3, 4))

        assert caplog.text.count("is not written to") == caplog.text.count("is written to again") == 1
        await lives.kill(0)
        assert {*facts(0, 2), *facts(3, 4)} <= held(await lives.start(0))

    live(work, tmp_path, size=1)


def test_a_directory_that_goes_is_noticed_though_nobody_publishes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(lives: Lives) -> None:
        lives.folder(0).rename(lives.folder(0).with_name("away"))
        await asyncio.sleep(gsg.storage.disk.group_commit.SCRUB_AGAIN_S + 5)

        assert "0-0/peer.sqlite3 was removed or renamed under this peer; put it back, or stop this peer" in caplog.text
        lives.folder(0).with_name("away").rename(lives.folder(0))
        await asyncio.sleep(5)
        await lives.peers[0].insert(facts(0, 1))

    live(work, tmp_path, size=1)


@pytest.mark.parametrize("far_us", [2**46, 2**50, 2**56])
def test_a_time_far_from_all_others_on_one_disk_keeps_nobody_from_publishing(
    far_us: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(lives: Lives) -> None:
        there = facts(0, 6)
        await lives.peers[0].insert(there)
        await quiet()
        await lives.stop(1)
        far = DataDirectory(lives.folder(1))
        far.open()
        rows = [row for some in far.all_rows() for row in some]
        last = rows[0][1][0][2]
        later = [(fact, [(at, sign, stamp + far_us) for at, sign, stamp in marks]) for fact, marks in rows[:2]]
        far.commit(Group(later, last + far_us))
        far.close()

        await lives.start(1)
        await quiet()
        await quiet()
        for peer in lives.peers.values():
            await peer.retract(there[:1])
            await peer.insert(there[:1])

        assert [held(peer) for peer in lives.peers.values()] == [set(there)] * 3
        assert all(peer._parts.clock.latest < last + far_us for peer in lives.peers.values())
        assert "are far beyond all others, or this peer's clock: they are damaged" in caplog.text

    live(work, tmp_path, ahead_s=float(RIGHT_FROM_S))


def test_a_key_of_which_a_bit_is_wrong_does_not_make_another_peer(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        await lives.stop(0)
        key = lives.folder(0) / "identity"
        written = key.read_bytes()
        at = written.index(b"KEY-----\n") + 40
        key.write_bytes(written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :])

        with pytest.raises(BadData, match=r"0-0/identity is damaged"):
            await lives.start(0)
        key.write_bytes(written)
        await lives.start(0)

    live(work, tmp_path, size=1)
