"""AntiEntropy goes on whatever one holder answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from math import inf

import pytest
from peers import others, quiet, simulate

import dht
import gsg.replication.anti_entropy
import gsg.storage.tombstones
from dht.simnet import SimNet
from gsg import Peer, PeerUnreachable, Symbol
from gsg.placement.holders import Holders
from gsg.replication.anti_entropy import COMPARE_S, PATIENCE, AntiEntropy
from gsg.replication.digests import RANGES
from gsg.tuples.features import Key
from gsg.tuples.terms import Tuple
from gsg.wire.holder_messages import AskKeys, AskRanges, Differ
from tests.gsg.known import history_of

ON = Symbol("on")
PLACE: Key = (3, 1, ON)
OFTEN_S = COMPARE_S / 2


async def _nothing() -> None:
    """A round in which nothing is compared."""


def lie(repair: AntiEntropy) -> None:
    """Say from now on that nothing is the same here, by numbers that there are not, and of some several times."""

    def all_ranges(_: object, asked: AskRanges) -> Differ:
        return Differ(asked.request, list(range(RANGES)))

    def no_such_keys(asked: AskKeys) -> Differ:
        return Differ(asked.request, [-99, 0, 0, 0, 5_000])

    repair.compare_with_all = _nothing  # type: ignore[method-assign]  # it compares nothing itself
    repair.ranges_differ = all_ranges  # type: ignore[method-assign]  # as said above
    repair.keys_differ = no_such_keys  # type: ignore[method-assign]  # as said above


def lose(peer: Peer, key: Key, fact: Tuple) -> None:
    """As if it had never heard of a fact under one of its keys."""
    held = peer._parts.rendezvous.held
    del held._facts[key][fact]
    assert held.changed is not None
    held.changed[key] = None


def test_what_two_holders_lack_of_one_message_is_mended_also_where_it_is_as_much_at_both() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        facts: list[Tuple] = [("a", ON, "b"), ("c", ON, "d")]
        await peers[0].insert(facts)
        await asyncio.sleep(5 * COMPARE_S)
        for peer, fact in zip(peers, [*facts, facts[0]], strict=True):
            lose(peer, (3, 1, ON), fact)

        await asyncio.sleep(4 * COMPARE_S)

        assert [len(peer._parts.rendezvous.held.under((3, 1, ON))) for peer in peers] == [2] * 3

    simulate(work, seed=72, size=3)


def test_keys_are_compared_though_it_was_not_known_any_more_who_holds_them() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact: Tuple = ("a", ON, "b")
        await peers[0].insert([fact])
        await asyncio.sleep(5 * COMPARE_S)
        for peer in peers:
            peer._endpoint.overlay.regions.clear()
        lose(peers[0], PLACE, fact)

        for peer in peers * 3:
            await peer._parts.anti_entropy.compare_with_all()

        assert [len(peer._parts.rendezvous.held.under(PLACE)) for peer in peers] == [1] * 3

    simulate(work, seed=78, size=3)


def lose_tombstone(peer: Peer, key: Key, fact: Tuple) -> None:
    """As if it had never heard that a fact went."""
    held = peer._parts.rendezvous.held
    held.buried.unbury(key, fact)
    assert held.changed is not None
    held.changed[key] = None


def tombstones(peers: list[Peer], key: Key, fact: Tuple) -> list[bool]:
    """Who remembers that a fact went."""
    return [(-1, fact) in {(sign, each) for sign, each, _ in history_of(peer._parts.rendezvous.held, key)} for peer in peers]


def test_a_key_whose_holders_are_never_found_keeps_no_other_from_being_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    look_up = Holders.look_up

    async def failing(self: Holders, features: Iterable[Key]) -> None:
        wanted = list(features)
        if PLACE in wanted:
            raise PeerUnreachable("as where a lookup is ended by a defect")
        await look_up(self, wanted)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact: Tuple = ("a", ON, "b")
        await peers[0].insert([("z", ON, "z"), fact])
        await asyncio.sleep(5 * COMPARE_S)
        monkeypatch.setattr(Holders, "look_up", failing)
        for peer in peers:
            peer._endpoint.overlay.regions.clear()
            peer._parts.rendezvous.held.changed = {PLACE: None, (3, 2, "b"): None}
        lose(peers[0], (3, 2, "b"), fact)

        for peer in peers * 3:
            await peer._parts.anti_entropy.compare_with_all()

        assert [len(peer._parts.rendezvous.held.under((3, 2, "b"))) for peer in peers] == [1] * 3

    simulate(work, seed=80, size=3)


def test_a_holder_that_has_not_heard_that_a_fact_went_is_told() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = ("a", ON, "b")
        await peers[0].insert([fact])
        await peers[0].retract([fact])
        await asyncio.sleep(5 * COMPARE_S)
        lose_tombstone(peers[2], PLACE, fact)

        await asyncio.sleep(4 * COMPARE_S)

        assert tombstones(peers, PLACE, fact) == [True] * 3

    simulate(work, seed=76, size=3)


def test_who_has_forgotten_what_went_is_not_told_again_and_of_what_went_later_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.storage.tombstones, "PERIOD_S", int(2 * COMPARE_S))

    async def work(net: SimNet, peers: list[Peer]) -> None:
        old, new, there = ("a", ON, "b"), ("c", ON, "d"), ("e", ON, "f")
        await peers[0].insert([old, new, there])
        await peers[0].retract([old])
        await asyncio.sleep(5 * COMPARE_S)
        mended = [peer._parts.anti_entropy.mended for peer in peers]
        peers[2]._parts.rendezvous.held.buried.forget_before(inf)

        await asyncio.sleep(5 * COMPARE_S)

        assert tombstones(peers, PLACE, old) == [True, True, False]
        assert [peer._parts.anti_entropy.mended for peer in peers] == mended

        await peers[0].retract([new])
        await asyncio.sleep(5 * COMPARE_S)
        lose_tombstone(peers[0], PLACE, new)
        lose(peers[1], PLACE, there)
        await asyncio.sleep(4 * COMPARE_S)

        assert tombstones(peers, PLACE, new) == [True] * 3
        assert [there in peer._parts.rendezvous.held.under(PLACE) for peer in peers] == [True] * 3

    simulate(work, seed=77, size=3)


async def insert_often(peer: Peer, seconds: float) -> None:
    """Let a key never stand still from one round to the next."""
    for number in range(int(seconds / OFTEN_S)):
        await asyncio.sleep(OFTEN_S)
        await peer.insert([(f"new {number}", ON, "b")])


@pytest.mark.parametrize("ahead_s", [0, 7_200], ids=["by the clock", "ahead of it"])
def test_a_key_that_never_stands_still_is_mended_too_also_where_stamps_run_ahead(ahead_s: int) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = ("a", ON, "b")
        for peer in peers:
            peer._parts.clock.latest = peer._parts.clock.now_us() + ahead_s * 1_000_000
        await peers[0].insert([fact])
        await asyncio.sleep(5 * COMPARE_S)
        lose(peers[2], (3, 1, ON), fact)

        await insert_often(peers[1], (PATIENCE + 2) * COMPARE_S)

        assert fact in peers[2]._parts.rendezvous.held.under((3, 1, ON))

    simulate(work, seed=73, size=3)


def test_what_changes_all_the_time_and_is_the_same_is_not_sent_again() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await asyncio.sleep(5 * COMPARE_S)
        mended = [peer._parts.anti_entropy.mended for peer in peers]

        await insert_often(peers[1], 5 * PATIENCE * COMPARE_S)

        assert [peer._parts.anti_entropy.mended for peer in peers] == mended

    simulate(work, seed=74, size=3)


def test_the_more_lies_under_such_a_key_the_less_often_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.replication.anti_entropy, "FACTS_PER_ROUND", 10)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        honest, liar = peers
        await honest.insert([(f"s{number}", ON, "b") for number in range(300)])
        await insert_often(honest, 5 * COMPARE_S)
        lie(liar._parts.anti_entropy)
        sent: list[Key] = []
        copy = honest._parts.handover._copying.copy_keys

        async def counting(holder: dht.Contact, keys: list[Key]) -> None:
            sent.extend(keys)
            await copy(holder, keys)

        def that_key(asked: AskKeys) -> Differ:
            return Differ(asked.request, [asked.keys.index(PLACE)] if PLACE in asked.keys else [])

        honest._parts.handover._copying.copy_keys = counting  # type: ignore[method-assign]  # to see what is sent
        liar._parts.anti_entropy.keys_differ = that_key  # type: ignore[method-assign]  # nothing else is said to differ

        await insert_often(honest, 20 * COMPARE_S)

        assert sent == [PLACE]

    simulate(work, seed=75, size=2)


def test_where_everything_changes_all_the_time_some_keys_are_compared_in_each_round_and_all_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gsg.replication.anti_entropy, "KEYS_PER_ROUND", 200)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        honest, liar = peers
        old: list[Tuple] = [(f"old {number}", ON) for number in range(1_000)]
        await honest.insert(old)
        await asyncio.sleep(5 * COMPARE_S)
        lie(liar._parts.anti_entropy)
        compared: list[list[Key]] = []
        compare = honest._parts.anti_entropy._compare

        async def counting(contact: dht.Contact) -> None:
            compared.append([])
            await compare(contact)

        def the_same(asked: AskKeys) -> Differ:
            compared[-1].extend(asked.keys)
            return Differ(asked.request, [])

        honest._parts.anti_entropy._compare = counting  # type: ignore[method-assign]  # to see where a round begins
        liar._parts.anti_entropy.keys_differ = the_same  # type: ignore[method-assign]  # to see what is compared
        # Enough that each of 256 ranges has some.
        restless: list[Tuple] = [(f"restless {number}", ON) for number in range(2_000)]
        for _ in range(15):
            await honest.insert(restless)
            await asyncio.sleep(COMPARE_S)
            await honest.retract(restless)
            await asyncio.sleep(COMPARE_S)
        rounds, found = compared[2:], {key for keys in compared[2:] for key in keys}

        assert all(len(keys) < 1_000 for keys in rounds)
        assert sum((2, 0, fact[0]) in found for fact in old) > 900

        await asyncio.sleep(2 * COMPARE_S)
        assert len(compared[-1]) > 3_000, "where all stands still all is compared at once"

    simulate(work, seed=78, size=2)


def test_a_holder_that_names_keys_that_were_not_asked_for_keeps_no_other_from_being_mended() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("a", ON, "b")])
        await asyncio.sleep(5 * COMPARE_S)
        honest = peers[0]
        first, last = list(honest._parts.anti_entropy._digests.contacts)
        liar, poor = sorted(others(peers, honest), key=lambda peer: [first, last].index(peer.contact.id))
        lie(liar._parts.anti_entropy)
        place = (3, 1, ON)
        poor._parts.anti_entropy.compare_with_all = poor._parts.anti_entropy._look  # type: ignore[method-assign,assignment]  # it is mended by others alone
        poor._parts.rendezvous.held._facts.pop(place)
        assert poor._parts.rendezvous.held.changed is not None
        poor._parts.rendezvous.held.changed[place] = None
        mended = honest._parts.anti_entropy.mended

        await asyncio.sleep(4 * COMPARE_S)
        await quiet()

        assert poor._parts.rendezvous.held.under(place)
        assert honest._parts.anti_entropy.mended - mended <= 5 + 1  # one key for the liar in each round, one for whoever lacked it

    simulate(work, seed=71, size=3)
