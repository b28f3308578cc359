"""What is no event is refused, with what was given and what is expected."""

from __future__ import annotations

from typing import Any

import pytest

from gsg.errors import BadTerm
from gsg.http.client.topic import ClientTopic
from gsg.topics.topic import Topic
from gsg.topics.values import event_values
from gsg.tuples.terms import IRI, fact

EXPECTED = 'an event is a list or tuple of its values, at least one, such as [21] or [22, "warm"]'


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ("ab", "'ab' is no list of events"),
        (5, "5 is no list of events"),
        (["ab"], "'ab' is no event"),
        ([1, 2], "1 is no event"),
        ([IRI("x:a")], "IRI(value='x:a') is no event"),
        ([{"a": 1}], "{'a': 1} is no event"),
        ([()], "() is an event without values"),
    ],
)
def test_what_is_no_event_is_refused(events: Any, problem: str) -> None:  # Any: what is tried
    with pytest.raises(BadTerm) as told:
        list(event_values(events))

    assert str(told.value).startswith(f"{problem}; {EXPECTED}")


def test_events_are_lists_tuples_and_what_yields_values() -> None:
    assert list(event_values([[21], (22, "warm"), (one for one in "ab")])) == [(21,), (22, "warm"), ("a", "b")]


@pytest.mark.parametrize("kind", ["peer", "client"])
async def test_an_event_without_values_is_refused_before_anything_is_sent(kind: str) -> None:
    nobody: Any = None  # Any: nothing of it is used
    topic = Topic("news", nobody, fact, nobody) if kind == "peer" else ClientTopic("news", nobody)

    with pytest.raises(BadTerm, match="is an event without values"):
        await topic.publish()
