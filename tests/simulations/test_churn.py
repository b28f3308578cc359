"""What is lost while peers come and go follows the number of holders, as arithmetic says."""

from __future__ import annotations

import pytest

from simulations.churn import Lost, simulate
from simulations.errors import BadParameter


def lost(**changes: float) -> list[Lost]:
    asked = {"peers": 500, "keys": 4_000, "replicas": 2, "dying": 0.1, "epochs": 4, "seed": 3, **changes}
    return list(simulate(**asked))  # type: ignore[arg-type]  # whole numbers where they must be


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
    assert lost(dying=0.0, epochs=2) == [Lost(1, 0.0, 0.0, 0.0), Lost(2, 0.0, 0.0, 0.0)]


def test_losses_never_heal_and_are_the_same_for_a_seed() -> None:
    epochs = lost(epochs=6)

    shares = [epoch.with_hand_over for epoch in epochs]
    assert shares == sorted(shares)
    assert epochs == lost(epochs=6)


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
