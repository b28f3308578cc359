"""How far two clocks are apart: what round trips say, and how wrong that may be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gsg.experiments.clocks import DRIFT, KEPT, UNKNOWN_US, ClockOffset


def test_nothing_is_known_before_the_first_round_trip() -> None:
    assert ClockOffset().best(5) == (0, UNKNOWN_US)


def test_the_shortest_round_trip_is_taken() -> None:
    clock = ClockOffset()
    clock.measure(0, 10_000, 1_000_009_000)
    clock.measure(20_000, 20_200, 1_000_020_100)
    clock.measure(40_000, 49_000, 1_000_048_000)

    assert clock.best(49_000) == (1_000_000_000, 100 + int(28_800 * DRIFT))


def test_one_that_is_old_is_worth_less_than_a_new_one() -> None:
    clock = ClockOffset()
    clock.measure(0, 200, 100)
    hour_us = 3_600_000_000
    clock.measure(hour_us, hour_us + 1_000, hour_us + 500 + 7)

    assert clock.best(hour_us + 1_000) == (7, 500)


def test_the_last_few_are_kept() -> None:
    clock = ClockOffset()
    clock.measure(0, 2, 1)
    for _ in range(KEPT):
        clock.measure(1_000, 2_000, 1_500 + 3)

    assert clock.best(2_000) == (3, 500)


@given(
    st.integers(-(10**15), 10**15),
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=40),
)
def test_the_true_offset_is_never_further_away_than_the_error(offset_us: int, ways: list[tuple[int, int]]) -> None:
    clock, now_us = ClockOffset(), 0
    for there_us, back_us in ways:
        clock.measure(now_us, now_us + there_us + back_us, now_us + there_us + offset_us)
        now_us += there_us + back_us + 1_000_000

    found_us, error_us = clock.best(now_us)

    assert abs(found_us - offset_us) <= error_us + 1
