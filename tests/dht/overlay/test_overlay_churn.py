"""Overlays whose peers die, are cut off and come back, over a simulated network: who is believed to live, and what lookups find."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import pytest

from dht import (
    Contact,
    NeighbourhoodChanged,
    Overlay,
    OverlayEvent,
    PeerDied,
    PeerReturned,
    distance,
    random_id,
)
from dht.datagrams.gossip import MAX_INCARNATION, Rumour, Status
from dht.overlay.overlay import MAX_CHECKS
from dht.simnet import SimNet, run

PORT = 7400


@asynccontextmanager
async def network(net: SimNet, size: int) -> AsyncIterator[tuple[list[Overlay], dict[bytes, list[OverlayEvent]]]]:
    """Peers that each joined through one of those before, and what each heard since all had joined."""
    events: dict[bytes, list[OverlayEvent]] = {}
    rng = net.rng()
    async with AsyncExitStack() as stack:
        peers: list[Overlay] = []
        for _ in range(size):
            own = net.rng()
            peer = Overlay(random_id(own), net.host(), PORT, rng=own)
            await stack.enter_async_context(peer)
            heard = events.setdefault(peer.contact.id, [])
            peer.on_event = heard.append
            await peer.join([rng.choice(peers).contact.address] if peers else [])
            peers.append(peer)
        await asyncio.sleep(35)
        for heard in events.values():
            heard.clear()
        yield peers, events


def closest(peers: Sequence[Overlay], key: bytes, r: int = 3) -> tuple[Contact, ...]:
    """The definition: the r nearest of all."""
    return tuple(sorted((peer.contact for peer in peers), key=lambda each: distance(each.id, key))[:r])


async def timed_lookups(net: SimNet, living: Sequence[Overlay], each: int) -> tuple[float, list[float]]:
    """The share of lookups that found the three closest of those living, and how long each took."""
    rng = net.rng()
    right = 0
    taken_s = []
    for _ in range(each):
        for peer in living:
            key = random_id(rng)
            others = [other for other in living if other is not peer]
            began_s = net.loop.time()
            found = await peer.lookup(key)
            taken_s.append(net.loop.time() - began_s)
            right += found[:3] == closest(others, key)
    return right / len(taken_s), sorted(taken_s)


def p99(sorted_s: list[float]) -> float:
    return sorted_s[int(0.99 * len(sorted_s))]


def died(events: Sequence[OverlayEvent]) -> set[bytes]:
    return {each.contact.id for each in events if isinstance(each, PeerDied)}


@pytest.mark.long
@pytest.mark.parametrize("share", [0.5])
def test_lookups_are_right_and_quick_from_the_moment_that_many_are_killed(share: float) -> None:
    async def main(net: SimNet) -> tuple[float, float, int]:
        async with network(net, 40) as (peers, events):
            killed = net.rng().sample(peers, int(share * len(peers)))
            living = [peer for peer in peers if peer not in killed]
            for peer in killed:
                net.crash(peer.contact.host)
            right, taken_s = await timed_lookups(net, living, 5)
            await asyncio.sleep(30)
            alive = {peer.contact.id for peer in living}
            return right, p99(taken_s), sum(bool(died(events[peer.contact.id]) & alive) for peer in living)

    right, slowest_s, mistaken = run(main, seed=21)
    assert right >= 0.99
    assert slowest_s < 1.0
    assert mistaken == 0


@pytest.mark.long
def test_within_fifteen_seconds_all_who_depend_on_the_dead_know_and_owners_are_right() -> None:
    async def main(net: SimNet) -> tuple[set[int], list[str]]:
        async with network(net, 40) as (peers, events):
            killed = net.rng().sample(peers, 12)
            living = [peer for peer in peers if peer not in killed]
            near = {peer.contact.id: {each.id for each in peer.neighbours()} for peer in living}
            gone = {peer.contact.id for peer in killed}
            for peer in killed:
                net.crash(peer.contact.host, quietly=True)
            await asyncio.sleep(15)
            unknowing = {len(near[peer.contact.id] & gone - died(events[peer.contact.id])) for peer in living}
            # Keys near a peer's own id, those that it may hold: known without asking anybody.
            wrong = [
                str(peer.contact) for peer in living if peer.closest_known(peer.contact.id, 3) != closest(living, peer.contact.id)
            ]
            return unknowing, wrong

    unknowing, wrong = run(main, seed=22)
    assert unknowing == {0}
    assert wrong == []


def test_five_lost_datagrams_in_a_hundred_bury_nobody_for_five_minutes() -> None:
    async def main(net: SimNet) -> tuple[int, int, int]:
        async with network(net, 16) as (peers, events):
            suspected: Counter[bytes] = Counter()
            for _ in range(300):
                await asyncio.sleep(1)
                suspected.update(each.contact.id for each in peers for other in peers if each.suspects(other.contact.id))
            return sum(len(died(each)) for each in events.values()), suspected.total(), len(peers[0].contacts())

    buried, suspected_s, known = run(main, seed=23, loss=0.05)
    assert buried == 0
    assert known == 15
    # Of 16 x 15 x 300 seconds of looking at each other.
    assert suspected_s < 30


def test_a_suspect_that_was_only_slow_refutes_it_and_no_key_moves() -> None:
    async def main(net: SimNet) -> tuple[int, int, int, set[bytes]]:
        async with network(net, 16) as (peers, events):
            victim = peers[7]
            others = [peer.contact.host for peer in peers if peer is not victim]
            before = victim._detector.swim.incarnation
            net.partition([others, [victim.contact.host]])
            while not any(peer.suspects(victim.contact.id) for peer in peers):  # noqa: ASYNC110  # virtual time, and no event for it
                await asyncio.sleep(0.1)
            net.heal()
            suspecting = sum(peer.suspects(victim.contact.id) for peer in peers)
            await asyncio.sleep(20)
            still = sum(peer.suspects(victim.contact.id) for peer in peers)
            dead = set().union(*(died(heard) for heard in events.values()))
            return suspecting, still, victim._detector.swim.incarnation - before, dead

    suspecting, still, lives, dead = run(main, seed=24)
    assert suspecting > 0
    assert still == 0
    assert lives > 0
    assert dead == set()


def test_a_path_broken_between_two_peers_alone_makes_neither_dead() -> None:
    async def main(net: SimNet) -> tuple[set[bytes], int]:
        async with network(net, 8) as (peers, events):
            a, b = peers[2].contact.host, peers[5].contact.host
            send = net.send_datagram

            def broken(sender, data, address):  # type: ignore[no-untyped-def]  # as SimNet's own
                if {sender.local[0], address[0]} != {a, b}:
                    send(sender, data, address)

            net.send_datagram = broken  # type: ignore[method-assign]  # a router that drops what goes between two of its hosts
            await asyncio.sleep(120)
            reached = sum(peer.counts["peers that only others reach"] for peer in (peers[2], peers[5]))
            return set().union(*(died(heard) for heard in events.values())), reached

    dead, reached_by_others = run(main, seed=25)
    assert dead == set()
    assert reached_by_others > 0


def test_a_peer_that_hears_others_and_is_not_heard_by_one_dies_for_nobody() -> None:
    async def main(net: SimNet) -> tuple[set[bytes], int]:
        async with network(net, 8) as (peers, events):
            deaf, mute = peers[2].contact.host, peers[5].contact.host
            send = net.send_datagram

            def broken(sender, data, address):  # type: ignore[no-untyped-def]  # as SimNet's own
                if (sender.local[0], address[0]) != (mute, deaf):
                    send(sender, data, address)

            net.send_datagram = broken  # type: ignore[method-assign]  # a router that drops what goes one way between two of its hosts
            await asyncio.sleep(120)
            reached = peers[2].counts["peers that only others reach"]
            return set().union(*(died(heard) for heard in events.values())), reached

    dead, reached_by_others = run(main, seed=25)
    assert dead == set()
    assert reached_by_others > 0


@pytest.mark.parametrize("size", [4, 8])
def test_a_member_that_says_again_and_again_that_the_dead_live_keeps_nobody_from_burying_them(size: int) -> None:
    async def main(net: SimNet) -> int:
        async with network(net, size) as (peers, events):
            victim, liar, *others = peers
            net.crash(victim.contact.host)
            for number in range(1, 120):
                for other in others:
                    liar._datagrams.send_rumours(other.contact, 0, [Rumour(Status.ALIVE, victim.contact.id, number)])
                await asyncio.sleep(0.25)
            return sum(victim.contact.id in died(events[peer.contact.id]) for peer in others)

    assert run(main, seed=38) == size - 2


def test_a_peer_whose_forged_suspicion_is_of_the_highest_incarnation_refutes_the_next() -> None:
    async def main(net: SimNet) -> tuple[int, int, set[bytes]]:
        async with network(net, 8) as (peers, events):
            victim, forger = peers[3], peers[5]
            for _ in range(5):
                await forger._datagrams.ask(
                    victim.contact.address,
                    "probe",
                    forger.contact.id,
                    0,
                    [Rumour(Status.SUSPECTED, victim.contact.id, MAX_INCARNATION)],
                )
            before = victim._detector.swim.incarnation
            others = [peer.contact.host for peer in peers if peer is not victim]
            net.partition([others, [victim.contact.host]])
            while not any(peer.suspects(victim.contact.id) for peer in peers):  # noqa: ASYNC110  # virtual time, and no event for it
                await asyncio.sleep(0.1)
            net.heal()
            await asyncio.sleep(20)
            return before, victim._detector.swim.incarnation, set().union(*(died(heard) for heard in events.values()))

    before, after, dead = run(main, seed=24)
    assert before < after < MAX_INCARNATION
    assert dead == set()


@pytest.mark.parametrize(("cut_s", "within_s"), [(60.0, 60.0), (600.0, 150.0)], ids=["a minute", "ten minutes"])
def test_a_network_that_was_cut_in_two_becomes_one_again(cut_s: float, within_s: float) -> None:
    async def main(net: SimNet) -> tuple[set[int], set[int], list[Contact], set[str]]:
        async with network(net, 16) as (peers, events):
            halves = (peers[:8], peers[8:])
            net.partition([[peer.contact.host for peer in half] for half in halves])
            await asyncio.sleep(cut_s)
            apart = {len(peer.contacts()) for peer in peers}
            net.heal()
            await asyncio.sleep(within_s)
            rng = net.rng()
            wrong = []
            for peer in peers:
                key = random_id(rng)
                if await peer.owners(key, 3) != closest(peers, key):
                    wrong.append(peer.contact)
            heard = {type(each).__name__ for each in events[peers[0].contact.id]}
            return apart, {len(peer.contacts()) for peer in peers}, wrong, heard

    apart, together, wrong, heard = run(main, seed=26)
    assert apart == {7}
    assert together == {15}
    assert wrong == []
    assert heard == {"PeerDied", "PeerReturned", "NeighbourhoodChanged"}


@pytest.mark.parametrize("cut_off", [1, 4], ids=["one that was alone", "four of twelve"])
def test_whoever_was_cut_off_does_not_take_its_part_and_who_comes_next_for_the_whole_network(cut_off: int) -> None:
    async def main(net: SimNet) -> list[bool]:
        async with network(net, 12) as (peers, _):
            apart, rest = peers[:cut_off], peers[cut_off:]
            net.partition([[peer.contact.host for peer in part] for part in (apart, rest)])
            await asyncio.sleep(60)
            keys = [net.rng().randbytes(20) for _ in range(40)]
            said: list[bool] = []

            def look(peer: Overlay) -> None:
                said.extend(peer.owners_now(key, 3) in (None, closest(peers, key)) for key in keys)

            for peer in apart:
                assert all(peer.owners_now(key, 3) == closest(apart, key) for key in keys)
                # The first that comes back: whoever asks at once must not be told what a part of the network knows.
                peer.on_discovered = lambda contact, peer=peer: look(peer)  # type: ignore[misc]  # bound here
            net.heal()
            await asyncio.sleep(60)
            for peer in peers:
                assert [await peer.owners(key, 3) for key in keys] == [closest(peers, key) for key in keys]
            return said

    said = run(main, seed=26)
    assert len(said) >= 40
    assert all(said)


def test_a_peer_that_starts_again_is_welcome_everywhere() -> None:
    async def main(net: SimNet) -> tuple[int, int, set[bool]]:
        async with network(net, 16) as (peers, events):
            old = peers[4].contact
            others = [peer for peer in peers if peer.contact != old]
            net.crash(old.host)
            await asyncio.sleep(30)
            dead = sum(old.id in died(events[peer.contact.id]) for peer in others)
            net.restart(old.host)
            async with Overlay(old.id, old.host, PORT, rng=net.rng(), incarnation=1000) as again:
                await again.join([peers[0].contact.address])
                await asyncio.sleep(10)
                returned = sum(PeerReturned(old) in events[peer.contact.id] for peer in others)
                return dead, returned, {peer.knows(old.id) == old for peer in others}

    assert run(main, seed=27) == (15, 15, {True})


def test_a_peer_that_leaves_in_order_is_known_to_be_gone_within_seconds() -> None:
    async def main(net: SimNet) -> int:
        async with network(net, 12) as (peers, events):
            async with Overlay(random_id(Random(1)), net.host(), PORT, rng=net.rng()) as guest:
                await guest.join([peers[0].contact.address])
                await asyncio.sleep(10)
            await asyncio.sleep(2)
            return sum(guest.contact.id in died(events[peer.contact.id]) for peer in peers)

    assert run(main, seed=28) == 12


def test_peers_that_stop_at_one_moment_start_nothing_more_at_each_others_farewells() -> None:
    async def main(net: SimNet) -> int:
        async with AsyncExitStack() as first, AsyncExitStack() as second:
            peers = []
            for stack in (first, second):
                own = net.rng()
                peers.append(await stack.enter_async_context(Overlay(random_id(own), net.host(), PORT, rng=own)))
            await peers[1].join([peers[0].contact.address])
            await asyncio.sleep(3)
            # The other's farewell arrives while this one waits for its tasks to end.
            peers[1]._tasks.cancel_all()
            await first.aclose()
            await asyncio.sleep(2)
            return len([task for task in peers[1]._tasks._running if "probe" in repr(task)])

    assert run(main, seed=33) == 0


def test_the_neighbourhood_is_told_once_for_all_that_died_together() -> None:
    async def main(net: SimNet) -> tuple[tuple[Contact, ...], list[NeighbourhoodChanged]]:
        async with network(net, 8) as (peers, events):
            for peer in peers[5:]:
                peers[0].report_dead(peer.contact.id)
            await asyncio.sleep(0)
            return peers[0].neighbours(), [each for each in events[peers[0].contact.id] if isinstance(each, NeighbourhoodChanged)]

    nearest, told = run(main, seed=29)
    assert [len(each.went) for each in told] == [3]
    assert told[0].nearest == nearest


def test_a_peer_that_starts_again_before_it_is_missed_is_discovered_again() -> None:
    async def main(net: SimNet) -> tuple[list[OverlayEvent], list[Contact]]:
        discovered: list[Contact] = []
        async with network(net, 3) as (peers, events):
            near, old = peers[0], peers[2].contact
            near.on_discovered = discovered.append
            net.crash(old.host)
            net.restart(old.host)
            async with Overlay(old.id, old.host, PORT, rng=net.rng(), incarnation=1000) as again:
                await again.join([near.contact.address])
                await asyncio.sleep(10)
                return events[near.contact.id], discovered

    events, discovered = run(main, seed=29)
    assert [each for each in events if not isinstance(each, NeighbourhoodChanged)] == [PeerReturned(discovered[0])]
    assert len(discovered) == 1


def test_unknown_peers_are_called_so_many_at_once_and_further_ones_are_passed_over() -> None:
    async def main(net: SimNet) -> tuple[int, int, int]:
        async with Overlay(random_id(net.rng()), net.host(), PORT, rng=net.rng()) as peer:
            for number in range(MAX_CHECKS + 36):
                peer.heard_of(Contact(random_id(net.rng()), f"10.9.0.{number}", PORT))
            begun = len(peer._checking)
            await asyncio.sleep(60)
            return begun, peer.counts["unknown peers passed over"], len(peer._checking)

    assert run(main, seed=1) == (MAX_CHECKS, 36, 0)
