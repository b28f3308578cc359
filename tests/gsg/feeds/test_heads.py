"""What a head does for those who are sent to it: whom it feeds, and when it answers how far a publisher has come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine

import pytest
from line import Line, NoEvents

import gsg.feeds.by_heads.heads
import rete
from gsg.errors import Refused
from gsg.feeds.alpha_memory import AlphaMemory, Source
from gsg.feeds.by_heads.heads import HEARD_OUT_EACH, Heads
from gsg.feeds.by_heads.part_feeds import PartSource
from gsg.feeds.feed import FeedState
from gsg.feeds.ordered_delivery import OrderedDelivery
from gsg.feeds.resync import Resync
from gsg.placement.rules import NOWHERE
from gsg.rendezvous.delivery import Delivery
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.tuples.features import Template, alpha_of
from gsg.tuples.terms import Symbol, Tuple
from gsg.wire.messages import (
    AskPassed,
    Deltas,
    Done,
    Event,
    Failed,
    Happened,
    InsertCondition,
    Lead,
    Message,
    Missed,
    Origin,
    Passed,
    Snapshot,
)

P = b"publisher"
X = Symbol("x")
FEED = 7


def template(name: str = "x") -> Template:
    return rete.Template((Symbol(name), None))


class Head:
    """A peer that one rendezvous feeds, and what it passes on."""

    def __init__(self) -> None:
        self.of = Line("rendezvous")
        self.sources: dict[int, Source] = {}
        self.rendezvous = Rendezvous(lambda test: lambda items, text: True, clock=lambda: 0.0)
        self.delivery = Delivery(self.rendezvous, self.begin)
        self.order = OrderedDelivery(lambda peer: [], lambda peer: [], NoEvents())
        resync = Resync(self.order, self.begin, lambda source: None)
        self.heads = Heads(
            lambda link, number: self.sources.get(number), self.order, resync, self.rendezvous, self.delivery, self.begin
        )
        self.works: list[asyncio.Future[None]] = []
        """What is begun for a member."""
        self.workers: list[asyncio.Future[None]] = []
        """What goes on beside that."""

    def begin(self, work: Coroutine[None, None, None]) -> None:
        begun = self.workers if work.__qualname__.startswith("Worker.") else self.works
        begun.append(asyncio.ensure_future(work))

    def is_fed(self, *facts: Tuple, number: int = FEED, name: str = "x") -> Source:
        """A feed of facts, whole, that came to message 0."""
        source = Source(AlphaMemory(alpha_of(template(name)), number, 0.0, anchor=0), number, self.of)
        source.feed.take_part(Snapshot(number, list(facts), True, True, 0))
        self.sources[number] = source
        return source

    def lead(self, number: int = FEED) -> None:
        self.heads.lead(self.of, Lead(number, True, 0))

    def ask(self, member: Line, number: int = 1, *, name: str = "x", events_only: bool = False, came_to: int = -1) -> None:
        """A member that the rendezvous has sent here asks to be fed."""
        asked = InsertCondition(
            number, number, template(name), 0, events_only=events_only, of=self.of.contact.id, came_to=came_to, sequence=0
        )
        self.heads.pass_on_to(member, asked)

    async def hear_out(self) -> None:
        """The rendezvous says that all it has sent has come, to whoever asks, until all that was begun is done."""
        answered = 0
        while not all(work.done() for work in self.works):
            await asyncio.sleep(0)
            for question in self.of.sent[answered:]:
                if isinstance(question, AskPassed) and question.of is None:
                    self.order.note_passed(self.of, Passed(question.publisher, 0))
            answered = len(self.of.sent)
        self.delivery.flush()

    async def feed(self, member: Line, number: int = 1, *, events_only: bool = False) -> None:
        self.ask(member, number, events_only=events_only)
        await self.hear_out()

    def receive(self, message: Message) -> None:
        self.heads.receive(self.of, message)
        self.delivery.flush()

    def deltas(self, number: int, *, sequence: int, said: int) -> None:
        """A fact comes by the feed, the publisher's message ``said``."""
        self.receive(Deltas(FEED, sequence, [(X, number)], [1], Origin(P, said)))

    def asked(self) -> list[tuple[bytes, int]]:
        """What the rendezvous was asked on behalf of members."""
        return [(one.publisher, one.number) for one in self.of.sent if isinstance(one, AskPassed) and one.of is not None]

    def passed(self, number: int, publisher: bytes = P) -> None:
        self.receive(Passed(publisher, number, self.of.contact.id))


def said(member: Line) -> list[str]:
    return [type(message).__name__ for message in member.sent]


def answers(member: Line) -> list[int]:
    return [message.number for message in member.sent if isinstance(message, Passed)]


@pytest.fixture
async def head() -> AsyncIterator[Head]:
    made = Head()
    made.is_fed((X, 1))
    made.lead()
    yield made
    for work in (*made.works, *made.workers):
        work.cancel()
    made.order.stop()


async def test_a_member_gets_the_facts_and_then_what_comes(head: Head) -> None:
    await head.feed(member := Line("member"))

    head.deltas(2, sequence=0, said=1)

    assert said(member) == ["Done", "Snapshot", "Deltas"]
    assert [message.facts for message in member.sent if isinstance(message, Snapshot | Deltas)] == [[(X, 1)], [(X, 2)]]


async def test_those_who_wait_to_be_fed_count_among_a_part(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.by_heads.heads, "MAX_PART", 2)
    head.ask(Line("a"))
    head.ask(Line("b"))

    with pytest.raises(Refused, match="not passed on here"):
        head.ask(Line("c"))


async def test_those_who_wait_to_be_fed_are_counted_for_each_subscriber(head: Head) -> None:
    head.ask(member := Line("member"), 1)
    head.ask(member, 2)
    assert head.heads.waiting(member) == 2

    await head.hear_out()

    assert head.heads.waiting(member) == 0
    assert head.heads.feeds() == 2


async def test_more_feeds_than_may_be_are_not_passed_on(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.by_heads.heads, "MAX_LED", 1)
    head.is_fed(number=8, name="y")
    head.lead(8)

    with pytest.raises(Refused):
        head.ask(Line("member"), name="y")


async def test_who_changes_its_mind_while_it_waits_is_not_fed(head: Head) -> None:
    head.ask(member := Line("member"))

    head.heads.remove_condition(member, 1)
    await head.hear_out()

    assert head.heads.feeds() == 0
    assert member.sent == []


async def test_whose_link_breaks_while_it_waits_is_not_fed(head: Head) -> None:
    head.ask(member := Line("member"))

    head.heads.drop_subscriber(member)
    await head.hear_out()

    assert head.heads.feeds() == 0


async def test_one_number_is_asked_for_once(head: Head) -> None:
    head.ask(member := Line("member"))

    with pytest.raises(Refused, match="feed 1 is asked for already"):
        head.ask(member)


async def test_what_ends_while_somebody_waits_for_it_is_refused(head: Head) -> None:
    head.ask(member := Line("member"))

    head.heads.lead(head.of, Lead(FEED, False, 0))
    await head.hear_out()

    [answer] = member.sent
    assert isinstance(answer, Failed)
    assert answer.reason == "this condition is passed on no more"


async def test_what_ends_does_so_for_all_who_are_fed(head: Head) -> None:
    await head.feed(member := Line("member"))

    head.heads.end_feed(head.of, FEED)
    head.deltas(2, sequence=0, said=1)

    assert head.heads.feeds() == 0
    assert said(member) == ["Done", "Snapshot"]


async def test_what_comes_by_a_head_is_not_passed_on_by_another(head: Head) -> None:
    memory = AlphaMemory(alpha_of(template("y")), 8, 0.0, anchor=0)
    head.sources[8] = PartSource(memory, 8, head.of, Line("another"), 0)
    head.lead(8)

    with pytest.raises(Refused):
        head.ask(Line("member"), name="y", events_only=True)


async def test_what_every_peer_feeds_is_not_passed_on(head: Head) -> None:
    head.is_fed(number=8, name="y").memory.anchor = NOWHERE
    head.lead(8)

    with pytest.raises(Refused):
        head.ask(Line("member"), name="y")


async def test_the_end_of_a_snapshot_alone_is_no_snapshot(head: Head) -> None:
    head.is_fed(number=8, name="y").feed.state = FeedState.LOADING
    head.lead(8)

    head.receive(Snapshot(8, [(Symbol("y"), 1)], False, True, 5))

    with pytest.raises(Refused):
        head.ask(Line("member"), name="y")
    head.receive(Snapshot(8, [(Symbol("y"), 1)], True, True, 5))
    head.ask(Line("member"), name="y")


@pytest.mark.parametrize(("missed", "told"), [(3, [3]), (0, []), (-3, [])])
async def test_members_are_told_what_was_missed(head: Head, missed: int, told: list[int]) -> None:
    await head.feed(member := Line("member"), events_only=True)

    head.receive(Missed(FEED, missed))

    assert [message.events for message in member.sent if isinstance(message, Missed)] == told


async def test_who_comes_in_the_middle_is_told_the_events_since_its_position(head: Head) -> None:
    for number in range(3):
        head.receive(Happened(P, [Event(number + 1, (X, number))], [[FEED]], [], number))

    head.ask(member := Line("member"), came_to=0)
    await head.hear_out()

    assert [message.position for message in member.sent if isinstance(message, Happened)] == [1, 2]


async def test_events_are_forgotten_when_nobody_asks_for_them_any_more(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.by_heads.heads, "BACK_S", 0)
    head.receive(Happened(P, [Event(1, (X, 1))], [[FEED]], [], 0))
    head.rendezvous.clock = lambda: 1_000.0

    await asyncio.gather(*head.workers)

    assert head.heads._room.taken_bytes == 0


# --- how far publishers have come ----------------------------------------------------------------------------------------------


async def test_a_member_is_answered_when_the_number_has_come_by(head: Head) -> None:
    await head.feed(member := Line("member"))
    head.heads.ask_passed(member, AskPassed(P, 2, head.of.contact.id))
    head.deltas(2, sequence=0, said=1)
    assert answers(member) == []

    head.deltas(3, sequence=1, said=2)

    assert said(member) == ["Done", "Snapshot", "Deltas", "Deltas", "Passed"]
    assert answers(member) == [2]


async def test_an_answer_comes_after_what_is_kept_for_a_slow_member(head: Head) -> None:
    await head.feed(member := Line("member"))
    head.rendezvous.hold_subscriber(member)
    head.heads.ask_passed(member, AskPassed(P, 1, head.of.contact.id))
    head.deltas(2, sequence=0, said=1)
    assert said(member) == ["Done", "Snapshot"]

    head.rendezvous.unhold_subscriber(member)
    head.delivery.flush()

    assert said(member) == ["Done", "Snapshot", "Deltas", "Passed"]


async def test_who_is_not_fed_here_is_not_answered(head: Head) -> None:
    head.heads.ask_passed(stranger := Line("stranger"), AskPassed(P, 5, head.of.contact.id))
    head.heads.ask_passed(stranger, AskPassed(b"nobody", 0, head.of.contact.id))

    head.passed(9)
    await head.hear_out()

    assert (stranger.sent, head.asked()) == ([], [])


async def test_the_rendezvous_is_asked_for_the_first_number_that_a_member_waits_for(head: Head) -> None:
    patient, hasty = Line("patient"), Line("hasty")
    for member in (patient, hasty):
        await head.feed(member)

    head.heads.ask_passed(patient, AskPassed(P, 1_000_000, head.of.contact.id))
    head.heads.ask_passed(hasty, AskPassed(P, 10, head.of.contact.id))
    assert head.asked() == [(P, 1_000_000), (P, 10)]
    head.passed(10)

    assert (answers(hasty), answers(patient)) == ([10], [])
    assert head.asked()[-1] == (P, 1_000_000)


async def test_an_answer_that_says_less_ends_the_waiting(head: Head) -> None:
    await head.feed(member := Line("member"))
    head.heads.ask_passed(member, AskPassed(P, 10, head.of.contact.id))

    head.passed(3)

    assert answers(member) == [10]


async def test_what_this_peer_asks_for_itself_is_no_answer_for_members(head: Head) -> None:
    await head.feed(member := Line("member"))
    head.heads.ask_passed(member, AskPassed(P, 10, head.of.contact.id))

    head.receive(Passed(P, 10))
    head.receive(Passed(P, 10, b"another rendezvous.."))

    assert answers(member) == []


async def test_one_member_does_not_use_up_what_may_be_asked(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.by_heads.heads, "ASKED_EACH", 2)
    greedy, modest = Line("greedy"), Line("modest")
    for member in (greedy, modest):
        await head.feed(member)

    for number in range(5):
        head.heads.ask_passed(greedy, AskPassed(b"%d" % number, 1, head.of.contact.id))
    head.heads.ask_passed(modest, AskPassed(P, 1, head.of.contact.id))

    assert head.asked() == [(b"0", 1), (b"1", 1), (P, 1)]


async def test_a_member_that_goes_leaves_its_questions(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.by_heads.heads, "ASKED", 1)
    gone, left = Line("gone"), Line("left")
    for member in (gone, left):
        await head.feed(member)
    head.heads.ask_passed(gone, AskPassed(b"other", 1, head.of.contact.id))

    head.heads.drop_subscriber(gone)
    head.heads.ask_passed(left, AskPassed(P, 1, head.of.contact.id))

    assert head.asked() == [(b"other", 1), (P, 1)]


async def test_so_many_questions_of_a_member_wait_until_the_rendezvous_is_heard_out(head: Head) -> None:
    await head.feed(member := Line("member"))
    head.works.clear()

    for number in range(HEARD_OUT_EACH + 1):
        head.heads.ask_passed(member, AskPassed(b"%08d" % number, 0, head.of.contact.id))
    await head.hear_out()

    assert len(answers(member)) == HEARD_OUT_EACH
    head.heads.ask_passed(member, AskPassed(b"00000000", 0, head.of.contact.id))
    await head.hear_out()
    assert len(answers(member)) == HEARD_OUT_EACH + 1


async def test_questions_that_are_heard_out_push_out_no_publisher(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.progress.PUBLISHERS", 1)
    await head.feed(member := Line("member"))
    head.deltas(2, sequence=0, said=5)

    head.receive(Passed(b"00000001", 0))
    head.heads.ask_passed(member, AskPassed(P, 5, head.of.contact.id))
    head.delivery.flush()

    assert isinstance(member.sent[0], Done)
    assert answers(member) == [5]
