"""Owners of many keys at once are those that comparing every peer finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulations.engine.ownership import Ownership, prefixes_of
from simulations.engine.randomness import Stream
from simulations.errors import BadParameter

WORDS = st.integers(0, 2**64 - 1)


def closest(peers: list[int], key: int, replicas: int) -> list[int]:
    """By comparing all."""
    return sorted(range(len(peers)), key=lambda number: peers[number] ^ key)[:replicas]


@given(st.lists(WORDS, min_size=1, max_size=40, unique=True), st.lists(WORDS, min_size=1, max_size=20), st.data())
def test_holders_are_the_closest_by_xor(peers: list[int], keys: list[int], data: st.DataObject) -> None:
    replicas = data.draw(st.integers(1, len(peers)))
    ownership = Ownership(np.array(peers, dtype=np.uint64))

    owners = ownership.owners(np.array(keys, dtype=np.uint64)).tolist()
    holders = ownership.holders(np.array(keys, dtype=np.uint64), replicas).tolist()

    assert holders == [closest(peers, key, replicas) for key in keys]
    assert owners == [closest(peers, key, 1)[0] for key in keys]


@given(
    st.integers(0, 60), st.lists(st.integers(0, 15), min_size=1, max_size=12, unique=True), st.lists(st.integers(0, 31), min_size=1)
)
def test_peers_that_crowd_one_corner_are_told_apart(shift: int, corner: list[int], keys: list[int]) -> None:
    peers = [number << shift for number in corner]
    asked = [(key << shift) % 2**64 for key in keys]

    owners = Ownership(np.array(peers, dtype=np.uint64)).owners(np.array(asked, dtype=np.uint64)).tolist()

    assert owners == [closest(peers, key, 1)[0] for key in asked]


def test_many_peers_and_keys() -> None:
    peers, keys = Stream(1, "peer").words(0, 3_000), Stream(1, "key").words(0, 500)

    owners = Ownership(peers).owners(keys)

    assert owners.tolist() == (peers[None, :] ^ keys[:, None]).argmin(axis=1).tolist()


def test_an_id_is_its_first_eight_bytes() -> None:
    assert prefixes_of([bytes(range(20)), b"\xff" * 20]).tolist() == [0x0001020304050607, 2**64 - 1]


@pytest.mark.parametrize(
    ("peers", "complaint"),
    [([], "0 peers; expected 1 to"), ([7, 1, 7], "two peers share the 64 leading bits 0000000000000007")],
    ids=["none", "twins"],
)
def test_impossible_peers_are_refused(peers: list[int], complaint: str) -> None:
    with pytest.raises(BadParameter, match=complaint):
        Ownership(np.array(peers, dtype=np.uint64))


@pytest.mark.parametrize("replicas", [0, 4])
def test_impossible_replicas_are_refused(replicas: int) -> None:
    with pytest.raises(BadParameter, match=f"{replicas} holders of a key among 3 peers"):
        Ownership(np.arange(3, dtype=np.uint64)).holders(np.zeros(1, dtype=np.uint64), replicas)


def test_a_bucket_of_more_ids_than_chance_gives_is_searched_whole() -> None:
    crowd = Stream(1, "crowd").words(0, 100) >> np.uint64(40)
    peers = np.concatenate([crowd, Stream(1, "peer").words(0, 20)])
    keys = np.concatenate([crowd ^ np.uint64(1), Stream(1, "key").words(0, 50)])

    owners = Ownership(peers).owners(keys)

    assert owners.tolist() == (peers[None, :] ^ keys[:, None]).argmin(axis=1).tolist()


def test_an_owner_with_several_ids_is_one_peer() -> None:
    ids, keys = Stream(1, "peer").words(0, 30), Stream(1, "key").words(0, 100)

    owners = Ownership(ids, peers=10).owners(keys)

    assert owners.tolist() == (Ownership(ids).owners(keys) % 10).tolist()
