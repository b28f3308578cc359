"""A key all of whose holders die at one moment: its facts come back from their other keys, for the readers that they had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import pytest
from key_holders import holders
from peers import Reader, guest_of, others, simulate

import dht
from dht import Identity, PeerId, distance
from dht.overlay.owner_cache import Regions
from dht.simnet import SimNet
from gsg import Peer, PeerUnreachable, Symbol
from gsg.replication.copying import EVER, Copy
from gsg.tuples.features import Key, key
from gsg.wire.holder_messages import Replicate

ON = Symbol("on")
NOTICED_S = 60.0
"""Until deaths are noticed, facts were told to the primary of their next key, and compared by its other holders."""


def fact_of_others(peers: Sequence[Peer], count: int = 3, near: PeerId | None = None) -> tuple[str, Symbol, int]:
    """A fact whose subject's holders, and those next to them, hold none of its other keys; nobody is closer to it than ``near``."""

    def is_near(place: Key) -> bool:
        point, [closest] = key(*place), holders(peers, place, 1)
        return near is None or distance(near, point) < distance(closest.contact.id, point)

    return next(
        (f"s{number}", ON, number)
        for number in range(10_000)
        if is_near((3, 0, f"s{number}"))
        and not set(holders(peers, (3, 0, f"s{number}"), count))
        & {*holders(peers, (3, 1, ON)), *holders(peers, (3, 2, number)), peers[0], peers[1]}
    )


def test_facts_come_back_from_their_other_keys_and_to_their_subscribers() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        gone = (fact[0], ON, "gone")
        reader = Reader(await peers[1].subscribe(f'("{fact[0]}", ?p, ?o)'))
        await peers[0].insert([fact, gone])
        await peers[0].retract([gone])
        await peers[0].insert([(fact[0], ON, "secret")], audience=[peers[1].contact.id])
        dying = holders(peers, place)
        living = others(peers, *dying)

        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        await asyncio.sleep(NOTICED_S)

        assert [len(peer._parts.rendezvous.held.under(place)) for peer in holders(living, place)] == [2] * 3
        await reader.read()
        assert reader.held == reader.subscription.rows()
        assert sorted(str(row) for row in reader.held) == ['?p=on ?o="secret"', f"?p=on ?o={fact[2]}"]
        not_named = await living[-1].subscribe(f'("{fact[0]}", ?p, ?o)')
        assert [str(row) for row in not_named.rows()] == [f"?p=on ?o={fact[2]}"]
        for peer in dying:
            await peer.__aexit__(ConnectionError, None, None)

    simulate(work, seed=61, size=12)


def test_what_was_retracted_after_it_came_back_stays_retracted() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        for peer in holders(peers, place):
            net.crash(peer.contact.host, quietly=True)
        living = others(peers, *holders(peers, place))
        await asyncio.sleep(NOTICED_S)
        await peers[0].retract([fact])

        # Another three at once: the facts of all keys are looked through again.
        dying = [peer for peer in holders(living, (3, 1, "elsewhere")) if peer is not peers[0]]
        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        await asyncio.sleep(2 * NOTICED_S)

        assert [peer._parts.rendezvous.held.under(place) for peer in holders(others(living, *dying), place)] == [{}] * 3

    simulate(work, seed=62, size=14)


def test_a_key_that_is_lost_again_soon_comes_back_again() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers, 6)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        living = peers

        for _ in range(2):
            dying = holders(living, place)
            living = others(living, *dying)
            for peer in dying:
                net.crash(peer.contact.host, quietly=True)
            await asyncio.sleep(NOTICED_S)

            assert [list(peer._parts.rendezvous.held.under(place)) for peer in holders(living, place)] == [[fact]] * 3

    simulate(work, seed=64, size=16)


def test_facts_come_back_also_where_a_peer_comes_that_is_closer_to_their_key_than_those_that_died() -> None:
    identity = Identity(b"k" * 32)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers, near=identity.id)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        dying = holders(peers, place)
        living = others(peers, *dying)

        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        async with guest_of(net, living, identity=identity) as guest:
            await asyncio.sleep(NOTICED_S)

            assert holders([guest, *living], place)[0] is guest
            assert [list(peer._parts.rendezvous.held.under(place)) for peer in holders([guest, *living], place)] == [[fact]] * 3

    simulate(work, seed=70, size=12)


def test_others_have_their_turn_while_many_keys_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.replication.restoring.STEPS_PER_TURN", 1)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, _ = peers
        await host.insert([(number, ON, "x") for number in range(20)])
        looking = host._parts.anti_entropy._restoring
        await looking.tell_other_keys(EVER)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await looking.tell_other_keys(EVER)
        counting.cancel()

        assert turns >= 10

    simulate(work, seed=68, size=2)


def test_what_is_known_under_its_next_key_or_has_just_come_is_not_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([(f"s{number}", ON, number) for number in range(50)])
        told: list[Copy] = []

        async def counting(holder: dht.Contact, copy: Copy) -> None:
            told.append(copy)

        for peer in peers:
            peer._parts.anti_entropy._copying.replicate = counting  # type: ignore[method-assign]  # to see what is told
            for until in (1, 1, EVER):
                await peer._parts.anti_entropy._restoring.tell_other_keys(until)
            if len(peers) == 3:
                assert not told

        assert len(told) <= len(peers) ** 2
        assert all(len(copy) > 0 for copy in told)

    simulate(work, seed=71, size=3)
    simulate(work, seed=71, size=8)


def test_what_is_told_again_does_not_count_as_published() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        primary, stranger = holders(peers, place)[0], holders(peers, (3, 2, fact[2]))[0]
        stamp = primary._parts.rendezvous.held.under(place)[fact]

        counts = [
            primary._parts.replication.count_strange(stranger.contact.id, Replicate(1, [1], [fact], [b"\0"], [at]))
            for at in (stamp, stamp + 1)
        ]

        assert counts == [0, 1]

    simulate(work, seed=72, size=12)


def test_facts_come_back_where_those_who_lived_do_not_know_any_more_who_holds_their_keys() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        dying = holders(peers, place)
        living = others(peers, *dying)

        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        for peer in living:
            regions = peer._endpoint.overlay.regions
            peer._endpoint.overlay.on_lost = clearing(regions, peer._endpoint.overlay.on_lost)
        await asyncio.sleep(NOTICED_S)

        assert [list(peer._parts.rendezvous.held.under(place)) for peer in holders(living, place)] == [[fact]] * 3

    simulate(work, seed=65, size=12)


def test_keys_whose_holders_are_not_known_are_looked_up_and_told_of_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[Key] = []
    told: list[dht.Contact] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        await peers[0].insert([fact])
        primary, heirs = holders(peers, (3, 2, fact[2]))[0], holders(peers, (3, 0, fact[0]))
        holders_of, look_up = primary._parts.holders.holders_of, primary._parts.holders.look_up

        async def failing(features: Iterable[Key]) -> None:
            looked_up.extend(features)
            if len(looked_up) == 1:
                raise PeerUnreachable("as where a lookup is ended by a defect")
            await look_up(features)

        async def counting(holder: dht.Contact, copy: Copy) -> None:
            told.append(holder)

        monkeypatch.setattr(primary._parts.holders, "look_up", failing)
        monkeypatch.setattr(
            primary._parts.holders,
            "holders_of",
            lambda key: () if key == (3, 0, fact[0]) and len(looked_up) < 2 else holders_of(key),
        )
        looking = primary._parts.anti_entropy._restoring
        looking._copying.replicate = counting  # type: ignore[method-assign]  # to see what is told

        await looking.tell_other_keys(EVER)
        for _ in range(2):
            await looking.tell_other_keys(EVER)
            assert not told
        await looking.tell_other_keys(EVER)

        assert looked_up == [(3, 0, fact[0])] * 2
        assert told == [heirs[0].contact]

    simulate(work, seed=69, size=12)


def clearing(regions: Regions, on_lost: Callable[[dht.Contact], None] | None) -> Callable[[dht.Contact], None]:
    """As where too few are left of what was known of a region."""

    def lost(contact: dht.Contact) -> None:
        regions.clear()
        assert on_lost is not None
        on_lost(contact)

    return lost
