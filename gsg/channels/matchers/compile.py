"""Compile: conditions wait under a test that they require, and those that wait at one place become one generated function.

    event ──> by field and value: a bucket ──> buckets within, by a second test ──> a leaf: tried one by one, then one function

Filman and Lee, section "Event channel algorithms", left it open. One function for all conditions takes seconds to make, and a
change makes all of it anew; so a leaf is small, is made when it has been tried often enough, and what changed since is tried
beside it. While an event is matched at most TESTS tests and one function are made, so no event waits for long. Before a function is
made of conditions that are tried often, those go elsewhere whose test many events pass, where they require one that few pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from ..languages.expressions import And, Condition
from ..languages.relations import Relations
from ..values import MISSING, Fields
from .access import ANY_VALUE, EQUAL, EVERYWHERE, Access, accesses_of, is_implied
from .generated import Program, parts_of
from .leaf import Effort, Leaf
from .memory import Memory
from .sample import SIZE, Sample
from .text_tests import REMEMBERED_BYTES, TextTests

LEAF: Final = 32
"""Conditions of a leaf; of more, those that require a second test go into buckets under that, however many are left."""
CHUNK: Final = 64
"""Conditions of one function; a larger leaf has several."""
SAMPLED: Final = 16
"""Of so many events, one is kept for a while, to see how often tests are passed."""
OFTEN: Final = SIZE // 8
"""Events of those kept, which pass the test of a condition, from which on another test is looked for."""
SELDOM: Final = 4
"""How many times fewer events have to pass that."""
MANY: Final = 1_000_000
"""Conditions that wait under a test count as much as one of these events."""
ASKED: Final = 64
"""Conditions that are asked how many events pass the test of theirs, while one event is matched."""
RECONSIDERED: Final = 16
"""Tests that are looked for in their place, about."""
TESTS: Final = 32
"""Tests of single conditions that are made while one event is matched; beyond, conditions are tried by their definition."""


class _Bucket(Leaf):
    """Conditions that wait at one place. Small ones are one leaf; of a large one those that require a second test wait under it."""

    __slots__ = ("_more", "_size", "_tables", "whole")

    def __init__(self) -> None:
        super().__init__()
        self.whole: Program | None = None
        """All of the bucket as one function, where it is one."""
        self._more: list[Leaf] | None = None
        """Further leaves, where one is full."""
        self._tables: _Tables | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, number: int, condition: Condition, memory: Memory) -> None:
        """Let a condition wait here."""
        self._size += 1
        self.whole = None
        if self._tables is not None and self._tables.insert_behind_test(number, condition):
            return
        if self.size < CHUNK:
            self.insert(number, condition)
            if self._tables is None and self.size > LEAF:
                self._split(memory)
            return
        self._more = self._more or []
        self.is_plain = False
        leaf = next((each for each in self._more if each.size < CHUNK), None)
        if leaf is None:
            leaf = Leaf()
            self._more.append(leaf)
        leaf.insert(number, condition)

    def _split(self, memory: Memory) -> None:
        self._tables, self.is_plain = _Tables(memory), False
        waiting = self.take_all()
        self._size -= len(waiting)
        for number, condition in waiting.items():
            self.put(number, condition, memory)

    def take_away(self, number: int, condition: Condition) -> None:
        """Let a condition wait here no more."""
        self._size -= 1
        self.whole = None
        if self._tables is not None and self._tables.remove(number, condition):
            return
        if number in self:
            self.remove(number)
            return
        assert self._more is not None
        at, leaf = next((at, each) for at, each in enumerate(self._more) if number in each)
        leaf.remove(number)
        if not leaf.size:
            del self._more[at]

    def match(self, fields: Fields, environment: Fields, found: list[int], effort: Effort) -> None:
        """Append the numbers of the conditions that hold."""
        Leaf.match(self, fields, environment, found, effort)
        if self._tables is None and self._more is None:
            self.whole = self.program
        if self._tables is not None:
            self._tables.match(fields, environment, found, effort)
        if self._more is not None:
            for leaf in self._more:
                leaf.match(fields, environment, found, effort)


class _Twins(_Bucket):
    """Two buckets whose values are one key for Python: that of 0 and false, or of 1 and true."""

    __slots__ = ("_field", "of_number", "of_truth")

    def __init__(self, field: str) -> None:
        super().__init__()
        self.is_plain = False
        self._field = field
        self.of_number: _Bucket | None = None
        self.of_truth: _Bucket | None = None

    def match(self, fields: Fields, environment: Fields, found: list[int], effort: Effort) -> None:
        """Append the numbers of the conditions that hold."""
        bucket = self.of_truth if fields[self._field].__class__ is bool else self.of_number
        if bucket is not None:
            bucket.match(fields, environment, found, effort)


Item: TypeAlias = "tuple[str, Any]"  # Any: the value of a field
"""A field and its value."""


class _Tables:
    """Buckets by field and value."""

    __slots__ = ("_any_value", "_by_item", "_by_text", "_everywhere", "_memory", "_names", "_places")

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        """Of texts, shared by all tables of a matcher."""
        self._by_item: dict[Item, _Bucket] = {}
        self._names: dict[str, int] = {}
        """How many buckets by value a field has."""
        self._any_value: dict[str, _Bucket] = {}
        self._everywhere: _Bucket | None = None
        self._by_text: dict[str, TextTests[_Bucket]] = {}
        self._places: dict[int, tuple[Access, ...]] = {}

    def crowd(self, access: Access) -> int:
        """How many conditions wait under a test.

        A field of which much is asked is in many events: to wait for any value of it counts as much as all that is asked of it.
        """
        bucket = self._bucket(access)
        found = 0 if bucket is None else len(bucket)
        return found + self._names.get(access.field, 0) if access.key is ANY_VALUE else found

    def _bucket(self, access: Access) -> _Bucket | None:
        field, key, relation = access
        if relation != EQUAL:
            tests = self._by_text.get(field)
            return None if tests is None else tests.get(relation, str(key))
        if key is ANY_VALUE:
            return self._everywhere if access == EVERYWHERE else self._any_value.get(field)
        bucket = self._by_item.get(_item_of(access))
        if isinstance(bucket, _Twins):
            return bucket.of_truth if isinstance(key, tuple) else bucket.of_number
        return bucket

    def _add_bucket(self, access: Access) -> _Bucket:
        bucket = _Bucket()
        field, key, relation = access
        if relation != EQUAL:
            self._by_text.setdefault(field, TextTests(self._memory)).insert(relation, str(key), bucket)
        elif access == EVERYWHERE:
            self._everywhere = bucket
        elif key is ANY_VALUE:
            self._any_value[field] = bucket
        else:
            self._names[field] = self._names.get(field, 0) + 1
            item = _item_of(access)
            if item[1] not in (0, 1):
                self._by_item[item] = bucket
            else:
                twins = self._by_item.setdefault(item, _Twins(field))
                setattr(twins, "of_truth" if isinstance(key, tuple) else "of_number", bucket)
        return bucket

    def _drop_bucket(self, access: Access) -> None:
        field, key, relation = access
        if relation != EQUAL:
            self._by_text[field].remove(relation, str(key))
            if not self._by_text[field]:
                del self._by_text[field]
        elif access == EVERYWHERE:
            self._everywhere = None
        elif key is ANY_VALUE:
            del self._any_value[field]
        else:
            self._names[field] -= 1
            if not self._names[field]:
                del self._names[field]
            item = _item_of(access)
            twins = self._by_item[item]
            if isinstance(twins, _Twins):
                setattr(twins, "of_truth" if isinstance(key, tuple) else "of_number", None)
                if twins.of_truth or twins.of_number:
                    return
            del self._by_item[item]

    def insert_behind_test(self, number: int, condition: Condition) -> bool:
        """Let a condition wait under one test, which need not be tried again; whether it requires such a one."""
        places = accesses_of(condition, self.crowd)
        if len(places) > 1 or places[0].key is ANY_VALUE or _rest_of(condition, places[0]) == condition:
            # Behind a test that leaves all of it to be tried it would wait once more, and so on.
            return False
        self.insert(number, condition, places)
        return True

    def insert(self, number: int, condition: Condition, places: list[Access]) -> None:
        """Let a condition wait under each of some tests."""
        self._places[number] = tuple(places)
        for access in places:
            bucket = self._bucket(access) or self._add_bucket(access)
            bucket.put(number, _rest_of(condition, access), self._memory)

    def places_of(self, number: int) -> tuple[Access, ...]:
        """The tests under which a condition waits."""
        return self._places[number]

    def remove(self, number: int, condition: Condition) -> bool:
        """Let a condition wait no more; whether it did."""
        places = self._places.pop(number, None)
        if places is None:
            return False
        for access in places:
            bucket = self._bucket(access)
            assert bucket is not None
            bucket.take_away(number, _rest_of(condition, access))
            if not len(bucket):
                self._drop_bucket(access)
        return True

    def match(self, fields: Fields, environment: Fields, found: list[int], effort: Effort) -> None:
        """Append the numbers of the conditions that hold."""
        get = fields.get
        if self._by_item:
            for bucket in self._hit(fields):
                if bucket.is_plain:
                    for number, (name, value, tried) in bucket.entries.items():
                        if get(name, MISSING) == value and (tried is None or tried.holds(fields, environment, bucket, effort)):  # type: ignore[call-overload]  # NO_FIELD is no name
                            found.append(number)
                elif bucket.whole is not None:
                    bucket.whole(fields, environment, found.append)
                else:
                    bucket.match(fields, environment, found, effort)
        any_value = self._any_value
        if any_value:
            for name in fields if len(fields) <= len(any_value) else any_value:
                if name in any_value and name in fields:
                    bucket = any_value[name]
                    if bucket.whole is not None:
                        bucket.whole(fields, environment, found.append)
                    else:
                        bucket.match(fields, environment, found, effort)
        if self._everywhere is not None:
            self._everywhere.match(fields, environment, found, effort)
        by_text = self._by_text
        if by_text:
            for name in fields if len(fields) <= len(by_text) else by_text:
                if name in by_text and name in fields:
                    value = fields[name]
                    if value.__class__ is str:
                        for bucket in by_text[name].passed(value):
                            if bucket.whole is not None:
                                bucket.whole(fields, environment, found.append)
                            else:
                                bucket.match(fields, environment, found, effort)

    def _hit(self, fields: Fields) -> list[_Bucket]:
        """The buckets under the values of an event."""
        names = self._names
        items = fields.items() if len(fields) <= len(names) else [(name, fields[name]) for name in names if name in fields]
        try:
            return [bucket for bucket in map(self._by_item.get, items) if bucket is not None]
        except TypeError:  # a list or an event within it, which cannot be a key
            kinds = (list, dict)
            return [bucket for item in items if not isinstance(item[1], kinds) and (bucket := self._by_item.get(item)) is not None]


def _item_of(access: Access) -> Item:
    """What an event has that passes, as a key."""
    return access.field, access.key[0] if isinstance(access.key, tuple) else access.key


def _rest_of(condition: Condition, access: Access) -> Condition:
    """What is left to be tried of a condition, behind its access."""
    parts = tuple(part for part in parts_of(condition) if not is_implied(part, access))
    return parts[0] if len(parts) == 1 else And(parts)


class Compile:
    """Conditions behind tests that are looked up, those that are tried often as generated functions."""

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        self.may_generate = True
        """Whether one more function may be made while this event is matched."""
        self.tests_left = TESTS
        """Tests of single conditions that may be made while this event is matched."""
        self._tables = _Tables(Memory(REMEMBERED_BYTES))
        self._conditions: dict[int, Condition] = {}
        self._sample = Sample()
        self._until_sampled = 1
        """Events until one is sampled."""
        self._reconsidered: list[int] = []
        """Conditions that are tried often; limit: those of the leaves that were tried while one event was matched."""

    def insert(self, number: int, condition: Condition, places: list[Access] | None = None) -> None:
        """Let a condition be matched; ``places``, if given, are those of :meth:`places_of`."""
        self._conditions[number] = condition
        self._tables.insert(number, condition, self.places_of(condition) if places is None else places)

    def places_of(self, condition: Condition) -> list[Access]:
        """The tests under which a condition would wait."""
        return accesses_of(condition, self._tables.crowd)

    def crowd(self, places: list[Access]) -> int:
        """How many conditions wait under the most crowded of some tests."""
        return max(map(self._tables.crowd, places))

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        self._tables.remove(number, self._conditions.pop(number))

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        self._until_sampled -= 1
        if not self._until_sampled:
            self._sample.take(fields)
            self._until_sampled = SAMPLED if self._sample.is_full else 1
        if self._reconsidered:
            self._move(self._reconsidered)
        self.may_generate, self.tests_left = not self._reconsidered, TESTS
        found: list[int] = []
        self._tables.match(fields, environment, found, self)
        return found if len(found) < 2 else list(dict.fromkeys(found))

    def reconsider(self, numbers: Iterable[int]) -> None:
        """These conditions are tried often: with the next events it is looked for a test that fewer events pass."""
        self._reconsidered += numbers

    def _move(self, reconsidered: list[int]) -> None:
        passing = self._sample.passing
        left = RECONSIDERED
        for _ in range(min(ASKED, len(reconsidered))):
            number = reconsidered.pop()
            condition = self._conditions.get(number)
            if condition is None:
                continue
            waits = self._tables.places_of(number)
            if all(access.key is ANY_VALUE for access in waits):
                continue  # it has no test on a value; and which of its fields are there the sample is too small to tell
            often = sum(map(passing, waits))
            if often < OFTEN:
                continue
            places = accesses_of(condition, lambda access: passing(access) * MANY + self._tables.crowd(access))
            if sum(map(passing, places)) * SELDOM <= often:
                self._tables.remove(number, condition)
                self._tables.insert(number, condition, places)
            left -= len(places)
            if left <= 0:
                break

    def __len__(self) -> int:
        return len(self._conditions)
