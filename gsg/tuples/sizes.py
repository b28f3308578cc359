"""How long tuples are as they travel, and where messages of many are cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ..errors import BadTerm
from .long_constants import Remains
from .terms import Tuple, show

_encode = msgspec.msgpack.Encoder().encode

PART_BYTES = 4 * 1024 * 1024
"""A message is cut where its tuples reach so many bytes: with one more of the longest it is far from a frame's limit."""
MAX_TUPLE_BYTES = 1024 * 1024
"""The longest tuple, as encoded: far from a frame's limit, and more than a fact should be."""


def size_bytes(items: Tuple) -> int:
    """The length of a tuple as encoded. Raises BadTerm for one that is too long or cannot be encoded."""
    try:
        size = len(_encode(items))
    except (UnicodeEncodeError, RecursionError) as error:
        raise BadTerm(f"a tuple of {len(items)} terms cannot be encoded: {error}; expected text without lone surrogates") from None
    if size > MAX_TUPLE_BYTES:
        raise BadTerm(
            f"tuple {show(items)[:60]}... has {size} bytes; expected at most {MAX_TUPLE_BYTES}: publish a reference to it"
        )
    return size


def fit_together(tuples: Sequence[Remains], most_bytes: int) -> bool:
    """Whether all of them together have at most so many bytes as encoded, so that none has to be looked at by itself."""
    try:
        return len(_encode(tuples)) <= most_bytes
    except (UnicodeEncodeError, RecursionError):
        return False  # size_bytes says which one cannot be encoded


def parts(facts: Sequence[Remains], most: int) -> Iterator[slice]:
    """Slices that cut tuples into messages: at most so many in each, and little more than PART_BYTES."""
    if 0 < len(facts) <= most and fit_together(facts, PART_BYTES):
        yield slice(0, len(facts))
        return
    begin = filled = 0
    for number, items in enumerate(facts):
        if number - begin >= most or filled >= PART_BYTES:
            yield slice(begin, number)
            begin, filled = number, 0
        filled += len(_encode(items))
    if begin < len(facts):
        yield slice(begin, len(facts))
