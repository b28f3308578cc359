"""A view stays a sample of those that live."""

from __future__ import annotations

from random import Random

from contacts import contact

from gsg.topics.view import MAX_AGE, SILENT, View
from gsg.wire.topic_messages import Known


def view_of(*others: int, size: int = 20) -> View:
    view = View(contact(0), Random(1), size=size, shuffled=3)
    for other in others:
        view.learn_peer(contact(other))
    return view


def test_the_oldest_is_asked_and_is_out_of_the_view_until_it_answers() -> None:
    view = view_of(1)
    view.begin_round()
    view.offer_to(contact(1).id)
    view.learn_peer(contact(2), age=0)

    view.answered(contact(1), [])
    partner = view.begin_round()

    assert partner is not None
    assert partner.id not in view


def test_what_was_sent_away_makes_room_for_what_comes() -> None:
    view = view_of(*range(1, 6), size=5)
    partner = view.begin_round()
    assert partner is not None
    view.offer_to(partner.id)

    view.answered(partner, [Known(contact(number), 0) for number in range(10, 13)])

    assert len(view) == 5
    assert all(contact(number).id in view for number in range(10, 13))


def test_oneself_the_silent_and_the_very_old_are_not_taken_in() -> None:
    view = view_of()
    view.forget(contact(3).id)

    view.answer(contact(9).id, [Known(contact(0), 0), Known(contact(3), 0), Known(contact(4), MAX_AGE + 1), Known(contact(5), -7)])

    assert [each.id for each in view] == [contact(5).id]
    assert view.ages() == [0]


def test_who_says_nothing_of_itself_for_long_is_gone() -> None:
    view = view_of(1, 2)

    for _ in range(MAX_AGE + 2):
        view.begin_round()

    assert len(view) == 0


def test_one_that_is_met_takes_the_place_of_the_oldest_in_a_full_view() -> None:
    view = view_of(1, 2, size=2)
    view.begin_round()
    view.learn_peer(contact(3), age=0)

    view.learn_peer(contact(4), age=0)

    assert {each.id for each in view} == {contact(3).id, contact(4).id}


def test_who_knows_nobody_has_nobody_to_exchange_with() -> None:
    assert view_of().begin_round() is None


def test_what_is_offered_begins_with_oneself_and_leaves_out_who_gets_it() -> None:
    view = view_of(*range(1, 15))

    offered = view.offer_to(contact(1).id)

    assert offered[0] == Known(contact(0), 0)
    assert len(offered) == 3
    assert contact(1) not in [entry.contact for entry in offered]


def test_who_answers_is_known_again_with_what_it_tells() -> None:
    view = view_of(1)
    view.begin_round()
    view.offer_to(contact(1).id)

    view.answered(contact(1), [Known(contact(2), 3)])

    assert {each.id for each in view} == {contact(1).id, contact(2).id}
    assert sorted(view.ages()) == [0, 3]


def test_an_answer_that_nobody_asked_for_fills_no_view() -> None:
    view = view_of(1)

    view.answered(contact(9), [Known(contact(number), 0) for number in range(10, 20)])

    assert [each.id for each in view] == [contact(1).id]


def test_a_full_view_keeps_what_it_has_not_sent() -> None:
    view = view_of(1, 2, size=2)
    view.offer_to(contact(2).id)

    view.answered(contact(2), [Known(contact(3), 0), Known(contact(4), 0)])

    assert contact(2).id in view
    assert len(view) == 2


def test_of_what_is_known_of_one_peer_the_youngest_counts() -> None:
    view = view_of()
    view.answer(contact(9).id, [Known(contact(1), 5)])

    view.answer(contact(9).id, [Known(contact(1), 2), Known(contact(1), 7)])

    assert view.ages() == [2]


def test_a_sample_leaves_out_whom_it_is_told_to() -> None:
    assert view_of(1, 2).sample(5, without=(contact(1).id,)) == [contact(2)]


def test_what_was_sent_to_peers_that_were_met_again_is_bounded() -> None:
    view = view_of(size=1)

    for number in range(1, 1_000):
        view.learn_peer(contact(number))
        view.begin_round()
        view.offer_to(contact(number).id)
        view.learn_peer(contact(number))

    assert len(view._sent) <= SILENT


def test_silent_peers_are_bounded() -> None:
    view = view_of()

    for number in range(1, 1_000):
        view.forget(contact(number).id)

    assert len(view._silent) == SILENT


def test_an_age_below_0_brings_no_silent_peer_back() -> None:
    view = view_of()
    view.forget(contact(1).id)

    view.answer(contact(9).id, [Known(contact(1), -1_000)])

    assert contact(1).id not in view
