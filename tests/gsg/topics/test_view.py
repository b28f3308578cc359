"""A view stays a sample of those that live."""

from __future__ import annotations

from random import Random

from dht import Contact
from gsg.topics.view import MAX_AGE, View
from gsg.wire.topic_messages import Known


def contact(number: int) -> Contact:
    return Contact(number.to_bytes(20, "big"), "10.0.0.1", 1 + number)


def view_of(*others: int, size: int = 20) -> View:
    view = View(contact(0), Random(1), size=size, shuffled=3)
    for other in others:
        view.meet(contact(other))
    return view


def test_the_oldest_is_asked_and_is_out_of_the_view_until_it_answers() -> None:
    view = view_of(1)
    view.begin_round()
    view.meet(contact(2), age=0)

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
