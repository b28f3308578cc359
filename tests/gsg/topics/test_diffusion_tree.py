"""By which neighbours a member of a topic gets events, and to which it sends them: the tree, as one member sees it."""

from __future__ import annotations

from contacts import contact
from topic_member import SOURCE, Member

from gsg.topics.diffusion.diffusion import ASKED_S, MAX_AHEAD
from gsg.wire.topic_messages import Graft, Marks, Payload, Prune


def test_a_neighbour_is_not_pruned_for_what_it_was_asked_for_and_another_one_brought_first() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)
    member.marked(by=2, high=2, is_new=True)
    assert [to for to, message in member.sent if isinstance(message, Graft)] == [2]

    member.comes(2, by=1, now_s=0.1)
    member.comes(2, by=2, now_s=0.1)
    assert member.sent_to(Prune) == []
    member.comes(3, by=1, now_s=ASKED_S + 0.1)
    member.comes(3, by=2, now_s=ASKED_S + 0.1)

    # The answer is no reason; what it brings again later is one.
    assert member.sent_to(Prune) == [2]
    assert member.told == [1, 2, 3]


def test_where_the_neighbour_that_fed_goes_another_one_is_asked_to_feed_at_once() -> None:
    member = Member(1, 2, 3)
    member.comes(1, by=1)
    for other in (2, 3):
        member.diffusion.pruned(contact(other).id)
    member.marked(by=2, high=1)
    member.marked(by=3, high=4, now_s=0.1)
    member.sent.clear()

    member.diffusion.neighbour_went(contact(1).id)

    assert member.sent == [(3, Graft("t", SOURCE, 2, 1 + MAX_AHEAD))]
    member.diffusion.neighbour_went(contact(2).id)
    assert len(member.sent) == 1


def test_an_event_goes_to_all_neighbours_but_the_one_it_came_from() -> None:
    member = Member(1, 2, 3)

    member.comes(1, by=2)

    assert (member.told, member.sent_to(Payload)) == ([1], [1, 3])


def test_whoever_brought_the_event_before_is_not_pruned_for_coming_second_now() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)

    member.comes(2, by=2)
    member.comes(2, by=1)
    assert member.sent_to(Prune) == []
    member.comes(3, by=2)
    member.comes(3, by=1)

    assert member.sent_to(Prune) == [1]


def test_what_a_pruned_neighbour_had_still_sent_makes_it_no_eager_one() -> None:
    member = Member(1, 2)
    member.comes(1, by=2)
    member.comes(1, by=1)
    assert member.sent_to(Prune) == [1]

    member.comes(2, by=1)
    member.comes(3, by=2)

    assert [to for to, message in member.sent if isinstance(message, Payload) and message.number == 3] == []


def test_whoever_is_pruned_by_its_last_feeder_asks_another_one_at_once() -> None:
    member = Member(1, 2)
    member.marked(by=1, high=1)
    member.comes(1, by=2)
    member.comes(1, by=1)
    member.comes(2, by=1)  # it had sent this before it was told to stop
    assert member.sent_to(Payload) == [1, 2]

    member.diffusion.pruned(contact(2).id)

    assert [(to, message.first) for to, message in member.sent if isinstance(message, Graft)] == [(1, 3)]
    member.comes(3, by=1)
    assert member.told == [1, 2, 3]


def test_who_sends_what_is_known_is_pruned_and_gets_marks_from_then_on() -> None:
    member = Member(1, 2)
    member.comes(1, by=1)
    member.sent.clear()

    member.comes(1, by=2)
    member.comes(2, by=1)
    member.diffusion.advance(1.0)

    assert (member.told, member.sent_to(Prune), member.sent_to(Payload)) == ([1, 2], [2], [])
    assert member.sent_to(Marks) == [1, 2]


def test_a_neighbour_that_reads_slowly_gets_marks_and_no_events() -> None:
    member = Member(1, 2)
    member.takes = False
    member.comes(1, by=2)
    member.takes = True

    member.comes(2, by=2)
    member.diffusion.advance(1.0)

    assert (member.sent_to(Payload), member.sent_to(Marks)) == ([], [1, 2])


def test_the_neighbour_that_is_missed_the_least_is_a_lazy_one() -> None:
    member = Member(1, 2)
    before = member.diffusion.spare()

    member.diffusion.pruned(contact(2).id)

    assert (before, member.diffusion.spare(), member.diffusion.is_fed) == (None, contact(2).id, True)
