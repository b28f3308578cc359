"""Copies of keys under churn: as one key at a time by plain sets, and as arithmetic says where it can."""

from __future__ import annotations

import numpy as np
import pytest
from key_by_key import follow

from simulations.churn.copies import ARRIVED, CRASHED, LEFT, Copies, Moves, Transfer, depth_of
from simulations.churn.lifetime_cases import expected_losses_s
from simulations.churn.lifetimes import Lifetimes
from simulations.churn.lives import MICRO, Lives, live
from simulations.engine.randomness import Stream, Words

HOUR = 3600 * MICRO
DAY = 24 * HOUR


def lives_of(law: str = "weibull", **changes: object) -> Lives:
    asked = {"peers": 60, "end_s": 2 * 86_400.0, "graceful": 0.3, "noticed_s": (600.0, 1_200.0), "seed": 5, **changes}
    return live(Lifetimes(law, 6 * 3600.0, 0.6 if law == "weibull" else 3.0), **asked)  # type: ignore[arg-type]  # as live takes them


def transfer_of(keys: Words, **changes: int) -> Transfer:
    asked = {"settle": MICRO, "share": 300 * MICRO, "seed": 3, **changes}
    own = asked.pop("own", 20 * MICRO)
    return Transfer(own=np.full(len(keys), own), **asked)


def run(lives: Lives, keys: Words, *, replicas: int = 3, window: int = 4 * HOUR, **changes: int) -> tuple[Copies, list[Moves]]:
    copies = Copies(lives, keys, replicas=replicas, transfer=transfer_of(keys, **changes), window=window, day=DAY)
    return copies, list(copies.run())


@pytest.mark.parametrize("law", ["exponential", "weibull", "pareto", "yao"])
@pytest.mark.parametrize(("peers", "replicas"), [(60, 1), (60, 2), (60, 3), (90, 2), (6, 5), (3, 3), (2, 3)])
def test_all_keys_side_by_side_are_as_one_key_at_a_time(law: str, peers: int, replicas: int) -> None:
    lives, keys = lives_of(law, peers=peers, end_s=86_400.0 * 1.2), Stream(1, "keys").words(0, 6)

    copies, moved = run(lives, keys, replicas=replicas)

    found = copies.histories
    at, key, sender, receiver, reason = (
        np.concatenate([getattr(each, name) for each in moved]) for name in ("at", "key", "sender", "receiver", "reason")
    )
    for number, each in enumerate(keys.tolist()):
        told = follow(lives, number, each, replicas=replicas, transfer=transfer_of(keys), day=DAY)
        mine = key == number
        moves = zip(at[mine].tolist(), sender[mine].tolist(), receiver[mine].tolist(), reason[mine].tolist(), strict=True)
        assert (found.losses[number], found.fewer[number], found.late[number], found.missed[number]) == (
            told.losses,
            told.fewer,
            told.late,
            told.missed,
        )
        assert set(np.flatnonzero(found.lost_on[number]).tolist()) == told.lost_on
        assert sorted(moves) == sorted(told.moves)


def test_what_is_compared_key_by_key_has_everything_in_it() -> None:
    lives, keys = lives_of(end_s=86_400.0 * 1.3), Stream(1, "keys").words(0, 8)

    copies, moved = run(lives, keys, replicas=2)

    found = copies.histories
    assert found.losses.any()
    assert found.lost_on.any()
    assert set(np.concatenate([each.reason for each in moved]).tolist()) == {ARRIVED, LEFT, CRASHED}
    assert (found.fewer > found.missed).any()
    assert (found.late > 0).any()


@pytest.mark.parametrize("window", [HOUR, 7 * HOUR, 100 * HOUR])
def test_windows_change_nothing(window: int) -> None:
    lives, keys = lives_of(), Stream(1, "keys").words(0, 700)

    whole, moved = run(lives, keys, window=60 * DAY)
    copies, parts = run(lives, keys, window=window)

    for name in ("losses", "lost_on", "fewer", "late", "missed"):
        assert (getattr(copies.histories, name) == getattr(whole.histories, name)).all()
    assert sum(map(len, parts)) == len(moved[0])
    assert all(len(part) == 0 or (part.at // window == number).all() for number, part in enumerate(parts))


def test_nothing_is_lost_where_all_leave_in_order() -> None:
    lives, keys = lives_of(graceful=1.0), Stream(1, "keys").words(0, 600)

    for replicas in (1, 2, 3):
        copies, moved = run(lives, keys, replicas=replicas)

        assert not copies.histories.losses.any()
        assert not copies.histories.missed.any()
        assert not (np.concatenate([each.reason for each in moved]) == CRASHED).any()


def test_one_holder_is_lost_whenever_it_crashes() -> None:
    # Who comes is given its keys at once here, so that only the death of the holder counts.
    lives, keys = lives_of("exponential", peers=2_000, graceful=0.0, noticed_s=(1.0, 2.0)), Stream(1, "keys").words(0, 2_000)

    copies, _ = run(lives, keys, replicas=1, share=0, own=0, settle=1)

    assert copies.histories.losses.mean() == pytest.approx(48 / 6, rel=0.03)


@pytest.mark.parametrize("replicas", [2, 3])
def test_exponential_lives_lose_what_parallel_components_with_repair_do(replicas: int) -> None:
    # A holder is away for an eighth of an hour after it crashed; nothing else takes time.
    lives = lives_of("exponential", peers=2_000, graceful=0.0, noticed_s=(900.0, 900.0), end_s=5 * 86_400.0)
    keys = Stream(1, "keys").words(0, 2_000)

    copies, _ = run(lives, keys, replicas=replicas, share=0, own=0, settle=1)

    expected = expected_losses_s(replicas, 6 * 3600.0, 0.0, 900.0) * 5 * 86_400
    # Whoever takes the place of a holder that has not been missed yet ends its absence: some per cent less is lost than that.
    assert copies.histories.losses.mean() == pytest.approx(expected, rel=0.1 if replicas == 2 else 0.25)


def test_the_time_with_fewer_holders_is_that_in_which_any_of_them_is_away() -> None:
    lives, keys = lives_of("exponential", peers=3_000, graceful=0.0, noticed_s=(60.0, 60.0)), Stream(1, "keys").words(0, 2_000)

    copies, _ = run(lives, keys, share=0, own=0, settle=1)

    assert copies.histories.fewer.mean() / lives.end == pytest.approx(3 * 60 / (6 * 3600), rel=0.03)
    assert copies.histories.late.mean() / lives.end == pytest.approx(60 / (6 * 3600), rel=0.06)


def test_a_slower_transfer_leaves_keys_longer_with_fewer_holders() -> None:
    lives, keys = lives_of(), Stream(1, "keys").words(0, 300)

    quick, slow = (run(lives, keys, share=share)[0].histories.fewer.mean() for share in (0, 3_600 * MICRO))

    assert slow > 1.5 * quick


def test_a_region_has_enough_peers_at_any_time_for_any_number_of_holders() -> None:
    lives, keys = lives_of(peers=300), Stream(1, "keys").words(0, 200)

    for replicas in (1, 3, 8, 40):
        depth = depth_of(lives, keys, replicas)
        regions = keys >> np.uint64(64 - depth) if depth else keys * np.uint64(0)
        for at in (0, *np.unique(np.concatenate((lives.gone, lives.died)))[:400].tolist()):
            known = lives.ids[(lives.born <= at) & (at < lives.gone)]
            of_peers = known >> np.uint64(64 - depth) if depth else known * np.uint64(0)
            fewest = min((of_peers == region).sum() for region in np.unique(regions))
            assert fewest >= min(replicas, len(known)) or depth == 0
