"""Whose a key is, from a peer that has just come to one that leaves."""

from __future__ import annotations

import asyncio

from key_holders import holders
from peers import others, simulate

from dht.simnet import SimNet
from gsg import Peer, Symbol
from gsg.placement.responsibility import SETTLING_S, Stage
from gsg.tuples.features import Key, Template
from gsg.wire.messages import InsertCondition

PLACE: Key = (3, 1, Symbol("on"))


def test_time_settles_and_news_unsettles_until_the_peer_leaves() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        ours = peers[0]._parts.responsibility
        stages = [ours.stage]
        await asyncio.sleep(SETTLING_S)
        stages.append(ours.stage)

        ours.unsettle(5.0)
        ours.unsettle(1.0)
        await asyncio.sleep(4.0)
        stages.append(ours.stage)
        await asyncio.sleep(1.0)
        stages.append(ours.stage)
        ours.leave()
        ours.unsettle(1.0)
        await asyncio.sleep(1.0)

        assert [*stages, ours.stage] == [Stage.SETTLING, Stage.SETTLED, Stage.SETTLING, Stage.SETTLED, Stage.LEAVING]

    simulate(work, seed=121, size=2)


def test_a_peer_that_begins_anew_is_new_and_settles_again() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        ours = peers[0]._parts.responsibility
        await asyncio.sleep(SETTLING_S)
        before = ours.is_new, ours.settling

        ours.begin_anew()

        assert (before, ours.is_new, ours.settling) == ((False, False), True, True)

    simulate(work, seed=122, size=1)


def test_who_leaves_holds_nothing_and_names_the_next_primary() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        await asyncio.sleep(SETTLING_S)
        primary, *rest = holders(peers, PLACE)
        ours = primary._parts.responsibility
        asked = InsertCondition(1, 1, Template((None, PLACE[2], None)), PLACE[1])
        before = ours.other_primary(PLACE), ours.is_ours(PLACE), ours.not_here(asked)

        ours.leave()
        answer = ours.not_here(asked)

        assert before == (None, True, None)
        assert ours.other_primary(PLACE) == ours.holders_of(PLACE)[0] == rest[0].contact
        assert primary.contact not in ours.holders_of(PLACE)
        assert answer is not None
        assert (answer.peer, answer.leaves) == (rest[0].contact, True)

    simulate(work, seed=123, size=5)


def test_a_condition_without_an_anchor_is_for_the_rendezvous_to_judge() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        elsewhere = next(peer for peer in others(peers, *holders(peers, PLACE)))
        template = Template((None, PLACE[2], None))

        answers = [elsewhere._parts.responsibility.not_here(InsertCondition(1, 1, template, anchor)) for anchor in (-1, 0, 3)]

        assert answers == [None, None, None]
        assert elsewhere._parts.responsibility.other_primary(PLACE) == holders(peers, PLACE)[0].contact

    simulate(work, seed=124, size=6)
