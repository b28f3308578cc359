"""Tuples that one call publishes, cut into requests."""

from __future__ import annotations

from collections.abc import Iterator

from ...tuples.sizes import size_bytes
from ...tuples.terms import Tuple
from ..protocol import BYTES_PER_REQUEST, TUPLES_PER_REQUEST


def cut_into_requests(tuples: list[Tuple]) -> Iterator[list[Tuple]]:
    """The tuples cut into requests, each short enough in number and in bytes."""
    part: list[Tuple] = []
    filled = 0
    for items in tuples:
        filled += size_bytes(items)
        part.append(items)
        if len(part) >= TUPLES_PER_REQUEST or filled >= BYTES_PER_REQUEST:
            yield part
            part, filled = [], 0
    if part:
        yield part
