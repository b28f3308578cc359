"""Events that take long to match go on in slices: in order, whole, and others have their turn between."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Hashable
from itertools import count

import pytest
from line import Line
from peers import quiet, rendezvous, simulate
from place import compile_test, everywhere

import gsg.wire.waiting
import rete
from dht.simnet import SimNet
from gsg import Peer
from gsg.errors import Refused
from gsg.rendezvous.delivery import Delivery
from gsg.rendezvous.matching import EventBatch
from gsg.rendezvous.rendezvous import Rendezvous
from gsg.rendezvous.time_slices import TimeSlices
from gsg.tuples.terms import Symbol
from gsg.wire.exchange import PeerLink
from gsg.wire.messages import Event, Flash, Happened, InsertCondition, Message, Publish
from gsg.wire.messages import Test as TupleTest  # a name that pytest does not take for a class of tests
from gsg.wire.waiting import MESSAGE_BYTES, WaitingLines

SAY = Symbol("say")
SAID = rete.Template((SAY, None))


class Clock:
    """Each look at it takes a second."""

    def __init__(self) -> None:
        self._now_s = count()

    def __call__(self) -> float:
        return next(self._now_s)


def listening(templates: int, one: Hashable = "s", other: Hashable = "t") -> Rendezvous:
    """A rendezvous where so many ask for ``say(Text)``, the n-th for texts of more than n letters, in time that passes."""
    made = Rendezvous(compile_test, Clock())
    for number in range(templates):
        asked = InsertCondition(1, number, SAID, 0, TupleTest("longer", str(number)), events_only=True)
        made.insert_condition(one if number % 2 else other, asked)
    return made


def events_of(at: Rendezvous, *texts: str) -> EventBatch:
    events = [Event(number, (SAY, text)) for number, text in enumerate(texts, 1)]
    return EventBatch(at, b"publisher", events, [everywhere(event.items) for event in events])


def told(at: Rendezvous) -> list[tuple[str, int, list[int]]]:
    """Who is told of which event, and by which feeds, in order."""
    return [
        (str(who), event.number, feeds)
        for who, message in at.take_messages()
        if isinstance(message, Happened)
        for event, feeds in zip(message.events, message.feeds, strict=True)
    ]


def test_slices_come_to_what_one_go_comes_to() -> None:
    sliced, whole = listening(20), listening(20)

    slices = 1
    batch = events_of(sliced, "a" * 9, "b", "c" * 15)
    while not batch.forward(3):
        slices += 1
    events_of(whole, "a" * 9, "b", "c" * 15).forward(float("inf"))

    assert slices > 15
    expected = [("s", 1, [1, 3, 5, 7]), ("s", 3, [1, 3, 5, 7, 9, 11, 13])]
    expected += [("t", 1, [0, 2, 4, 6, 8]), ("t", 2, [0]), ("t", 3, [0, 2, 4, 6, 8, 10, 12, 14])]
    assert sorted(told(whole)) == expected
    assert [one for one in told(sliced) if one[0] == "t"] == expected[2:]
    assert (sliced.templates_met, sliced.matched) == (whole.templates_met, whole.matched) == (25, 5)


def test_nothing_is_told_of_an_event_before_all_of_it_is_matched() -> None:
    at = listening(20)
    batch = events_of(at, "a" * 30)

    assert not batch.forward(3)

    assert told(at) == []
    assert at.matched == 0


def test_what_takes_long_to_match_says_how_late_it_is() -> None:
    at = listening(20)
    batch = events_of(at, "a", "b" * 30)

    while not batch.forward(3):
        pass

    sent = [message for _, message in at.take_messages() if isinstance(message, Happened)]
    late_s = {event.number: event.late_s for message in sent for event in message.events}
    assert late_s[2] > late_s[1] > 1


def test_slice_that_has_no_time_makes_one_test_all_the_same() -> None:
    at = listening(5)
    batch = events_of(at, "abc")

    slices = [batch.forward(0) for _ in range(5)]

    assert slices == [False] * 4 + [True]


def test_who_leaves_between_slices_is_not_told_and_who_comes_does_not_hinder() -> None:
    at = listening(10)
    batch = events_of(at, "a" * 30)
    batch.forward(3)

    at.drop_subscriber("s")
    at.insert_condition("new", InsertCondition(1, 1, SAID, 0, TupleTest("longer", "0"), events_only=True))
    while not batch.forward(3):
        pass

    assert {who: feeds[-1] for who, _, feeds in told(at)}["t"] == 8
    assert at.conditions.feeds() == 6


@pytest.mark.parametrize("breaks", ["before the event", "between its slices"])
async def test_a_subscriber_who_is_back_between_slices_is_told_by_its_new_link(breaks: str) -> None:
    works: list[Coroutine[None, None, None]] = []
    at = listening(4, "others", "others")
    delivery = Delivery(at, works.append)
    first, second = Line("subscriber"), Line("subscriber")

    def ask(line: Line, feed: int) -> None:
        # Met before the others, as it is the last that came.
        at.insert_condition(line, InsertCondition(1, feed, SAID, 0, TupleTest("longer", "9"), events_only=True))

    ask(first, 10)
    if breaks == "before the event":
        delivery.end_link(first)
    events = events_of(at, "a" * 30)
    while not events._passed:
        assert not events.forward(0.0)
    if breaks == "between its slices":
        delivery.end_link(first)
    ask(second, 11)
    delivery.replay_events(second, [10], 11)
    while not events.forward(0.0):
        pass
    for who, message in at.take_messages():
        if who != "others":
            delivery.send(who, message)
    for work in works:
        work.close()

    assert [event.number for message in second.sent if isinstance(message, Happened) for event in message.events] == [1]
    assert (first.sent, list(delivery._broken_links._unacknowledged)) == ([], [second])


# --- whole peers ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def _one_test_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.time_slices.SLICE_S", -1.0)
    monkeypatch.setattr("gsg.local_events.SLICE_S", -1.0)


async def listeners(peer: Peer, functor: Symbol, count: int, heard: list[object]) -> None:
    """So many, each with a test of its own that holds."""
    for number in range(count):
        await peer.listen(
            rete.Template((functor, None)),
            lambda event, note: heard.append((event.items[1], note)),
            anchor=0,
            test=TupleTest("pedro", f"paper covers({functor}(X),not(X = {number + 10_000}))"),
            note=number,
        )


@pytest.mark.usefixtures("_one_test_a_slice")
def test_events_by_a_link_are_told_in_order_and_whole_and_facts_after_them() -> None:
    async def work(net: SimNet, peers: list[Peer]) -> None:
        at = rendezvous(peers, 2, 0, SAY)
        publisher = next(peer for peer in peers if peer is not at)
        subscriber = next(peer for peer in peers if peer is not at and peer is not publisher)
        heard: list[object] = []
        await listeners(subscriber, SAY, 20, heard)
        done: list[str] = []

        async def say(what: str) -> None:
            await publisher.notify([(SAY, number) for number in range(5)])
            done.append(what)

        await asyncio.gather(say("first"), say("second"))
        await quiet()

        assert heard == [(number, note) for _ in range(2) for number in range(5) for note in reversed(range(20))]
        assert sorted(done) == ["first", "second"]

    simulate(work, seed=4)


# --- links in turn -------------------------------------------------------------------------------------------------------------


class Served:
    """What happened in the end, in order."""

    def __init__(self, templates: int) -> None:
        self.order: list[str] = []
        self.frame_bytes: dict[int, int] = {}
        """With what length each was carried out, by its request."""
        self.at = listening(templates, Line("one"), Line("two"))
        self.lines = WaitingLines(self.message, lambda: 0.0)
        self.slices = TimeSlices(self.at, Delivery(self.at, lambda work: work.close()), self.lines, self.refuse)

    def message(self, link: PeerLink, message: Message) -> None:
        if self.lines.hold_back(link, message):
            return
        if isinstance(message, Flash):
            self.frame_bytes[message.request] = link.frame_bytes
            name = f"{link.contact.host} {message.request}"
            self.slices.forward(link, message, lambda: self.order.append(name))
        else:
            self.order.append(f"{link.contact.host} {type(message).__name__}")

    def refuse(self, link: PeerLink, message: Message, why: str) -> None:
        raise AssertionError(f"{message} is refused: {why}")

    def flash(self, link: PeerLink, request: int, events: int) -> None:
        made = [Event(number, (SAY, "a")) for number in range(events)]
        self.message(link, Flash(request, b"p", made, [everywhere(event.items) for event in made]))

    async def all(self) -> list[str]:
        for _ in range(1_000):
            await asyncio.sleep(0)
        return self.order


@pytest.mark.usefixtures("_one_test_a_slice")
async def test_links_have_their_slices_in_turn_and_each_its_order() -> None:
    served, flood, other = Served(5), Line("flood"), Line("other")

    served.flash(flood, 1, 20)
    served.flash(flood, 2, 1)
    served.message(flood, Publish(3, 1, [], [], 0))
    served.flash(other, 1, 1)
    order = await served.all()

    assert order == ["other 1", "flood 1", "flood 2", "flood Publish"]


async def test_of_many_short_messages_some_are_carried_out_in_a_turn_and_links_go_on_in_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gsg.rendezvous.time_slices.TURN_S", -1.0)
    monkeypatch.setattr("gsg.rendezvous.time_slices.LOOK_S", 0.0)
    served, flood, other = Served(1), Line("flood"), Line("other")

    for request in range(1, 6):
        served.flash(flood, request, 1)
    served.flash(other, 1, 1)
    at_once, read_on = list(served.order), flood.reads
    order = await served.all()

    assert (at_once, read_on, flood.reads) == (["flood 1"], False, True)
    assert order == ["flood 1", "flood 2", "flood 3", "other 1", "flood 4", "flood 5"]


@pytest.mark.usefixtures("_one_test_a_slice")
async def test_link_is_read_on_while_a_message_of_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gsg.rendezvous.time_slices.TURN_S", -1.0)
    monkeypatch.setattr("gsg.rendezvous.time_slices.LOOK_S", 0.0)
    served, flood = Served(1), Line("flood")

    served.flash(flood, 1, 1)
    served.flash(flood, 2, 20)
    reads = [flood.reads]
    for _ in range(3):
        await asyncio.sleep(0)
        reads.append(flood.reads)

    assert (reads[0], reads[-1], served.order) == (False, True, ["flood 1"])


@pytest.mark.usefixtures("_one_test_a_slice")
async def test_what_has_waited_is_carried_out_with_its_own_length() -> None:
    served, flood = Served(5), Line("flood")
    for request, frame_bytes in enumerate((100, 8_000, 0), 1):
        flood.frame_bytes = frame_bytes
        served.flash(flood, request, 20)

    flood.frame_bytes = 1
    await served.all()

    assert served.frame_bytes == {1: 100, 2: 8_000, 3: 0}


@pytest.mark.usefixtures("_one_test_a_slice")
async def test_what_a_lost_link_has_brought_is_left_to_whoever_sends_it_again() -> None:
    served, lost, other = Served(5), Line("lost"), Line("other")

    served.flash(lost, 1, 20)
    served.flash(lost, 2, 1)
    served.flash(other, 1, 2)
    served.lines.drop_link(lost)
    served.slices.drop_link(lost)

    assert await served.all() == ["other 1"]


@pytest.mark.usefixtures("_one_test_a_slice")
async def test_peer_that_stops_matches_no_more() -> None:
    served = Served(5)

    served.flash(Line("a"), 1, 20)
    served.slices.stop()

    assert await served.all() == []


@pytest.mark.usefixtures("_one_test_a_slice")
async def test_whoever_does_not_wait_for_answers_is_refused_when_too_much_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.wire.waiting, "WAITING_BYTES", 2 * (MESSAGE_BYTES + 500))
    served, flood, own = Served(5), Line("flood"), Line("own")
    flood.frame_bytes = 500

    served.flash(flood, 1, 20)
    served.flash(own, 1, 20)
    for request in (2, 3):
        served.flash(flood, request, 1)
    with pytest.raises(Refused, match="2 messages wait for what came before them, which takes long to match; wait for answers"):
        served.flash(flood, 4, 1)
    for request in range(2, 10):
        served.flash(own, request, 1)
    await served.all()
    for request in (5, 6):
        served.flash(flood, request, 1)
    order = await served.all()

    assert [name for name in order if name.startswith("flood")] == [f"flood {request}" for request in (1, 2, 3, 5, 6)]
    assert [name for name in order if name.startswith("own")] == [f"own {request}" for request in range(1, 10)]
