"""Heads that do not keep up are dismissed, and none is without a reason."""

from __future__ import annotations

import pytest
from line import Line

import dht
import rete
from gsg.background import StartTask
from gsg.rendezvous.fan_out.head_watch import LOOK_S, SLOW_S, HeadWatch
from gsg.rendezvous.fan_out.parts import MOST_DIRECT
from gsg.rendezvous.feed import Posting
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.tuples.terms import Symbol
from gsg.wire.messages import Beat, Done, InsertCondition, Moved

OWN = dht.Contact(bytes(20), "10.0.0.1", 7400)
HOT = Symbol("hot")


class Subscriber(Line):
    """A link that may be full."""

    is_full = False

    @property
    def congested(self) -> bool:
        return self.is_full

    def beats(self) -> list[int]:
        return [message.request for message in self.sent if isinstance(message, Beat)]

    def answer(self) -> None:
        self.take_answer(Done(self.beats()[-1]))


class Watched:
    """A rendezvous with one head of one part."""

    def __init__(self, start_task: StartTask = lambda work: work.close()) -> None:
        self.rendezvous = Rendezvous(lambda test: lambda items, text: True, clock=lambda: 0.0)
        self.fan_outs = self.rendezvous.fan_outs
        self.fan_outs.own = OWN
        self.links = [Subscriber(f"s{number}") for number in range(MOST_DIRECT + 1)]
        for link in self.links:
            self.post(link, 1)
        self.rendezvous.take_messages()
        self.member = next(link for link in self.links if link not in [head.subscriber for head in self.fan_out.heads])
        self.post(self.member, 2)
        self.rendezvous.conditions.remove_condition(self.member, 1)
        [self.head] = [head.subscriber for head, part in self.fan_out.heads.items() if part]
        self.watch = HeadWatch(self.fan_outs, start_task, lambda: None)

    def post(self, link: Line, number: int) -> None:
        asked = InsertCondition(0, number, rete.Template((None, HOT)), 1, events_only=True)
        self.rendezvous.insert_condition(link, asked)

    @property
    def posting(self) -> Posting:
        return next(iter(self.fan_outs.fanned))

    @property
    def fan_out(self):  # type: ignore[no-untyped-def]  # as FanOuts has it
        return self.fan_outs.fanned[self.posting]

    def look(self, *at_s: float) -> None:
        for now_s in at_s:
            self.watch.look(now_s)

    def moved(self) -> list[object]:
        return [to for to, message in self.rendezvous.take_messages() if isinstance(message, Moved)]


@pytest.fixture
async def watched() -> Watched:
    return Watched()


async def test_a_head_that_answers_is_asked_again_and_stays(watched: Watched) -> None:
    for round in range(10):
        watched.look(round * LOOK_S)
        watched.head.answer()

    assert len(watched.head.beats()) == 10
    assert watched.fan_outs.dismissed == 0


async def test_a_head_that_owes_an_answer_is_dismissed_and_its_part_goes_elsewhere(watched: Watched) -> None:
    watched.look(0, LOOK_S)
    assert watched.fan_outs.dismissed == 0

    watched.look(SLOW_S)

    assert watched.fan_outs.dismissed == 1
    assert watched.moved() == [watched.member]
    assert len(watched.head.beats()) == 1


async def test_a_head_whose_link_takes_no_more_is_dismissed(watched: Watched) -> None:
    watched.head.is_full = True
    watched.look(0)
    watched.head.answer()

    watched.look(SLOW_S)

    assert watched.fan_outs.dismissed == 1


async def test_a_link_that_was_full_in_between_is_not_slow(watched: Watched) -> None:
    for now_s, is_full in ((0, True), (SLOW_S / 2, False), (SLOW_S, True), (1.5 * SLOW_S, True)):
        watched.head.is_full = is_full
        watched.look(now_s)
        watched.head.answer()

    assert watched.fan_outs.dismissed == 0


async def test_when_this_peer_was_stopped_nobody_is_dismissed_at_once(watched: Watched) -> None:
    watched.look(0)

    watched.watch.look(100, was_stopped=True)
    assert watched.fan_outs.dismissed == 0
    watched.look(100 + LOOK_S)

    assert watched.fan_outs.dismissed == 1


async def test_what_is_dismissed_is_remembered_no_more(watched: Watched) -> None:
    watched.head.is_full = True
    watched.look(0, SLOW_S, SLOW_S + LOOK_S)

    assert (watched.watch._owed, watched.watch._full_s) == ({}, {})


async def test_a_template_that_is_fanned_out_no_more_is_not_looked_at(watched: Watched) -> None:
    watched.look(0)
    for link in watched.links:
        watched.rendezvous.conditions.remove_subscriber(link)

    watched.look(SLOW_S)

    assert not watched.fan_outs.fanned
    assert watched.fan_outs.dismissed == 0


async def test_heads_that_have_nobody_are_not_asked(watched: Watched) -> None:
    watched.look(0)

    assert [link for link in watched.links if link.beats()] == [watched.head]
