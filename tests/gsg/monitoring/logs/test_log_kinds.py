"""Which records are too many of their kind."""

from __future__ import annotations

import logging

from gsg.monitoring.logs.kinds import MAX_KINDS, OF_A_KIND, WINDOW_S, KindLimit


def kind(line: int) -> tuple[str, int, str, int]:
    return ("gsg", logging.WARNING, "gsg/http/door.py", line)


def test_of_one_kind_so_many_are_admitted_and_the_rest_is_counted_at_the_end_of_its_time() -> None:
    limit = KindLimit()
    admitted = [limit.admits(kind(1), f"line {number}", now=number / 1000) for number in range(OF_A_KIND + 500)]
    others = limit.admits(kind(2), "another", now=1.0)

    assert admitted == [True] * OF_A_KIND + [False] * 500
    assert others
    assert limit.ended(WINDOW_S - 0.001) == []
    assert limit.next_s == WINDOW_S
    assert limit.ended(WINDOW_S) == [f"500 more like this in 60 s, the last: line {OF_A_KIND + 499}"]
    assert limit.admits(kind(1), "again", now=WINDOW_S)


def test_kinds_beyond_the_bound_are_one() -> None:
    limit = KindLimit()
    for number in range(MAX_KINDS):
        limit.admits(kind(number), "", now=0.0)

    admitted = sum(limit.admits(kind(MAX_KINDS + number), "", now=0.0) for number in range(100))

    assert admitted == OF_A_KIND
    assert limit.admits(kind(0), "", now=0.0)
