"""Stamps far from everybody's: what they are said of stays, as the earliest word on it."""

from __future__ import annotations

import pytest

from gsg.storage.disk.records import EARLIEST, Row, in_reason, latest_in_reason


def test_a_stamp_beyond_the_limit_becomes_the_earliest_and_all_else_stays() -> None:
    rows: list[Row] = [(("a", 1), [(0, 1, 9), (1, -1, 11)]), (("b", 2), []), (("c", 3), [(0, 1, 10)])]

    assert in_reason(rows, 11) == (rows, 0)
    assert in_reason(rows, 9) == ([(("a", 1), [(0, 1, 9), (1, -1, EARLIEST)]), (("b", 2), []), (("c", 3), [(0, 1, EARLIEST)])], 2)


@pytest.mark.parametrize(
    ("clocks", "latest"), [([], 0), ([5], 5), ([5, 7, 6], 7), ([105, 5, 4], 105), ([106, 5, 4], 5), ([5, 106], 5)], ids=str
)
def test_of_several_times_one_far_beyond_all_others_is_none(clocks: list[int], latest: int) -> None:
    assert latest_in_reason(clocks, 100) == latest
