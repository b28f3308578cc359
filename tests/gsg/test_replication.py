"""Facts at three holders: what was acknowledged outlives any two of them, and comes back to three."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from peers import Reader, guest_of, quiet, simulate

import dht
from dht.simnet import SimNet
from gsg import Peer, Space, Symbol
from gsg.errors import Refused
from gsg.features import Key, key
from gsg.holders import REPLICAS, UNSURE_S
from gsg.messages import Done, Replicate

ON = Symbol("on")
MENDED_S = 30.0
"""The time in which every key is to be back at three holders."""


def closest(peers: list[Peer], feature: Key) -> list[Peer]:
    """The holders of a key, by the definition."""
    return sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(*feature)))[:REPLICAS]


def where(peers: list[Peer], feature: Key) -> list[Peer]:
    """The peers that have facts under a key."""
    return [peer for peer in closest(peers, feature) if feature in peer._rendezvous.held]


def keys_of(facts: list[tuple[object, ...]]) -> set[Key]:
    return {(3, position, fact[position]) for fact in facts for position in range(3)}  # type: ignore[misc]  # terms


def test_an_acknowledged_fact_is_at_the_three_closest_peers_and_nowhere_else() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = ("a", ON, "b")

        await peers[0].insert([fact])

        for feature in keys_of([fact]):
            assert where(peers, feature) == closest(peers, feature)
            assert sum(feature in peer._rendezvous.held for peer in peers) == REPLICAS

    simulate(work, seed=1, size=8)


@pytest.mark.parametrize("quietly", [False, True], ids=["reset", "without a word"])
def test_two_of_three_holders_die_at_once_and_nothing_is_lost(quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        facts = [(f"{number}", ON, "x") for number in range(20)]
        dead = closest(peers, (3, 1, ON))[:2]
        alive = [peer for peer in peers if peer not in dead]
        reader = Reader(await alive[0].subscribe("(?x, on, ?y)"))
        await alive[1].insert(facts)

        for peer in dead:
            net.crash(peer.contact.host, quietly=quietly)
        await asyncio.sleep(MENDED_S)

        await reader.read()
        late = await alive[2].subscribe("(?x, on, ?y)")
        assert reader.subscription.rows() == reader.held == late.rows()
        assert (late.rows().total(), reader.lowest) == (20, 0)
        for feature in keys_of(facts):
            assert where(alive, feature) == closest(alive, feature)

    simulate(work, seed=2, size=8)


def test_a_holder_that_was_cut_off_learns_what_was_retracted_meanwhile() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        away = closest(peers, (3, 1, ON))[1]
        rest = [peer for peer in peers if peer is not away]
        await rest[0].insert([("a", ON, "b"), ("c", ON, "d")])
        net.partition([[away.contact.host], [peer.contact.host for peer in rest]])
        await asyncio.sleep(60)

        await rest[0].retract([("a", ON, "b")])
        await rest[0].insert([("e", ON, "f")])
        net.heal()
        await asyncio.sleep(90)

        assert set(away._rendezvous.held.under((3, 1, ON))) == {("c", ON, "d"), ("e", ON, "f")}
        rows = (await rest[0].subscribe("(?x, on, ?y)")).rows()
        assert {(row["x"], row["y"]) for row in rows} == {("c", "d"), ("e", "f")}

    simulate(work, seed=3, size=6)


def test_a_holder_that_reads_nothing_does_not_keep_publishers_waiting() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, slow, _ = closest(peers, (3, 1, ON))
        publisher = next(peer for peer in peers if peer not in (primary, slow))
        await publisher.insert([("first", ON, "x")])
        for link in slow._endpoint.links.all():
            link.pause_reading()

        began_s = net.loop.time()
        for number in range(20):
            await publisher.insert([(f"{number:0100000}", ON, "x")])

        assert net.loop.time() - began_s < 60
        for link in slow._endpoint.links.all():
            link.resume_reading()
        await asyncio.sleep(MENDED_S)
        assert len(slow._rendezvous.held.under((3, 1, ON))) == 21

    simulate(work, seed=4, size=6)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_acknowledged_while_peers_die_and_come_is_the_answer(seed: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rng = Random(seed)
        space = Space()
        living = list(peers)
        subscriber, publisher = living[:2]
        texts = ["(?x, on, ?y)", "(?x, on, ?y), (?y, on, ?z)", "(?x, on, ?y), NOT { (?y, on, ?x) }", "(?x, ?p, ?y)"]
        readers = [Reader(await subscriber.subscribe(text)) for text in texts]
        for _ in range(6):
            facts = [(rng.choice("abcdef"), ON, rng.choice("abcdef")) for _ in range(8)]
            for sign, change, same in ((1, publisher.insert, space.insert), (-1, publisher.retract, space.retract)):
                some = facts[: 8 if sign > 0 else 3]
                same(some)
                await change(some)
            if rng.random() < 0.7 and len(living) > 4:
                # Two at once, of which neither publishes nor reads.
                for victim in rng.sample(living[2:], 2):
                    living.remove(victim)
                    net.crash(victim.contact.host, quietly=rng.random() < 0.5)
            await asyncio.sleep(rng.choice([0.0, 1.0, MENDED_S]))
            if len(living) <= 4:
                await asyncio.sleep(MENDED_S)
        await asyncio.sleep(2 * MENDED_S)

        for reader, text in zip(readers, texts, strict=True):
            await reader.read()
            with space.subscribe(text) as yardstick:
                assert reader.subscription.rows() == reader.held == yardstick.rows(), text
            assert reader.lowest == 0
        async with guest_of(net, living[:1]) as guest:
            await quiet()
            for text in texts:
                with space.subscribe(text) as yardstick:
                    assert (await guest.subscribe(text)).rows() == yardstick.rows(), text

    simulate(work, seed=100 + seed, size=10)


def test_two_holders_that_die_in_the_middle_of_a_publish_have_successors_before_it_is_acknowledged() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        # One peer is the primary of both keys, and of the four others two hold each key with it.
        names = [str(number) for number in range(100)]
        pairs = (
            (first, second, closest(peers, (2, 0, first)), closest(peers, (2, 1, second))) for first in names for second in names
        )
        first, second, (primary, *dying), _ = next(
            pair for pair in pairs if set(pair[2]) & set(pair[3]) == {pair[2][0]} == {pair[3][0]}
        )
        alive = [peer for peer in peers if peer not in dying]
        await primary.insert([(first, "else"), ("else", second)])
        for peer in dying:
            net.crash(peer.contact.host, quietly=True)

        await primary.insert([(first, second)])

        for peer in alive:
            assert (first, second) in peer._rendezvous.held.under((2, 0, first))

    simulate(work, seed=4, size=5)


def test_a_holder_that_reads_nothing_keeps_nobody_waiting_when_the_other_one_is_slow() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, slow, still = closest(peers, (1, 0, "x"))
        await primary.insert([("x",)])
        for peer in (slow, still):
            for link in peer._endpoint.links.all():
                link.pause_reading()
        began_s = net.loop.time()
        for link in slow._endpoint.links.all():
            net.loop.call_later(2.0, link.resume_reading)

        await primary.retract([("x",)])

        assert 2 < net.loop.time() - began_s < 5
        assert not slow._rendezvous.held.under((1, 0, "x"))
        for link in still._endpoint.links.all():
            link.resume_reading()

    simulate(work, seed=6, size=3)


def test_a_publisher_hears_from_the_primary_that_the_other_holders_do_not_read() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *still = closest(peers, (1, 0, "x"))
        publisher = next(peer for peer in peers if peer not in (primary, *still))
        await publisher.insert([("x",)])
        for peer in still:
            for link in peer._endpoint.links.all():
                link.pause_reading()

        with pytest.raises(Refused, match="1 facts are not at enough holders"):
            await publisher.retract([("x",)])

        assert publisher._exchange.channel_now(primary.contact) is not None
        for peer in still:
            for link in peer._endpoint.links.all():
                link.resume_reading()

    simulate(work, seed=7, size=4)


def test_what_a_peer_is_told_that_does_not_hold_its_key_goes_to_the_holders() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (1, 0, "x")
        stranger = next(peer for peer in peers if peer not in closest(peers, feature))
        teller = next(peer for peer in peers if peer is not stranger)
        await asyncio.sleep(2 * UNSURE_S)  # until nobody looks for keys that have changed hands

        await teller._exchange.ask(
            stranger.contact, lambda request: Replicate(request, [1], [("x",)], [b"\0"], [teller._versions.next()]), Done
        )
        await asyncio.sleep(MENDED_S)

        assert feature not in stranger._rendezvous.held
        assert where(peers, feature) == closest(peers, feature)

    simulate(work, seed=9, size=6)
