"""Facts at three holders: what was acknowledged outlives any two of them, and comes back to three."""

from __future__ import annotations

import asyncio
from math import inf
from random import Random

import pytest
from key_holders import holders, where
from peers import Reader, guest_of, quiet, simulate

import dht
import gsg.replication.changes
import gsg.replication.deaf_holders
from dht.simnet import SimNet
from gsg import Peer, Space, Symbol
from gsg.churn.heartbeats import Heartbeats
from gsg.errors import Refused
from gsg.placement.holders import REPLICAS, UNSURE_S
from gsg.rendezvous.changes import Change
from gsg.replication.changes import HOLDERS_TIMEOUT_S
from gsg.replication.deaf_holders import DEAF_S
from gsg.tuples.features import Key, key
from gsg.tuples.terms import Tuple
from gsg.wire.exchange import ANSWER_TIMEOUT_S
from gsg.wire.holder_messages import Replicate
from gsg.wire.messages import Done, Origin

ON = Symbol("on")
MENDED_S = 30.0
"""The time in which every key is to be back at three holders."""


def keys_of(facts: list[tuple[object, ...]]) -> set[Key]:
    return {(3, position, fact[position]) for fact in facts for position in range(3)}  # type: ignore[misc]  # terms


def stop_reading(net: SimNet, *peers: Peer) -> None:
    """They read nothing from any link, and go on to answer datagrams."""
    for peer in peers:
        net.stall(peer.contact.host)


def read_on(net: SimNet, *peers: Peer) -> None:
    """They read again."""
    for peer in peers:
        net.read_on(peer.contact.host)


def test_an_acknowledged_fact_is_at_the_three_closest_peers_and_nowhere_else() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = ("a", ON, "b")

        await peers[0].insert([fact])

        for feature in keys_of([fact]):
            assert where(peers, feature) == holders(peers, feature)
            assert sum(feature in peer._parts.rendezvous.held for peer in peers) == REPLICAS

    simulate(work, seed=1, size=8)


@pytest.mark.parametrize("quietly", [False, True], ids=["reset", "without a word"])
def test_two_of_three_holders_die_at_once_and_nothing_is_lost(quietly: bool) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        facts = [(f"{number}", ON, "x") for number in range(20)]
        dead = holders(peers, (3, 1, ON))[:2]
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
            assert where(alive, feature) == holders(alive, feature)

    simulate(work, seed=2, size=8)


def test_a_holder_that_was_cut_off_learns_what_was_retracted_meanwhile() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        away = holders(peers, (3, 1, ON))[1]
        rest = [peer for peer in peers if peer is not away]
        await rest[0].insert([("a", ON, "b"), ("c", ON, "d")])
        net.partition([[away.contact.host], [peer.contact.host for peer in rest]])
        await asyncio.sleep(60)

        await rest[0].retract([("a", ON, "b")])
        await rest[0].insert([("e", ON, "f")])
        net.heal()
        await asyncio.sleep(90)

        assert set(away._parts.rendezvous.held.under((3, 1, ON))) == {("c", ON, "d"), ("e", ON, "f")}
        rows = (await rest[0].subscribe("(?x, on, ?y)")).rows()
        assert {(row["x"], row["y"]) for row in rows} == {("c", "d"), ("e", "f")}

    simulate(work, seed=3, size=6)


def test_a_holder_that_reads_nothing_keeps_publishers_waiting_once() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, slow, _ = holders(peers, (3, 1, ON))
        publisher = next(peer for peer in peers if peer not in (primary, slow))
        # It is not the primary of any of the keys.
        names = [f"{number:0113000}" for number in range(40)]
        names = [name for name in names if slow not in (holders(peers, (3, place, name))[0] for place in (0, 2))][:20]
        await publisher.insert([(names[0], ON, names[0])])
        stop_reading(net, slow)

        began_s = net.loop.time()
        for name in names[1:]:
            await publisher.insert([(name, ON, name)])

        assert net.loop.time() - began_s < 2 * DEAF_S
        read_on(net, slow)
        await asyncio.sleep(MENDED_S)
        assert len(slow._parts.rendezvous.held.under((3, 1, ON))) == len(names) == 20

    simulate(work, seed=5, size=6)


@pytest.mark.parametrize("seed", range(2))
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
            (first, second, holders(peers, (2, 0, first)), holders(peers, (2, 1, second))) for first in names for second in names
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
            assert (first, second) in peer._parts.rendezvous.held.under((2, 0, first))

    simulate(work, seed=9, size=5)


def test_a_message_of_many_small_calls_is_made_in_slices_too() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        replication, calls = peers[0]._parts.replication, range(4)
        origins: list[tuple[range, Origin | None]] = [(range(each, each + 1), Origin(b"publisher", each)) for each in calls]
        facts: list[Tuple] = [("x", str(each)) for each in calls]
        change = Change(1, facts, [b"\x00"] * 4, 1, origins)

        slices = [replication.make_until(change, -inf) for _ in calls]

        assert slices == [False, False, False, True]
        assert (change.changed, change.made) == (4, 4)

    simulate(work, seed=4, size=1)


def test_an_acknowledgement_waits_for_the_last_holder_too() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, second, slow = holders(peers, (1, 0, "x"))
        stop_reading(net, slow)
        net.loop.call_later(DEAF_S / 2, read_on, net, slow)

        await primary.insert([("x",)])

        assert where(peers, (1, 0, "x")) == [primary, second, slow]
        assert not primary._parts.holders.aside

    simulate(work, seed=4, size=6)


def test_in_the_place_of_a_holder_that_reads_nothing_the_next_closest_has_all_before_it_is_acknowledged() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (1, 0, "x")
        primary, second, deaf = holders(peers, feature)
        next_closest = sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(*feature)))[REPLICAS]
        stop_reading(net, deaf)

        await primary.insert([("x",)])

        assert feature in next_closest._parts.rendezvous.held
        assert feature not in deaf._parts.rendezvous.held
        # Both that have it besides die, with what they know.
        for peer in (primary, second):
            net.crash(peer.contact.host, quietly=True)
        read_on(net, deaf)
        await asyncio.sleep(MENDED_S)
        assert feature in deaf._parts.rendezvous.held

    simulate(work, seed=4, size=6)


def test_in_the_place_of_a_holder_whose_disk_fails_the_next_closest_has_what_is_acknowledged() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (1, 0, "x")
        primary, _, full = holders(peers, feature)
        next_closest = sorted(peers, key=lambda peer: dht.distance(peer.contact.id, key(*feature)))[REPLICAS]
        with pytest.MonkeyPatch.context() as patch:

            def check() -> None:
                raise Refused("its disk failed")

            patch.setattr(full._disk, "check", check)

            await primary.insert([("x",)])

            assert feature in next_closest._parts.rendezvous.held
            assert list(primary._parts.holders.aside) == [full.contact.id]
        await asyncio.sleep(MENDED_S)
        assert where(peers, feature) == holders(peers, feature)
        assert not primary._parts.holders.aside

    simulate(work, seed=4, size=6)


def test_a_holder_that_was_set_aside_is_one_again_when_it_reads() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (1, 0, "x")
        primary, _, deaf = holders(peers, feature)
        stop_reading(net, deaf)
        await primary.insert([("x",)])

        read_on(net, deaf)
        await asyncio.sleep(MENDED_S)

        assert not primary._parts.holders.aside
        assert [peer for peer in peers if feature in peer._parts.rendezvous.held] == [
            peer for peer in peers if peer in holders(peers, feature)
        ]

    simulate(work, seed=4, size=6)


def test_a_holder_that_was_set_aside_and_dies_is_not_waited_for() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, _, deaf = holders(peers, (1, 0, "x"))
        stop_reading(net, deaf)
        await primary.insert([("x",)])

        net.crash(deaf.contact.host, quietly=True)
        await asyncio.sleep(MENDED_S)

        assert not primary._parts.holders.aside

    simulate(work, seed=4, size=6)


def test_a_holder_that_was_set_aside_and_says_nothing_for_long_is_asked_by_a_new_link(monkeypatch: pytest.MonkeyPatch) -> None:
    # In the simulated network who reads nothing goes on to ask whether others hear it.
    monkeypatch.setattr(Heartbeats, "beat", lambda heartbeats, now: None)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, _, deaf = holders(peers, (1, 0, "x"))
        await primary.insert([("x",)])
        stop_reading(net, deaf)
        await primary.retract([("x",)])
        asked = primary._parts.exchange.link_now(deaf.contact)
        assert asked is not None

        await asyncio.sleep(ANSWER_TIMEOUT_S)

        assert not asked.pending
        assert asked not in primary._parts.exchange.links_of(deaf.contact.id)
        read_on(net, deaf)
        await asyncio.sleep(MENDED_S)
        assert not primary._parts.holders.aside

    simulate(work, seed=4, size=6)


def test_a_template_without_constants_is_not_told_what_went_by_the_one_holder_that_has_not_heard() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (1, 0, "x")
        *_, late = holders(peers, feature)
        await peers[0].insert([("x",)])
        stamp = late._parts.rendezvous.held.stamp_of(feature, ("x",))
        await peers[0].retract([("x",)])
        late._parts.rendezvous.held.enter(feature, ("x",), stamp)

        subscription = await peers[1].subscribe("(?x)")

        assert not subscription.rows()

    simulate(work, seed=4, size=6)


def test_a_primary_whose_holders_all_read_nothing_does_not_take_itself_for_alone() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *deaf = holders(peers, (1, 0, "x"))
        await primary.insert([("x",)])
        stop_reading(net, *deaf)

        with pytest.raises(Refused, match=r"was not acknowledged by all holders of its keys: .* has confirmed nothing for 5 s"):
            await primary.retract([("x",)])

        read_on(net, *deaf)

    simulate(work, seed=6, size=3)


def test_a_majority_of_the_holders_there_would_be_is_waited_for() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, slow, deaf = holders(peers, (1, 0, "x"))
        await primary.insert([("x",)])
        stop_reading(net, slow, deaf)
        net.loop.call_later(2 * DEAF_S, read_on, net, slow)

        await primary.retract([("x",)])

        assert not slow._parts.rendezvous.held.under((1, 0, "x"))
        assert set(primary._parts.holders.aside) >= {deaf.contact.id}
        read_on(net, deaf)

    simulate(work, seed=6, size=3)


def test_a_publisher_hears_from_the_primary_which_holder_does_not_confirm() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        primary, *still = holders(peers, (1, 0, "x"))
        publisher = next(peer for peer in peers if peer not in (primary, *still))
        await publisher.insert([("x",)])
        stop_reading(net, *still)
        with pytest.MonkeyPatch.context() as patch:
            # As of one that confirms something now and then, and not this.
            patch.setattr(gsg.replication.deaf_holders, "DEAF_S", 2 * HOLDERS_TIMEOUT_S)

            with pytest.raises(Refused, match=r"a change of 1 fact was not acknowledged by all holders of its keys: .*confirmed"):
                await publisher.retract([("x",)])

        assert publisher._parts.exchange.link_now(primary.contact) is not None
        read_on(net, *still)

    simulate(work, seed=7, size=4)


def test_what_a_peer_is_told_that_does_not_hold_its_key_goes_to_the_holders() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        feature: Key = (1, 0, "x")
        stranger = next(peer for peer in peers if peer not in holders(peers, feature))
        teller = next(peer for peer in peers if peer is not stranger)
        await asyncio.sleep(2 * UNSURE_S)  # until nobody looks for keys that have changed hands

        await teller._parts.exchange.ask(
            stranger.contact, lambda request: Replicate(request, [1], [("x",)], [b"\0"], [teller._parts.clock.next_stamp()]), Done
        )
        await asyncio.sleep(MENDED_S)

        assert feature not in stranger._parts.rendezvous.held
        assert where(peers, feature) == holders(peers, feature)

    simulate(work, seed=9, size=6)
