"""Lives follow their laws, and what is left of those under way follows what renewal theory says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from simulations.churn.lifetimes import LAWS, Lifetimes
from simulations.churn.lives import ENTERING_S, MICRO, Lives, check_lives, live
from simulations.errors import BadParameter

HOUR = 3600.0
MANY = 200_000
SHAPES = {"exponential": 1.0, "weibull": 0.6, "pareto": 3.0, "yao": 3.0}


def law_of(name: str, hours: float = 5.0) -> Lifetimes:
    return Lifetimes(name, hours * HOUR, SHAPES[name])


def survival_of(
    law: Lifetimes, after_s: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The share of lives that last for longer, for all laws but yao."""
    times = after_s / law.mean_s
    match law.law:
        case "exponential":
            return np.exp(-times)
        case "weibull":
            return np.exp(-((times * math.gamma(1 + 1 / law.shape)) ** law.shape))
    return (1 + times / (law.shape - 1)) ** -law.shape


def farthest_apart(
    drawn: np.ndarray[tuple[int], np.dtype[np.float64]], others: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    """The distance of Kolmogorov and Smirnov between two samples."""
    at = np.sort(np.concatenate((drawn, others)))
    shares = [np.searchsorted(np.sort(each), at, side="right") / len(each) for each in (drawn, others)]
    return float(np.abs(shares[0] - shares[1]).max())


@pytest.mark.parametrize("name", LAWS)
def test_lives_have_the_mean_that_was_asked_for(name: str) -> None:
    found = law_of(name).drawn(7, 0, 5 * MANY)

    assert found.min() >= 0
    # Means of what has heavy tails converge slowly; yao's lives have two of them.
    assert found.mean() == pytest.approx(5 * HOUR, rel=0.05)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "yao"])
def test_lives_follow_their_law(name: str) -> None:
    law = law_of(name)

    found = np.sort(law.drawn(7, 0, MANY))

    assert np.abs(survival_of(law, found) - (1 - np.arange(1, MANY + 1) / MANY)).max() < 1.6 / math.sqrt(MANY)


@pytest.mark.parametrize("name", [name for name in LAWS if name != "yao"])
def test_what_is_left_of_lives_has_the_survival_of_lives_as_its_density(name: str) -> None:
    law = law_of(name)
    found = np.sort(law.remaining(7, MANY))
    # The integral of the survival up to each of some moments, over the mean, by the rule of trapezoids on ever longer steps.
    grid = np.concatenate(([0.0], np.geomspace(1e-6, 1e4, 200_001))) * law.mean_s
    survival = survival_of(law, grid)
    share = np.concatenate(([0.0], np.cumsum(np.diff(grid) * (survival[1:] + survival[:-1]) / 2))) / law.mean_s

    drawn = np.searchsorted(found, grid, side="right") / MANY

    assert share[-1] == pytest.approx(1, abs=2e-4)
    assert np.abs(share - drawn).max() < 1.6 / math.sqrt(MANY)


@pytest.mark.parametrize("name", LAWS)
def test_what_is_left_is_what_is_seen_of_places_that_have_been_filled_for_long(name: str) -> None:
    law, places = law_of(name), 4_000
    # From fresh lives at the first moment, looked at once when each place has had some sixty of them.
    at = 300 * HOUR
    ends = law.drawn(1, 0, places)
    drawn = places
    while (ends < at).any():
        over = np.flatnonzero(ends < at)
        ends[over] += law.drawn(1, drawn, len(over))
        drawn += len(over)

    assert farthest_apart(ends - at, law.remaining(2, 50_000)) < 1.9 / math.sqrt(places)


def lives_of(name: str, **changes: object) -> Lives:
    asked = {"peers": 3_000, "end_s": 40 * HOUR, "graceful": 0.25, "noticed_s": (5.0, 10.0), "seed": 3, **changes}
    return live(law_of(name), **asked)  # type: ignore[arg-type]  # as live takes them


@pytest.mark.parametrize("name", LAWS)
def test_as_many_die_in_the_first_hours_as_in_the_last(name: str) -> None:
    lives = lives_of(name)

    deaths = np.histogram(lives.died, bins=5, range=(0, lives.end))[0]

    # 8 hours of 3,000 peers that live for 5; fresh lives instead of those under way would be off by a third in the first hours.
    assert deaths == pytest.approx(3_000 * 8 / 5, rel=0.06)


@pytest.mark.parametrize("name", LAWS)
def test_each_place_always_has_a_peer_but_for_the_moment_in_which_it_enters(name: str) -> None:
    lives = lives_of(name, peers=200)

    for at in range(0, lives.end, lives.end // 50):
        entering = ((lives.died <= at) & (at < lives.died + int(ENTERING_S * MICRO))).sum()
        assert len(lives.living(at)) == 200 - entering


def test_crashes_are_noticed_later_and_peers_that_leave_say_so() -> None:
    lives = lives_of("weibull")

    late = lives.gone - lives.died
    assert lives.ordered.mean() == pytest.approx(0.25, abs=0.02)
    assert not late[lives.ordered].any()
    assert late[~lives.ordered].min() >= 5 * MICRO
    assert late[~lives.ordered].max() <= 10 * MICRO
    assert (np.diff(lives.born) >= 0).all()
    assert lives.deaths == (lives.died < lives.end).sum()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (("normal", HOUR, 1.0), "lifetimes 'normal'; expected exponential, weibull, pareto or yao"),
        (("pareto", HOUR, 1.0), "a Pareto shape of 1; expected more than 1: with less, lives have no mean"),
        (("weibull", HOUR, 0.1), "a Weibull shape of 0.1; expected 0.2 or more"),
        (("exponential", 60.0, 1.0), r"lives of 0.0166667 hours in the mean; expected 0.1 or more"),
    ],
)
def test_what_no_law_can_be_is_refused(wrong: tuple[str, float, float], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        Lifetimes(*wrong)


def test_more_lives_than_fit_are_refused_before_they_are_drawn() -> None:
    with pytest.raises(BadParameter, match="49,000,000 lives of 1,000,000 peers within 10 days; expected 8,388,608 at most"):
        check_lives(law_of("pareto"), 1_000_000, 240 * HOUR)
