"""What several holders say of one fact, in any order: the latest word counts."""

from __future__ import annotations

from itertools import permutations

import pytest

import gsg.feeds.union
from gsg.feeds.union import Union

FACT, OTHER = ("a", "b"), ("c", "d")


def test_a_fact_counts_once_however_many_feeds_have_it() -> None:
    union = Union()

    assert union.settle([FACT], [{FACT: 5}]) == [(FACT, 1)]
    assert union.settle([FACT], [{FACT: 5}, {FACT: 5}]) == []
    assert union.settle([FACT], [{}, {FACT: 5}]) == []
    assert union.settle([FACT], [{}, {}]) == [(FACT, -1)]
    assert (len(union), list(union)) == (0, [])


def test_the_first_word_of_a_retraction_counts_and_who_is_late_brings_nothing_back() -> None:
    union = Union()
    union.settle([FACT], [{FACT: 5}, {FACT: 5}])

    union.note_retraction(FACT, 8)

    assert union.settle([FACT], [{}, {FACT: 5}]) == [(FACT, -1)]
    assert union.settle([FACT], [{}, {FACT: 5}, {FACT: 5}]) == []
    assert union.settle([FACT], [{FACT: 9}, {FACT: 5}]) == [(FACT, 1)]


def test_who_lets_go_of_a_fact_takes_it_from_nobody() -> None:
    union = Union()
    union.settle([FACT], [{FACT: 5}, {FACT: 5}])

    union.note_retraction(FACT, 0)

    assert union.settle([FACT], [{}, {FACT: 5}]) == []


def test_what_the_last_feed_lets_go_of_is_left_over_until_the_others_were_heard_out() -> None:
    union = Union()
    union.settle([FACT], [{FACT: 5}])

    assert union.keep_left_over({FACT: 5}, [{}], 0)
    assert union.settle([FACT], [{}]) == []
    assert (union.has_left_over, list(union)) == (True, [FACT])
    assert union.settle(union.give_up(0), [{}]) == [(FACT, -1)]
    assert (union.has_left_over, list(union)) == (False, [])


def test_what_another_feed_has_or_what_went_is_not_left_over() -> None:
    union = Union()
    union.settle([FACT, OTHER], [{FACT: 5, OTHER: 5}])
    union.note_retraction(OTHER, 6)

    assert not union.keep_left_over({FACT: 5, OTHER: 5}, [{FACT: 4}], 0)
    assert union.settle([FACT, OTHER], [{FACT: 4}]) == [(OTHER, -1)]


def test_what_is_left_over_goes_with_the_first_word_of_its_retraction_and_comes_back_by_a_later_one() -> None:
    union = Union()
    union.settle([FACT], [{FACT: 5}])
    union.keep_left_over({FACT: 5}, [{}], 0)

    union.note_retraction(FACT, 8)

    assert union.settle([FACT], [{}]) == [(FACT, -1)]
    assert not union.has_left_over
    assert union.settle([FACT], [{FACT: 9}]) == [(FACT, 1)]


def test_what_is_left_over_again_waits_for_the_next_time() -> None:
    union = Union()
    union.settle([FACT, OTHER], [{FACT: 5, OTHER: 5}])
    union.keep_left_over({FACT: 5}, [{OTHER: 5}], 0)
    union.keep_left_over({FACT: 4, OTHER: 5}, [{}], 1)

    assert union.give_up(0) == []
    assert sorted(union.give_up(1)) == [FACT, OTHER]


def test_what_is_left_over_and_heard_of_again_is_told_once() -> None:
    union = Union()
    union.settle([FACT], [{FACT: 5}])
    union.keep_left_over({FACT: 5}, [{}], 0)

    assert union.settle([FACT], [{FACT: 5}]) == []
    assert union.settle(union.give_up(0), [{FACT: 5}]) == []


@pytest.mark.parametrize("order", list(permutations(range(6))))
def test_two_holders_end_the_same_whatever_comes_first(order: tuple[int, ...]) -> None:
    union = Union()
    feeds: list[dict[object, int]] = [{}, {}]
    # Each holder says in its order: it came, it went, it came again.
    said = [iter([(1, 3), (-1, 4), (1, 7)]), iter([(1, 3), (-1, 4), (1, 7)])]
    for number in order:
        sign, stamp = next(said[number % 2])
        if sign > 0:
            feeds[number % 2][FACT] = stamp
        else:
            del feeds[number % 2][FACT]
            union.note_retraction(FACT, stamp)
        union.settle([FACT], feeds)  # type: ignore[arg-type]  # keys are facts

    assert list(union) == [FACT]


def test_retractions_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gsg.feeds.union, "GONE", 1)
    union = Union()
    union.note_retraction(FACT, 5)
    union.note_retraction(OTHER, 5)

    assert union.settle([OTHER], [{OTHER: 4}]) == []
    assert union.settle([FACT], [{FACT: 4}]) == [(FACT, 1)]
