"""How many there are, by sketches that may be told in any order and as often as one likes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gsg.topics.size import EPOCH_ROUNDS, MAX_EPOCH, Size
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


def test_a_higher_epoch_is_taken_over_and_what_is_none_is_passed_over() -> None:
    size = Size(b"one")

    for told in (Sketch(-1, b""), Sketch(MAX_EPOCH, b""), Sketch(0, b"xx"), Sketch(0, bytes([200]) * REGISTERS)):
        size.hear(told)
    before = (size.epoch, round(size.estimate))
    size.hear(Sketch(7, packed(of(1, 2, 3))))

    assert before == (0, 1)
    assert (size.epoch, round(size.estimate)) == (7, 4)
