"""Who holds a key, as one peer remembers it."""

from __future__ import annotations

import asyncio
import logging

import pytest
from peers import guest_of, quiet, simulate

from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import PeerUnreachable
from gsg.placement.holders import ASIDE
from gsg.placement.membership_log import NAME
from gsg.placement.rules import point_of
from gsg.tuples.features import Key, key
from gsg.wire.exchange import named
from gsg.wire.holder_messages import Replicate

FEATURE: Key = (1, 0, "x")


def test_a_lookup_that_missed_a_holder_is_believed_only_until_another_one_finds_it() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        holders, overlay = peers[0]._parts.holders, peers[0]._endpoint.overlay
        before = holders.holders_of(FEATURE)
        contacts = [peer.contact for peer in peers]

        overlay.regions.learn(overlay.contact.id, [each for each in contacts if each != before[0]])
        without = holders.holders_of(FEATURE), holders.primary_now(FEATURE)
        overlay.regions.learn(overlay.contact.id, contacts)

        assert without == ((*before[1:], without[0][-1]), before[1])
        assert (holders.holders_of(FEATURE), holders.primary_now(FEATURE)) == (before, before[0])

    simulate(work, seed=1, size=6)


def test_the_next_closest_holds_a_key_in_the_place_of_one_that_is_set_aside_and_who_is_primary_stays() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        holders = peers[0]._parts.holders
        first, second, third = holders.holders_of(FEATURE)

        news = holders.set_aside(first.id, PeerUnreachable("it reads nothing"))
        instead = holders.holders_of(FEATURE)
        again = holders.set_aside(first.id, PeerUnreachable("it reads nothing"))

        assert (news, again) == (True, False)
        assert instead[:2] == (second, third)
        assert first not in instead
        assert len(instead) == 3
        assert (holders.primary_now(FEATURE), holders.holders_if_none_aside(FEATURE)) == (first, (first, second, third))
        holders.take_back(first.id)
        assert holders.holders_of(FEATURE) == (first, second, third)

    simulate(work, seed=1, size=6)


def test_who_is_set_aside_is_not_sent_again_what_it_has_still_to_read() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        rendezvous = peers[0]._parts.holders.primary_now(FEATURE)
        publisher = next(peer for peer in peers if peer.contact != rendezvous)
        assert rendezvous is not None
        await publisher.notify([("x",)])

        publisher._parts.holders.set_aside(rendezvous.id, PeerUnreachable("it reads nothing"))
        alive = list(publisher._parts.publisher._again)
        publisher._parts.holders.failed(rendezvous.id, PeerUnreachable("it is dead"))

        assert alive == []
        assert [said.events[0].items for said in publisher._parts.publisher._again] == [("x",)]

    simulate(work, seed=1, size=6)


def test_so_many_are_set_aside_at_most() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        holders = peers[0]._parts.holders
        why = PeerUnreachable("it reads nothing")

        news = [holders.set_aside(bytes([number]) * 20, why) for number in range(ASIDE + 1)]

        assert news == [True] * ASIDE + [False]
        await asyncio.sleep(0)

    simulate(work, seed=1, size=2)


def test_holders_of_many_features_are_those_of_each_and_mostly_the_same_objects() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        holders = peers[0]._parts.holders
        features: list[Key] = [(1, 0, number) for number in range(200)]
        await holders.look_up(features)

        found = holders.holders_of_each(features)

        assert found == [holders.holders_of(feature) for feature in features]
        assert [holders.holders_and_point(feature)[1] for feature in features] == [point_of(key(*feature)) for feature in features]
        assert [each[0] for each in found] == list((await holders.primaries_of(features)).values())
        # Each of a few sets of holders is one object: whoever counts them looks at each once.
        assert len(set(map(id, found))) == len(set(found)) < 30

    simulate(work, seed=1, size=5)


def test_facts_count_against_who_tells_of_them_where_one_of_their_keys_is_not_its_own() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        replication, holders = peers[0]._parts.replication, peers[0]._parts.holders
        teller = peers[1].contact.id
        facts = [(f"a{number}", f"b{number}") for number in range(60)]
        places = [(b"\x00\x01", b"\x01", b"\x00")[number % 3] for number in range(60)]
        await holders.look_up([(2, at, fact[at]) for fact in facts for at in range(2)])

        count = replication.count_strange(teller, Replicate(1, [1] * 60, facts, places, [1] * 60))

        strange = [
            not all(any(holder.id == teller for holder in holders.holders_of((2, at, fact[at]))) for at in there)
            for fact, there in zip(facts, places, strict=True)
        ]
        assert count == sum(strange)
        assert 0 < count < 60

    simulate(work, seed=1, size=5)


def told(caplog: pytest.LogCaptureFixture, level: int, words: str) -> int:
    return sum(one.levelno == level and words in one.getMessage() for one in caplog.records if one.name == NAME)


def test_a_death_and_a_return_are_a_line_each_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=NAME)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        first, *rest = (peer.contact.host for peer in peers)
        caplog.clear()
        net.partition([[first], rest])
        await asyncio.sleep(60)
        assert told(caplog, logging.WARNING, f"{named(peers[0].contact)} is gone: it does not answer; 3 peers are known, this") == 3
        net.heal()
        await asyncio.sleep(60)
        assert told(caplog, logging.WARNING, f"{named(peers[0].contact)} is back") == 3

    simulate(work, seed=1, size=4)


def test_who_takes_its_leave_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=NAME)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        async with guest_of(net, peers):
            await quiet()
            caplog.clear()
        await quiet()

        assert told(caplog, logging.WARNING, "") == 0
        assert told(caplog, logging.INFO, "; 4 peers are known, this one included") == 4

    simulate(work, seed=1, size=4)


def test_keys_that_change_hands_are_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger=NAME)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([(number, "on", "x") for number in range(50)])
        caplog.clear()
        async with guest_of(net, peers):
            await quiet()

        assert told(caplog, logging.INFO, "keys of this peer were told to newcomers, which hold them as well from now on") > 0
        assert told(caplog, logging.INFO, "keys of this peer are others' from now on") > 0

    simulate(work, seed=1, size=4)
