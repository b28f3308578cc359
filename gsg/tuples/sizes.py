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


def total_bytes(tuples: Sequence[Tuple]) -> int:
    """The length of tuples together as encoded. Raises BadTerm like :func:`size_bytes`, which looks at each only where one of them
    may be too long."""
    try:
        size = len(_encode(tuples))
    except (UnicodeEncodeError, RecursionError):
        size = MAX_TUPLE_BYTES + 1
    return size if size <= MAX_TUPLE_BYTES else sum(map(size_bytes, tuples))


def parts(facts: Sequence[Remains], most: int) -> Iterator[slice]:
    """Slices that cut tuples into messages: at most so many in each, and little more than PART_BYTES."""
    if 0 < len(facts) <= most and len(_encode(facts)) <= PART_BYTES:
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
