"""Events while keys change hands: whoever has none of them does not stand for whoever may have, and slow ones go in slices."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from line import Line
from members import member_of
from peers import others, quiet, rendezvous, simulate, unread

import rete
from dht.simnet import SimNet, run
from gsg import Peer
from gsg.background import DEFECT
from gsg.churn.forward_events import FULL_S, HANGING_S, _share
from gsg.tuples.terms import Symbol
from gsg.wire.exchange import ANSWER_TIMEOUT_S, Answer
from gsg.wire.messages import Done, Event, Failed, Flash, Passed
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests

RANG = Symbol("rang")


def rang(publisher: bytes, request: int, *numbers: int) -> Flash:
    """Events of somebody who is not sure who holds their key."""
    return Flash(request, publisher, [Event(number, (RANG, number)) for number in numbers], [b"\0"] * len(numbers), unsure=True)


def said(*, stalled: tuple[int, ...]) -> tuple[Answer, float]:
    """What a peer that came of late answers, and after how many seconds, where nothing is posted and these of the two other holders
    read nothing."""
    said: list[tuple[Answer, float]] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = peers[-1]
        await at.insert([(RANG, "a fact, so that there are links")])
        for number in stalled:
            net.stall(others(peers, at)[number].contact.host)
        async with member_of(net) as publisher:
            asked_s = net.loop.time()
            answer = await publisher.ask(at, lambda request: rang(publisher.contact.id, request, 1))
            said.append((answer, net.loop.time() - asked_s))
        for peer in peers:
            net.read_on(peer.contact.host)

    simulate(work, seed=1, size=3)
    return said[0]


def test_events_that_one_holder_took_are_acknowledged() -> None:
    answer, _ = said(stalled=(0,))

    assert isinstance(answer, Done)


def test_events_that_no_holder_took_are_not_acknowledged() -> None:
    answer, after_s = said(stalled=(0, 1))

    assert isinstance(answer, Failed)
    assert "did not take events while keys change hands, and nobody else has them; publish them again" in answer.reason
    assert after_s < ANSWER_TIMEOUT_S, "whoever published them would take this peer for dead"


@pytest.mark.parametrize("away_s", [HANGING_S + 1, HANGING_S + 10])
def test_who_stood_still_hears_what_holders_answered_meanwhile(away_s: float) -> None:
    answers: list[Answer] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = peers[-1]
        await at.insert([(RANG, "a fact, so that there are links")])
        spreading = at._parts.dispatch._event_forwarding
        answer_at_once = spreading._answer

        async def answer(*arguments: Any) -> None:  # Any: as it has them
            net.loop.call_soon(net.loop.oversleep, away_s)
            await answer_at_once(*arguments)

        spreading._answer = answer  # type: ignore[method-assign]  # the events have just gone on
        async with member_of(net) as publisher:
            answers.append(await publisher.ask(at, lambda request: rang(publisher.contact.id, request, 1)))

    simulate(work, seed=1, size=3)
    assert isinstance(answers[0], Done)


def test_a_holder_whose_full_link_breaks_and_that_lives_is_not_taken_for_gone() -> None:
    answers: list[Answer] = []

    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = peers[-1]
        await at.insert([(RANG, "a fact, so that there are links")])
        async with member_of(net) as publisher:
            for peer in others(peers, at):
                net.stall(peer.contact.host)
                link = await at._parts.exchange.link(peer.contact)
                while not link.congested:
                    link.send(Passed(b"nobody" * 10_000, 0))
            asking = asyncio.create_task(publisher.ask(at, lambda request: rang(publisher.contact.id, request, 1)))
            await asyncio.sleep(FULL_S / 2)
            for peer in others(peers, at):
                net.cut(at.contact.host, peer.contact.host)
                net.read_on(peer.contact.host)
            answers.append(await asking)

    simulate(work, seed=1, size=3)
    assert isinstance(answers[0], Failed)
    assert "did not take events while keys change hands" in answers[0].reason


def test_events_that_waited_for_their_turn_with_a_holder_say_so() -> None:
    async def work(net: SimNet) -> None:
        make = _share(rang(b"p" * 20, 1, 1), {0: bytearray(b"\0")}, [])
        at_once = make(1)
        await asyncio.sleep(2.5)

        assert [event.late_s for event in (*at_once.events, *make(2).events)] == [0, 3]

    run(work, seed=1)


@pytest.fixture
def _one_test_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.time_slices.SLICE_S", -1.0)
    monkeypatch.setattr("gsg.churn.forward_events.SLICE_S", -1.0)


async def listen(peer: Peer, heard: list[object]) -> None:
    """Three tests that each event passes, so that one takes three slices."""
    for number in range(3):
        await peer.listen(
            rete.Template((RANG, None)),
            lambda event, note: heard.append((event.items[1], note)),
            anchor=0,
            test=TupleTest("pedro", f"paper covers(rang(X),not(X = {number + 10_000}))"),
            note=number,
        )


@pytest.mark.usefixtures("_one_test_a_slice")
def test_events_pass_in_slices_while_keys_change_hands() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = rendezvous(peers, 2, 0, RANG)
        heard: list[object] = []
        await listen(others(peers, at)[0], heard)
        link, before = Line("publisher"), at._parts.rendezvous.matched

        at._parts.dispatch.message(link, rang(link.contact.id, 1, 1, 2, 3))
        at_once = at._parts.rendezvous.matched - before
        await quiet()

        assert at_once == 0
        assert heard == [(event, note) for event in (1, 2, 3) for note in (2, 1, 0)]
        assert link.sent == [Done(1)]

    simulate(work, seed=2, size=4)


@pytest.mark.usefixtures("_one_test_a_slice")
def test_events_that_nobody_else_took_pass_in_slices_too() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = rendezvous(peers, 2, 0, RANG)
        heard: list[object] = []
        await listen(at, heard)
        before = at._parts.rendezvous.matched

        late = asyncio.create_task(
            at._parts.dispatch._event_forwarding._pass_here(rang(b"p" * 20, 1, 1, 2), net.loop.time(), [b"\0"] * 2)
        )
        for _ in range(4):
            await asyncio.sleep(0)
        meanwhile = at._parts.rendezvous.matched - before
        await late

        assert meanwhile == 1
        assert at._parts.rendezvous.matched - before == 2

    simulate(work, seed=2, size=3)


@pytest.mark.parametrize(("waited_s", "heard"), [(0.0, ["!?n=1"]), (20.0, [])], ids=["at once", "late"])
def test_events_that_pass_here_late_are_not_told_to_who_has_asked_since(waited_s: float, heard: list[str]) -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = rendezvous(peers, 2, 0, RANG)
        asked = await at.subscribe("(rang, ?n)")

        await at._parts.dispatch._event_forwarding._pass_here(rang(b"p" * 20, 1, 1), net.loop.time() - waited_s, [b"\0"])
        at._parts.dispatch._event_forwarding._flush()
        await quiet()

        assert await unread(asked) == heard

    simulate(work, seed=2, size=3)


def test_publisher_is_told_where_matching_fails_between_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A defect of ours: whoever published the events would wait, and then take this peer for dead."""
    monkeypatch.setattr("gsg.rendezvous.time_slices.SLICE_S", -1.0)

    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = rendezvous(peers, 2, 0, RANG)
        await listen(others(peers, at)[0], [])
        link = Line("publisher")
        at._parts.dispatch.message(link, rang(link.contact.id, 1, 1))

        with monkeypatch.context() as broken:
            broken.setattr(at._parts.rendezvous, "add_events", lambda messages: 1 // 0)
            await asyncio.sleep(0)
        at._parts.dispatch.message(link, rang(link.contact.id, 2, 2))
        await quiet()

        assert link.sent == [Failed(1, DEFECT), Done(2)]

    simulate(work, seed=2, size=4)
