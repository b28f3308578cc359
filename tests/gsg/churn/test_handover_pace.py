"""Keys are handed over at the pace of the link, however much lies under one of them, and not again at once where it broke."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import pytest
from peers import PORT, guest_of, overlay, quiet, simulate

import dht.links.link
from dht.simnet import SimNet, run
from gsg import Peer, PeerUnreachable, Symbol
from gsg.churn.handover import MENDING_S, SETTLING_S, SWEEP_S, TRYING_S, Handover
from gsg.placement.holders import LOOKED_UP_AT_ONCE
from gsg.replication.copying import Copying
from gsg.tuples.features import Key
from gsg.wire.exchange import LinkBroke
from tests.gsg.known import history_of

ON = Symbol("on")
FACTS = 8_000


def test_a_key_with_more_than_a_link_takes_at_once_reaches_a_newcomer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dht.links.link, "HARD_LIMIT_BYTES", 2 * 1024 * 1024)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        await host.insert([(number, ON, "x" * 1_000) for number in range(FACTS)])

        async with guest_of(net, peers) as guest:
            await quiet()
            links = guest._endpoint.links.open_links()
            await quiet()

            assert len(guest._parts.rendezvous.held.under((3, 1, ON))) == FACTS
            assert guest._endpoint.links.open_links() == links
            assert [link.reason for link in links] == [""]

    simulate(work, seed=41, size=1)


def test_a_holder_whose_link_breaks_is_not_sent_everything_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    copied_s: list[float] = []
    copy = Copying.copy_keys

    async def breaking(self: Copying, holder: dht.Contact, keys: list[Key]) -> None:
        copied_s.append(asyncio.get_running_loop().time())
        if len(copied_s) < 4:
            raise LinkBroke("as where more was sent than a link takes")
        await copy(self, holder, keys)

    monkeypatch.setattr(Copying, "copy_keys", breaking)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        await host.insert([("x", ON, "y")])

        async with guest_of(net, peers) as guest:
            await quiet()

            assert len(guest._parts.rendezvous.held.under((3, 1, ON))) == 1
            assert len(copied_s) == 4
            assert all(later - before >= SWEEP_S for before, later in pairwise(copied_s))

    simulate(work, seed=42, size=1)


def test_a_holder_that_misses_something_while_it_is_told_everything_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dht.Contact] = []
    copy = Copying.copy_keys

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, other = peers
        await host.insert([("x", ON, "y")])

        async def missing(self: Copying, holder: dht.Contact, keys: list[Key]) -> None:
            told.append(holder)
            await copy(self, holder, keys)
            if len(told) == 1:
                host._parts.handover.holder_recovered(holder.id)

        monkeypatch.setattr(Copying, "copy_keys", missing)

        host._parts.handover.holder_recovered(other.contact.id)
        await quiet()

        assert told == [other.contact] * 2
        assert not host._parts.handover._newcomers

    simulate(work, seed=43, size=2)


def test_who_dies_while_keys_take_long_to_be_handed_over_is_looked_at_too(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[set[bytes]] = []

    async def slow(self: Handover) -> None:
        looked_at.append(set(self._died_s))
        await asyncio.sleep(2 * MENDING_S)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        await asyncio.sleep(SETTLING_S)
        monkeypatch.setattr(Handover, "_hand_over", slow)

        host._parts.handover.peer_died(b"a" * 20)
        await asyncio.sleep(1.0)
        host._parts.handover.peer_died(b"b" * 20)
        await asyncio.sleep(6 * MENDING_S)

        assert looked_at == [{b"a" * 20}, {b"a" * 20, b"b" * 20}]
        assert not host._parts.handover._again.is_set()

    simulate(work, seed=46, size=1)


def test_what_nobody_confirms_is_sent_again_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    copied_s: list[float] = []

    async def breaking(self: Copying, holder: dht.Contact, keys: list[Key]) -> None:
        copied_s.append(asyncio.get_running_loop().time())
        raise LinkBroke("as where it takes nothing")

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, other = peers
        await host.insert([("x", ON, "y")])
        await asyncio.sleep(SETTLING_S)
        monkeypatch.setattr(Copying, "copy_keys", breaking)

        host._parts.handover.holder_recovered(other.contact.id)
        await asyncio.sleep(2 * TRYING_S)

        assert TRYING_S < copied_s[-1] - copied_s[0] < TRYING_S + MENDING_S + 2 * SWEEP_S
        assert not host._parts.handover._again.is_set()

    simulate(work, seed=47, size=2)


def test_a_peer_that_is_back_does_not_count_as_dead() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, other = peers
        for returns in (host._parts.handover.peer_came, lambda contact: host._parts.handover.holder_recovered(contact.id)):
            host._parts.handover.peer_died(other.contact.id)

            returns(other.contact)

            assert not host._parts.handover._died_s

    simulate(work, seed=44, size=2)


def test_a_peer_that_lost_all_and_is_back_before_it_is_missed_is_told_all() -> None:
    async def main(net: SimNet) -> None:
        key = dht.Identity(b"k" * 32)
        async with overlay(net, 2) as peers:
            host = net.host()
            addresses = [peer.contact.address for peer in peers[:1]]

            def start() -> Peer:
                return Peer((host, PORT), addresses, identity=key, rng=net.rng(), clock=net.loop.time)

            first = await start().__aenter__()
            await asyncio.sleep(2 * SETTLING_S)
            await peers[0].insert([("x", ON, "y"), ("x", ON, "z")])
            await peers[0].retract([("x", ON, "z")])
            net.crash(host)
            await first.__aexit__(ConnectionError, None, None)
            net.restart(host)

            async with start() as again:
                await quiet()

                assert sorted(sign for sign, _, _ in history_of(again._parts.rendezvous.held, (3, 1, ON))) == [-1, 1]

    run(main, seed=45)


def test_a_look_that_fails_by_a_defect_of_ours_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    looks_s: list[float] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        hand_over = host._parts.handover._hand_over

        async def failing() -> None:
            looks_s.append(asyncio.get_running_loop().time())
            if len(looks_s) == 1:
                raise AssertionError("a defect")
            await hand_over()

        await host.insert([("x", ON, "y")])
        await asyncio.sleep(SETTLING_S)
        monkeypatch.setattr(host._parts.handover, "_hand_over", failing)

        async with guest_of(net, peers) as guest:
            await quiet()

            assert len(guest._parts.rendezvous.held.under((3, 1, ON))) == 1
            assert looks_s[1] - looks_s[0] >= SWEEP_S

    simulate(work, seed=49, size=1)


def test_keys_whose_holders_are_not_found_at_first_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: Counter[Key] = Counter()

    async def work(net: SimNet, peers: list[Peer]) -> None:
        [host] = peers
        await host.insert([(f"s{number}", ON, number) for number in range(LOOKED_UP_AT_ONCE)])
        await asyncio.sleep(SETTLING_S)
        holders = host._parts.holders
        holders_of, look_up = holders.holders_of, holders.look_up
        bad = next(iter(host._parts.rendezvous.all_keys()))
        found: set[Key] = set()

        async def failing(features: Iterable[Key]) -> None:
            [feature] = features
            tried[feature] += 1
            if feature == bad and tried[feature] < 3:
                raise PeerUnreachable("as where a lookup is ended by a defect")
            await look_up([feature])
            found.add(feature)

        monkeypatch.setattr(holders, "look_up", failing)
        monkeypatch.setattr(holders, "holders_of", lambda feature: holders_of(feature) if feature in found else ())

        async with guest_of(net, peers) as guest:
            await quiet()

            assert set(guest._parts.rendezvous.all_keys()) == set(host._parts.rendezvous.all_keys())
            assert tried[bad] == 3
            assert all(count == 1 for key, count in tried.items() if key != bad)

    simulate(work, seed=50, size=1)
