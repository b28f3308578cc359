"""Which matcher is best, and when it takes over."""

from __future__ import annotations

import pytest

from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers.auto import HYSTERESIS, PERIOD, Auto, Seen, best_for


@pytest.mark.parametrize(
    ("seen", "best"),
    [
        (Seen(conditions=1_000, events=512, changes=0, field_sets=3), "bitmap"),
        (Seen(conditions=1_000, events=512, changes=100, field_sets=3), "compile"),
        (Seen(conditions=100_000, events=512, changes=0, field_sets=3), "compile"),
        (Seen(conditions=1_000, events=512, changes=0, field_sets=500), "compile"),
        (Seen(conditions=0, events=0, changes=0, field_sets=0), "bitmap"),
    ],
    ids=["steady", "changing", "many", "varied", "nothing"],
)
def test_the_best_follows_from_what_was_seen(seen: Seen, best: str) -> None:
    assert best_for(seen)[0] == best


def test_another_matcher_takes_over_only_after_some_periods_and_says_why() -> None:
    changes: list[str] = []
    matcher = Auto(Relations(), lambda name, why: changes.append(name))
    for number in range(100):
        matcher.insert(number, parse(f"(= a {number})"))
    after = []
    for number in range((HYSTERESIS + 2) * PERIOD):
        assert matcher.match({"a": number % 100}, {}) == [number % 100]
        after.append(matcher.name)

    assert changes == ["bitmap"]
    assert after.index("bitmap") > HYSTERESIS * PERIOD - 2
    assert "sets of fields that come again" in matcher.why


def test_what_changes_while_another_matcher_is_filled_is_in_it() -> None:
    matcher = Auto(Relations())
    for number in range(1_000):
        matcher.insert(number, parse(f"(= a {number})"))
    while matcher._next is None:
        matcher.match({"a": 1}, {})
    matcher.insert(1_000, parse("(= a 1)"))
    matcher.remove(2)
    while matcher._next is not None:
        matcher.match({"a": 2}, {})

    assert (matcher.name, sorted(matcher.match({"a": 1}, {})), matcher.match({"a": 2}, {})) == ("bitmap", [1, 1_000], [])
