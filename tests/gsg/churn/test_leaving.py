"""A peer that leaves in order hands over what it holds, whatever it was about."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from key_holders import holders, where
from peers import others, simulate

import dht
from dht.simnet import SimNet
from gsg import Peer, Symbol
from gsg.churn.handover import GATHERING_S, SETTLING_S, SWEEP_S
from gsg.replication.copying import SOON_S, Copying
from gsg.tuples.features import Key
from gsg.wire.exchange import LinkBroke

ON = Symbol("on")
PLACE: Key = (3, 1, ON)


async def _nothing() -> None:
    """A round of repair in which nothing is compared."""


def test_who_leaves_tells_a_slow_holder_that_the_background_was_telling(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: Counter[bytes] = Counter()
    copy = Copying.copy_keys

    async def work(net: SimNet, peers: list[Peer]) -> None:
        host, slow, other = peers
        await host.insert([(number, ON, "y") for number in range(50)])
        await asyncio.sleep(2 * SETTLING_S)
        slow._parts.rendezvous.held.drop(PLACE)
        handover = host._parts.handover
        let_go = {slow.contact.id: asyncio.Event(), other.contact.id: asyncio.Event()}

        async def sticking(self: Copying, holder: dht.Contact, keys: list[Key]) -> None:
            copied[holder.id] += 1
            await let_go[holder.id].wait()
            if holder == slow.contact and copied[holder.id] == 1:
                raise LinkBroke("as where it takes nothing")
            await copy(self, holder, keys)

        monkeypatch.setattr(Copying, "copy_keys", sticking)
        # So that a look takes turns of the loop, as with very many keys.
        monkeypatch.setattr("gsg.churn.handover.KEYS_PER_TURN", 1)
        handover.holder_recovered(slow.contact.id)
        await asyncio.sleep(SOON_S + 2 * SWEEP_S)
        let_go[slow.contact.id].set()
        await asyncio.sleep(SWEEP_S - GATHERING_S / 2)
        # The background looks again GATHERING_S from now; before, who leaves finds out that the slow one has not confirmed.
        handover.holder_recovered(other.contact.id)
        leaving = asyncio.create_task(host.__aexit__(None, None, None))
        await asyncio.sleep(GATHERING_S)
        let_go[other.contact.id].set()
        await leaving

        assert len(slow._parts.rendezvous.held.under(PLACE)) == 50

    simulate(work, seed=51, size=3)


def test_who_leaves_tells_a_holder_that_only_it_knows_to_have_missed_something() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await peers[0].insert([("x", ON, "y")])
        await asyncio.sleep(2 * SETTLING_S)
        for peer in peers:
            peer._parts.anti_entropy.compare_with_all = _nothing  # type: ignore[method-assign]  # what hand-over leaves out is to stay so
        _, behind, leaver = holders(peers, PLACE)
        behind._parts.rendezvous.held.drop(PLACE)

        leaver._parts.handover.holder_recovered(behind.contact.id)
        await asyncio.sleep(GATHERING_S / 2)
        await leaver.__aexit__(None, None, None)

        living = others(peers, leaver)
        assert where(living, PLACE) == holders(living, PLACE)

    simulate(work, seed=52, size=4)
