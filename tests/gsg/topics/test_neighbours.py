"""The neighbours of a peer in an overlay: who asks, who is taken, who is refused."""

from __future__ import annotations

from random import Random

import pytest
from contacts import contact

from dht import Contact
from gsg.topics.neighbours import (
    AGAIN_S,
    ANSWER_S,
    CALL_AGAIN_S,
    CHANGE_ROUNDS,
    MAX_REFUSED,
    MAX_URGENT,
    MOST,
    MOST_ASKED,
    RETRY_S,
    URGENT_S,
    WANTED,
    Neighbours,
)
from gsg.topics.view import View
from gsg.wire.topic_messages import AskNeighbour, DropNeighbour, Mark, RefuseNeighbour, TakeNeighbour, TopicMessage

A = contact(1)
TAKE = TakeNeighbour("t", None)


class Peer:
    """Neighbours of one peer, which knows some others, and what it sent."""

    def __init__(self, known: int = 0, *, spare: bytes | None = None) -> None:
        self.sent: list[tuple[Contact, TopicMessage]] = []
        self.wakes: list[float] = []
        self.came: list[bytes] = []
        self.went: list[bytes] = []
        self.alone = 0
        self.fed = False
        self.spared = spare
        self.view = View(contact(0), Random(1), size=40)
        for number in range(1, known + 1):
            self.view.learn_peer(contact(number))
        self.parts = Neighbours("t", self.view, Random(1), self.send, self.wakes.append, self)

    def send(self, to: Contact, message: TopicMessage) -> bool:
        self.sent.append((to, message))
        return True

    def neighbour_came(self, contact: Contact, *, lazy: bool) -> None:
        self.came.append(contact.id)

    def neighbour_went(self, peer: bytes) -> None:
        self.went.append(peer)

    def marks(self) -> list[Mark] | None:
        return []

    def is_fed(self) -> bool:
        return self.fed

    def spare(self) -> bytes | None:
        return self.spared

    def left_alone(self) -> None:
        self.alone += 1

    def asks(self) -> list[Contact]:
        return [to for to, message in self.sent if isinstance(message, AskNeighbour)]

    def has(self, *numbers: int) -> None:
        for number in numbers:
            self.parts.asked(contact(number), AskNeighbour("t"), 0.0)
        self.sent.clear()


def test_peer_without_neighbours_asks_many() -> None:
    peer = Peer(known=30)

    peer.parts.refill(0.0)

    assert len(peer.asks()) == MOST_ASKED
    assert peer.wakes == [ANSWER_S]


def test_peer_with_some_neighbours_asks_as_many_as_are_missing() -> None:
    peer = Peer(known=30)
    peer.has(1, 2, 3)

    peer.parts.refill(0.0)

    assert len(peer.asks()) == WANTED - 3


def test_peer_with_neighbours_enough_asks_nobody() -> None:
    peer = Peer(known=30)
    peer.has(1, 2, 3, 4, 5)

    peer.parts.refill(0.0)

    assert peer.sent == []


def test_who_does_not_answer_is_not_asked_again_for_a_while() -> None:
    peer = Peer(known=2)
    peer.has(1)
    peer.parts.refill(0.0)
    peer.parts.advance(ANSWER_S)
    peer.parts.advance(ANSWER_S + RETRY_S)
    before = len(peer.asks())

    peer.parts.refill(ANSWER_S + AGAIN_S)

    assert (before, len(peer.asks())) == (1, 2)


def test_who_has_no_neighbour_asks_even_those_that_refused() -> None:
    peer = Peer(known=1)
    peer.parts.refill(0.0)

    peer.parts.refused(A, RefuseNeighbour("t", []), 0.1)

    assert peer.asks() == [A, A]


def test_asking_peer_is_taken_where_there_is_room() -> None:
    peer = Peer()

    peer.parts.asked(A, AskNeighbour("t", lazy=True), 0.0)

    assert peer.sent == [(A, TakeNeighbour("t", [], True))]
    assert list(peer.parts.active) == [A.id]


def test_asking_twice_is_answered_twice_and_counted_once() -> None:
    peer = Peer()
    peer.has(1)

    peer.parts.asked(A, AskNeighbour("t"), 0.0)

    assert peer.sent == [(A, TakeNeighbour("t", []))]
    assert peer.came == [A.id]


def test_full_peer_refuses_and_names_others() -> None:
    peer = Peer(known=12)
    peer.has(*range(1, MOST + 1))

    peer.parts.asked(contact(20), AskNeighbour("t"), 0.0)

    (_, refusal), *_ = peer.sent
    assert isinstance(refusal, RefuseNeighbour)
    assert len(refusal.others) == 3


def test_full_peer_gives_one_up_for_an_urgent_one() -> None:
    peer = Peer()
    peer.has(*range(1, MOST + 1))

    peer.parts.asked(contact(20), AskNeighbour("t", urgent=True), 0.0)

    assert len(peer.parts.active) == MOST
    assert contact(20).id in peer.parts.active
    assert isinstance(peer.sent[0][1], DropNeighbour)


def test_change_takes_the_place_of_a_spare_neighbour() -> None:
    peer = Peer(spare=A.id)
    peer.has(*range(1, WANTED + 2))

    peer.parts.asked(contact(20), AskNeighbour("t", change=True), 0.0)

    assert peer.went == [A.id]
    assert contact(20).id in peer.parts.active


def test_one_neighbour_is_changed_now_and_then() -> None:
    peer = Peer(known=20)
    peer.has(1, 2, 3, 4, 5)

    for turn in range(CHANGE_ROUNDS):
        peer.parts.begin_round(turn * 5.0)

    assert [message for _, message in peer.sent] == [AskNeighbour("t", lazy=True, change=True)]


def test_round_refills() -> None:
    peer = Peer(known=1)

    peer.parts.begin_round(0.0)

    assert peer.asks() == [A]


def test_late_answer_is_taken_where_there_is_room() -> None:
    peer = Peer()

    assert peer.parts.taken(A, TAKE)
    assert not peer.parts.taken(A, TAKE)


def test_answer_is_dropped_where_there_is_no_room() -> None:
    peer = Peer()
    peer.has(*range(1, MOST + 1))

    taken = peer.parts.taken(contact(20), TAKE)

    assert not taken
    assert peer.sent == [(contact(20), DropNeighbour("t"))]


def test_one_neighbour_too_many_makes_a_spare_one_go() -> None:
    peer = Peer(spare=A.id)
    peer.has(*range(1, WANTED + 2))

    peer.parts.taken(contact(20), TAKE)

    assert peer.went == [A.id]


def test_who_is_no_member_is_forgotten() -> None:
    peer = Peer(known=1)
    peer.parts.refill(0.0)

    peer.parts.refused(A, RefuseNeighbour("t", [], is_member=False), 0.1)

    assert A.id not in peer.view


def test_refusal_that_nobody_waits_for_is_passed_over() -> None:
    peer = Peer(known=1)

    peer.parts.refused(A, RefuseNeighbour("t", [], is_member=False), 0.1)

    assert A.id in peer.view


def test_lost_neighbour_is_replaced_at_once() -> None:
    peer = Peer(known=3)
    peer.has(1)

    peer.parts.peer_lost(A.id, 1.0)

    assert set(peer.asks()) == {contact(2), contact(3)}
    assert peer.went == [A.id]


@pytest.mark.parametrize(
    ("left", "suddenly", "is_fed", "lazy"),
    [
        ((2, 3, 4, 5), True, True, False),
        ((2, 3, 4, 5), False, True, True),
        ((2, 3, 4, 5), False, False, False),
        ((2, 3), False, True, False),
    ],
    ids=["its link broke", "it was silent, and others feed us", "nobody feeds us", "it was silent, as most others"],
)
def test_who_replaces_a_lost_neighbour_feeds_us_at_once_unless_others_do(
    left: tuple[int, ...], suddenly: bool, is_fed: bool, lazy: bool
) -> None:
    peer = Peer(known=9)
    peer.has(1, *left)
    peer.fed = is_fed

    peer.parts.peer_lost(A.id, 1.0, suddenly=suddenly)

    assert {message for _, message in peer.sent} == {AskNeighbour("t", lazy=lazy)}


def test_neighbour_that_dropped_us_is_replaced_by_others() -> None:
    peer = Peer(known=2)
    peer.has(1)

    peer.parts.dropped(A.id, 1.0)

    assert peer.asks() == [contact(2)]


def test_strangers_may_drop_us_and_be_lost() -> None:
    peer = Peer(known=2)

    peer.parts.dropped(contact(9).id, 0.0)
    peer.parts.peer_lost(contact(9).id, 0.0)

    assert peer.sent == []


def test_leaving_tells_all_neighbours() -> None:
    peer = Peer()
    peer.has(1, 2)

    peer.parts.leave()

    assert {message for _, message in peer.sent} == {DropNeighbour("t", leaves=True)}
    assert peer.parts.active == {}


def test_refusals_and_neighbours_stay_at_their_limits() -> None:
    peer = Peer()

    for number in range(1, 1_000):
        peer.parts.asked(contact(number), AskNeighbour("t", urgent=True), 0.0)
        peer.parts.dropped(contact(number).id, 0.0)
        peer.parts.asked(contact(number), AskNeighbour("t", urgent=True), 0.0)

    assert len(peer.parts.active) <= MOST
    assert len(peer.parts._refused) <= MAX_REFUSED


# --- urgent asks -----------------------------------------------------------


def urgently(peer: Peer, *numbers: int, at_s: float = 0.0) -> set[int]:
    """Which of some peers have a place when each has said that it has no neighbour."""
    for number in numbers:
        peer.parts.asked(contact(number), AskNeighbour("t", urgent=True), at_s)
    return {number for number in numbers if contact(number).id in peer.parts.active}


def test_urgent_peers_that_ask_in_turn_cost_the_others_few_places() -> None:
    peer = Peer(known=12)
    first = range(1, MOST + 1)
    peer.has(*first)

    for turn in range(100):
        urgently(peer, 100 + turn, at_s=turn * URGENT_S)

    assert sum(contact(number).id in peer.parts.active for number in first) == MOST - MAX_URGENT
    assert len(peer.parts._urgent) == MAX_URGENT


def test_urgent_peer_keeps_its_place_for_a_while_and_others_are_told_of_others() -> None:
    peer = Peer(known=12)
    peer.has(*range(1, MOST + 1))

    taken = urgently(peer, *range(100, 110))

    refusals = [message for _, message in peer.sent if isinstance(message, RefuseNeighbour)]
    assert taken == {100, 101}
    assert [len(refusal.others) for refusal in refusals] == [3] * 8


def test_urgent_peer_takes_the_place_of_the_first_one_that_was_urgent() -> None:
    peer = Peer()
    peer.has(*range(1, MOST + 1))
    urgently(peer, 100, 101)

    taken = urgently(peer, 100, 101, 102, at_s=URGENT_S)

    assert taken == {101, 102}


def test_urgent_peer_that_leaves_makes_room_for_another_one() -> None:
    peer = Peer()
    peer.has(*range(1, MOST + 1))
    urgently(peer, 100, 101)
    peer.parts.peer_lost(contact(100).id, 0.1)
    peer.parts.asked(contact(50), AskNeighbour("t"), 0.1)

    assert urgently(peer, 102, at_s=0.1) == {102}


# --- left alone ------------------------------------------------------------


def test_whoever_loses_the_last_peer_that_is_known_is_left_alone_at_once() -> None:
    peer = Peer(known=1)
    peer.has(1)

    peer.parts.peer_lost(A.id, 1.0)

    assert peer.alone == 1


def test_whoever_is_answered_by_nobody_is_left_alone() -> None:
    peer = Peer(known=5)
    peer.has(1)
    peer.parts.peer_lost(A.id, 1.0)
    before = peer.alone

    peer.parts.advance(1.0 + ANSWER_S)

    assert (before, peer.alone) == (0, 1)


def test_being_left_alone_is_told_again_a_few_times() -> None:
    peer = Peer()
    peer.has(1)
    peer.parts.peer_lost(A.id, 0.0)

    for due in range(1, 1_000):
        peer.parts.advance(due / 10)
        peer.parts.refill(due / 10)

    assert peer.alone == len(CALL_AGAIN_S)
    assert list(dict.fromkeys(peer.wakes)) == [1.0, 3.0, 7.0, 15.0]


def test_whoever_had_company_again_is_left_alone_anew_but_not_more_often_than_that() -> None:
    peer = Peer()
    for turn in range(100):
        peer.parts.asked(A, AskNeighbour("t"), turn / 100)
        peer.parts.peer_lost(A.id, turn / 100)
    often = peer.alone

    peer.parts.advance(CALL_AGAIN_S[0])

    assert (often, peer.alone) == (1, 2)


def test_whoever_never_had_company_is_not_left_alone_unless_it_expects_some() -> None:
    peer = Peer()
    peer.parts.refill(0.0)
    before = peer.alone

    peer.parts.expect_company()
    peer.parts.refill(1.0)

    assert (before, peer.alone) == (0, 1)
