"""Lookups of the simulation end where they should, at the cost that theory gives."""

from __future__ import annotations

import random

import numpy as np
import pytest

from simulations.engine.randomness import Stream
from simulations.errors import BadParameter
from simulations.routing.hops import Lookups, Overlay, _leading_zeros


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


@pytest.mark.parametrize(("k", "size"), [(1, 5), (4, 1), (4, 4), (4, 5), (8, 13), (20, 21), (20, 400)])
def test_a_bucket_has_no_contact_twice_and_as_many_as_there_are(k: int, size: int) -> None:
    counters = np.arange(500, dtype=np.uint64) * np.uint64(k)

    places, there = Overlay(1_000, k=k)._bucket(counters, np.full(500, size))

    for row, filled in zip(places.tolist(), there.tolist(), strict=True):
        contacts = [place for place, is_there in zip(row, filled, strict=True) if is_there]
        assert len(set(contacts)) == len(contacts) == min(k, size)
        assert 0 <= min(contacts) <= max(contacts) < size


def test_every_peer_of_a_subtree_is_as_likely_in_a_bucket() -> None:
    places, _ = Overlay(1_000, k=4)._bucket(np.arange(20_000, dtype=np.uint64) * np.uint64(4), np.full(20_000, 10))

    found = np.bincount(places.ravel(), minlength=10)

    # 8,000 are expected of each; six deviations of a binomial are 416.
    assert np.abs(found - 8_000).max() < 416


def looked_up_one_by_one(peers: int, k: int, dead: float, lookups: int, rng: random.Random) -> int:
    """How many of so many lookups succeed, each peer's bucket drawn as a sample when it is needed, by sets of whole numbers."""
    bits, found = 16, 0
    for _ in range(lookups):
        ids = rng.sample(range(1 << bits), peers)
        living = [one for one in ids if rng.random() >= dead]
        target = rng.randrange(1 << bits)
        here, goal = rng.choice(living), min(living, key=lambda one: one ^ target)
        while here != goal:
            length = (here ^ goal).bit_length() - 1
            subtree = [one for one in ids if one >> length == goal >> length]
            contacts = [one for one in rng.sample(subtree, min(k, len(subtree))) if one in living]
            if not contacts:
                break
            here = min(contacts, key=lambda one: one ^ goal)
        found += here == goal
    return found


@pytest.mark.parametrize(("k", "dead"), [(2, 0.4), (4, 0.6), (8, 0.7)])
def test_as_many_lookups_succeed_as_one_by_one(k: int, dead: float) -> None:
    alone = looked_up_one_by_one(60, k, dead, 1_500, random.Random(3))

    found = sum(looked_up(Overlay(60, k=k, dead=dead, seed=seed), 15).found.sum() for seed in range(100))

    # Both are of 1,500 lookups: five deviations of their difference are 137 at most.
    assert abs(found - alone) < 137


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
