"""View exchange keeps views sound, spreads them evenly and forgets the dead; an event reaches its subscribers."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.dissemination.cyclon import NOBODY, Views
from simulations.dissemination.diffusion import Diffusion, Walks, diffuse
from simulations.errors import BadParameter


def views(agents: int = 500, view: int = 20, exchanged: int = 8, seed: int = 1, *, oldest: bool = False) -> Views:
    return Views(agents, view=view, exchanged=exchanged, rng=np.random.default_rng(seed), oldest=oldest)


def are_sound(asked: Views) -> bool:
    """Whether nobody knows itself, or another twice."""
    return all(
        agent not in known and len(set(known)) == len(known)
        for agent, known in ((agent, [other for other in row if other != NOBODY]) for agent, row in enumerate(asked.known.tolist()))
    )


@pytest.mark.parametrize("oldest", [False, True])
@pytest.mark.parametrize(("agents", "view", "exchanged"), [(2, 1, 1), (3, 2, 2), (30, 5, 1), (500, 20, 8)])
def test_views_stay_sound(agents: int, view: int, exchanged: int, oldest: bool) -> None:
    asked = views(agents, view, exchanged, oldest=oldest)
    assert are_sound(asked)

    for _ in range(10):
        asked.exchange_all()

    assert are_sound(asked)


@pytest.mark.parametrize("oldest", [False, True])
def test_no_reference_is_lost_while_all_live(oldest: bool) -> None:
    asked = views(oldest=oldest)

    for _ in range(20):
        asked.exchange_all()

    assert (asked.known != NOBODY).mean() > 0.999
    assert asked.in_degrees().mean() > 19.9


def test_in_degrees_become_more_even_than_at_random() -> None:
    # At random the number of who know an agent has the variance of its mean; exchange keeps it about there, and never lets it grow.
    asked = views(5_000)
    for _ in range(30):
        asked.exchange_all()

    assert asked.in_degrees().std() < 1.2 * np.sqrt(20)


def test_trading_with_the_oldest_spreads_references_evenly() -> None:
    # 20 with a deviation of 2.4 is known of a thousand agents with views of 20 of which 8 are traded.
    asked = views(1_000, oldest=True)
    for _ in range(40):
        asked.exchange_all()

    assert asked.in_degrees().mean() == pytest.approx(20, abs=0.1)
    assert asked.in_degrees().std() == pytest.approx(2.4, abs=0.3)


def test_trading_with_the_oldest_keeps_one_dead_in_a_hundred_thirty_rounds_after_half_of_all_died() -> None:
    asked = views(1_000, oldest=True)
    for _ in range(20):
        asked.exchange_all()
    asked.remove(500)
    for _ in range(30):
        asked.exchange_all()

    assert asked.dead_references().mean() / 20 == pytest.approx(0.01, abs=0.006)


def test_the_dead_are_forgotten_in_time() -> None:
    asked = views()
    asked.remove(100)
    begun = int(asked.dead_references().sum())

    seen = []
    for _ in range(60):
        asked.exchange_all()
        seen.append(int(asked.dead_references().sum()))

    assert begun > seen[10] > seen[30] > seen[59]
    assert seen[59] < begun / 20
    assert (asked.dead_references() > 0).sum() <= seen[59]
    assert asked.known_dead() <= min(100, seen[59])


def test_smaller_views_forget_sooner() -> None:
    left = []
    for view in (10, 20):
        asked = views(view=view, exchanged=view // 2)
        asked.remove(100)
        for _ in range(30):
            asked.exchange_all()
        left.append(int(asked.dead_references().sum()))

    assert left[0] < left[1]


def diffusion(share: float, seed: int = 2) -> Diffusion:
    rng = np.random.default_rng(seed)
    base = Views(500, view=20, exchanged=8, rng=rng)
    return diffuse(base, share, Walks(4, 20, (100.0, 500.0)), rounds=10, rng=rng)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 1.0])
def test_every_subscriber_hears_of_an_event(share: float) -> None:
    told = diffusion(share)

    assert np.isfinite(told.heard_ms).all()
    assert len(told.heard_ms) == round(500 * share)
    assert told.messages >= len(told.heard_ms) - 1


def test_nobody_hears_before_the_shortest_way_allows() -> None:
    told = np.sort(diffusion(1.0).heard_ms)

    assert told[0] == 0.0
    assert told[1] >= 100.0


def test_an_event_without_access_point_reaches_nobody() -> None:
    rng = np.random.default_rng(1)
    base = Views(500, view=20, exchanged=8, rng=rng)
    base.known[:] = NOBODY

    told = diffuse(base, 0.01, Walks(2, 5, (1.0, 1.0)), rounds=1, rng=rng)

    assert not np.isfinite(told.heard_ms).any()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ((1, 1, 1), "1 agents; expected 2"),
        ((10, 10, 1), "views of 10 among 10 agents; expected 1 to 9"),
        ((10, 5, 6), "6 neighbours exchanged of a view of 5"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: tuple[int, int, int], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        views(*wrong)


def test_a_topic_of_one_is_refused() -> None:
    with pytest.raises(BadParameter, match=r"a share of 0\.001 of 500 agents subscribe"):
        diffusion(0.001)
