"""Death notices: who tells of the dead, to how many, and what those do who knew none of them."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from key_holders import holders
from peers import others, simulate
from test_restoring import NOTICED_S, fact_of_others

import gsg.churn.death_notices
import gsg.wire.messages
from dht import ID_BITS, Contact
from dht.simnet import SimNet
from gsg import Peer
from gsg.churn.death_notices import FANOUT, GATHERING_S, Notices, lost_near

HALF = 1 << (ID_BITS - 1)


@pytest.mark.parametrize(
    ("living", "dead", "found"),
    [
        ([], {1, 2, 3}, {1, 2, 3}),
        ([], {1, 2}, set()),
        ([HALF], {HALF + 1, HALF + 2, HALF + 3}, set()),
        ([1], {HALF + 1, HALF + 2, HALF + 3}, {HALF + 1, HALF + 2, HALF + 3}),
        ([], set(), set()),
    ],
    ids=["nobody else lives", "two of three", "another is nearer", "none where they were", "nobody died"],
)
def test_those_are_told_of_that_were_all_holders_of_what_is_ours_now(living: list[int], dead: set[int], found: set[int]) -> None:
    assert lost_near(0, living, sorted(dead), Random(1)) == found


def test_points_are_drawn_near_us_where_many_live() -> None:
    living = [2**number for number in range(20, 30)]

    assert lost_near(0, living, [1, 2, 3], Random(1)) == {1, 2, 3}


def test_facts_come_back_from_peers_that_knew_none_of_the_dead() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        fact = fact_of_others(peers)
        place = (3, 0, fact[0])
        await peers[0].insert([fact])
        dying = holders(peers, place)
        living = others(peers, *dying)
        heirs = holders(living, place)
        for peer in others(living, *heirs):
            # As in a network of thousands: nobody but their neighbours hears that they died.
            peer._handover._restoring.died = unheard_of(peer, {each.contact.id for each in dying})  # type: ignore[method-assign]  # as above

        for peer in dying:
            net.crash(peer.contact.host, quietly=True)
        await asyncio.sleep(2 * NOTICED_S)

        assert [len(peer._rendezvous.held.under(place)) for peer in heirs] == [1] * 3
        for peer in dying:
            await peer.__aexit__(ConnectionError, None, None)

    simulate(work, seed=61, size=12)


def unheard_of(peer: Peer, dead: set[bytes]):  # type: ignore[no-untyped-def]  # a method of Restoring
    """What a peer finds out by itself of these does not count; what it is told of does."""
    restoring, notices = peer._handover._restoring, peer._handover.notices
    died = type(restoring).died

    def only_told(one: bytes, now: float) -> None:
        if one not in dead or one in notices._told_s:
            died(restoring, one, now)

    return only_told


def test_what_was_told_is_not_told_again_and_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.churn.death_notices, "TOLD", 2)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        notices = peers[0]._handover.notices
        dead = [bytes([number]) * 20 for number in range(3)]

        assert notices._tell(dead[:1]) == dead[:1]
        assert notices._tell(dead) == dead[1:]
        assert list(notices._told_s) == dead[1:]
        await asyncio.sleep(gsg.churn.death_notices.TOLD_S + 1)
        assert notices._tell(dead[2:]) == dead[2:]

    simulate(work, seed=3, size=2)


def test_notices_of_one_moment_go_together_and_always_to_the_same_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Contact, list[bytes]]] = []

    async def counting(self: Notices, contact: Contact, notice: gsg.wire.messages.Died) -> None:
        sent.append((contact, notice.peers))

    monkeypatch.setattr(Notices, "_send", counting)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        notices = peers[0]._handover.notices
        dead = [bytes([number]) * 20 for number in range(4)]

        notices._tell(dead[:1])
        notices._tell(dead[1:2])
        await asyncio.sleep(2 * GATHERING_S)
        notices._tell(dead[2:3])
        await asyncio.sleep(2 * GATHERING_S)

        told = [contact for contact, _ in sent[:FANOUT]]
        assert len(set(told)) == FANOUT
        assert sent == [(contact, dead[:2]) for contact in told] + [(contact, dead[2:3]) for contact in told]

        peers[0]._endpoint.overlay.report_dead(told[0].id)
        notices._tell(dead[3:])
        await asyncio.sleep(2 * GATHERING_S)

        later = [contact for contact, _ in sent[2 * FANOUT :]]
        assert later[:-1] == told[1:]
        assert later[-1] not in told

    simulate(work, seed=5, size=FANOUT + 3)


def test_who_lives_is_not_believed_to_be_dead() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        heard: list[bytes] = []
        notices = peers[0]._handover.notices
        notices._on_deaths = heard.extend
        unknown = bytes(20)

        channel = await peers[1]._exchange.channel(peers[0].contact)
        channel.send(gsg.wire.messages.Died([peers[0].contact.id, peers[2].contact.id, unknown]))
        await asyncio.sleep(1)

        assert heard == [unknown]
        # Everybody hears of it in the end, once.
        assert all(list(peer._handover.notices._told_s) == [unknown] for peer in peers)

    simulate(work, seed=4, size=5)
