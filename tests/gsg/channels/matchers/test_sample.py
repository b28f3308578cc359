"""How many of some events pass a test."""

from __future__ import annotations

import pytest

from gsg.channels.matchers.access import ANY_VALUE, EVERYWHERE, Access
from gsg.channels.matchers.sample import SIZE, Sample

EVENTS = [{"a": 1}, {"a": True}, {"a": [1]}, {"a": "Abc"}, {"a": "abcd"}, {"b": "abc"}, {"a": 1.0, "b": None}]
PASSING = [
    (EVERYWHERE, 7),
    (Access("a", ANY_VALUE), 6),
    (Access("a", 1), 2),
    (Access("a", (True,)), 1),
    (Access("b", None), 1),
    (Access("a", "abc", "prefix"), 1),
    (Access("a", "abc", "prefix-ci"), 2),
    (Access("a", "bc", "suffix-ci"), 1),
    (Access("a", "bc", "contains"), 2),
    (Access("a", "abc", "=-ci"), 1),
]


@pytest.mark.parametrize(("access", "number"), PASSING)
def test_events_that_pass_a_test_are_counted(access: Access, number: int) -> None:
    sample = Sample()
    for each in EVENTS:
        sample.take(each)

    assert sample.passing(access) == number


def test_the_oldest_event_gives_way() -> None:
    sample = Sample()
    for number in range(SIZE + 3):
        sample.take({"a": number})

    assert sample.is_full
    assert [number for number in range(SIZE + 3) if sample.passing(Access("a", number))] == [*range(3, SIZE + 3)]
