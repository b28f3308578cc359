"""Indexes of events: by equal values, in the order of arrival or of one value.

An index is a dict from a key to the events that have it. Where they are in the order of a value, there are lists sorted by it: one
for numbers, one for texts, and one for those texts that read as numbers, since each of the latter is in order with texts as a text
and with numbers as a number (:func:`gsg.channels.values.compare`). A range of values is a slice of one or two of them.

Events are inserted and removed in the order of their arrivals. So of equal values the oldest is first, and is the first to go.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

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


Found: TypeAlias = tuple[Record, ...]
"""An event for each pattern."""
Run: TypeAlias = tuple[list[Record], int, int]
"""A slice of a list, from its begin to its end."""
Bounds: TypeAlias = Sequence[tuple[str, Any]]  # Any: values
"""What values are compared to, and how."""

NO_KEY: Final = object()
"""Of what equals nothing, not even itself."""


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


class Sorted:
    """Events in the order of values."""

    __slots__ = ("records", "values")

    def __init__(self) -> None:
        self.values: list[Any] = []  # Any: texts in one, numbers in another
        self.records: list[Record] = []
        """Those of the values, by place."""

    def insert(self, value: Any, record: Record) -> None:  # Any: as above
        """An event, newer than all others."""
        values = self.values
        if not values or values[-1] <= value:
            values.append(value)
            self.records.append(record)
        else:
            at = bisect_right(values, value)
            values.insert(at, value)
            self.records.insert(at, record)

    def remove(self, value: Any) -> None:  # Any: as above
        """The oldest event of a value leaves."""
        at = bisect_left(self.values, value)
        del self.values[at], self.records[at]

    def run(self, bounds: Bounds) -> Run:
        """Those whose values compare so to all bounds, which are in order with them."""
        values = self.values
        begin, end = 0, len(values)
        for operator, value in bounds:
            if operator == "<":
                end = min(end, bisect_left(values, value))
            elif operator == ">":
                begin = max(begin, bisect_right(values, value))
            elif operator == "<=":
                end = min(end, bisect_right(values, value))
            else:
                begin = max(begin, bisect_left(values, value))
        return self.records, begin, max(begin, end)


class Bucket(Sorted):
    """The events of one key: those whose values are numbers, and apart from them the texts."""

    __slots__ = ("numerals", "texts")

    def __init__(self) -> None:
        super().__init__()
        self.texts: Sorted | None = None
        self.numerals: Sorted | None = None
        """Those of the texts that read as numbers, by these."""

    def insert_text(self, value: str, record: Record) -> None:
        """An event, newer than all others."""
        self.texts = self.texts or Sorted()
        self.texts.insert(value, record)
        number = number_of(value)
        if number is not None:
            self.numerals = self.numerals or Sorted()
            self.numerals.insert(number, record)

    def remove_text(self, value: str) -> None:
        """The oldest event of a text leaves."""
        self.texts = _without(self.texts, value)
        number = number_of(value)
        if number is not None:
            self.numerals = _without(self.numerals, number)

    def find(self, bounds: Bounds) -> Run:
        """Those whose values compare so to the bounds; more, where some of these are texts and some are numbers."""
        is_text = bounds[0][1].__class__ is str
        bounds = [bound for bound in bounds if (bound[1].__class__ is str) is is_text]
        of_numbers = [(operator, number_of(value)) for operator, value in bounds]
        are_numbers = all(_is_number(value) for _, value in of_numbers)
        runs = []
        if is_text and self.texts is not None:
            runs.append(self.texts.run(bounds))
        if are_numbers and (is_text or all(_is_number(value) for _, value in bounds)):
            runs.append(self.run(of_numbers))
        if are_numbers and not is_text and self.numerals is not None:
            runs.append(self.numerals.run(of_numbers))
        runs = [(records, begin, end) for records, begin, end in runs if begin < end]
        if len(runs) == 1:
            return runs[0]
        found = [record for records, begin, end in runs for record in records[begin:end]]
        return found, 0, len(found)


def _without(entries: Sorted | None, value: object) -> Sorted | None:
    if entries is not None:
        entries.remove(value)
    return entries if entries is not None and entries.values else None


Of = TypeVar("Of", list[Record], Bucket)


class _ByKey(Generic[Of]):
    """Events by the values of some columns."""

    __slots__ = ("buckets", "key_of", "uses")

    def __init__(self, columns: tuple[int, ...]) -> None:
        self.buckets: dict[object, Of] = {}
        """By the key of the columns: its value, where there is one column."""
        self.key_of: Callable[[tuple[Any, ...]], object] = itemgetter(*columns) if columns else _no_key
        """From the keys of an event."""
        self.uses = 0
        """How many steps look up here."""


class Index(_ByKey[list[Record]]):
    """Events by the values of some columns, in the order of arrival."""

    __slots__ = ()

    def insert(self, record: Record) -> None:
        """Let an event be found."""
        key = self.key_of(record[4])
        bucket = self.buckets.get(key)
        if bucket is None:
            self.buckets[key] = [record]
        else:
            bucket.append(record)

    def remove(self, record: Record) -> None:
        """Let the oldest event be found no more."""
        key = self.key_of(record.keys)
        bucket = self.buckets[key]
        del bucket[0]
        if not bucket:
            del self.buckets[key]


class OrderedIndex(_ByKey[Bucket]):
    """Events by the values of some columns, and in the order of one; what is in no order is in no bucket."""

    __slots__ = ("_order",)

    def __init__(self, columns: tuple[int, ...], order: int) -> None:
        super().__init__(columns)
        self._order = order

    def insert(self, record: Record) -> None:
        """Let an event be found."""
        value = record[3][self._order]
        kind = value.__class__
        is_number = kind is int or (kind is float and value == value)
        if not is_number and kind is not str:
            return
        key = self.key_of(record[4])
        bucket = self.buckets.get(key)
        if bucket is None:
            bucket = self.buckets[key] = Bucket()
        if is_number:
            bucket.insert(value, record)
        else:
            bucket.insert_text(value, record)

    def remove(self, record: Record) -> None:
        """Let the oldest event be found no more."""
        value = record.values[self._order]
        is_number = _is_number(value)
        if not is_number and value.__class__ is not str:
            return
        key = self.key_of(record.keys)
        bucket = self.buckets[key]
        if is_number:
            bucket.remove(value)
        else:
            bucket.remove_text(value)
        if not bucket.values and bucket.texts is None:
            del self.buckets[key]


def _no_key(keys: tuple[Any, ...]) -> object:  # Any: as Record has them
    return ()


def _is_number(value: object) -> bool:
    kind = value.__class__
    return kind is int or (kind is float and value == value)


def are_mixed(bounds: Bounds) -> bool:
    """Whether some of the bounds are texts and some are not, so that what :meth:`Index.find` finds is to be compared."""
    return len({value.__class__ is str for _, value in bounds}) > 1


def is_within(value: object, bounds: Bounds) -> bool:
    """Whether a value compares so to all of the bounds."""
    for operator, bound in bounds:
        order = compare(value, bound)
        if order is None or not (
            order < 0 if operator == "<" else order > 0 if operator == ">" else order <= 0 if operator == "<=" else order >= 0
        ):
            return False
    return True
