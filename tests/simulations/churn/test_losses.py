"""What is lost while peers come and go follows the number of holders, as arithmetic says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulations.churn.losses import Lost, sets_apart, simulate
from simulations.engine.randomness import Stream
from simulations.errors import BadParameter


def lost(**changes: float) -> list[Lost]:
    asked = {"peers": 500, "replicas": 2, "dying": 0.1, "epochs": 4, "seed": 3, **changes}
    return list(simulate(Stream(3, "keys").words(0, int(asked.pop("keys", 4_000))), **asked))  # type: ignore[arg-type]  # whole numbers where they must be


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_with_hand_over_a_key_is_lost_only_if_all_its_holders_die_at_once(replicas: int) -> None:
    first = lost(replicas=replicas, epochs=1)[0]

    # Keys share holders, so that the share spreads more than that of independent draws.
    assert first.with_hand_over == pytest.approx(0.1**replicas, rel=0.5, abs=0.002)


def test_without_hand_over_newcomers_lose_matches_as_well() -> None:
    for epoch in lost():
        assert epoch.without > epoch.with_hand_over


def test_more_holders_lose_less() -> None:
    final = [lost(replicas=replicas)[-1] for replicas in (1, 2, 3)]

    assert [one.with_hand_over for one in final] == sorted((one.with_hand_over for one in final), reverse=True)
    assert [one.without for one in final] == sorted((one.without for one in final), reverse=True)


def test_nothing_is_lost_or_moved_while_nobody_dies() -> None:
    first, second = lost(dying=0.0, epochs=2)

    assert [replace(epoch, apart=0) for epoch in (first, second)] == [Lost(number, 0, 0, 0, 0, 0, 0, 0) for number in (1, 2)]


def test_sets_of_holders_that_share_nobody_are_counted() -> None:
    holders = np.array([[1, 2], [2, 1], [2, 3], [3, 4], [6, 5]], dtype=np.uint64)

    assert sets_apart(holders) == 3
    assert sets_apart(holders[:3]) == 1


def test_losses_never_heal_and_are_the_same_for_a_seed() -> None:
    epochs = lost(epochs=6)

    shares = [epoch.with_hand_over for epoch in epochs]
    assert shares == sorted(shares)
    assert epochs == lost(epochs=6)


@pytest.mark.parametrize(("replicas", "share"), [(2, 0.073), (3, 0.015), (5, 0.0009)])
def test_a_fifth_replaced_without_repair_loses_what_was_measured(replicas: int, share: float) -> None:
    # Measured among peers of their own kind (docs/simulation.md, "Churn"); over 2,000 peers the spread is a third or so.
    found = lost(peers=2_000, keys=30_000, replicas=replicas, dying=0.2, epochs=1)[0]

    assert found.without == pytest.approx(share, rel=0.4, abs=0.0006)


@pytest.mark.parametrize("replicas", [1, 8])
def test_facts_that_go_to_the_closest_peer_alone_meet_no_better_with_more_holders(replicas: int) -> None:
    found = lost(peers=2_000, replicas=replicas, dying=0.2, epochs=1)[0]

    # A fifth of the closest are dead; of the new closest a fifth are newcomers, who know nothing.
    assert 0.15 < found.closest_alone < 0.36


def test_a_match_counts_as_often_as_it_is_said() -> None:
    keys = Stream(3, "keys").words(0, 400)
    asked = {"peers": 200, "replicas": 1, "dying": 0.3, "epochs": 1}
    alone = [next(simulate(keys[at : at + 1], **asked)).with_hand_over for at in range(400)]  # type: ignore[arg-type]
    weights = np.arange(400)

    weighed = next(simulate(keys, weights=weights, **asked))  # type: ignore[arg-type]

    assert weighed.matches_with_hand_over == pytest.approx(weights @ np.array(alone) / weights.sum())
    assert weighed.with_hand_over == pytest.approx(np.mean(alone))
    assert weighed.matches_without >= weighed.matches_with_hand_over


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"peers": 1}, "1 peers; expected 2"),
        ({"replicas": 0}, "0 holders of a key among 500 peers"),
        ({"keys": 0}, "0 keys; expected 1"),
        ({"dying": 1.0}, "a share of 1 peers that die"),
        ({"epochs": 0}, "0 epochs"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        lost(**wrong)
