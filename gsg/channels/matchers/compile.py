"""Compile: conditions wait under a test that they require, and those that wait at one place are one generated function.

    event ──> by field: the value's bucket, and that of any value ──> buckets within, by a second test ──> a leaf: one function

Filman and Lee, section "Event channel algorithms", left it open. One function for all conditions takes seconds to make, and a
change makes all of it anew; so a leaf is small, is made when it has been tried often enough, and what changed since is tried
beside it. At most one function is made while an event is matched, so no event waits for long.
"""

from __future__ import annotations

from typing import Any, Final

from ..languages.evaluation import holds
from ..languages.expressions import And, Condition, has_relation
from ..languages.relations import Relations
from ..languages.source import LazyTest
from ..values import Fields
from .access import ANY_VALUE, EQUAL, EVERYWHERE, Access, accesses_of, is_implied
from .generated import Program, generate, parts_of
from .text_tests import TextTests

LEAF: Final = 32
"""Conditions of a leaf; of more, those that require a second test go into buckets under that, however many are left."""
CHUNK: Final = 64
"""Conditions of one function; a larger leaf has several."""
TRIED: Final = 12
"""How often the conditions of a leaf are tried one by one before they are worth a function."""


class _Leaf:
    """Conditions that are tried together: some as one function, those that came since one by one."""

    __slots__ = ("_gone", "_loose", "_made", "_program", "_ready", "_spent")

    def __init__(self) -> None:
        self._loose: dict[int, Condition] = {}
        self._ready: dict[int, LazyTest] = {}
        """Of those of them that have relations, which are made ready once."""
        self._made: dict[int, Condition] = {}
        self._program: Program | None = None
        self._gone = False
        """Whether the function has conditions that were removed since."""
        self._spent = 0
        """Conditions that were tried one by one, or had gone, since the function was made."""

    def __len__(self) -> int:
        return len(self._loose) + len(self._made)

    def insert(self, number: int, condition: Condition) -> None:
        self._loose[number] = condition

    def remove(self, number: int) -> None:
        self._ready.pop(number, None)
        if self._loose.pop(number, None) is None:
            del self._made[number]
            self._gone = True
            if not self._made:
                self._program, self._gone = None, False

    @property
    def program(self) -> Program | None:
        """The function, where it is of just the conditions that are here."""
        return None if self._loose or self._gone else self._program

    def take_all(self) -> dict[int, Condition]:
        every = {**self._made, **self._loose}
        self.__init__()  # type: ignore[misc]  # as new
        return every

    def match(self, fields: Fields, environment: Fields, found: list[int], matcher: Compile) -> None:
        if self._program is not None:
            if self._gone:
                self._spent += 1
                numbers: list[int] = []
                self._program(fields, environment, numbers.append)
                found += [number for number in numbers if number in self._made]
            else:
                self._program(fields, environment, found.append)
        if self._loose:
            self._spent += len(self._loose)
            found += [number for number, each in self._loose.items() if self._holds(number, each, fields, environment, matcher)]
        if self._spent > TRIED * (len(self._made) + len(self._loose)) and matcher.may_generate:
            matcher.may_generate = False
            self._generate(matcher.relations)

    def _holds(self, number: int, condition: Condition, fields: Fields, environment: Fields, matcher: Compile) -> bool:
        test = self._ready.get(number)
        if test is None:
            if not has_relation(condition):
                return holds(condition, fields, environment, matcher.relations)
            test = self._ready[number] = LazyTest(condition, matcher.relations)
        return test(fields, environment)

    def _generate(self, relations: Relations) -> None:
        self._made |= self._loose
        self._loose, self._ready = {}, {}
        self._program = generate({number: parts_of(each) for number, each in self._made.items()}, relations)
        self._gone, self._spent = False, 0


class _Bucket:
    """Conditions that wait at one place. Small ones are one leaf; of a large one those that require a second test wait under it."""

    __slots__ = ("_leaves", "_size", "_tables", "program")

    def __init__(self) -> None:
        self.program: Program | None = None
        """All of the bucket as one function, where it is one."""
        self._leaves = [_Leaf()]
        self._tables: _Tables | None = None
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def insert(self, number: int, condition: Condition) -> None:
        self._size += 1
        self.program = None
        if self._tables is not None and self._tables.insert_behind_test(number, condition):
            return
        for leaf in self._leaves:
            if len(leaf) < CHUNK:
                break
        else:
            leaf = _Leaf()
            self._leaves.append(leaf)
        leaf.insert(number, condition)
        if self._tables is None and len(leaf) > LEAF:
            self._split()

    def _split(self) -> None:
        self._tables = _Tables()
        [leaf] = self._leaves
        waiting = leaf.take_all()
        self._size -= len(waiting)
        for number, condition in waiting.items():
            self.insert(number, condition)

    def remove(self, number: int, condition: Condition) -> None:
        self._size -= 1
        self.program = None
        if self._tables is not None and self._tables.remove(number, condition):
            return
        for at, leaf in enumerate(self._leaves):
            if number in leaf._loose or number in leaf._made:
                leaf.remove(number)
                if not len(leaf) and len(self._leaves) > 1:
                    del self._leaves[at]
                return

    def match(self, fields: Fields, environment: Fields, found: list[int], matcher: Compile) -> None:
        if self._tables is not None:
            self._tables.match(fields, environment, found, matcher)
        for leaf in self._leaves:
            leaf.match(fields, environment, found, matcher)
        if self._tables is None and len(self._leaves) == 1:
            self.program = self._leaves[0].program


class _Tables:
    """Buckets by field and value."""

    __slots__ = ("_by_field", "_by_text", "_places")

    def __init__(self) -> None:
        self._by_field: dict[str, dict[Any, _Bucket]] = {}  # Any: keys of values
        """ANY_VALUE stands for any value of a field; those of every event are under no name."""
        self._by_text: dict[str, TextTests[_Bucket]] = {}
        self._places: dict[int, list[Access]] = {}

    def crowd(self, access: Access) -> int:
        bucket = self._bucket(access)
        return 0 if bucket is None else len(bucket)

    def _bucket(self, access: Access) -> _Bucket | None:
        if access.relation != EQUAL:
            tests = self._by_text.get(access.field)
            return None if tests is None else tests.get(access.relation, str(access.key))
        return self._by_field.get(access.field, {}).get(access.key)

    def insert_behind_test(self, number: int, condition: Condition) -> bool:
        """Let a condition wait under one test, which need not be tried again; whether it requires such a one."""
        places = accesses_of(condition, self.crowd)
        if len(places) > 1 or places[0].key is ANY_VALUE or _rest_of(condition, places[0]) == condition:
            # Behind a test that leaves all of it to be tried it would wait once more, and so on.
            return False
        self._insert(number, condition, places)
        return True

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition wait wherever it can."""
        self._insert(number, condition, accesses_of(condition, self.crowd))

    def _insert(self, number: int, condition: Condition, places: list[Access]) -> None:
        self._places[number] = places
        for access in places:
            bucket = self._bucket(access)
            if bucket is None:
                bucket = _Bucket()
                if access.relation == EQUAL:
                    self._by_field.setdefault(access.field, {})[access.key] = bucket
                else:
                    self._by_text.setdefault(access.field, TextTests()).insert(access.relation, str(access.key), bucket)
            bucket.insert(number, _rest_of(condition, access))

    def remove(self, number: int, condition: Condition) -> bool:
        places = self._places.pop(number, None)
        if places is None:
            return False
        for access in places:
            bucket = self._bucket(access)
            assert bucket is not None
            bucket.remove(number, _rest_of(condition, access))
            if not len(bucket):
                if access.relation == EQUAL:
                    del self._by_field[access.field][access.key]
                    if not self._by_field[access.field]:
                        del self._by_field[access.field]
                else:
                    self._by_text[access.field].remove(access.relation, str(access.key))
                    if not self._by_text[access.field]:
                        del self._by_text[access.field]
        return True

    def match(self, fields: Fields, environment: Fields, found: list[int], matcher: Compile) -> None:
        tables, append = self._by_field, found.append
        for name in fields if len(fields) <= len(tables) else tables:
            table = tables.get(name)
            if table is None or name not in fields:
                continue
            value = fields[name]
            kind = value.__class__
            if kind is not list and kind is not dict:
                bucket = table.get((value,) if kind is bool else value)
                if bucket is not None:
                    if bucket.program is not None:
                        bucket.program(fields, environment, append)
                    else:
                        bucket.match(fields, environment, found, matcher)
            bucket = table.get(ANY_VALUE)
            if bucket is not None:
                if bucket.program is not None:
                    bucket.program(fields, environment, append)
                else:
                    bucket.match(fields, environment, found, matcher)
        every = tables.get(EVERYWHERE.field)
        if every is not None:
            every[ANY_VALUE].match(fields, environment, found, matcher)
        by_text = self._by_text
        if by_text:
            for name in fields if len(fields) <= len(by_text) else by_text:
                if name in by_text and name in fields:
                    value = fields[name]
                    if value.__class__ is str:
                        for bucket in by_text[name].passed(value):
                            if bucket.program is not None:
                                bucket.program(fields, environment, append)
                            else:
                                bucket.match(fields, environment, found, matcher)


def _rest_of(condition: Condition, access: Access) -> Condition:
    """What is left to be tried of a condition, behind its access."""
    parts = tuple(part for part in parts_of(condition) if not is_implied(part, access))
    return parts[0] if len(parts) == 1 else And(parts)


class Compile:
    """Conditions as generated functions, behind tests that are looked up."""

    def __init__(self, relations: Relations) -> None:
        self.relations = relations
        self.may_generate = True
        """Whether one more function may be made while this event is matched."""
        self._tables = _Tables()
        self._conditions: dict[int, Condition] = {}

    def insert(self, number: int, condition: Condition) -> None:
        """Let a condition be matched."""
        self._conditions[number] = condition
        self._tables.insert(number, condition)

    def remove(self, number: int) -> None:
        """Forget a condition. Raises KeyError."""
        self._tables.remove(number, self._conditions.pop(number))

    def match(self, fields: Fields, environment: Fields) -> list[int]:
        """The numbers of the conditions that hold of an event."""
        self.may_generate = True
        found: list[int] = []
        self._tables.match(fields, environment, found, self)
        return found if len(found) < 2 else list(dict.fromkeys(found))

    def __len__(self) -> int:
        return len(self._conditions)
