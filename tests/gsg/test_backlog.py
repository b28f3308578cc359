"""Differences that nobody has read yet."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.backlog import Backlog, Overflow, overflow_of
from gsg.errors import LocalError, Overrun
from gsg.rows import Change, Row, Sign

SIGNS = {"+": Sign.PLUS, "-": Sign.MINUS, "!": Sign.EVENT}


def changes(*texts: str) -> list[Change]:
    """``+a``, ``-a`` and ``!a`` as differences."""
    return [(SIGNS[text[0]], Row({"x": text[1:]})) for text in texts]


def read(backlog: Backlog) -> list[str]:
    """Everything that is there, as texts."""
    return [f"{sign}{row['x']}" for sign, row in iter(backlog.popleft, None)]


def test_differences_are_read_in_the_order_they_came() -> None:
    backlog = Backlog()
    backlog.extend(changes("+a", "-b"))
    backlog.extend(changes("!c"))

    assert len(backlog) == 3
    assert read(backlog) == ["+a", "-b", "!c"]
    assert len(backlog) == 0


def test_at_the_limit_differences_of_one_row_become_their_sum() -> None:
    backlog = Backlog(limit=3)
    backlog.extend(changes("+a", "-b", "+a"))
    assert len(backlog) == 3

    backlog.extend(changes("-a", "+c", "-c"))

    assert read(backlog) == ["-b", "+a"]


def test_an_answer_larger_than_the_limit_is_kept_whole() -> None:
    backlog = Backlog(limit=2)

    backlog.extend(changes("+a", "+b", "+c"))
    backlog.extend(changes("+d", "-a"))

    assert read(backlog) == ["+a", "+b", "+c", "+d", "-a"]


def test_an_answer_larger_than_the_limit_is_merged_when_as_much_has_come_again() -> None:
    backlog = Backlog(limit=2)
    backlog.extend(changes("+a", "+b", "+c"))

    backlog.extend(changes("-a", "+a", "-b", "+d"))

    assert sorted(read(backlog)) == ["+a", "+c", "+d"]


def test_events_beyond_the_limit_are_dropped_and_the_reader_is_told_once() -> None:
    backlog = Backlog(limit=2)
    backlog.extend(changes("!a", "!b", "!c", "+d"))

    with pytest.raises(Overrun) as caught:
        backlog.popleft()

    assert caught.value.lost == 2
    assert str(caught.value) == (
        "2 events were dropped because 2 differences were waiting to be read; rows that are state are complete: "
        "go on reading, read faster, or subscribe with a higher limit"
    )
    assert read(backlog) == ["+d", "!c"]


def test_events_are_kept_where_merging_makes_room() -> None:
    backlog = Backlog(limit=2)

    backlog.extend(changes("+a", "-a", "+b", "-b", "!c", "!d"))

    assert read(backlog) == ["!c", "!d"]


def test_the_numbers_of_dropped_events_add_up_until_they_are_told() -> None:
    backlog = Backlog(limit=1)
    backlog.extend(changes("!a", "!b"))
    backlog.extend(changes("!c", "!d"))

    with pytest.raises(Overrun) as caught:
        backlog.popleft()

    assert caught.value.lost == 3


def test_what_is_merged_away_leaves_nothing_to_read() -> None:
    backlog = Backlog(1)

    backlog.extend([(Sign.PLUS, Row({"x": "a"})), (Sign.MINUS, Row({"x": "a"}))])

    assert (len(backlog), backlog.popleft()) == (0, None)


differences = st.lists(
    st.tuples(st.sampled_from([Sign.PLUS, Sign.MINUS]), st.sampled_from("abcd").map(lambda name: Row({"x": name})))
)


@given(st.integers(1, 5), st.lists(differences, max_size=8))
def test_whatever_is_merged_the_sum_of_each_row_stays(limit: int, parts: list[list[Change]]) -> None:
    backlog = Backlog(limit)
    said: Counter[Row] = Counter()
    heard: Counter[Row] = Counter()

    for part in parts:
        backlog.extend(part)
        said.update({row: sum(sign for sign, each in part if each == row) for row in {row for _, row in part}})
    for sign, row in iter(backlog.popleft, None):
        heard[row] += sign

    assert {row: count for row, count in heard.items() if count} == {row: count for row, count in said.items() if count}


def test_with_drop_oldest_the_latest_are_kept_and_the_next_read_says_how_many_went() -> None:
    backlog = Backlog(limit=2, overflow=Overflow.DROP_OLDEST)
    backlog.extend(changes("+a", "!b", "-c"))
    backlog.extend(changes("!d"))

    with pytest.raises(Overrun, match=r"2 differences were dropped because 2 .* rows\(\) has the answer as it is") as told:
        backlog.popleft()

    assert told.value.lost == backlog.lost == 2
    assert read(backlog) == ["-c", "!d"]


def test_with_error_what_came_before_can_be_read_and_nothing_more_is_kept() -> None:
    backlog = Backlog(limit=2, overflow=Overflow.ERROR)
    backlog.extend(changes("+a", "!b", "-c"))
    backlog.extend(changes("!d"))

    assert backlog.full
    assert read(backlog) == ["+a", "!b"]
    assert backlog.overrun().lost == 1


@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.ERROR])
@given(batches=st.lists(st.integers(0, 7), max_size=20))
def test_no_more_is_ever_kept_than_the_limit_says(overflow: Overflow, batches: list[int]) -> None:
    backlog = Backlog(limit=5, overflow=overflow)

    for size in batches:
        backlog.extend(changes(*["+a"] * size))
        assert len(backlog) <= 5

    assert len(backlog) + backlog.lost == sum(batches) or backlog.full


def test_a_choice_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    assert overflow_of("drop_oldest") is Overflow.DROP_OLDEST
    with pytest.raises(LocalError, match="overflow='block'; expected resync, drop_oldest, error"):
        overflow_of("block")
