"""What a data directory says of facts, as bytes: an array of facts, each with its marks, in msgpack. Pure.

Where a fact is under none of its keys any more, what remains of it is there (:mod:`gsg.tuples.long_constants`), which names it as
well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, TypeAlias

import msgspec

from ...tuples.audiences import MAX_READERS, PeerId, Restricted, restricted
from ...tuples.long_constants import Hashed, Remains, is_hashed
from ...tuples.terms import Term
from ..facts_by_key import Mark

MAX_RECORD_BYTES = 4 * 1024 * 1024
"""A record is cut before it would be larger, as far as it has several facts: who writes or reads it has it in memory."""
ARRAY_BYTES = 5
"""What msgpack says at most before the rows of a record: how many there are."""
MAX_CLOCK = 2**60
"""In microseconds since 1970, the year 38,000."""
EARLIEST = 1
"""The stamp of what has a damaged one, far from everybody's, as a wrong bit makes it: later than all that others say, for ever, it
would be refused by them. With this one whatever anybody else knows of the fact is right, and where nobody does, it stays."""

Row: TypeAlias = tuple[Remains, list[Mark]]
"""A fact, or what remains of it, with all that is known of it; with nothing, it is forgotten."""


class _Readers(msgspec.Struct, frozen=True, array_like=True, tag=8, gc=False):
    """Stands after the last term of a fact for named readers: their ids, ascending, so that one fact has one form."""

    ids: Annotated[list[PeerId], msgspec.Meta(min_length=1, max_length=MAX_READERS)]


_Items: TypeAlias = tuple[Term | Hashed | _Readers, ...]
_encode = msgspec.msgpack.Encoder().encode
_decoder: msgspec.msgpack.Decoder[list[tuple[_Items, list[Mark]]]] = msgspec.msgpack.Decoder(list[tuple[_Items, list[Mark]]])


def weight_of(rows: Sequence[Row]) -> int:
    """What rows weigh beside others: their marks, and 1 for each that has none."""
    return sum([len(marks) or 1 for _, marks in rows])


def records(rows: Iterable[Row]) -> Iterator[tuple[int, bytes]]:
    """The records of some rows, in order, each with what its rows weigh. Each is made when it is asked for, so that whoever writes
    one after the other never has all of them in memory."""
    some: list[msgspec.Raw] = []
    weight, size_bytes = 0, ARRAY_BYTES
    for fact, marks in rows:
        row = _encode((fact if type(fact) is tuple else _with_readers(fact), marks))
        if some and size_bytes + len(row) > MAX_RECORD_BYTES:
            yield weight, _encode(some)
            some.clear()
            weight, size_bytes = 0, ARRAY_BYTES
        some.append(msgspec.Raw(row))
        weight += len(marks) or 1
        size_bytes += len(row)
    if some:
        yield weight, _encode(some)


def rows_of(record: bytes) -> list[Row]:
    """The inverse of :func:`records`, of one of them. Raises ValueError for bytes that are none."""
    try:
        found = _decoder.decode(record)
        rows = [(_fact(items), marks) for items, marks in found]
    except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"a record is not of facts ({error})") from None
    for fact, marks in rows:
        there = max((sign for _, sign, _ in marks), default=-1) > 0
        if there and is_hashed(fact):
            raise ValueError("a record has only a hash of a fact that is there")
        for position, sign, stamp in marks:
            if not 0 <= position < len(fact) or abs(sign) != 1 or not 0 <= stamp <= MAX_CLOCK:
                raise ValueError("a record has marks that their fact cannot have")
    return rows


def joined(rows: Iterable[tuple[bytes, bytes]], facts: int) -> Iterator[tuple[int, bytes]]:
    """The records of facts and marks that are encoded already, each by itself: so many facts in one, or fewer where these are
    large; and what each record weighs. Raises ValueError."""
    some: list[tuple[msgspec.Raw, msgspec.Raw]] = []
    size_bytes = 0
    for fact, marks in rows:
        try:
            some.append((msgspec.Raw(fact), msgspec.Raw(marks)))
            size_bytes += len(fact) + len(marks)
        except TypeError as error:
            raise ValueError(f"a row is no fact ({error})") from None
        if len(some) >= facts or size_bytes >= MAX_RECORD_BYTES:
            yield _weighed(_encode(some))
            some, size_bytes = [], 0
    if some:
        yield _weighed(_encode(some))


def _weighed(record: bytes) -> tuple[int, bytes]:
    return weight_of(rows_of(record)), record


def _with_readers(fact: Remains) -> _Items:
    return (*fact, _Readers(sorted(fact.audience))) if isinstance(fact, Restricted) else fact


def _fact(items: _Items) -> Remains:
    """The inverse of :func:`_with_readers`. Raises ValidationError for readers where a term must be."""
    if _Readers not in map(type, items):
        return items  # type: ignore[return-value]  # as just seen
    *terms, last = items
    if not terms or not isinstance(last, _Readers) or _Readers in map(type, terms):
        raise msgspec.ValidationError("readers that do not follow the last term")
    return restricted([tuple(terms)], frozenset(last.ids))[0]  # type: ignore[arg-type]  # as just seen


def in_reason(rows: Sequence[Row], until: int) -> tuple[Sequence[Row], int]:
    """Facts with stamps up to this one, and how many marks had a later one."""
    if all(stamp <= until for _, marks in rows for _, _, stamp in marks):
        return rows, 0
    late = sum(stamp > until for _, marks in rows for _, _, stamp in marks)
    return [
        (fact, [(position, sign, stamp if stamp <= until else EARLIEST) for position, sign, stamp in marks]) for fact, marks in rows
    ], late


def latest_in_reason(clocks: Iterable[int], ahead_us: int) -> int:
    """The latest of several times that were written one after the other, without one that is so far ahead of all others; 0 for
    none."""
    *others, last = sorted(clocks) or [0]
    return others[-1] if others and last > others[-1] + ahead_us else last
