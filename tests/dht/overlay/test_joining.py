"""Joining, and the address book: who is found again, by which addresses, and what is said where nobody answers."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from random import Random
from threading import Barrier, BrokenBarrierError, Event
from typing import NoReturn

import pytest

from dht import Contact, JoinFailed, Overlay, random_id
from dht.errors import Address
from dht.overlay.address_book import encode
from dht.overlay.joining import MAX_CALLS, PATIENCE_S
from dht.simnet import SimNet, run

PORT = 7400


def overlay(net: SimNet, host: str | None = None, **options: object) -> Overlay:
    rng = net.rng()
    return Overlay(random_id(rng), host or net.host(), PORT, rng=rng, **options)  # type: ignore[arg-type]  # as Overlay takes them


def test_joining_without_an_answer_names_every_address_that_was_tried() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net) as peer:
            await peer.join([("10.9.9.9", 1), ("nowhere.example", 2), peer.contact.address])

    with pytest.raises(JoinFailed) as failed:
        run(main, seed=9)

    assert str(failed.value) == (
        "no peer answered at 10.9.9.9:1 (no answer), nowhere.example:2 (the name does not resolve (Name or service not known)), "
        "10.0.0.1:7400 (that is this peer itself); expected the --listen address of a peer that runs, not that of its HTTP door: "
        "check it there, and that UDP gets through, or start without addresses to be the first peer"
    )
    assert [address for address, _ in failed.value.tried] == [("10.9.9.9", 1), ("nowhere.example", 2), ("10.0.0.1", 7400)]


def test_joining_goes_on_asking_while_the_network_becomes_slow() -> None:
    async def main(net: SimNet) -> list[Contact]:
        async with overlay(net) as first, overlay(net) as second:
            # That it answers itself at once says nothing of how long others take.
            own, net.latency_s = second.contact.address, (0.0, 0.001)
            with pytest.raises(JoinFailed, match="that is this peer itself"):
                await second.join([own])
            net.latency_s = (0.4, 0.45)
            await second.join([own, first.contact.address])
            return [*second.contacts(), first.contact]

    known, first = run(main, seed=9)

    assert known == first


def test_joining_waits_for_a_peer_that_is_just_starting() -> None:
    async def main(net: SimNet) -> list[Contact]:
        async with overlay(net) as second, asyncio.TaskGroup() as both:
            address = ("10.9.9.9", PORT)
            joining = both.create_task(second.join([address]))
            await asyncio.sleep(PATIENCE_S - 1)
            async with Overlay(random_id(net.rng()), *address, rng=net.rng()) as first:
                await joining
                return [*second.contacts(), first.contact]

    known, first = run(main, seed=9)

    assert known == first


def test_one_address_that_answers_is_enough_and_may_be_a_name() -> None:
    async def main(net: SimNet) -> list[Contact]:
        async with overlay(net) as first, overlay(net) as second:
            net.names["seed.example"] = first.contact.host
            await second.join([("10.9.9.9", 1), ("seed.example", PORT)])
            return second.contacts() + first.contacts() + [first.contact, second.contact]

    seen_by_second, seen_by_first, first, second = run(main, seed=10)
    assert (seen_by_second, seen_by_first) == (first, second)


def test_a_peer_whose_join_failed_enters_when_its_seed_is_there(tmp_path: Path) -> None:
    async def main(net: SimNet) -> list[Contact]:
        host = net.host()
        net.names["seed.example"] = host
        async with Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as early:
            with pytest.raises(JoinFailed):
                await early.join([("seed.example", PORT)])
            await asyncio.sleep(300)
            async with Overlay(random_id(net.rng()), host, PORT, rng=net.rng()) as seed:
                await asyncio.sleep(20)
                return early.contacts() + seed.contacts() + [seed.contact, early.contact]

    known_early, known_seed, seed, early = run(main, seed=31)
    assert (known_early, known_seed) == (seed, early)


def test_all_peers_that_were_killed_find_each_other_by_their_books(tmp_path: Path) -> None:
    async def main(net: SimNet) -> set[int]:
        rngs = [net.rng() for _ in range(10)]
        ids = [random_id(rng) for rng in rngs]
        hosts = [net.host() for _ in rngs]

        def life(number: int, incarnation: int) -> Overlay:
            book = tmp_path / f"book{number}"
            return Overlay(ids[number], hosts[number], PORT, rng=rngs[number], book=book, incarnation=incarnation)

        async with AsyncExitStack() as first:
            peers = [await first.enter_async_context(life(number, 0)) for number in range(10)]
            for peer in peers[1:]:
                await peer.join([peers[0].contact.address])
            await asyncio.sleep(65)
            for host in hosts:
                net.crash(host)
        for host in hosts:
            net.restart(host)
        async with AsyncExitStack() as second:
            again = [await second.enter_async_context(life(number, 1000)) for number in range(10)]
            for peer in again:
                await peer.join([])
            await asyncio.sleep(30)
            return {len(peer.contacts()) for peer in again}

    assert run(main, seed=30) == {9}


def test_a_book_has_whoever_was_met_a_moment_ago(tmp_path: Path) -> None:
    async def main(net: SimNet) -> tuple[str, str]:
        async with (
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng(), book=tmp_path / "book") as first,
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as second,
        ):
            await second.join([first.contact.address])
            await asyncio.sleep(2.5)
            return (tmp_path / "book").read_text(), second.contact.host

    book, second = run(main, seed=33)
    assert book == encode([(second, PORT)]).decode()


def test_a_peer_that_has_joined_finds_its_way_back_however_soon_it_is_killed(tmp_path: Path) -> None:
    async def main(net: SimNet) -> tuple[str, str]:
        async with (
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as first,
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng(), book=tmp_path / "book") as second,
        ):
            await second.join([first.contact.address])
            return (tmp_path / "book").read_text(), first.contact.host

    book, first = run(main, seed=34)
    assert book == encode([(first, PORT)]).decode()


def test_the_first_peer_has_the_second_in_its_book_at_once(tmp_path: Path) -> None:
    async def main(net: SimNet) -> tuple[str, str]:
        async with (
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng(), book=tmp_path / "book") as first,
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as second,
        ):
            await first.join([])
            await second.join([first.contact.address])
            return (tmp_path / "book").read_text(), second.contact.host

    book, second = run(main, seed=34)
    assert book == encode([(second, PORT)]).decode()


def test_a_book_that_could_not_be_written_is_written_when_there_is_room(tmp_path: Path) -> None:
    async def main(net: SimNet) -> tuple[str, str]:
        book = tmp_path / "later" / "book"
        async with (
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng(), book=book) as first,
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as second,
        ):
            await second.join([first.contact.address])
            await asyncio.sleep(5)
            book.parent.mkdir()
            await asyncio.sleep(65)
            return book.read_text(), second.contact.host

    book, second = run(main, seed=34)
    assert book == encode([(second, PORT)]).decode()


async def test_a_book_is_written_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = Barrier(2)

    def write(path: Path, addresses: list[Address]) -> None:
        # Passes only where another writes meanwhile.
        with suppress(BrokenBarrierError):
            writing.wait(timeout=0.2)
            pytest.fail("two write at once")

    monkeypatch.setattr("dht.overlay.address_book_file.write_book", write)
    async with Overlay(bytes(20), "127.0.0.1", 0, rng=Random(1), book=tmp_path / "book") as peer:
        peer._joining.book.add_address(("127.0.0.2", 1), 0.0)
        first = asyncio.create_task(peer._joining.file.save())
        await asyncio.sleep(0)
        peer._joining.book.add_address(("127.0.0.3", 1), 0.0)
        await asyncio.gather(first, peer._joining.file.save())


async def test_a_disk_that_hangs_is_waited_for_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = Event()
    monkeypatch.setattr("dht.overlay.address_book_file.write_book", lambda path, addresses: goes_on.wait())
    async with Overlay(bytes(20), "127.0.0.1", 0, rng=Random(1), book=tmp_path / "book") as peer:
        peer._joining.book.add_address(("127.0.0.2", 1), asyncio.get_running_loop().time())
        before = len(peer._tasks)
        for _ in range(20):
            peer._joining.file.mark_changed()
        saving = len(peer._tasks) - before
        for _ in range(20):
            await asyncio.sleep(0)
            peer._joining.file.mark_changed()
            peer._joining._call_due()
        still_saving = len(peer._tasks) - before - len(peer._joining._calling)
        goes_on.set()

    assert (saving, still_saving) == (1, 1)


def test_a_book_that_cannot_be_written_is_said_and_harms_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def main(net: SimNet) -> int:
        async with (
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng(), book=tmp_path / "nowhere" / "book") as first,
            Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as second,
        ):
            await second.join([first.contact.address])
            await asyncio.sleep(65)
            return len(first.contacts())

    assert run(main, seed=32) == 1
    assert "cannot be written: [Errno 2] No such file or directory" in caplog.text


def no_thread(*_: object) -> NoReturn:
    raise RuntimeError("can't start new thread")


def test_a_book_that_no_thread_can_be_had_for_is_logged_as_one_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(net: SimNet) -> int:
        async with overlay(net, book=tmp_path / "book") as first, overlay(net) as second:
            monkeypatch.setattr(asyncio, "to_thread", no_thread)
            await second.join([first.contact.address])
            await asyncio.sleep(5)
            return len(first.contacts())

    assert run(main, seed=28) == 1
    assert "cannot be written: can't start new thread" in caplog.text


def test_an_old_address_that_is_called_at_leaves_an_unknown_peer_there_counted() -> None:
    async def main(net: SimNet) -> bool:
        async with Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as peer:
            old = asyncio.create_task(peer._call_address(("10.9.0.1", PORT)))
            await asyncio.sleep(0.1)
            peer.heard_of(Contact(random_id(net.rng()), "10.9.0.1", PORT))
            await old
            return ("10.9.0.1", PORT) in peer._checking

    assert run(main, seed=1)


def test_old_addresses_are_called_at_so_many_at_once_and_the_others_stay_due() -> None:
    async def main(net: SimNet) -> tuple[int, int]:
        async with Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng(), probe_s=0.001) as peer:
            now = asyncio.get_running_loop().time()
            for number in range(2 * MAX_CALLS):
                peer._joining.book.add_address((f"10.9.0.{number}", PORT), now - 60)
            await asyncio.sleep(0.1)
            return len(peer._joining._calling), len(peer._joining.book.take_due(now, 2 * MAX_CALLS))

    assert run(main, seed=1) == (MAX_CALLS, MAX_CALLS)
