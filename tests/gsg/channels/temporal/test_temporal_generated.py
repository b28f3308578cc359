"""Functions that search: what they count, and what they have in common."""

from __future__ import annotations

from typing import Any

import pytest

from gsg.channels.events import Event
from gsg.channels.languages.relations import Relations
from gsg.channels.temporal import Limits, TemporalMatcher, generated, parse

LETTERS = "abcdef"
STANDARD = Limits()


def _told(text: str, events: list[dict[str, Any]], limits: Limits = STANDARD) -> tuple[list[tuple[int, ...]], list[str]]:
    """The arrivals of what is told of the last event, and the limits that were exceeded."""
    matcher = TemporalMatcher(Relations(), limits=limits)
    matcher.insert(1, parse(text), 0.0)
    told: list[tuple[int, ...]] = []
    for now_s, fields in enumerate(events):
        told = [match.arrivals for match in matcher.happened(Event(fields), float(now_s))]
    return told, [stopped.limit for stopped in matcher.take_stopped()]


def _patterns(count: int) -> str:
    return " ".join(f"(event ({LETTERS[number]} ?{LETTERS[number]}))" for number in range(count))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_matches_of_any_number_of_patterns_are_limited(count: int) -> None:
    events = [{letter: 1} for letter in LETTERS[1:count] for _ in range(2)] + [{"a": 1}]
    matches = 2 ** (count - 1)

    assert len(_told(_patterns(count), events, Limits(matches=matches))[0]) == matches
    assert _told(_patterns(count), events, Limits(matches=matches - 1)) == ([], ["matches"])


@pytest.mark.parametrize(("count", "steps"), [(2, 3), (3, 3 + 1 + 9), (4, 3 + 2 + 3 * (3 + 1 + 9))])
def test_steps_of_any_number_of_patterns_are_limited(count: int, steps: int) -> None:
    events = [{letter: 1} for letter in LETTERS[1:count] for _ in range(3)] + [{"a": 1}]

    assert _told(_patterns(count), events, Limits(steps=steps))[1] == []
    assert _told(_patterns(count), events, Limits(steps=steps - 1)) == ([], ["steps"])


@pytest.mark.parametrize(
    ("test", "steps"),
    [
        ("(> (+ ?a ?b) 9)", 3 + 3 * 3),
        ("(> (+ ?a ?b) 0) (> (+ ?a ?b) 9)", 3 + 3 * (3 + 3)),
        ("(> (+ ?a ?b) 9) (> (+ ?a ?b) 0)", 3 + 3 * 3),
        ('(or (prefix ?b "x") (= ?a 9))', 3 + 3 * (2 + 1)),
        ("(> (+ ?a ?b) 0) (> (+ ?a ?b) 1e999) (> (+ ?a ?b) 0)", 3 + 3 * (3 + 3)),
        (" ".join(f"(> (+ ?a ?b) {-number})" for number in range(20)) + " (< (+ ?a ?b) 0)", 3 + 3 * 21 * 3),
    ],
    ids=["one", "both", "the first alone", "a relation", "no literal", "more than stand inside"],
)
def test_tests_inside_of_a_function_are_steps(test: str, steps: int) -> None:
    text = f"(event (a ?a)) (event (b ?b)) (test {test})"
    events = [{"b": 1}, {"b": 1}, {"b": 1}, {"a": 1}]

    assert _told(text, events, Limits(steps=steps)) == ([], [])
    assert _told(text, events, Limits(steps=steps - 1)) == ([], ["steps"])


def test_fewest_events_come_first() -> None:
    text = "(event (a ?u)) (event (b ?u)) (event (c ?u)) (event (d ?u))"
    events = [{"b": 1}] + [{"c": 1}] * 50 + [{"d": 1}] * 2 + [{"a": 1}]
    first, second, last = 1 + 2, 2 + 1, 2 * 50

    told, stopped = _told(text, events, Limits(steps=first + second + last))

    assert (len(told), stopped) == (100, [])


def test_subscriptions_of_one_form_have_one_text() -> None:
    text = "(event (type 'x{0}) (time ?t1) (u ?u)) (event (type 'y{0}) (time ?t2) (u ?u)) (test (< ?t1 ?t2))"
    events = [{"type": f"{letter}{number}", "time": time, "u": 1} for number in "12" for time, letter in enumerate("xy")]
    assert _told(text.format(1), events[:2])[0] == [(1, 2)]
    before = generated._compiled.cache_info().misses

    assert _told(text.format(2), events)[0] == [(3, 4)]

    assert generated._compiled.cache_info().misses == before


@pytest.mark.parametrize(
    ("times", "pairs"),
    [
        (["08:00", "09:00", "10:00"], [(1, 3), (2, 3)]),
        (["09:00", "08:00", "08:30"], [(2, 3)]),
        (["9", 8, 8.5], [(2, 3)]),
        ([8, "9", 10], [(1, 3), (2, 3)]),
        (["a", 1, "2"], [(2, 3)]),
        ([1, "b", "c"], [(2, 3)]),
        ([1, 2, None], []),
    ],
    ids=repr,
)
def test_ranges_of_texts_and_numbers(times: list[Any], pairs: list[tuple[int, int]]) -> None:
    text = "(event (time ?t1)) (event (time ?t2) (is 'last)) (test (< ?t1 ?t2))"
    events = [{"time": time} for time in times[:-1]] + [{"time": times[-1], "is": "last"}]

    assert _told(text, events)[0] == pairs
