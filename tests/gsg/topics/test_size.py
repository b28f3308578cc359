"""How many there are, by sketches that may be told in any order and as often as one likes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsg.topics.size import EPOCH_ROUNDS, MAX_EPOCH, SPREAD_ROUNDS, Size
from gsg.topics.sketch import EMPTY, REGISTERS, estimate, joined, packed, unpacked, with_thing
from gsg.wire.topic_messages import Sketch

sketches = st.lists(st.integers(0, 10_000), max_size=300).map(lambda things: of(*things))


def of(*things: int) -> bytes:
    sketch = EMPTY
    for thing in things:
        sketch = with_thing(sketch, str(thing).encode(), 1)
    return sketch


@given(sketches)
def test_a_sketch_is_the_same_when_it_has_travelled(sketch: bytes) -> None:
    assert unpacked(packed(sketch)) == sketch


@given(sketches, sketches, sketches)
def test_it_does_not_matter_who_tells_whom_first_or_how_often(one: bytes, two: bytes, three: bytes) -> None:
    assert joined(joined(one, two), three) == joined(three, joined(two, joined(one, one)))


@given(st.binary(max_size=2 * REGISTERS))
def test_any_bytes_are_a_sketch_or_none(told: bytes) -> None:
    sketch = unpacked(told)

    assert sketch is None or (len(sketch) == REGISTERS and estimate(sketch) >= 0)


def test_some_thousand_are_told_within_15_percent() -> None:
    for count in (1, 10, 100, 1_000, 5_000):
        assert abs(estimate(of(*range(count))) / count - 1) < 0.15


def test_who_left_is_forgotten_with_the_epoch() -> None:
    one, other = Size(b"one"), Size(b"other")
    one.hear(other.tell())
    together = round(one.estimate)

    for _ in range(2 * EPOCH_ROUNDS):
        one.begin_round()

    assert (together, round(one.estimate)) == (2, 1)


def test_the_epoch_that_is_over_counts_until_the_next_one_has_spread() -> None:
    size = Size(b"one")
    size.hear(Size(b"other").tell())

    for _ in range(EPOCH_ROUNDS):
        size.begin_round()
    at_first = round(size.estimate)
    for _ in range(SPREAD_ROUNDS):
        size.begin_round()

    assert (at_first, round(size.estimate)) == (2, 1)


def test_a_later_epoch_is_taken_over() -> None:
    size = Size(b"one")

    size.hear(Sketch(7, packed(of(1, 2, 3))))

    assert (size.epoch, round(size.estimate)) == (7, 4)


@pytest.mark.parametrize(
    "told",
    [
        Sketch(-1, b""),
        Sketch(MAX_EPOCH, b""),
        Sketch(MAX_EPOCH - 1, b""),
        Sketch(3, b"xx"),
        Sketch(3, b"\xff\xff\x01"),
        Sketch(3, bytes([200]) * REGISTERS),
    ],
    ids=["negative", "too high", "before ours", "no sketch", "no register", "no count"],
)
def test_what_is_no_sketch_of_a_later_epoch_is_passed_over(told: Sketch) -> None:
    size = Size(b"one")
    before = size.tell()

    size.hear(told)

    assert size.tell() == before


def test_who_claims_the_last_epoch_does_not_end_the_count() -> None:
    one, other = Size(b"one"), Size(b"other")
    for high in (MAX_EPOCH // 2 - 1, MAX_EPOCH - 2):
        one.hear(Sketch(high, b""))
        other.hear(Sketch(high, b""))

    for _ in range(3 * EPOCH_ROUNDS):
        one.begin_round()
        other.begin_round()
        one.hear(other.tell())

    assert (one.epoch, round(one.estimate)) == (1, 2)


def test_what_is_new_to_count_counts_at_once() -> None:
    size = Size()

    size.count_as([b"one", b"other"])
    size.count_as([b"one", b"other", b"third"])

    assert round(size.estimate) == 3
