"""Peers with data directories: what was acknowledged is there when they are back, however they went."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from random import Random

import pytest
from lives import Lives, live, slow_disks
from peers import PORT, Reader, guest_of, make_peer, quiet, rendezvous, unread

import dht
from dht import Identity
from dht.simnet import SimNet, run
from gsg import BadData, GsgError, Peer, PeerUnreachable, Space, Symbol
from gsg.placement.holders import UNSURE_S
from gsg.storage.clock import CLOCKS_APART_S
from gsg.tuples.features import key
from gsg.tuples.terms import Tuple

ON = Symbol("on")
PAIRS = "(?x, on, ?y)"
TEXTS = [PAIRS, "(?x, on, ?y), (?y, on, ?z)", "(?x, on, ?y), NOT { (?y, on, ?x) }", "(?x, ?p, ?y)"]
MENDED_S = 30.0


@pytest.fixture(autouse=True)
def disks(monkeypatch: pytest.MonkeyPatch) -> None:
    slow_disks(monkeypatch, seed=1)


async def agrees(lives: Lives, space: Space) -> None:
    """A newcomer is told what the yardstick says."""
    async with guest_of(lives.net, list(lives.peers.values())) as guest:
        await quiet()
        for text in TEXTS:
            with space.subscribe(text) as yardstick:
                assert (await guest.subscribe(text)).rows() == yardstick.rows(), text


def test_a_peer_alone_is_the_same_one_when_it_is_back(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        before = lives.peers[0]
        await before.insert([("a", ON, "b"), ("c", ON, "d")])
        await before.retract([("c", ON, "d")])
        latest = before._parts.clock.latest

        await lives.kill(0)
        after = await lives.start(0)

        assert after.contact == before.contact
        assert after.resumed_facts == 1
        assert after._parts.clock.latest >= latest
        assert {row["x"] for row in (await after.subscribe(PAIRS)).rows()} == {"a"}
        # Others may be there that have not been met again yet, so what goes now is remembered.
        await after.retract([("a", ON, "b")])
        assert after._parts.rendezvous.held.stamp_of((3, 0, "a"), ("a", ON, "b")) > latest

    live(work, tmp_path, seed=1, size=1)


def test_what_is_stopped_in_order_is_kept_without_anybody_waiting_for_it(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        host = net.host()
        async with Peer((host, PORT), data=tmp_path, rng=net.rng(), clock=net.loop.time) as peer:
            writing = asyncio.create_task(peer.insert([("a", ON, "b")]))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        writing.cancel()
        async with Peer((host, PORT), data=tmp_path, rng=net.rng(), clock=net.loop.time) as peer:
            assert peer.resumed_facts == 1

    run(main, seed=2)


def test_without_a_data_directory_nothing_is_kept(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        async with make_peer(net, []) as peer:
            await peer.insert([("a", ON, "b")])
            (status,) = await peer.status()
            assert [one.name for one in status.counts if one.name.startswith("disk")] == []
            assert peer._parts.rendezvous.held.touched is None

    run(main, seed=3)


def test_all_peers_die_at_once_and_all_rows_are_as_before(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        facts = [(f"{number}", ON, f"{number % 7}") for number in range(60)]
        publisher = lives.peers[1]
        await asyncio.gather(*(publisher.insert([fact]) for fact in facts))
        await publisher.retract(facts[:20])
        ids = {number: peer.contact.id for number, peer in lives.peers.items()}

        for number in list(lives.peers):
            await lives.kill(number, quietly=True)
        for number in ids:
            await lives.start(number)
        await asyncio.sleep(MENDED_S)

        assert {number: peer.contact.id for number, peer in lives.peers.items()} == ids
        assert all(len(peer._parts.holders.everybody()) == len(ids) for peer in lives.peers.values())
        space = Space()
        space.insert(facts[20:])
        await agrees(lives, space)

    live(work, tmp_path, seed=4, size=5)


def test_the_first_that_is_back_has_the_last_word_though_its_clock_is_behind_those_who_are_not(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        fact = ("a", ON, "b")
        lives.ahead_s = dict.fromkeys(lives.peers, CLOCKS_APART_S - 1)
        await next(iter(lives.peers.values())).insert([fact])
        first = next(number for number, peer in lives.peers.items() if not any(peer._parts.rendezvous.held.marks(fact)))
        lives.ahead_s[first] = 0.0
        numbers = list(lives.peers)

        for number in numbers:
            await lives.kill(number, quietly=True)
        back = await lives.start(first)
        await back.retract([fact])
        for number in set(numbers) - {first}:
            await lives.start(number)
        await asyncio.sleep(MENDED_S)

        assert not any(peer._parts.rendezvous.held.keys() for peer in lives.peers.values())

    live(work, tmp_path, seed=4, size=12)


@pytest.mark.parametrize("at_once", [False, True], ids=["one after another", "at once"])
def test_all_peers_are_stopped_in_order_and_all_rows_are_as_before(at_once: bool, tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        space = Space()
        facts: list[Tuple] = [(f"{number}", ON, f"{number % 7}") for number in range(30)]
        space.insert(facts)
        await lives.peers[0].insert(facts)
        await lives.peers[0].retract(facts[:10])
        space.retract(facts[:10])

        numbers = list(lives.peers)
        if at_once:
            await asyncio.gather(*(lives.stop(number) for number in numbers))
        else:
            for number in numbers:
                await lives.stop(number)
        for number in reversed(numbers):
            await lives.start(number)
        await asyncio.sleep(MENDED_S)

        await agrees(lives, space)

    live(work, tmp_path, seed=23, size=4)


@pytest.mark.parametrize("survivor", range(3))
def test_each_holder_has_what_was_acknowledged_on_disk(survivor: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(lives: Lives) -> None:
        # Of none of their keys it is the primary; slower than the others' disks, and not so slow that it is not waited for.
        some: list[Tuple] = [(f"{number}", Symbol(f"{number}"), number) for number in range(60)]
        peers = list(lives.peers.values())
        facts = [
            fact
            for fact in some
            if lives.peers[survivor] not in [rendezvous(peers, 3, position, constant) for position, constant in enumerate(fact)]
        ]
        slow_disks(monkeypatch, seed=2, most_s=0.0)
        slow_disks(monkeypatch, seed=2, least_s=0.12, most_s=0.15, only=lives.peers[survivor])
        await lives.peers[0].insert(facts)

        for number in range(3):
            await lives.kill(number, lose_disk=number != survivor)

        assert (await lives.start(survivor)).resumed_facts == len(facts) > 0

    live(work, tmp_path, seed=20 + survivor, size=3)


@pytest.mark.parametrize("quietly", [False, True], ids=["reset", "without a word"])
def test_an_event_is_told_though_its_rendezvous_died_with_it_and_was_back_before_anybody_noticed(
    quietly: bool, tmp_path: Path
) -> None:
    async def work(lives: Lives) -> None:
        await asyncio.sleep(UNSURE_S + 10)
        by_distance = sorted(lives.peers, key=lambda number: dht.distance(lives.peers[number].contact.id, key(2, 0, "x")))
        asked, *_, publisher, subscriber = by_distance
        subscription = await lives.peers[subscriber].subscribe('("x", ?y)')
        await quiet()
        host = lives.peers[subscriber].contact.host

        lives.net.stall(host)
        await lives.peers[publisher].notify([("x", 1)])
        await lives.kill(asked, quietly=quietly)
        await lives.start(asked)
        lives.net.read_on(host)
        await lives.peers[publisher].notify([("x", 2)])
        await asyncio.sleep(MENDED_S)

        assert await unread(subscription) == ["!?y=1", "!?y=2"]

    live(work, tmp_path, seed=7, size=6)


def test_a_peer_that_was_away_learns_what_it_missed_and_keeps_that(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        stays = lives.peers[0]
        await stays.insert([("a", ON, "b"), ("c", ON, "d")])
        await lives.kill(1)
        await asyncio.sleep(60)

        await stays.retract([("a", ON, "b")])
        await stays.insert([("e", ON, "f")])
        await lives.start(1)
        await asyncio.sleep(MENDED_S)
        await lives.kill(0)
        await lives.kill(1)
        back = await lives.start(1)

        rows = (await back.subscribe(PAIRS)).rows()
        assert {(row["x"], row["y"]) for row in rows} == {("c", "d"), ("e", "f")}

    live(work, tmp_path, seed=5, size=2)


def test_a_peer_that_is_refused_where_it_is_told_to_join_does_not_go_on_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(lives: Lives) -> None:
        first = lives.peers[0].contact.address
        await lives.kill(1)
        lives.peers[0]._membership.allowed = frozenset()

        with pytest.raises(PeerUnreachable, match=r"7400 refused: this peer is not on its list of allowed peers"):
            await lives.start(1, join=[first])
        assert "going on alone" not in caplog.text
        # Whoever has an old address by now is not somebody that this peer was told to join.
        await lives.start(1)
        assert "refused: this peer is not on its list" in caplog.text
        assert "going on alone, and calling again at all 1 old addresses" in caplog.text

    live(work, tmp_path, seed=6, size=2)


def test_the_first_peer_that_is_back_waits_for_those_that_it_is_told_to_join(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(lives: Lives) -> None:
        await lives.peers[0].insert([("a", ON, "b")])
        first = lives.peers[0].contact.address
        await lives.kill(0)
        await lives.kill(1)

        alone = await lives.start(1, join=[first])
        assert "going on alone with what is in" in caplog.text
        await lives.start(0)
        await asyncio.sleep(MENDED_S)

        assert len(alone._parts.holders.everybody()) == 2

    live(work, tmp_path, seed=6, size=2)


def test_a_peer_that_has_never_lived_must_be_let_in(tmp_path: Path) -> None:
    async def main(net: SimNet) -> None:
        for _ in range(2):
            with pytest.raises(PeerUnreachable):
                async with Peer((net.host(), PORT), [("10.9.9.9", 1)], data=tmp_path, rng=net.rng(), clock=net.loop.time):
                    pass

    run(main, seed=7)


def test_who_has_only_old_addresses_and_finds_nobody_says_so_and_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(lives: Lives) -> None:
        await lives.kill(0)
        await lives.kill(1)

        await lives.start(1)

        assert "nobody answers at an old address; going on alone, and calling again at all 1 of them" in caplog.text

    live(work, tmp_path, seed=6, size=2)


def test_a_directory_is_one_peers_own(tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        await lives.kill(0)

        with pytest.raises(BadData, match=r"is the memory of peer \w{12}, and this is to be \w{12}; give each"):
            async with Peer((lives.net.host(), PORT), identity=Identity(b"z" * 32), data=lives.folder(0), rng=lives.net.rng()):
                pass
        # Whoever was refused has let it go.
        await lives.start(0)

    live(work, tmp_path, seed=8, size=1)


def test_a_damaged_address_book_is_told_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(lives: Lives) -> None:
        await lives.stop(1)
        book = lives.folder(1) / "addresses"
        written = book.read_bytes()
        flipped = bytearray(written)
        flipped[written.index(b"7400") + 1] ^= 1
        book.write_bytes(flipped)

        await lives.start(1, join=[lives.peers[0].contact.address])
        await lives.stop(1)

        assert re.search(r"1-0/addresses: the address book is damaged in line 2: the checksum there is not that", caplog.text)
        assert book.read_bytes() == written

    live(work, tmp_path, seed=9, size=2)


def test_what_lay_too_long_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def work(lives: Lives) -> None:
        await lives.peers[0].insert([("a", ON, "b")])
        await lives.kill(0)
        await asyncio.sleep(2.5 * 3600)

        await lives.start(0)

        assert "is 2.5 hours old: what others retracted since, and more than 1 hours ago, may come back with it" in caplog.text

    live(work, tmp_path, seed=10, size=1)


async def until_acknowledged(lives: Lives, sign: int, facts: list[Tuple], rng: Random) -> None:
    """Publish, by another peer where one has died meanwhile."""
    while True:
        peer = lives.peers[rng.choice(sorted(lives.peers))]
        try:
            await (peer.insert(facts) if sign > 0 else peer.retract(facts))
        except GsgError:
            await asyncio.sleep(1.0)
        else:
            return


@pytest.mark.parametrize("seed", range(2))
def test_what_is_acknowledged_while_peers_die_and_come_back_is_the_answer(seed: int, tmp_path: Path) -> None:
    async def work(lives: Lives) -> None:
        rng = Random(seed)
        space = Space()
        # This one reads, and dies only with all others.
        readers = [Reader(await lives.peers[0].subscribe(text)) for text in TEXTS]
        for _ in range(4):
            facts: list[Tuple] = [(rng.choice("abcdef"), ON, rng.choice("abcdef")) for _ in range(8)]
            for sign, some, same in ((1, facts, space.insert), (-1, facts[:3], space.retract)):
                same(some)
                await until_acknowledged(lives, sign, some, rng)
                # Two at once, just after it, and back at any time; what one of them has lost, others have.
                victims = rng.sample(sorted(lives.peers)[1:], 2) if rng.random() < 0.7 else []
                lost = rng.choice(victims) if victims and rng.random() < 0.4 else None
                for victim in victims:
                    await lives.kill(victim, lose_disk=victim == lost, quietly=rng.random() < 0.5)
                await asyncio.sleep(rng.choice([0.0, 1.0, 10.0]))
                for victim in victims:
                    await lives.start(victim, join=[lives.peers[0].contact.address] if victim == lost else None)
                if lost is not None:
                    await asyncio.sleep(MENDED_S)
        await asyncio.sleep(2 * MENDED_S)

        for reader, text in zip(readers, TEXTS, strict=True):
            await reader.read()
            with space.subscribe(text) as yardstick:
                assert reader.subscription.rows() == reader.held == yardstick.rows(), text
            assert reader.lowest == 0
        running = sorted(lives.peers)
        for number in rng.sample(running, len(running)):
            await lives.kill(number, quietly=rng.random() < 0.5)
        for number in rng.sample(running, len(running)):
            await lives.start(number)
        await asyncio.sleep(MENDED_S)
        await agrees(lives, space)

    live(work, tmp_path, seed=200 + seed, size=6)


def test_a_run_with_disks_is_repeatable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def digest(folder: Path) -> str:
        slow_disks(monkeypatch, seed=2)
        digests = []

        async def work(lives: Lives) -> None:
            await lives.peers[0].insert([(number, ON, "x") for number in range(10)])
            await lives.kill(1)
            await lives.start(1)
            await quiet()
            digests.append(lives.net.digest)

        live(work, folder, seed=14, size=3)
        return digests[0]

    assert digest(tmp_path / "once") == digest(tmp_path / "again")
