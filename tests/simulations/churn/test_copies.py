"""Copies of keys under churn: as one key at a time by plain sets, and as arithmetic says where it can."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.churn.copies import Copies, Moves, Transfer
from simulations.churn.lifetimes import Lifetimes
from simulations.churn.lives import MICRO, Lives, live
from simulations.engine.randomness import Stream, Words
from tests.simulations.churn.key_by_key import follow

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
@pytest.mark.parametrize(("peers", "replicas"), [(60, 1), (60, 2), (60, 3), (200, 2), (6, 5), (3, 3), (2, 3)])
def test_all_keys_side_by_side_are_as_one_key_at_a_time(law: str, peers: int, replicas: int) -> None:
    lives, keys = lives_of(law, peers=peers, end_s=86_400.0 * 1.3), Stream(1, "keys").words(0, 8)

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
