"""The topics of one peer: what comes from others, honest or not, and one timer for all overlays."""

from __future__ import annotations

from random import Random

import pytest
from contacts import contact

from dht import Contact
from gsg.errors import LocalError, PeerMisbehaved
from gsg.topics import topics as module
from gsg.topics.checks import MAX_NUMBER, check
from gsg.topics.diffusion import diffusion
from gsg.topics.diffusion.diffusion import MARKS_A_FRAME, MAX_AGE_MS
from gsg.topics.names import MAX_NAME
from gsg.topics.overlay import ALONE_S
from gsg.topics.topics import BASE_PROBE_S, LIFE_S, MAX_ADVERTS, MAX_ENTRIES, Topics
from gsg.tuples.sizes import MAX_TUPLE_BYTES
from gsg.wire.messages import encode
from gsg.wire.topic_messages import (
    BASE,
    Advert,
    AskNeighbour,
    DropNeighbour,
    Graft,
    Known,
    Mark,
    Marks,
    Payload,
    Probe,
    ProbeBack,
    Prune,
    RefuseNeighbour,
    Round,
    RoundBack,
    Shuffle,
    TakeNeighbour,
    TopicMessage,
    Walk,
    WalkEnd,
)

OWN, A, B = contact(0), contact(1), contact(2)
S = b"s" * 26


class Peer:
    """One peer's topics, what it sent, was woken for, and told."""

    def __init__(self) -> None:
        self.sent: list[tuple[Contact, TopicMessage]] = []
        self.wakes: list[float] = []
        self.told: list[tuple[bytes, int]] = []
        self.gaps: list[int] = []
        self.joins = self.alone = 0
        self.topics = Topics(OWN, Random(1), self.send, self.wakes.append, 0.0)

    def send(self, to: Contact, message: TopicMessage) -> bool:
        self.sent.append((to, message))
        return True

    def gets(self, message: TopicMessage, *, at_s: float = 0.0, sender: Contact = A) -> None:
        self.topics.received(sender, message, at_s)

    def joins_alone(self, topic: str = "t") -> None:
        self._join(topic)
        self.topics.joined[topic].join_alone()

    def joins_by(self, member: Contact, topic: str = "t") -> None:
        self._join(topic)
        self.topics.joined[topic].join([member], 0.0)

    def _join(self, topic: str) -> None:
        self.topics.join(
            topic,
            tell=lambda payload: self.told.append((payload.source, payload.number)),
            tell_gap=lambda _, count: self.gaps.append(count),
            on_joined=self.count_join,
            on_alone=self.count_alone,
        )

    def count_alone(self) -> None:
        self.alone += 1

    def count_join(self) -> None:
        self.joins += 1

    def publishes(self, at_s: float = 0.0) -> Payload:
        payload = self.topics.make_payload("t", b"x", at_s)
        self.topics.publish(payload, at_s)
        return payload

    def runs(self, until_s: float) -> None:
        for due_s in range(1, int(until_s * 10) + 1):
            self.topics.advance(due_s / 10)

    def said(self, kind: type[TopicMessage]) -> list[TopicMessage]:
        return [message for _, message in self.sent if isinstance(message, kind)]


# --- what cannot be --------------------------------------------------------

BREACHES = {
    "event 0": Payload("t", S, 0, b""),
    "negative event": Payload("t", S, -1, b""),
    "event too long": Payload("t", S, 1, bytes(MAX_TUPLE_BYTES + 1)),
    "source without a life": Payload("t", bytes(20), 1, b""),
    "source too long": Payload("t", bytes(41), 1, b""),
    "source of a graft": Graft("t", b"", 1, 1),
    "graft backwards": Graft("t", S, 2, 1),
    "graft from 0": Graft("t", S, 0, 1),
    "mark backwards": Marks("t", [Mark(S, 7, 5)]),
    "mark from 0": Marks("t", [Mark(S, 0, 5)]),
    "event beyond all numbers": Payload("t", S, MAX_NUMBER + 1, b""),
    "mark beyond all numbers": TakeNeighbour("t", [Mark(S, 1, MAX_NUMBER + 1)]),
    "graft beyond all numbers": Graft("t", S, 1, MAX_NUMBER + 1),
    "event of the future": Payload("t", S, 1, b"", -1),
    "event older than anything": Payload("t", S, 1, b"", MAX_AGE_MS + 1),
    "too many marks": Marks("t", [Mark(S, 1, 1)] * (MARKS_A_FRAME + 1)),
    "source of a mark": TakeNeighbour("t", [Mark(b"", 1, 1)]),
}


@pytest.mark.parametrize("message", BREACHES.values(), ids=BREACHES)
def test_breach_of_the_protocol_is_said_to_the_link(message: TopicMessage) -> None:
    peer = Peer()
    peer.joins_alone()

    with pytest.raises(PeerMisbehaved, match="expected"):
        peer.gets(message)


@pytest.mark.parametrize(
    "message",
    [Payload("t", S, MAX_NUMBER, b""), Payload("t", S, 1, b"", MAX_AGE_MS), TakeNeighbour("t", [Mark(S, 1, MAX_NUMBER)])],
    ids=["number", "age", "mark"],
)
def test_what_is_at_a_limit_can_be_told_to_others(message: TopicMessage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffusion, "MAX_CACHED", 0 if message == Payload("t", S, MAX_NUMBER, b"") else 10)
    peer = Peer()
    peer.joins_by(A)
    peer.gets(TakeNeighbour("t", []))
    peer.gets(message)

    peer.gets(Graft("t", S, 1, MAX_NUMBER), at_s=1.0)
    peer.gets(AskNeighbour("t"), at_s=1.0)

    for _, sent in peer.sent:
        check(sent)
        encode(sent)


LONG = "x" * (MAX_NAME + 1)
PASSED_OVER = {
    "ask": AskNeighbour(LONG),
    "event": Payload(LONG, S, 1, b""),
    "walk": Walk(1, LONG, A, 3),
    "advert": RoundBack([], [Advert(LONG, A)]),
    "base advert": RoundBack([], [Advert(BASE, A)]),
    "event of the base": Payload(BASE, S, 1, b""),
}


@pytest.mark.parametrize("message", PASSED_OVER.values(), ids=PASSED_OVER)
def test_what_is_for_no_topic_is_passed_over(message: TopicMessage) -> None:
    peer = Peer()

    peer.gets(message)

    assert peer.sent == []
    assert peer.topics.access_points.known() == []


def test_topic_is_joined_once() -> None:
    peer = Peer()
    peer.joins_alone()

    with pytest.raises(LocalError, match="joined already"):
        peer.joins_alone()


def test_too_many_topics_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOPICS", 1)
    peer = Peer()
    peer.joins_alone()

    with pytest.raises(LocalError, match="one more than the 1"):
        peer.joins_alone("u")


def test_probe_is_answered() -> None:
    peer = Peer()

    peer.gets(Probe())
    peer.gets(ProbeBack())

    assert peer.sent == [(A, ProbeBack())]


def test_ask_for_a_topic_of_others_names_a_member() -> None:
    peer = Peer()
    peer.gets(RoundBack([], [Advert("t", B)]))

    peer.gets(AskNeighbour("t"))

    assert peer.sent == [(A, RefuseNeighbour("t", [Known(B, 0)], is_member=False))]


@pytest.mark.parametrize(("message", "answers"), [(Prune("t"), 1), (DropNeighbour("t"), 0)], ids=["prune", "drop"])
def test_who_takes_us_for_a_member_is_told_once(message: TopicMessage, answers: int) -> None:
    peer = Peer()

    peer.gets(message)

    assert peer.sent == [(A, DropNeighbour("t", leaves=True))] * answers


def test_walk_ends_at_a_member() -> None:
    peer = Peer()
    peer.joins_alone()

    peer.gets(Walk(1, "t", B, 3))

    assert peer.sent == [(B, WalkEnd(1, "t", [OWN]))]


def test_walk_end_of_nobodys_search_is_passed_over() -> None:
    peer = Peer()

    peer.gets(WalkEnd(1, "t", [B]))

    assert peer.topics.access_points.known() == []


def test_round_is_answered_for_common_topics_only() -> None:
    peer = Peer()
    peer.joins_alone()

    peer.gets(Round([Shuffle("t", []), Shuffle("u", []), Shuffle(BASE, [])], [Advert("u", A)]))

    [back] = peer.said(RoundBack)
    assert isinstance(back, RoundBack)
    assert [shuffle.topic for shuffle in back.shuffles] == ["t", BASE]


def test_round_of_one_topic_a_thousand_times_is_answered_once() -> None:
    peer = Peer()

    peer.gets(Round([Shuffle(BASE, [])] * 1_000))

    [back] = peer.said(RoundBack)
    assert isinstance(back, RoundBack)
    assert len(back.shuffles) == 1


def test_entries_and_adverts_beyond_the_limit_are_passed_over() -> None:
    peer = Peer()
    entries = [Known(contact(number), 60) for number in range(1, MAX_ENTRIES + 1)]

    peer.gets(RoundBack([Shuffle(BASE, [*entries, Known(A, 0)])], [Advert(str(number), A) for number in range(1_000)]), sender=B)

    assert A.id not in peer.topics.base.view
    assert len(peer.topics.access_points) == MAX_ADVERTS


def test_refusal_that_nobody_waits_for_fills_no_view() -> None:
    peer = Peer()

    peer.gets(RefuseNeighbour(BASE, [Known(B, 0)]))

    assert len(peer.topics.base.view) == 0


def test_lonely_member_has_joined_after_a_while() -> None:
    peer = Peer()
    peer.joins_by(A)

    peer.runs(ALONE_S)

    assert peer.joins == 1


def test_members_that_ask_each_other_at_once_hear_each_others_marks() -> None:
    peer = Peer()
    peer.joins_by(A)
    peer.gets(AskNeighbour("t"))

    peer.gets(TakeNeighbour("t", [Mark(S, 1, 5)]))
    peer.gets(Payload("t", S, 6, b""))

    assert peer.joins == 1
    assert peer.told == [(S, 6)]


def test_member_that_comes_back_hears_its_own_events_at_once() -> None:
    peer = Peer()
    peer.joins_alone()
    first = peer.publishes()
    peer.topics.leave("t")
    peer.joins_alone()

    second = peer.publishes()

    assert peer.told == [(first.source, 1), (second.source, second.number)]


def test_leaving_tells_neighbours_and_twice_is_nothing() -> None:
    peer = Peer()
    peer.joins_alone()
    peer.gets(AskNeighbour("t"))

    peer.topics.leave("t")
    peer.topics.leave("t")

    assert peer.said(DropNeighbour) == [DropNeighbour("t", leaves=True)]


def test_who_is_no_member_publishes_nothing_itself() -> None:
    peer = Peer()

    assert not peer.topics.publish(peer.topics.make_payload("t", b"", 0.0), 0.0)


def test_silent_source_begins_another_life() -> None:
    peer = Peer()
    first = peer.topics.make_payload("t", b"", 0.0)
    second = peer.topics.make_payload("t", b"", LIFE_S)
    third = peer.topics.make_payload("t", b"", 2 * LIFE_S + 1)

    assert (first.source, second.number) == (second.source, 2)
    assert third.source != first.source
    assert third.number == 1


def test_sources_published_to_stay_at_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TOPICS", 3)
    peer = Peer()

    for number in range(10):
        peer.topics.make_payload(str(number), b"", 0.0)

    assert list(peer.topics._sources) == ["7", "8", "9"]


def test_nobody_publishes_an_event_in_our_name() -> None:
    peer = Peer()
    peer.joins_alone()
    peer.gets(AskNeighbour("t"))
    first = peer.publishes()

    peer.gets(Payload("t", first.source, 2, b"forged"))
    second = peer.publishes()

    assert (A, second) in peer.sent


def test_nobody_marks_events_that_we_have_not_published() -> None:
    peer = Peer()
    peer.joins_alone()
    peer.gets(AskNeighbour("t"))
    first = peer.publishes()

    peer.gets(Marks("t", [Mark(first.source, 1_000, 1_000)]))
    peer.topics.joined["t"].diffusion.advance(6.0)

    assert peer.gaps == []


def test_call_that_is_much_too_early_is_nothing() -> None:
    peer = Peer()
    before = list(peer.wakes)

    peer.topics.advance(0.0)

    assert peer.wakes == before


def test_neighbour_that_stands_still_is_found_and_told() -> None:
    peer = Peer()
    peer.joins_alone()
    peer.gets(AskNeighbour("t"))

    peer.runs(3)

    assert Probe() in peer.said(Probe)
    assert peer.topics.joined["t"].neighbours.active == {}
    assert DropNeighbour("t") in peer.said(DropNeighbour)


def test_broken_link_ends_neighbourhood_where_there_is_one() -> None:
    peer = Peer()
    peer.joins_alone()
    peer.gets(AskNeighbour("t"))

    peer.topics.link_broke(A.id, 1.0)

    assert peer.topics.joined["t"].neighbours.active == {}


def test_rounds_tell_of_own_topics() -> None:
    peer = Peer()
    peer.topics.learn_peers([A], 0.0)
    peer.joins_alone()

    peer.runs(6)

    rounds = [message for message in peer.said(Round) if isinstance(message, Round)]
    assert Advert("t", OWN) in rounds[0].adverts


def test_search_goes_through_the_base() -> None:
    peer = Peer()
    peer.topics.learn_peers([A], 0.0)
    peer.sent.clear()

    peer.topics.search("t", 0.0, lambda _: None)

    assert [(to, type(message)) for to, message in peer.sent] == [(A, Walk)]


def test_neighbour_of_the_base_that_stands_still_is_found() -> None:
    peer = Peer()
    peer.gets(AskNeighbour(BASE))

    peer.runs(3 * BASE_PROBE_S)

    assert peer.said(Probe) == [Probe()]
    assert peer.topics.base.neighbours.active == {}


def test_refusal_of_one_that_was_asked_names_others() -> None:
    peer = Peer()
    peer.topics.learn_peers([A], 0.0)

    peer.gets(RefuseNeighbour(BASE, [Known(B, 0)]))

    assert B.id in peer.topics.base.view


def test_answer_to_no_round_fills_no_view() -> None:
    peer = Peer()

    peer.gets(RoundBack([Shuffle(BASE, [Known(B, 0)])]))

    assert len(peer.topics.base.view) == 0


def test_member_whose_last_neighbour_dies_is_left_alone() -> None:
    peer = Peer()
    peer.joins_alone()
    peer.gets(AskNeighbour("t"))
    before = peer.alone

    peer.topics.peer_lost(A.id, 1.0)

    assert (before, peer.alone) == (0, 1)


def test_member_that_was_told_of_dead_members_only_is_left_alone() -> None:
    peer = Peer()
    peer.joins_by(A)

    peer.topics.peer_lost(A.id, 0.1)

    assert peer.alone == 1
