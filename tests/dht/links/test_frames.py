"""Framing: what goes in comes out, however it is cut."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dht import MAX_FRAME_BYTES, Framer, FrameTooLarge, PayloadTooLarge, frame


@given(payloads=st.lists(st.binary(max_size=50), max_size=20), cuts=st.lists(st.integers(0, 1200), max_size=20))
def test_any_payloads_cut_anywhere_come_out_whole_and_in_order(payloads: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(map(frame, payloads))
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    framer = Framer()

    found = [payload for start, end in pairwise(edges) for payload in framer.feed(stream[start:end])]

    assert found == payloads
    assert not framer.unfinished


@given(data=st.binary(max_size=200))
def test_whatever_bytes_come_nothing_is_invented(data: bytes) -> None:
    framer = Framer(limit_bytes=1000)
    found: list[bytes] = []

    with suppress(FrameTooLarge):
        found = framer.feed(data)

    assert data.startswith(b"".join(map(frame, found)))


def test_a_header_that_claims_4_gb_is_refused_with_its_fourth_byte() -> None:
    framer = Framer()
    assert framer.feed(b"\xff\xff\xff") == []

    with pytest.raises(FrameTooLarge, match="claims 4294967295 bytes; expected at most 16777216") as refused:
        framer.feed(b"\xff")

    assert (refused.value.claimed_bytes, refused.value.limit_bytes) == (2**32 - 1, MAX_FRAME_BYTES)


def test_the_longest_payload_fits_and_one_more_byte_does_not() -> None:
    longest = bytes(MAX_FRAME_BYTES)

    assert Framer().feed(frame(longest)) == [longest]
    with pytest.raises(PayloadTooLarge, match="a payload of 16777217 bytes; expected at most 16777216; send it in several frames"):
        frame(longest + b"\x00")


def test_a_long_frame_is_copied_once_however_many_reads_bring_it() -> None:
    framer = Framer()
    stream = frame(bytes(1_000_000))

    for start in range(0, len(stream) - 1, 100):
        framer.feed(stream[start : min(start + 100, len(stream) - 1)])

    # Kept in the pieces that were read: joined only when the last has come.
    assert len(framer._pieces) >= len(stream) // 100
    assert framer.feed(stream[-1:]) == [bytes(1_000_000)]
