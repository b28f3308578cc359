"""The checksum of each record in a data directory, which binds what it says to where it stands: so a record that was changed, moved
or doubled by anything but this program is never taken for what was written. Pure.

64 bits of BLAKE2b (RFC 7693): beside reading and decoding a record it costs little, and one that was damaged in whatever way is
taken for sound once in 2**64 times, not only where a single bit is wrong.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from typing import TypeAlias

import msgspec

SUM_BYTES = 8

Said: TypeAlias = bytes | int | None
"""What a peer's directory says of the peer itself under one name."""

_place_of = struct.Struct("<qqq").pack


def sum_of_group(number: int, clock: int, weight: int, rows: bytes) -> bytes:
    """The checksum of a group. Raises TypeError or struct.error for what can be none."""
    made = blake2b(_place_of(number, clock, weight), digest_size=SUM_BYTES)
    made.update(rows)
    return made.digest()


def is_sound_group(number: object, clock: object, weight: object, checksum: object, rows: object) -> bool:
    """Whether a group is what was written, whatever stands there."""
    try:
        return sum_of_group(number, clock, weight, rows) == checksum  # type: ignore[arg-type]  # else one of these errors
    except (TypeError, struct.error):
        return False


def sum_of_said(name: str, value: Said) -> bytes:
    """The checksum of what is said of the peer itself."""
    return blake2b(_encode((name, value)), digest_size=SUM_BYTES).digest()


def is_sound_said(name: object, value: object, checksum: object) -> bool:
    """Whether that is what was written, whatever stands there."""
    try:
        return sum_of_said(name, value) == checksum  # type: ignore[arg-type]  # else one of these errors
    except (TypeError, OverflowError, msgspec.MsgspecError):
        return False


_encode = msgspec.msgpack.Encoder().encode
