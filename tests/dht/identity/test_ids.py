"""Ids and the metric between them."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from dht import ID_BITS, ID_BYTES, common_prefix_length, distance, random_id
from dht.identity.ids import random_id_in_bucket

points = st.binary(min_size=ID_BYTES, max_size=ID_BYTES)


@given(a=points, b=points, c=points)
def test_distance_is_a_metric(a: bytes, b: bytes, c: bytes) -> None:
    assert distance(a, a) == 0
    assert distance(a, b) == distance(b, a)
    assert distance(a, c) <= distance(a, b) + distance(b, c)


@given(a=points, b=points)
def test_the_common_prefix_is_that_of_the_bits_written_out(a: bytes, b: bytes) -> None:
    bits_a, bits_b = (format(int.from_bytes(point, "big"), f"0{ID_BITS}b") for point in (a, b))
    shared = next((at for at in range(ID_BITS) if bits_a[at] != bits_b[at]), ID_BITS)

    assert common_prefix_length(a, b) == shared


@given(own=points, bucket=st.integers(0, ID_BITS - 1), seed=st.integers(0, 1000))
def test_a_random_id_of_a_bucket_shares_exactly_its_bits(own: bytes, bucket: int, seed: int) -> None:
    assert common_prefix_length(own, random_id_in_bucket(own, bucket, Random(seed))) == bucket


def test_random_ids_repeat_with_their_seed_only() -> None:
    assert random_id(Random(1)) == random_id(Random(1))
    assert random_id(Random(1)) != random_id(Random(2))
    assert len(random_id(Random(1))) == ID_BYTES
