"""The nearest peers, what changes among them, and how large a network they tell of."""

from __future__ import annotations

from random import Random

import pytest

from dht import NEIGHBOURS, Contact, NeighbourhoodChanged, distance, random_id
from dht.liveness.neighbourhood import Neighbourhood, estimated_size

A, B, C = (Contact(bytes(19) + bytes([number]), "10.0.0.1", number) for number in (1, 2, 3))


def test_who_came_and_who_went_is_told() -> None:
    near = Neighbourhood()
    near.update([A, B])

    assert near.update([A, C]) == NeighbourhoodChanged((A, C), came=(C,), went=(B,))
    assert near.nearest == (A, C)


def test_the_same_again_is_no_news() -> None:
    near = Neighbourhood()
    near.update([A, B])

    assert near.update([A, B]) is None


def test_who_moved_both_came_and_went() -> None:
    near = Neighbourhood()
    moved = Contact(A.id, "10.0.0.9", 1)
    near.update([A])

    assert near.update([moved]) == NeighbourhoodChanged((moved,), came=(moved,), went=(A,))


@pytest.mark.parametrize("known", [0, 1, NEIGHBOURS - 1])
def test_a_small_network_is_as_large_as_it_is_known(known: int) -> None:
    nearest = [Contact(random_id(Random(number)), "10.0.0.1", 1) for number in range(known)]

    assert estimated_size(bytes(20), nearest, known) == known + 1


@pytest.mark.parametrize("size", [64, 1024, 50_000])
def test_a_large_one_is_guessed_within_a_factor_of_two(size: int) -> None:
    rng = Random(size)
    own = random_id(rng)
    ids = sorted((random_id(rng) for _ in range(size)), key=lambda each: distance(each, own))
    nearest = [Contact(each, "10.0.0.1", 1) for each in ids[:NEIGHBOURS]]

    assert size / 2 < estimated_size(own, nearest, NEIGHBOURS) < size * 2
