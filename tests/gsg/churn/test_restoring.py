"""A key all of whose holders die at one moment: its facts come back from their other keys, for the readers that they had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

import pytest
from key_holders import holders
from peers import Reader, guest_of, others, simulate

from dht import Contact, Identity, PeerId, distance
from dht.overlay.owner_cache import Regions
from dht.simnet import SimNet
from gsg import Peer, PeerUnreachable, Symbol
from gsg.churn.restoring import FACTS_PER_TURN, was_lost
from gsg.placement.holders import Holders
from gsg.replication.copying import Copying
from gsg.tuples.features import Key, key
from gsg.wire.exchange import LinkBroke

ON = Symbol("on")
NOTICED_S = 30.0


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


@pytest.mark.parametrize(
    ("dead", "lost"),
    [([1, 2, 3], True), ([1, 2], False), ([1, 2, 5], False), ([1, 2, 3, 9], True), ([], False)],
    ids=["all", "two", "one further away", "all and another", "nobody"],
)
def test_a_key_is_lost_when_all_that_were_closer_than_the_living_are_dead(dead: list[int], lost: bool) -> None:
    assert was_lost(bytes(20), (4).to_bytes(20, "big"), dead) is lost


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

        assert [len(peer._rendezvous.held.under(place)) for peer in holders(living, place)] == [2] * 3
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

        assert [peer._rendezvous.held.under(place) for peer in holders(others(living, *dying), place)] == [{}] * 3

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

            assert [list(peer._rendezvous.held.under(place)) for peer in holders(living, place)] == [[fact]] * 3

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
            assert [list(peer._rendezvous.held.under(place)) for peer in holders([guest, *living], place)] == [[fact]] * 3

    simulate(work, seed=70, size=12)


def test_others_have_their_turn_while_many_keys_are_looked_at() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        await host.insert([(number, ON, "x") for number in range(10 * FACTS_PER_TURN)])
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await host._handover._restore([(3, 0, number) for number in range(10 * FACTS_PER_TURN)])
        counting.cancel()

        assert turns >= 10

    simulate(work, seed=68, size=1)


def test_facts_come_back_though_what_else_changes_hands_is_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def breaking(self: Copying, holder: Contact, keys: list[Key]) -> None:
        raise LinkBroke("as where a holder takes nothing")

    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        await peers[0].insert([fact, *((f"other {number}", ON, f"value {number}") for number in range(60))])
        monkeypatch.setattr(Copying, "copy_keys", breaking)
        dying = holders(peers, place)

        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        await asyncio.sleep(NOTICED_S)

        assert [list(peer._rendezvous.held.under(place)) for peer in holders(others(peers, *dying), place)] == [[fact]] * 3

    simulate(work, seed=66, size=8)


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
        await asyncio.sleep(NOTICED_S / 2)

        assert [list(peer._rendezvous.held.under(place)) for peer in holders(living, place)] == [[fact]] * 3

    simulate(work, seed=65, size=12)


@pytest.mark.parametrize("fails", [True, False], ids=["the lookup fails", "what was found is forgotten again"])
def test_facts_come_back_though_at_first_nobody_can_say_who_holds_their_key(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[Key] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        dying = holders(peers, place)
        living = others(peers, *dying)
        look_up = Holders.look_up

        async def failing(self: Holders, features: Iterable[Key]) -> None:
            wanted = list(features)
            if wanted == [place] and failed.count(place) < len(holders(living, (3, 1, ON))) * 2:
                failed.append(place)
                if fails:
                    raise PeerUnreachable("as where a lookup is ended by a defect")
                self._overlay.regions.clear()
                return
            await look_up(self, wanted)

        monkeypatch.setattr(Holders, "look_up", failing)

        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        await asyncio.sleep(NOTICED_S)

        assert failed
        assert [list(peer._rendezvous.held.under(place)) for peer in holders(living, place)] == [[fact]] * 3

    simulate(work, seed=69, size=12)


def clearing(regions: Regions, on_lost: Callable[[Contact], None] | None) -> Callable[[Contact], None]:
    """As where too few are left of what was known of a region."""

    def lost(contact: Contact) -> None:
        regions.clear()
        assert on_lost is not None
        on_lost(contact)

    return lost
