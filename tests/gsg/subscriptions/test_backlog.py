"""Differences that nobody has read yet."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.errors import LocalError, Overrun
from gsg.languages.rows import Change, Row, Sign
from gsg.subscriptions.backlog import Backlog, Overflow, Pool, overflow_of

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


def test_a_first_answer_is_kept_as_it_came_and_merged_when_as_much_has_come_again() -> None:
    backlog = Backlog(limit=2)
    backlog.extend(changes("+a", "+b"), is_first=True)
    backlog.extend(changes("+a", "+c"), is_first=True)
    assert len(backlog) == 4

    backlog.extend(changes("-a", "+d", "-d", "+e"))
    assert len(backlog) == 8
    backlog.extend(changes("-e"))

    assert sorted(read(backlog)) == ["+a", "+b", "+c"]


@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.ERROR])
def test_of_a_first_answer_no_more_is_kept_than_the_limit_where_that_is_asked_for(overflow: Overflow) -> None:
    backlog = Backlog(2, overflow)

    backlog.extend(changes("+a", "+b", "+c"), is_first=True)

    assert len(backlog) == 2


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


# --- bytes --------------------------------------------------------------------------------------------------------------------

LONG = 1_000
"""Letters of a long row, which has few bytes more."""


def long(*texts: str) -> list[Change]:
    """As :func:`changes`, with rows of LONG letters."""
    return [(sign, Row({"x": str(row["x"]).ljust(LONG, ".")})) for sign, row in changes(*texts)]


def begun(differences: list[str]) -> list[str]:
    """Without what makes them long."""
    return [text.rstrip(".") for text in differences]


def test_bytes_are_those_of_what_is_kept_however_it_is_taken() -> None:
    backlog = Backlog()
    backlog.extend(long("+a", "!b"))
    backlog.extend(long("-c", "!d"))
    held = backlog.held_bytes()
    assert 4 * LONG < held < 4 * LONG + 50

    backlog.popleft()
    backlog.take(2)
    assert LONG < backlog.held_bytes() < LONG + 50
    backlog.take(9)

    assert backlog.held_bytes() == 0


def test_so_many_bytes_are_taken_at_once_and_one_difference_at_least() -> None:
    backlog = Backlog()
    backlog.extend(long("+a", "+b", "+c", "+d"))

    assert [len(backlog.take(9, 2 * LONG + 100)), len(backlog.take(9, 1)), len(backlog.take(9, 1)), len(backlog.take(9, 1))] == [
        2,
        1,
        1,
        0,
    ]


def test_beyond_the_bytes_differences_of_one_row_become_their_sum() -> None:
    backlog = Backlog(limit_bytes=3 * LONG)

    backlog.extend(long("+a", "-a", "+b", "-a", "+a"))

    assert begun(read(backlog)) == ["+b"]


def test_beyond_the_bytes_the_oldest_events_go_and_the_next_read_says_so() -> None:
    backlog = Backlog(limit_bytes=4 * LONG)
    backlog.extend(long("!a", "!b", "+c", "!d", "!e"))

    with pytest.raises(Overrun, match=r"^3 events were dropped because 4000 bytes of rows, or more of all its reader's") as caught:
        backlog.popleft()

    assert caught.value.lost == 3
    assert begun(read(backlog)) == ["+c", "!e"]
    assert backlog.held_bytes() == 0


def test_an_answer_of_more_bytes_is_kept_whole() -> None:
    backlog = Backlog(limit_bytes=2 * LONG)

    backlog.extend(long("+a", "+b", "+c"))
    backlog.extend(long("+d", "-e"))

    assert sorted(begun(read(backlog))) == ["+a", "+b", "+c", "+d", "-e"]


def test_beyond_the_bytes_the_oldest_differences_go_where_that_is_asked_for() -> None:
    backlog = Backlog(overflow=Overflow.DROP_OLDEST, limit_bytes=2 * LONG + 100)
    backlog.extend(long("+a", "!b", "-c", "!d"))

    with pytest.raises(Overrun, match=r"2 differences were dropped because 2100 bytes of rows"):
        backlog.popleft()

    assert begun(read(backlog)) == ["-c", "!d"]


def test_beyond_the_bytes_a_subscription_ends_where_that_is_asked_for() -> None:
    backlog = Backlog(overflow=Overflow.ERROR, limit_bytes=2 * LONG + 100)

    backlog.extend(long("+a", "!b", "-c"))

    assert backlog.full
    assert begun(read(backlog)) == ["+a", "!b"]
    assert str(backlog.overrun()).startswith("the subscription has ended because 2100 bytes of rows")


def test_what_came_and_went_within_the_bytes_leaves_nothing() -> None:
    backlog = Backlog(limit_bytes=LONG)
    backlog.extend([])
    backlog.extend(long("+a", "-a"))
    backlog.extend(changes("+b"))

    assert read(backlog) == ["+b"]
    assert backlog.held_bytes() == 0


def test_one_difference_is_kept_however_long_it_is() -> None:
    for overflow in Overflow:
        backlog = Backlog(overflow=overflow, limit_bytes=10)
        backlog.extend(long("!a"))

        assert begun(read(backlog)) == ["!a"]


def test_the_longest_backlog_of_a_room_makes_room_for_the_others() -> None:
    pool = Pool(10 * LONG)
    small, large = Backlog(), Backlog()
    small.join_pool(pool)
    large.join_pool(pool)
    large.extend(long(*("!" + letter for letter in "abcdefgh")))

    small.extend(long("!x", "!y", "!z"))

    assert len(small) == 3
    assert pool.held_bytes <= 10 * LONG
    with pytest.raises(Overrun, match="or more of all its reader's, were waiting"):
        large.popleft()
    assert begun(read(large))[-1] == "!h"
    assert begun(read(small)) == ["!x", "!y", "!z"]
    assert pool.held_bytes == 0


def test_who_leaves_a_room_leaves_nothing_in_it_nor_in_the_larger_one() -> None:
    door = Pool(100 * LONG)
    client = Pool(10 * LONG, door)
    for _ in range(3):
        backlog = Backlog()
        backlog.extend(long("!a"))
        backlog.join_pool(client)
    assert door.held_bytes == client.held_bytes > 3 * LONG

    client.close()

    assert (door.held_bytes, client.held_bytes) == (0, 0)


def holders_of(backlog: Backlog) -> list[Change]:
    """Everything that is there, whatever was lost before it."""
    with suppress(Overrun):
        return backlog.take(10_000)
    return backlog.take(10_000)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.lists(st.tuples(st.sampled_from("+-!"), st.integers(0, 9), st.integers(0, 400)), max_size=6),
            st.integers(0, 4),
        ),
        max_size=40,
    ),
    st.sampled_from(Overflow),
)
def test_what_several_clients_have_unread_is_bounded_and_no_sum_of_rows_is_lost(
    steps: list[tuple[int, list[tuple[str, int, int]], int]], overflow: Overflow
) -> None:
    door = Pool(4_000)
    clients = [Pool(2_000, door), Pool(2_000, door)]
    backlogs = [Backlog(limit=20, overflow=overflow, limit_bytes=1_000) for _ in range(4)]
    for number, backlog in enumerate(backlogs):
        backlog.join_pool(clients[number % 2])
    owed: list[Counter[Row]] = [Counter() for _ in backlogs]
    for which, come, taken in steps:
        new = [(SIGNS[sign], Row({"x": f"{row}".ljust(length)})) for sign, row, length in come]
        backlogs[which].extend(new)
        for sign, row in new:
            owed[which][row] += sign
        with suppress(Overrun):
            for sign, row in backlogs[which].take(taken, 500):
                owed[which][row] -= sign

        assert door.held_bytes == sum(client.held_bytes for client in clients) == sum(each.held_bytes() for each in backlogs)
        if overflow is not Overflow.RESYNC:
            assert door.held_bytes <= 4_000
            assert max(each.held_bytes() for each in backlogs) <= 1_000

    if overflow is Overflow.RESYNC:
        for which, backlog in enumerate(backlogs):
            for sign, row in holders_of(backlog):
                owed[which][row] -= sign
            assert not any(owed[which].values())
