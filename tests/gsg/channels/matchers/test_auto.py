"""Which matcher is best for a condition, and when conditions go over to another."""

from __future__ import annotations

from random import Random

import pytest
from random_conditions import condition, event

from gsg.channels import Channel
from gsg.channels.languages.predicate import parse
from gsg.channels.languages.relations import Relations
from gsg.channels.matchers import auto, compile, field_tests, leaf
from gsg.channels.matchers.auto import CROWDED, HYSTERESIS, MAX_SAMPLES, MOVED, PERIOD, WIDE, Auto, Seen, _Values, best_for
from gsg.channels.matchers.scan import Scan


@pytest.mark.parametrize(
    ("seen", "best"),
    [
        (Seen(conditions=1_000, wide=0, events=512, changes=0, new_values=0.0, values=100), "bitmap"),
        (Seen(conditions=1_000, wide=0, events=512, changes=100, new_values=0.0), "compile"),
        (Seen(conditions=100_000, wide=0, events=512, changes=0, new_values=0.0), "compile"),
        (Seen(conditions=1_000, wide=0, events=512, changes=0, new_values=0.5), "compile"),
        (Seen(conditions=20_000, wide=0, events=512, changes=0, new_values=0.0, values=30_000), "compile"),
        (Seen(conditions=1_000, wide=WIDE + 1, events=512, changes=0, new_values=0.5), "compile, wide in bitmap"),
        (Seen(conditions=0, wide=0, events=0, changes=0, new_values=0.0), "bitmap"),
    ],
    ids=["steady", "changing", "many", "new values", "too many values", "wide", "nothing"],
)
def test_the_best_follows_from_what_was_seen(seen: Seen, best: str) -> None:
    assert best_for(seen)[0] == best


def test_conditions_go_over_only_after_some_periods_and_it_is_said_why() -> None:
    changes: list[str] = []
    matcher = Auto(Relations(), lambda name, why: changes.append(name))
    for number in range(100):
        matcher.insert(number, parse(f"(= a {number})"))
    after = []
    for number in range((HYSTERESIS + 3) * PERIOD):
        assert matcher.match({"a": number % 100}, {}) == [number % 100]
        after.append(matcher.name)

    assert changes == ["bitmap"]
    assert after.index("bitmap") > HYSTERESIS * PERIOD - 2
    assert "of the values come again" in matcher.why
    assert (len(matcher._bitmap), len(matcher._compile)) == (100, 0)


def test_what_changes_while_conditions_go_over_is_found_and_few_go_with_one_event() -> None:
    matcher = Auto(Relations())
    for number in range(1_000):
        matcher.insert(number, parse(f"(= a {number})"))
    while not matcher.moving:
        matcher.match({"a": 1}, {})
    assert len(matcher._bitmap) <= MOVED
    matcher.insert(1_000, parse("(= a 1)"))
    matcher.remove(2)
    while matcher.moving:
        before = len(matcher._bitmap)
        assert sorted(matcher.match({"a": 1}, {})) == [1, 1_000]
        assert len(matcher._bitmap) <= before + MOVED

    assert (matcher.name, len(matcher._bitmap), matcher.match({"a": 2}, {})) == ("bitmap", 1_000, [])


def test_conditions_go_back_when_they_change_often() -> None:
    matcher = Auto(Relations())
    for number in range(500):
        matcher.insert(number, parse(f"(= a {number})"))
    while matcher.name != "bitmap" or matcher.moving:
        matcher.match({"a": 1}, {})

    for number in range(500, 500 + (HYSTERESIS + 1) * PERIOD):
        matcher.insert(number, parse(f"(= a {number})"))
        assert matcher.match({"a": number}, {}) == [number]

    assert matcher.name == "compile"
    assert "changes" in matcher.why


def test_many_conditions_without_a_test_on_a_value_are_sets_at_once() -> None:
    matcher = Auto(Relations())
    for number in range(WIDE + 10):
        matcher.insert(number, parse(f"(and (> a {number}) (< b 5))"))
    while matcher.moving:
        assert len(matcher.match({"a": 7, "b": 1}, {})) == 7

    assert (matcher.name, len(matcher._bitmap)) == ("compile, wide in bitmap", WIDE + 10)


def test_of_conditions_that_crowd_under_one_test_the_later_ones_are_sets() -> None:
    matcher = Auto(Relations())
    for number in range(2 * CROWDED):
        matcher.insert(number, parse(f"(and (= a 'x) (> b {number}))"))

    assert len(matcher._bitmap) == CROWDED - 1
    assert len(matcher.match({"a": "x", "b": 1_000}, {})) == 2 * CROWDED


def test_crowded_conditions_on_texts_are_no_sets_where_values_are_new() -> None:
    matcher = Auto(Relations())
    for number in range(2 * CROWDED):
        matcher.insert(number, parse(f'(and (= a "x") (regex b "{number}"))'))
        matcher.insert(10_000 + number, parse(f'(and (= c "x") (contains d "{number % 10}"))'))

    assert len(matcher._bitmap) == 0
    assert len(matcher.match({"c": "x", "d": "1"}, {})) == 2 * CROWDED / 10


def test_samples_of_values_are_bounded_and_those_that_come_again_are_known() -> None:
    values = _Values()
    for number in range(3 * MAX_SAMPLES):
        values.sample({"a": number, "b": [number]})
    assert values.take()[0] == 1.0
    values.sample({"a": 3 * MAX_SAMPLES - 1})

    share, known = values.take()

    assert share == 0.0
    assert MAX_SAMPLES / 2 <= known <= MAX_SAMPLES + 2


def test_a_channel_shows_its_matcher() -> None:
    channel = Channel(matcher=Auto)

    assert isinstance(channel.matcher, Auto)
    assert channel.matcher.why == "nothing was seen yet"


SMALL = {
    auto: {"PERIOD": 16, "SAMPLED": 1, "HYSTERESIS": 1, "MOVED": 2, "ASKED": 3, "WIDE": 2, "CROWDED": 4},
    compile: {"LEAF": 4, "CHUNK": 6},
    leaf: {"WORTH": 20},
    field_tests: {"MAX_CHANGES": 8, "MANY": 3},
}


@pytest.mark.parametrize("seed", range(100, 104))
def test_answers_are_right_while_conditions_go_over_again_and_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, limits in SMALL.items():
        for name, limit in limits.items():
            monkeypatch.setattr(module, name, limit)
    rng, relations = Random(seed), Relations()
    rules: set[str] = set()
    scan, matcher = Scan(relations), Auto(relations, lambda name, why: rules.add(name))
    live, events = list[int](), [event(rng) for _ in range(10)]
    for number in range(500):
        if number % 100 < 50:
            made = condition(rng)
            live.append(number)
            scan.insert(number, made)
            matcher.insert(number, made)
            if len(live) > 30:
                gone = live.pop(rng.randrange(len(live)))
                scan.remove(gone)
                matcher.remove(gone)
        fields, environment = rng.choice(events) if rng.random() < 0.7 else event(rng)

        assert sorted(matcher.match(fields, environment)) == sorted(scan.match(fields, environment))
    assert len(rules) > 1
