"""Lookups of the simulation end where they should, at the cost that theory gives."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.errors import BadParameter
from simulations.randomness import Stream
from simulations.routing import Lookups, Overlay, _leading_zeros


def looked_up(overlay: Overlay, count: int = 2_000) -> Lookups:
    return overlay.lookups(Stream(0, "targets").words(0, count), Stream(0, "starts").below(1 << 20, 0, count))


def test_leading_zeros_are_counted_exactly() -> None:
    words = np.array([1, 2, 3, (1 << 32) - 1, 1 << 32, (1 << 53) + 1, (1 << 64) - 1, 1 << 63], dtype=np.uint64)

    assert _leading_zeros(words).tolist() == [64 - int(word).bit_length() for word in words]


def test_every_lookup_succeeds_while_all_live() -> None:
    lookups = looked_up(Overlay(5_000, k=8))

    assert lookups.found.all()
    assert not lookups.timeouts.any()


def test_larger_buckets_make_shorter_ways() -> None:
    means = [looked_up(Overlay(20_000, k=k)).hops.mean() for k in (1, 4, 16)]

    assert means == sorted(means, reverse=True)
    # With one contact a bucket a hop gains two bits in the mean (Maymounkov and Mazières 2002, section 3).
    assert means[0] == pytest.approx(np.log2(20_000) / 2, rel=0.15)


def test_ways_grow_with_the_logarithm_of_the_peers() -> None:
    means = [float(looked_up(Overlay(peers, k=8)).hops.mean()) for peers in (1_000, 10_000, 100_000)]

    steps = np.diff(means)
    assert steps[0] == pytest.approx(steps[1], rel=0.35)


def test_dead_contacts_cost_timeouts_and_in_the_end_lookups() -> None:
    few, many = looked_up(Overlay(20_000, k=8, dead=0.1)), looked_up(Overlay(20_000, k=8, dead=0.6))

    assert few.found.mean() > 0.99 > many.found.mean()
    assert 0 < few.timeouts.mean() < many.timeouts.mean()


def test_a_lookup_begins_and_ends_at_living_peers_and_is_the_same_every_time() -> None:
    one, again = looked_up(Overlay(3_000, k=4, dead=0.3, seed=5)), looked_up(Overlay(3_000, k=4, dead=0.3, seed=5))

    assert (one.hops == again.hops).all()
    assert (one.found == again.found).all()


def test_who_owns_the_target_needs_no_hop() -> None:
    overlay = Overlay(100, k=100)
    starts = np.arange(100)

    lookups = overlay.lookups(overlay._ids, starts)

    assert lookups.found.all()
    assert not lookups.hops.any()


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"peers": 1, "k": 8}, "1 peers; expected 2 to"),
        ({"peers": 10, "k": 0}, "buckets of 0; expected 1 to 1024"),
        ({"peers": 10, "k": 8, "dead": 1.0}, "a share of 1 dead peers"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], problem: str) -> None:
    with pytest.raises(BadParameter, match=problem):
        Overlay(**wrong)  # type: ignore[arg-type]  # whole numbers where they must be
