"""The events of a window that meet a condition, and indexes of them: by equal values, and in the order of one of them.

A memory is shared by all patterns, of all subscriptions, that ask for the same. Its index is a dict from a key to lists sorted by a
column: one for numbers, one for texts, and one for those texts that read as numbers, since each of the latter is in order with
texts as a text and with numbers as a number (:func:`gsg.channels.values.compare`). A range of values is a slice of one or two of
them. Where no order is asked for, it is that of arrival.

(The joins of :mod:`rete` remember the tokens of each level, and look up by equality alone: for three patterns in order that is all
pairs of events, most of which never become a match. Here the events alone are remembered, as in TREAT: Miranker, "TREAT: a better
match algorithm for AI production systems", AAAI 1987.)
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable
from operator import itemgetter
from typing import Any, Final, TypeAlias

from ..events import Event
from ..languages.expressions import Field, Origin
from ..languages.source import value_at
from ..values import Value, compare, equal, number_of
from .plan import Shape
from .query import Window


class Record:
    """An event in a memory: its values by column, and the same as keys that are equal where the values are."""

    __slots__ = ("arrival", "event", "keys", "time_s", "values")

    def __init__(self, event: Event, arrival: int, time_s: float, values: tuple[Any, ...], keys: tuple[Any, ...]) -> None:
        self.event = event
        self.arrival = arrival
        self.time_s = time_s
        self.values = values
        self.keys = keys


Entry: TypeAlias = tuple[Any, int, Record]  # Any: texts in one list, numbers in the other
"""A value in an order, the arrival, which is unique, and the event."""
Run: TypeAlias = tuple[list[Entry], int, int]
"""A slice of a list, from its begin to its end."""

NO_KEY: Final = object()
"""Of what equals nothing, not even itself."""
_NONE: Final[tuple[int, tuple[Run, ...]]] = (0, ())


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


class _Bucket:
    """The events of one key, sorted."""

    __slots__ = ("numbers", "numerals", "texts")

    def __init__(self) -> None:
        self.numbers: list[Entry] = []
        self.texts: list[Entry] = []
        self.numerals: list[Entry] = []
        """Those of the texts that read as numbers, by these."""


class Index:
    """Events by the values of some columns, and in the order of one; what is in no order is in no bucket."""

    __slots__ = ("_buckets", "_columns", "_order", "uses")

    def __init__(self, columns: tuple[int, ...], order: int | None) -> None:
        self._columns = columns
        self._order = order
        self._buckets: dict[object, _Bucket] = {}
        self.uses = 0
        """How many steps look up here."""

    def insert(self, record: Record) -> None:
        """Let an event be found."""
        value = record.arrival if self._order is None else record.values[self._order]
        if value.__class__ is str:
            bucket = self._bucket(record)
            _enter(bucket.texts, value, record)
            number = number_of(value)
            if number is not None:
                _enter(bucket.numerals, number, record)
        elif _is_number(value):
            _enter(self._bucket(record).numbers, value, record)

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
            del self._buckets[self._key(record)]

    def _bucket(self, record: Record) -> _Bucket:
        key = self._key(record)
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket()
        return bucket

    def _key(self, record: Record) -> object:
        if len(self._columns) == 1:
            return record.keys[self._columns[0]]
        return tuple(record.keys[column] for column in self._columns)

    def find(self, key: object, bounds: list[tuple[str, Any]]) -> tuple[int, tuple[Run, ...]]:
        """How many events have a key and compare so to the values of bounds, and where they are; at most, where some of the bounds
        are texts and some are numbers."""
        bucket = self._buckets.get(key)
        if bucket is None:
            return _NONE
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
    entry = (value, record.arrival, record)
    if not entries or entries[-1] < entry:
        entries.append(entry)
    else:
        insort(entries, entry)


def _leave(entries: list[Entry], value: object, record: Record) -> None:
    del entries[bisect_left(entries, (value, record.arrival))]


def _run(entries: list[Entry], bounds: list[tuple[str, Any]]) -> Run:
    begin, end = 0, len(entries)
    for operator, value in bounds:
        if operator == "<":
            end = min(end, bisect_left(entries, (value,)))
        elif operator == ">":
            begin = max(begin, bisect_left(entries, (value, math.inf)))
        elif operator == "<=":
            end = min(end, bisect_left(entries, (value, math.inf)))
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


class Memory:
    """The events of a window, of at most ``last`` of all events, that have a shape."""

    def __init__(self, shape: Shape, window: Window, last: int) -> None:
        self.shape = shape
        self.window = window
        self._last = last
        self._within_s = math.inf if window.within_s is None else window.within_s
        self.records: deque[Record] = deque()
        """In the order of arrival; at most ``last``."""
        self._indexes: dict[tuple[tuple[int, ...], int | None], Index] = {}
        self._values = _values(shape.fields)
        self._keyed = [column for column, is_keyed in enumerate(shape.keyed) if is_keyed]
        self.users: dict[tuple[int, int], None] = {}
        """Subscriptions, and what the memory is to each."""

    def insert(self, event: Event, arrival: int, time_s: float) -> Record | None:
        """An event that meets the condition arrives. None for one whose values are not to be kept."""
        values = keys = self._values(event, arrival)
        for column in self._keyed:
            value = values[column]
            if value.__class__ is not str and value.__class__ is not int:
                key = equality_key(value)
                if key is NO_KEY:
                    return None
                if key is not value:
                    keys = (*keys[:column], key, *keys[column + 1 :])
        for one, other in self.shape.same:
            if not equal(values[one], values[other]):
                return None
        record = Record(event, arrival, time_s, values, keys)
        self.records.append(record)
        for index in self._indexes.values():
            index.insert(record)
        return record

    def forget(self, arrivals: int, now_s: float) -> None:
        """Let go of what has left the window, after so many arrivals."""
        records = self.records
        while records and (records[0].arrival <= arrivals - self._last or records[0].time_s + self._within_s <= now_s):
            gone = records.popleft()
            for index in self._indexes.values():
                index.remove(gone)

    def use_index(self, columns: tuple[int, ...], order: int | None) -> Index:
        """An index by these columns, of all that is remembered, until it is released as often as it was used."""
        index = self._indexes.get((columns, order))
        if index is None:
            index = self._indexes[columns, order] = Index(columns, order)
            for record in self.records:
                index.insert(record)
        index.uses += 1
        return index

    def release_index(self, columns: tuple[int, ...], order: int | None) -> None:
        """It is not needed any more by one of those who used it."""
        index = self._indexes[columns, order]
        index.uses -= 1
        if not index.uses:
            del self._indexes[columns, order]


def _values(fields: tuple[Field | None, ...]) -> Callable[[Event, int], tuple[Any, ...]]:
    names = [field.path[0] for field in fields if field is not None and field.origin is Origin.EVENT and len(field.path) == 1]
    if len(names) == len(fields) and len(names) > 1:
        of_fields = itemgetter(*names)
        return lambda event, arrival: of_fields(event.fields)
    return lambda event, arrival: tuple(_value(field, event, arrival) for field in fields)


def _value(field: Field | None, event: Event, arrival: int) -> object:
    if field is None:
        return arrival
    return value_at(event.environment if field.origin is Origin.ENVIRONMENT else event.fields, field.path)
