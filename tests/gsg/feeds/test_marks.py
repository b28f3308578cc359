"""What is told late is told to those alone who were there when it was said."""

from __future__ import annotations

from gsg.feeds.marks import MARKED_S, MARKS, Marks


def test_a_number_was_given_by_then_where_a_later_one_was_not_given_before() -> None:
    marks = Marks()
    for number, now in enumerate((0.0, 10.0, 20.0)):
        marks.given(number, now)

    assert [marks.was_given(number, 15.0) for number in (0, 1, 2)] == [True, True, False]


def test_the_time_is_noted_once_in_a_while() -> None:
    """Who was given a number within one such while of that time is taken for having been there: to a second or so."""
    marks = Marks()
    marks.given(1, 10.0)
    marks.given(2, 10.0 + MARKED_S / 2)
    marks.given(3, 10.0 + MARKED_S)

    assert [marks.was_given(number, 10.0) for number in (2, 3)] == [True, False]


def test_whoever_came_before_all_that_is_remembered_was_there() -> None:
    marks = Marks()
    for number in range(2 * MARKS):
        marks.given(number, float(number))

    assert marks.was_given(MARKS - 1, 0.0)
    assert not marks.was_given(MARKS, 0.0)


def test_giving_a_number_returns_it() -> None:
    assert Marks().given(7, 0.0) == 7
