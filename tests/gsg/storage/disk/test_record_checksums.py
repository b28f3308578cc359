"""Checksums of records: nothing but what was written is sound, and a single wrong bit is put right."""

from __future__ import annotations

from random import Random

import pytest

from gsg.storage.disk.record_checksums import Said, corrected_group, is_sound_group, sound_said, sum_of_group, sum_of_said
from gsg.storage.disk.records import records

FLIPS = 9_100
"""With those of test_bit_flips.py 10,000."""
NUMBER, CLOCK, WEIGHT = 77, 1_800_000_000_000_000, 12
[(_, ROWS)] = records([((f"thing{number}", "says", "the quick brown fox"), [(0, 1, 1_800_000_000_000_000)]) for number in range(6)])


def flipped(data: bytes, *bits: int) -> bytes:
    damaged = bytearray(data)
    for bit in bits:
        damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


def test_of_a_record_with_one_wrong_bit_anywhere_nothing_is_believed_and_all_is_known() -> None:
    rng = Random(1)
    checksum = sum_of_group(NUMBER, CLOCK, WEIGHT, ROWS)
    parts = [each.to_bytes(8, "big") for each in (NUMBER, CLOCK, WEIGHT)] + [checksum, ROWS]
    whole = b"".join(parts)

    for _ in range(FLIPS):
        left, found = flipped(whole, rng.randrange(8 * len(whole))), list[bytes]()
        for part in parts:
            found.append(left[: len(part)])
            left = left[len(part) :]
        number, clock, weight = (int.from_bytes(each, "big", signed=True) for each in found[:3])

        assert not is_sound_group(number, clock, weight, found[3], found[4])
        assert corrected_group(number, clock, weight, found[3], found[4]) == (NUMBER, CLOCK, WEIGHT, ROWS)


@pytest.mark.parametrize("bits", [2, 3, 8, 100])
def test_with_several_wrong_bits_it_is_lost_and_never_made_another(bits: int) -> None:
    rng = Random(bits)
    checksum = sum_of_group(NUMBER, CLOCK, WEIGHT, ROWS)

    for _ in range(200):
        rows = flipped(ROWS, *rng.sample(range(8 * len(ROWS)), bits))

        assert not is_sound_group(NUMBER, CLOCK, WEIGHT, checksum, rows)
        assert corrected_group(NUMBER, CLOCK, WEIGHT, checksum, rows) is None


@pytest.mark.parametrize(
    "group",
    [
        (78, CLOCK, WEIGHT, ROWS),
        (NUMBER, CLOCK + 3, WEIGHT, ROWS),
        (NUMBER, CLOCK, 0, ROWS),
        (NUMBER, CLOCK, WEIGHT, ROWS[:-1]),
        (NUMBER, CLOCK, WEIGHT, bytes(len(ROWS))),
        (NUMBER, CLOCK, WEIGHT, b""),
    ],
    ids=["in another place", "of another time", "of another weight", "cut", "zeroed", "empty"],
)
def test_a_record_that_is_whole_and_is_not_what_stood_there_is_not_sound(group: tuple[int, int, int, bytes]) -> None:
    number, clock, weight, rows = group

    assert not is_sound_group(number, clock, weight, sum_of_group(NUMBER, CLOCK, WEIGHT, ROWS), rows)


@pytest.mark.parametrize(
    "group",
    [
        (None, CLOCK, WEIGHT, b"x" * 12, ROWS),
        (NUMBER, 1.5, WEIGHT, b"x" * 12, ROWS),
        (NUMBER, 2**64, WEIGHT, b"x" * 12, ROWS),
        (NUMBER, CLOCK, "1", b"x" * 12, ROWS),
        (NUMBER, CLOCK, WEIGHT, None, ROWS),
        (NUMBER, CLOCK, WEIGHT, b"x", ROWS),
        (NUMBER, CLOCK, WEIGHT, b"x" * 12, "text"),
        (NUMBER, CLOCK, WEIGHT, b"x" * 12, None),
    ],
)
def test_what_can_be_no_record_is_not_sound(group: tuple[object, object, object, object, object]) -> None:
    assert not is_sound_group(*group)
    assert corrected_group(*group) is None


@pytest.mark.parametrize("value", [b"p" * 20, 1_800_000_000_000, 0, 7400])
def test_what_is_said_of_a_peer_is_put_right_where_one_bit_of_it_is_wrong(value: Said) -> None:
    checksum = sum_of_said("clock", value)
    size = len(value) if isinstance(value, bytes) else 8

    for bit in range(8 * size - 1):
        wrong: Said = flipped(value, bit) if isinstance(value, bytes) else value ^ 1 << bit  # type: ignore[operator]  # a number
        assert sound_said("clock", wrong, checksum) == value
    for bit in range(64):
        assert sound_said("clock", value, flipped(checksum, bit)) == value


@pytest.mark.parametrize(("name", "value"), [("life", 5), ("clock", 6), ("clock", b"5"), ("clock", None), ("clock", 1.0)])
def test_what_else_is_said_is_not_believed(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"nobody knows what {name} was"):
        sound_said(name, value, flipped(sum_of_said("clock", 5), 3, 9, 40))
