"""The events of a window that meet a condition, with indexes of them.

All patterns, of all subscriptions, that ask for the same share one memory.

(The joins of :mod:`rete` remember the tokens of each level, and look up by equality alone: for three patterns in order that is all
pairs of events, most of which never become a match. Here the events alone are remembered, as in TREAT: Miranker, "TREAT: a better
match algorithm for AI production systems", AAAI 1987.)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any, Final, overload

from ..events import Event
from ..languages.expressions import Field, Origin
from ..remembered import Remembered
from ..values import equal, value_at
from .index import NO_KEY, Index, OrderedIndex, Record, equality_key
from .plan import Shape
from .query import Window

_record: Final[Callable[[tuple[Any, ...]], Record]] = partial(tuple.__new__, Record)  # Any: of each field; a third of Record(...)


class Memory:
    """The events of a window, of at most ``last`` of all events, that have a shape and are ``remembered``, whose arrival numbers
    count from 1."""

    def __init__(self, shape: Shape, window: Window, last: int, remembered: Remembered[Any]) -> None:  # Any: whatever is counted
        self.shape = shape
        self.window = window
        self._last = last
        self._remembered = remembered
        self._within_s = math.inf if window.within_s is None else window.within_s
        self.records: deque[Record] = deque()
        """In the order of arrival; at most ``last``."""
        self._indexes: dict[tuple[tuple[int, ...], int | None], Index | OrderedIndex] = {}
        names = [field.path[0] for field in shape.fields if field is not None and _is_at_top(field)]
        self._of_fields = itemgetter(*names) if 1 < len(names) == len(shape.fields) else None
        """The values of all columns from the fields of an event, where that is enough."""
        self._inserts: list[Callable[[Record], None]] = []
        """Of the indexes."""
        self._same = shape.same
        self._keyed = [column for column, is_keyed in enumerate(shape.keyed) if is_keyed]
        self.users: dict[int, list[int]] = {}
        """Subscriptions, and what the memory is to each: their roles."""

    def insert(self, event: Event, arrival: int, time_s: float) -> Record | None:
        """An event that meets the condition arrives. None for one whose values are not to be kept."""
        of_fields = self._of_fields
        values: tuple[Any, ...]  # Any: values
        if of_fields is not None:
            values = of_fields(event.fields)
        else:
            values = tuple([_value(field, event, arrival) for field in self.shape.fields])
        keys = values
        for column in self._keyed:
            value = values[column]
            if value.__class__ is not str and value.__class__ is not int:
                key = equality_key(value)
                if key is NO_KEY:
                    return None
                if key is not value:
                    keys = (*keys[:column], key, *keys[column + 1 :])
        for one, other in self._same:
            if not equal(values[one], values[other]):
                return None
        record = _record((arrival, time_s, event, values, keys))
        self.records.append(record)
        for insert in self._inserts:
            insert(record)
        return record

    def forget(self, arrivals: int, now_s: float) -> None:
        """Let go of what has left the window, after so many arrivals."""
        records = self.records
        while records:
            arrival, time_s, *_ = records[0]
            if arrivals - self._last < arrival > self._remembered.forgotten and time_s + self._within_s > now_s:
                return
            gone = records.popleft()
            for index in self._indexes.values():
                index.remove(gone)

    @overload
    def use_index(self, columns: tuple[int, ...], order: None) -> Index: ...
    @overload
    def use_index(self, columns: tuple[int, ...], order: int | None) -> Index | OrderedIndex: ...
    def use_index(self, columns: tuple[int, ...], order: int | None) -> Index | OrderedIndex:
        """An index by these columns, of all that is remembered, until it is released as often as it was used."""
        index = self._indexes.get((columns, order))
        if index is None:
            index = self._indexes[columns, order] = Index(columns) if order is None else OrderedIndex(columns, order)
            self._inserts.append(index.insert)
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
            self._inserts.remove(index.insert)


def _is_at_top(field: Field) -> bool:
    return field.origin is Origin.EVENT and len(field.path) == 1


def _value(field: Field | None, event: Event, arrival: int) -> object:
    if field is None:
        return arrival
    return value_at(event.environment if field.origin is Origin.ENVIRONMENT else event.fields, field.path)
