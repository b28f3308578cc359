"""What one call publishes, cut into messages for each holder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dht
import gsg.publisher.parcels
from gsg.publisher.parcels import cut

P, Q, R = (dht.Contact(bytes([number]) * 20, "10.0.0.1", number) for number in (1, 2, 3))
HOLDERS = st.lists(st.sampled_from([P, Q, R]), min_size=1, max_size=5)


def test_a_holder_of_several_positions_is_told_of_all_in_one_message() -> None:
    parcels = cut({7: b"\x00\x01\x03", 9: b"\x01"}, [[P, Q, P], [P]], None)

    assert [(parcel.holder, parcel.numbers, parcel.places) for parcel in parcels] == [
        (P, [7, 9], [b"\x00\x03", b"\x01"]),
        (Q, [7], [b"\x01"]),
    ]


@given(st.lists(HOLDERS, max_size=20), st.integers(1, 4))
def test_each_position_goes_to_its_holder_once_and_in_order(holders: list[list[dht.Contact]], most: int) -> None:
    places = {number: bytes(range(len(some))) for number, some in enumerate(holders)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gsg.publisher.parcels, "CHUNK_TUPLES", most)

        parcels = cut(places, holders, [1] * len(holders))

    went = [
        (parcel.holder, number, position)
        for parcel in parcels
        for number, there in zip(parcel.numbers, parcel.places, strict=True)
        for position in there
    ]
    wanted = [(holder, number, position) for number, some in enumerate(holders) for position, holder in enumerate(some)]
    for each in (P, Q, R):
        assert [one for one in went if one[0] == each] == [one for one in wanted if one[0] == each]
    assert all(len(parcel.numbers) <= most for parcel in parcels)
