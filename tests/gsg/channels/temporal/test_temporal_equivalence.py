"""Temporal subscriptions find what the definition says, on streams with ties, absences, windows, comings and goings.

Each example is a seed from which several streams are made. ``make test`` runs 2,000 streams in all; ``make soak``, whose profile of
hypothesis has 2,000 examples a test instead of 100, runs 40,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_temporal import RELATIONS, Arrived, Stream, Subscribed

from gsg.channels.events import Event
from gsg.channels.temporal import Limits, Match, TemporalMatcher, parse

NAN = float("nan")
STREAMS = 5
"""Of each example."""
VALUES: list[Any] = [0, 1, 2, 3, 1.0, 2.5, "1", "2", "a", "10", "9", True, None, NAN, [NAN], [1], [True], {"n": 1.0}]
PLAIN: list[Any] = [0, 1, 2, 3]
UNLIMITED = Limits(matches=10**9, steps=10**9, old_matches=10**9, old_steps=10**9, waiting=10**9)


def _pattern(random: Random, variables: list[str]) -> str:
    parts = []
    for name in random.sample(["a", "b", "c"], random.choice([0, 1, 1, 2, 3])):
        parts.append(f"({name} ?{random.choice(variables)})")
    if random.random() < 0.3:
        parts.append(f"(arrival ?{random.choice(variables)})")
    if random.random() < 0.3:
        parts.append(f"(type '{random.choice('xy')})")
    if random.random() < 0.1:
        parts.append(
            random.choice(["(where (> b 1))", "(where (not (exists c)))", "(where (or (= a 1) (< b c)))", "((env who) 'me)"])
        )
    return f"(event {' '.join(parts)})"


def _test(random: Random, bound: list[str]) -> str:
    one, two, three = (f"?{random.choice(bound)}" for _ in range(3))
    operator = random.choice(["<", "<", "<=", ">", ">=", "=", "eq", "!="])
    return random.choice(
        [
            f"({operator} {one} {two})",
            f"({operator} {one} {two})",
            f"({operator} {one} {two} {three})",
            f"({operator} {one} 1)",
            f"({operator} (+ {one} 1) {two})",
            f"(or ({operator} {one} {two}) (= {three} 1))",
            f"(not ({operator} {one} {two}))",
            f'(prefix {one} "1")',
            f"(any {one} (= it 1))",
            f"(= (mod {one} 2) 0)",
            "false" if random.random() < 0.1 else f"({operator} 2 {one})",
        ]
    )


def _names(patterns: list[str]) -> list[str]:
    return sorted({word[1:] for pattern in patterns for word in pattern.replace(")", " ").split() if word.startswith("?")})


def _text(random: Random, counts: Sequence[int], absences: float, windows: float) -> str:
    count = random.choice(counts)
    variables = [f"v{number}" for number in range(random.choice([3, 8, 8]))]
    items = [_pattern(random, variables) for _ in range(count)]
    bound = _names(items)
    tests = [f"(test {_test(random, bound)})" for _ in range(random.choice([0, 1, 1, 2])) if bound]
    for _ in range(2):
        if random.random() < absences:
            pattern = _pattern(random, [*variables[:2], "local"])
            inner = sorted({*bound, *_names([pattern])})
            test = f" (test {_test(random, inner)})" if inner and random.random() < 0.4 else ""
            items.insert(random.randint(1, len(items)), f"(absent {random.choice(['1s', '2500ms', '4s'])} {pattern}{test})")
    if random.random() < windows:
        items.append(f"(last {random.randint(1, 8)})")
    if random.random() < windows:
        items.append(f"(within {random.choice(['500ms', '1s', '3s'])})")
    return " ".join(items + tests)


def _event(random: Random, values: list[Any], number: int) -> Event:
    fields = {name: random.choice(values) for name in "abc" if random.random() < 0.95}
    if random.random() < 0.9:
        fields["type"] = random.choice("xy")
    return Event(fields, "here", number, {"who": random.choice(["me", "you"])})


def _shown(match: Match) -> tuple[int, tuple[int, ...], str]:
    return match.number, match.arrivals, repr(sorted(match.bindings.items()))


def _run(
    random: Random, *, absences: float, windows: float, goings: float, counts: Sequence[int] = (1, 2, 2, 3, 3), remembered: int = 12
) -> None:
    """Subscriptions to so many events, as many of which are remembered at most."""
    max_events = random.randint(4, remembered)
    matcher = TemporalMatcher(RELATIONS, max_events=max_events, limits=UNLIMITED)
    stream = Stream(max_events)
    standing: dict[int, Subscribed] = {}
    told: list[list[tuple[int, tuple[int, ...], str]]] = []
    values = random.choice([PLAIN, PLAIN[:2], VALUES, VALUES[:11]])
    now_s = 0.0

    def subscribe(number: int, *, is_modified: bool = False) -> None:
        query = parse(_text(random, counts, absences, windows), RELATIONS)
        if is_modified:
            standing[number].end = len(told)
            matcher.modify(number, query, now_s)
            told.append([])
        else:
            told.append([_shown(match) for match in matcher.insert(number, query, now_s)])
        step = len(told) - 1
        standing[number] = Subscribed(number, query, not is_modified, len(stream.events), now_s, step)
        stream.subscriptions.append(standing[number])
        # An insertion is no time at which what others wait for is told.
        stream.times_s.append(now_s)

    def happen() -> None:
        event = _event(random, values, len(stream.events) + 1)
        told.append([_shown(match) for match in matcher.happened(event, now_s)])
        stream.times_s.append(now_s)
        stream.events.append(Arrived(event, len(stream.events) + 1, now_s, len(told) - 1))

    def advance() -> None:
        told.append([_shown(match) for match in matcher.advance(now_s)])
        stream.times_s.append(now_s)

    for _ in range(random.randint(0, 3)):
        happen()
    subscribe(1)
    for _ in range(random.randint(5, 9)):
        now_s += random.choice([0.0, 0.0, 0.5, 1.0, 2.5])
        advance()
        happen()
        if random.random() < goings:
            if len(standing) < 3 and random.random() < 0.5:
                subscribe(len(stream.subscriptions) + 1)
            elif standing and random.random() < 0.5:
                subscribe(random.choice(list(standing)), is_modified=True)
            elif standing:
                gone = random.choice(list(standing))
                standing.pop(gone).end = len(told)
                matcher.remove(gone)
    while matcher.next_s is not None:
        now_s = matcher.next_s
        advance()

    expected: list[list[tuple[int, tuple[int, ...], str]]] = [[] for _ in told]
    for one in stream.told():
        expected[one.step].append((one.number, one.arrivals, repr(sorted(one.bindings.items()))))
    assert told == expected


@pytest.mark.parametrize(
    ("absences", "windows", "goings"),
    [(0.0, 0.0, 0.0), (0.7, 0.2, 0.0), (0.1, 0.8, 0.1), (0.4, 0.3, 0.5)],
    ids=["ties", "absences", "windows", "comings and goings"],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_matches_are_those_of_all_combinations(absences: float, windows: float, goings: float, seed: int) -> None:
    random = Random(seed)
    for _ in range(STREAMS):
        _run(random, absences=absences, windows=windows, goings=goings)


@pytest.mark.parametrize("indexes", [0, 1])
@given(seed=st.integers(0, 2**32 - 1))
def test_matches_are_the_same_with_few_indexes(indexes: int, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gsg.channels.temporal.search.MAX_INDEXES", indexes)
        _run(Random(seed), absences=0.1, windows=0.1, goings=0.2)


@given(seed=st.integers(0, 2**32 - 1))
def test_matches_of_many_patterns_are_those_of_all_combinations(seed: int) -> None:
    # Without absences: of so many matches, some would be due at the call after the next (MAX_DUE).
    _run(Random(seed), absences=0.0, windows=0.1, goings=0.1, counts=(4, 5), remembered=5)
