"""Overlays over a simulated network: do they find the right owners, whatever happens?"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import AsyncExitStack
from random import Random
from typing import NoReturn

import pytest
from overlays import PORT, network, overlay

from dht import Contact, JoinFailed, LookupFailed, NotOpen, Overlay, distance, random_id
from dht.liveness.swim import Swim
from dht.overlay.address_book import AddressBook
from dht.overlay.joining import Joining
from dht.overlay.lookup import Lookup
from dht.simnet import SimNet, run


def closest(peers: Sequence[Overlay], key: bytes, r: int) -> tuple[Contact, ...]:
    """The definition: the r nearest of all."""
    return tuple(sorted((peer.contact for peer in peers), key=lambda each: distance(each.id, key))[:r])


async def wrong_owners(peers: Sequence[Overlay], living: Sequence[Overlay], rng: Random, keys: int = 3) -> list[str]:
    """Where what a peer believes differs from the definition."""
    wrong = []
    for peer in peers:
        for _ in range(keys):
            key = random_id(rng)
            found = await peer.owners(key, r=3)
            if found != closest(living, key, 3):
                wrong.append(f"{peer.contact} on {key.hex()[:8]}: {[str(each) for each in found]}")
    return wrong


def test_whoever_is_heard_by_links_lives_though_it_answers_no_probe() -> None:
    lost: list[Contact] = []

    async def main(net: SimNet) -> None:
        heard = True

        def heard_s(peer: bytes) -> float:
            return asyncio.get_running_loop().time() if heard else 0.0

        async with network(net, 2, on_lost=lost.append, heard_s=heard_s) as (busy, watcher):
            await asyncio.sleep(5)
            net.partition([[busy.contact.host], [watcher.contact.host]])
            await asyncio.sleep(120)
            assert (lost, len(watcher.contacts())) == ([], 1)

            heard = False
            await asyncio.sleep(60)

            assert set(lost) == {busy.contact, watcher.contact}

    run(main, seed=1)


def test_who_has_not_entered_yet_does_not_take_itself_for_the_owner() -> None:
    async def main(net: SimNet) -> None:
        async with network(net, 8) as peers, overlay(net) as newcomer:
            key = newcomer.contact.id
            assert newcomer.owners_now(key, r=3) is None

            # Others may know it before it knows them, as one that has come back.
            peers[0].heard_of(newcomer.contact)
            await asyncio.sleep(1)

            assert newcomer.contacts() == [peers[0].contact]
            assert newcomer.owners_now(key, r=3) is None
            assert await newcomer.owners(key, r=3) == closest([*peers, newcomer], key, 3)
            await newcomer.join([])
            assert newcomer.owners_now(key, r=3) == closest([*peers, newcomer], key, 3)

    run(main, seed=1)


@pytest.mark.parametrize("nobody_answers", [False, True], ids=["the first", "nobody answers"])
def test_who_is_alone_owns_every_key(nobody_answers: bool) -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net) as alone:
            with contextlib.suppress(JoinFailed):
                await alone.join([("10.9.9.9", PORT)] if nobody_answers else [])

            assert alone.owners_now(random_id(net.rng()), r=3) == (alone.contact,)

    run(main, seed=1)


def test_who_is_silent_in_a_lookup_stays_an_owner_as_long_as_others_reach_it() -> None:
    async def main(net: SimNet) -> None:
        async with network(net, 10) as peers:
            await asyncio.sleep(40)
            asker, silent = peers[2], peers[7]
            net.partition([[asker.contact.host], [silent.contact.host]])
            for _ in range(6):
                await asker.refresh()
                await asyncio.sleep(5)

                assert silent.contact not in await asker.lookup(silent.contact.id)
                assert asker.owners_now(silent.contact.id) == (silent.contact,)
                assert (await asker.owners(silent.contact.id, r=3))[0] == silent.contact

    run(main, seed=1)


def test_peers_that_joined_in_a_chain_agree_on_every_owner() -> None:
    async def main(net: SimNet) -> list[str]:
        async with network(net, 32) as peers:
            await asyncio.sleep(60)
            return await wrong_owners(peers, peers, net.rng())

    assert run(main, seed=1) == []


def test_owners_are_right_again_after_a_third_crashed_and_was_reported_lost() -> None:
    async def main(net: SimNet) -> list[str]:
        async with network(net, 40) as peers:
            await asyncio.sleep(35)
            dead, living = peers[::3], [peer for number, peer in enumerate(peers) if number % 3]
            for peer in dead:
                net.crash(peer.contact.host)
            for survivor in living:
                for peer in dead:
                    survivor.report_dead(peer.contact.id)
            return await wrong_owners(living, living, net.rng())

    assert run(main, seed=2) == []


def test_a_silent_death_is_noticed_without_being_told() -> None:
    async def main(net: SimNet) -> tuple[list[Contact], list[str]]:
        lost: list[Contact] = []
        async with network(net, 10, on_lost=lost.append) as peers:
            net.crash(peers[4].contact.host)
            living = [*peers[:4], *peers[5:]]
            await asyncio.sleep(30)
            return [each for each in lost if each.id == peers[4].contact.id], await wrong_owners(living, living, net.rng())

    lost, wrong = run(main, seed=3)
    # The nine that live, and the dead one's own loop, which hears of nobody any more, is not among them.
    assert len(lost) == 9
    assert wrong == []


def test_one_lost_datagram_in_twenty_neither_evicts_the_living_nor_misleads() -> None:
    async def main(net: SimNet) -> tuple[list[str], int]:
        lost: list[Contact] = []
        async with network(net, 30, on_lost=lost.append) as peers:
            await asyncio.sleep(40)
            return await wrong_owners(peers, peers, net.rng()), len(lost)

    wrong, evicted = run(main, seed=4, loss=0.05)
    assert wrong == []
    assert evicted == 0


def test_who_joins_later_becomes_known_to_all() -> None:
    async def main(net: SimNet) -> tuple[set[int], list[str]]:
        async with network(net, 12) as peers, overlay(net) as late:
            await late.join([peers[3].contact.address])
            await asyncio.sleep(30)
            everyone = [*peers, late]
            return {len(peer.contacts()) for peer in everyone}, await wrong_owners(everyone, everyone, net.rng())

    known, wrong = run(main, seed=5)
    assert known == {12}
    assert wrong == []


def test_the_halves_of_a_cut_network_find_each_other_again() -> None:
    async def main(net: SimNet) -> tuple[set[int], set[int], list[str]]:
        async with network(net, 10) as peers:
            net.partition([[peer.contact.host for peer in half] for half in (peers[:5], peers[5:])])
            await asyncio.sleep(60)
            apart = {len(peer.contacts()) for peer in peers}
            net.heal()
            await asyncio.sleep(60)
            return apart, {len(peer.contacts()) for peer in peers}, await wrong_owners(peers, peers, net.rng())

    apart, together, wrong = run(main, seed=6)
    assert apart == {4}
    assert together == {9}
    assert wrong == []


def test_a_new_peer_at_the_address_of_a_dead_one_takes_its_place() -> None:
    async def main(net: SimNet) -> tuple[list[bytes], Contact]:
        async with network(net, 3) as peers:
            host = peers[1].contact.host
            net.crash(host)
            net.restart(host)
            async with overlay(net, host) as successor:
                await successor.join([peers[0].contact.address])
                await asyncio.sleep(20)
                return [each.id for each in peers[2].contacts() if each.host == host], successor.contact

    there, successor = run(main, seed=7)
    assert there == [successor.id]


def test_a_peer_that_moved_is_known_at_its_newest_address() -> None:
    async def main(net: SimNet) -> tuple[Contact | None, Contact]:
        async with network(net, 3) as peers:
            mover = peers[1]
            net.crash(mover.contact.host)
            async with Overlay(mover.contact.id, net.host(), PORT, rng=net.rng()) as moved:
                await moved.join([peers[0].contact.address])
                await asyncio.sleep(5)
                return peers[0].knows(mover.contact.id), moved.contact

    known, moved = run(main, seed=8)
    assert known == moved


def test_the_first_peer_owns_everything_without_asking() -> None:
    async def main(net: SimNet) -> tuple[tuple[Contact, ...] | None, Contact]:
        async with overlay(net) as first:
            await first.join([])
            return first.owners_now(random_id(net.rng()), r=3), first.contact

    owners, first = run(main, seed=11)
    assert owners == (first,)


def test_callers_who_ask_for_one_region_share_the_lookup() -> None:
    async def main(net: SimNet) -> tuple[int, int]:
        async with network(net, 30) as peers:
            asker = peers[0]
            key = random_id(net.rng())
            before = net.counts["datagram"]
            await asker.lookup(key)
            alone = net.counts["datagram"] - before
            asker.regions.clear()
            before = net.counts["datagram"]
            await asyncio.gather(*(asker.owners(key[:-1] + bytes([last]), r=3) for last in range(100)))
            return alone, net.counts["datagram"] - before

    alone, together = run(main, seed=12)
    # Probes of thirty peers go on meanwhile; a hundred lookups would be a hundred times as much.
    assert together < 3 * alone


def test_garbage_is_counted_and_the_peer_goes_on() -> None:
    garbage = [
        b"",
        b"\x00",
        b"\x00" * 21,
        b"\x00" * 22,
        b"\x01" + bytes(20) + b"\xc1",
        b"\x07" + bytes(40),
        b"\x00" + bytes(20) + b"\x91" * 5000,
    ]
    garbage += [
        b"\x00" + bytes(20) + body
        for body in (b"\x92\xa4ping\x91\x01", b"\x92\xa4ping\x90", b"\x92\xa7closest\x92\xc4\x00\xc4\x00")
    ]

    async def main(net: SimNet) -> tuple[dict[str, int], int]:
        async with network(net, 2) as (first, second):
            transport, _ = await net.bind_datagrams(asyncio.DatagramProtocol, (net.host(), 1))
            for datagram in garbage:
                transport.sendto(datagram, first.contact.address)
            for name in (b"store", b"find_value", b"stop", b"__init__"):
                transport.sendto(b"\x00" + bytes(20) + b"\x92" + bytes([0xA0 + len(name)]) + name + b"\x90", first.contact.address)
            await asyncio.sleep(5)
            return dict(first.counts), len(await second.lookup(second.contact.id))

    counts, found = run(main, seed=13)
    assert counts == {"datagrams malformed": 9, "answers unexpected": 1, "storage queries refused": 2, "queries unknown": 2}
    assert found == 1


def test_a_peer_whose_answers_are_rubbish_spoils_no_lookup() -> None:
    class Liar(asyncio.DatagramProtocol):
        """Answers a ping as a peer does, and every other query with what is no contact."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            assert isinstance(transport, asyncio.DatagramTransport)
            self.transport = transport

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            body = b"\xc4\x14" + bytes(20) if b"ping" in data else b"\x92\xc4\x14" + bytes(20) + b"\x91\x93\x01\x02\x03"
            self.transport.sendto(b"\x01" + data[1:21] + body, addr)

    async def main(net: SimNet) -> tuple[int, list[str]]:
        async with network(net, 5) as peers:
            liar = Contact(bytes(20), net.host(), PORT)
            await net.bind_datagrams(Liar, liar.address)
            for peer in peers:
                peer.heard_of(liar)
            await asyncio.sleep(1)
            for peer in peers:
                peer.regions.clear()
            wrong = await wrong_owners(peers, peers, net.rng())
            return sum(peer.counts["answers malformed"] for peer in peers), wrong

    malformed, wrong = run(main, seed=14)
    assert malformed > 0
    assert wrong == []


def test_a_closed_overlay_says_so() -> None:
    async def main(net: SimNet) -> None:
        async with overlay(net) as peer:
            pass
        peer.regions.clear()
        with pytest.raises(NotOpen, match="closed"):
            await peer.owners(bytes(20))
        with pytest.raises(NotOpen, match="not open"):
            overlay(net).contacts()

    run(main, seed=15)


def test_who_waits_for_owners_when_the_overlay_closes_is_told() -> None:
    async def main(net: SimNet) -> BaseException | None:
        async with network(net, 3) as peers, AsyncExitStack() as stack:
            late = await stack.enter_async_context(overlay(net))
            await late.join([peers[0].contact.address])
            late.regions.clear()
            waiting = asyncio.ensure_future(late.owners(bytes(20)))
            await asyncio.sleep(0)
            await stack.aclose()
            await asyncio.wait((waiting,))
            return waiting.exception()

    assert isinstance(run(main, seed=16), NotOpen)


def test_a_failing_callback_is_logged_counted_and_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(contact: Contact) -> None:
        raise ValueError("no")

    async def main(net: SimNet) -> tuple[int, int]:
        async with overlay(net, on_discovered=fail) as first, overlay(net) as second:
            await second.join([first.contact.address])
            await asyncio.sleep(1)
            return len(first.contacts()), first.counts["callbacks failed"]

    assert run(main, seed=17) == (1, 1)
    assert "ValueError: no" in caplog.text


def fail(*_: object) -> NoReturn:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    ("owner", "name"),
    [(Swim, "tick"), (AddressBook, "take_due"), (Overlay, "refresh"), (Joining, "_revisit")],
    ids=["watching", "calling old addresses", "refreshing", "a call of one"],
)
def test_a_defect_in_the_background_is_logged_and_counted_and_ends_nothing(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def main(net: SimNet) -> tuple[int, int, bool]:
        async with network(net, 4) as peers:
            net.crash(peers[3].contact.host)
            await asyncio.sleep(30)
            with monkeypatch.context() as broken:
                broken.setattr(owner, name, fail)
                await asyncio.sleep(120)
            before = len(peers[0].contacts())
            net.crash(peers[2].contact.host)
            await asyncio.sleep(30)
            return before, len(peers[0].contacts()), any(peer.counts["background work failed"] for peer in peers)

    assert run(main, seed=26) == (2, 1, True)
    assert "can't start new thread" in caplog.text


def test_a_lookup_that_a_defect_ends_fails_for_who_waits_and_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main(net: SimNet) -> int:
        async with network(net, 3) as peers:
            with monkeypatch.context() as broken:
                broken.setattr(Lookup, "received", fail)
                with pytest.raises(LookupFailed, match="a lookup failed in this process"):
                    await peers[0].lookup(random_id(net.rng()))
            assert peers[0].counts["background work failed"] == 1
            return len(await peers[0].lookup(random_id(net.rng())))

    assert run(main, seed=27) == 2


@pytest.mark.parametrize("moment_s", [30.0, 30.01, 30.05, 30.1, 30.2, 30.4])
def test_leaving_in_the_middle_of_a_refresh_is_quiet(moment_s: float) -> None:
    async def main(net: SimNet) -> int:
        async with network(net, 25) as peers, overlay(net) as late:
            await late.join([peers[0].contact.address])
            await asyncio.sleep(moment_s)
        return len(asyncio.all_tasks())

    # Ours alone: every other task had an owner that ended it.
    assert run(main, seed=18) == 1


def test_answers_slower_than_they_are_waited_for_teach_patience() -> None:
    async def main(net: SimNet) -> tuple[float, int]:
        async with network(net, 6) as peers:
            await asyncio.sleep(30)
            net.latency_s = (0.3, 0.4)
            for peer in peers:
                peer.counts.clear()
            await asyncio.sleep(60)
            return min(peer._datagrams.round_trip.timeout_s for peer in peers), len(peers[0].contacts())

    timeout_s, known = run(main, seed=19)
    assert timeout_s > 0.7
    assert known == 5


async def test_an_address_that_cannot_be_one_is_named_and_harms_nothing() -> None:
    rng = Random(1)
    async with (
        Overlay(random_id(rng), "127.0.0.1", 0, rng=rng) as first,
        Overlay(random_id(rng), "127.0.0.1", 0, rng=rng) as second,
    ):
        with pytest.raises(JoinFailed, match="that is no port; expected 1 to 65535"):
            await second.join([("127.0.0.1", 70000)])
        with pytest.raises(JoinFailed, match="the name does not resolve"):
            await second.join([("x" * 70 + ".example", 7400)])
        await second.join([first.contact.address])

        assert second.contacts() == [first.contact]
