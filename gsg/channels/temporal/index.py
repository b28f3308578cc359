"""Indexes of events: by equal values, and in the order of one value.

An index is a dict from a key to lists sorted by a column: one for numbers, one for texts, and one for those texts that read as
numbers, since each of the latter is in order with texts as a text and with numbers as a number
(:func:`gsg.channels.values.compare`). A range of values is a slice of one or two of them. Where no order is asked for, it is that
of arrival.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from typing import Any, Final, NamedTuple, TypeAlias

from ..events import Event
from ..values import Value, compare, number_of


class Record(NamedTuple):
    """An event in a memory. Those of one memory are in the order of their arrivals, which are unique."""

    arrival: int
    time_s: float
    event: Event
    values: tuple[Any, ...]  # Any: values
    """By column."""
    keys: tuple[Any, ...]  # Any: as equality_key makes them
    """The same, as keys that are equal where the values are."""


Entry: TypeAlias = tuple[Any, Record]  # Any: texts in one list, numbers in the other
"""A value in an order, and its event."""
Run: TypeAlias = tuple[list[Entry], int, int]
"""A slice of a list, from its begin to its end."""

LAST: Final = (math.inf,)
"""In the place of an event: after all others."""
NO_KEY: Final = object()
"""Of what equals nothing, not even itself."""
NOTHING: Final[tuple[int, tuple[Run, ...]]] = (0, ())
"""What is found where nothing is."""


def equality_key(value: Value) -> object:
    """A key that two values have in common exactly where they are equal (:func:`gsg.channels.values.equal`); NO_KEY for NaN."""
    kind = value.__class__
    if kind is str or kind is int:
        return value
    if kind is float:
        return value if value == value else NO_KEY
    if kind is bool:
        return (value,)
    if kind is list or kind is dict:
        items: Any = value  # Any: a list or a dict
        keys = [equality_key(each) for each in (items if kind is list else items.values())]
        if NO_KEY in keys:
            return NO_KEY
        return ("list", *keys) if kind is list else ("event", frozenset(zip(items, keys, strict=True)))
    return value


class Bucket:
    """The events of one key, sorted."""

    __slots__ = ("numbers", "numerals", "texts")

    def __init__(self) -> None:
        self.numbers: list[Entry] = []
        self.texts: list[Entry] = []
        self.numerals: list[Entry] = []
        """Those of the texts that read as numbers, by these."""


class Index:
    """Events by the values of some columns, and in the order of one; what is in no order is in no bucket."""

    __slots__ = ("_columns", "_order", "buckets", "uses")

    def __init__(self, columns: tuple[int, ...], order: int | None) -> None:
        self._columns = columns
        self._order = order
        self.buckets: dict[object, Bucket] = {}
        """By the key of the columns: its value, where there is one column."""
        self.uses = 0
        """How many steps look up here."""

    def insert(self, record: Record) -> None:
        """Let an event be found."""
        value = record.arrival if self._order is None else record.values[self._order]
        kind = value.__class__
        if kind is int or (kind is float and value == value):
            # As _bucket, which most events need not call.
            bucket = self.buckets.get(record[4][self._columns[0]]) if len(self._columns) == 1 else None
            entries, entry = (bucket or self._bucket(record)).numbers, (value, record)
            if entries and entries[-1] > entry:
                insort(entries, entry)
            else:
                entries.append(entry)
        elif kind is str:
            bucket = self._bucket(record)
            _enter(bucket.texts, value, record)
            number = number_of(value)
            if number is not None:
                _enter(bucket.numerals, number, record)

    def remove(self, record: Record) -> None:
        """Let it be found no more."""
        value = record.arrival if self._order is None else record.values[self._order]
        if value.__class__ is str:
            bucket = self._bucket(record)
            _leave(bucket.texts, value, record)
            number = number_of(value)
            if number is not None:
                _leave(bucket.numerals, number, record)
        elif _is_number(value):
            bucket = self._bucket(record)
            _leave(bucket.numbers, value, record)
        else:
            return
        if not bucket.numbers and not bucket.texts:
            del self.buckets[self._key(record)]

    def _bucket(self, record: Record) -> Bucket:
        key = record.keys[self._columns[0]] if len(self._columns) == 1 else self._key(record)
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = Bucket()
        return bucket

    def _key(self, record: Record) -> object:
        if len(self._columns) == 1:
            return record.keys[self._columns[0]]
        return tuple(record.keys[column] for column in self._columns)

    def find(self, key: object, bounds: list[tuple[str, Any]]) -> tuple[int, tuple[Run, ...]]:
        """How many events have a key and compare so to the values of bounds, and where they are; at most, where some of the bounds
        are texts and some are numbers."""
        bucket = self.buckets.get(key)
        if bucket is None:
            return NOTHING
        if not bounds:
            return len(bucket.numbers), ((bucket.numbers, 0, len(bucket.numbers)),)
        if bounds[0][1].__class__ is str:
            bounds = [bound for bound in bounds if bound[1].__class__ is str]
            runs = [_run(bucket.texts, bounds)] if bucket.texts else []
            numbers = bucket.numbers
        else:
            bounds = [bound for bound in bounds if bound[1].__class__ is not str]
            runs = []
            if bucket.numbers:
                runs = [_run(bucket.numbers, bounds)] if all(_is_number(bound[1]) for bound in bounds) else []
            numbers = bucket.numerals
        if numbers:
            of_numbers = [(operator, number_of(value)) for operator, value in bounds]
            if all(_is_number(value) for _, value in of_numbers):
                runs.append(_run(numbers, of_numbers))
        return sum([end - begin for _, begin, end in runs]), tuple(runs)


def _is_number(value: object) -> bool:
    kind = value.__class__
    return kind is int or (kind is float and value == value)


def _enter(entries: list[Entry], value: object, record: Record) -> None:
    entry = (value, record)
    if not entries or entries[-1] < entry:
        entries.append(entry)
    else:
        insort(entries, entry)


def _leave(entries: list[Entry], value: object, record: Record) -> None:
    del entries[bisect_left(entries, (value, record))]


def _run(entries: list[Entry], bounds: list[tuple[str, Any]]) -> Run:
    begin, end = 0, len(entries)
    for operator, value in bounds:
        if operator == "<":
            end = min(end, bisect_left(entries, (value,)))
        elif operator == ">":
            begin = max(begin, bisect_left(entries, (value, LAST)))
        elif operator == "<=":
            end = min(end, bisect_left(entries, (value, LAST)))
        else:
            begin = max(begin, bisect_left(entries, (value,)))
    return entries, begin, max(begin, end)


def are_mixed(bounds: list[tuple[str, Any]]) -> bool:
    """Whether some of the bounds are texts and some are not, so that what :meth:`Index.find` finds is to be compared."""
    return len({value.__class__ is str for _, value in bounds}) > 1


def is_within(value: object, bounds: list[tuple[str, Any]]) -> bool:
    """Whether a value compares so to all of the bounds."""
    for operator, bound in bounds:
        order = compare(value, bound)
        if order is None or not (
            order < 0 if operator == "<" else order > 0 if operator == ">" else order <= 0 if operator == "<=" else order >= 0
        ):
            return False
    return True
