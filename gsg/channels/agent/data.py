"""What an agent computes with: the values of events, lists, and functions. None of it ever changes.

Every list knows its size in bytes, written out in full, and how deep it is nested, so that what an agent may keep is known before
it is kept, and no walk through a value is longer than its size says or deeper than limits.MAX_NESTING.
"""

from __future__ import annotations

from sys import getsizeof
from typing import Final, Protocol

from ..values import Reference, Value, equal
from .code import Body

SMALL_BYTES: Final = 32
"""What a number, true, false or null counts for."""
ENTRY_BYTES: Final = 8
"""What the place in a list counts for."""
LIST_BYTES: Final = 64
"""What a list or event counts for, beside what is in it."""
FUNCTION_BYTES: Final = 64
"""What a function counts for, beside the variables around it."""
SCOPE_BYTES: Final = 56
"""What the variables of a call or let count for, beside their places."""
COMPARED_BYTES: Final = 128
"""Of lists and events, compared for a step."""

Scope = list[object]
"""The variables of one call or let: the scope around it first, None for the outermost."""


class Meter(Protocol):
    """What work and memory are charged to. Methods raise Stop beyond a limit."""

    def charge(self, steps: int) -> None:
        """Count work."""

    def expect_items(self, items: int) -> None:
        """That a list of this length may be made."""

    def allocate(self, size: int) -> None:
        """Count bytes of a value that may be kept from now on."""


class List:
    """A list. ``has_functions``: somewhere within it."""

    __slots__ = ("bytes", "depth", "has_functions", "items")

    def __init__(self, items: tuple[object, ...], size: int, depth: int, has_functions: bool) -> None:
        self.items = items
        self.bytes = size
        self.depth = depth
        self.has_functions = has_functions


class Record:
    """An event, or one within an event, as its fields. ``bytes`` and ``depth`` are None until somebody wants to keep it."""

    __slots__ = ("bytes", "depth", "fields")

    def __init__(self, fields: dict[str, Value], size: int | None = None, depth: int | None = None) -> None:
        self.fields = fields
        self.bytes = size
        self.depth = depth


class Function:
    """A function of the program, with the variables around it."""

    __slots__ = ("body", "scope")

    def __init__(self, body: Body, scope: Scope | None) -> None:
        self.body = body
        self.scope = scope


def measured(record: Record, meter: Meter) -> tuple[int, int]:
    """The size in bytes and the depth of an event. The first time it is walked through, which is charged for."""
    if record.bytes is None or record.depth is None:
        size, deepest, walked = 0, 1, 0
        todo: list[tuple[object, int]] = [(record.fields, 1)]
        while todo:
            value, depth = todo.pop()
            deepest = max(deepest, depth)
            if isinstance(value, dict):
                size += LIST_BYTES + 2 * ENTRY_BYTES * len(value) + sum(map(getsizeof, value))
                todo.extend((each, depth + 1) for each in value.values())
            elif isinstance(value, list):
                size += LIST_BYTES + ENTRY_BYTES * len(value)
                todo.extend((each, depth + 1) for each in value)
            else:
                size += getsizeof(value) if isinstance(value, str) else SMALL_BYTES
                continue
            walked += 4 + len(value)
            if walked >= 64:
                meter.charge(walked // 4)
                walked = 0
        meter.charge(walked // 4)
        record.bytes, record.depth = size, deepest
    return record.bytes, record.depth


def size_of(value: object, meter: Meter) -> int:
    """How many bytes a value counts for, written out in full."""
    kind = type(value)
    if kind is str:
        return getsizeof(value)
    if kind is List:
        return value.bytes  # type: ignore[attr-defined,no-any-return]  # a List
    if isinstance(value, Record):
        return measured(value, meter)[0]
    if isinstance(value, Reference):
        return getsizeof(value.address)
    return FUNCTION_BYTES if kind is Function else SMALL_BYTES


def depth_of(value: object, meter: Meter) -> int:
    """How many lists and events are within each other."""
    if isinstance(value, List):
        return value.depth
    return measured(value, meter)[1] if isinstance(value, Record) else 0


def has_functions(value: object) -> bool:
    """Whether a value is no value of an event, or has one within it."""
    return value.has_functions if isinstance(value, List) else callable(value) or isinstance(value, Function)


def imported(value: object, meter: Meter) -> object:
    """A value of an event as the agent's own, which counts as made: lists are copied, which is charged for."""
    found = _imported(value, meter)
    if found is not None and not isinstance(found, (int, float)):
        meter.allocate(size_of(found, meter))
    return found


def _imported(value: object, meter: Meter) -> object:
    if isinstance(value, dict):
        return Record(value)
    if isinstance(value, list):
        meter.expect_items(len(value))
        meter.charge(1 + len(value) // 8)
        items = tuple([_imported(each, meter) for each in value])
        return listed(items, meter)
    return value


def listed(items: tuple[object, ...], meter: Meter) -> List:
    """A list of items, for which its size is counted. The caller checks its length."""
    meter.charge(len(items) // 4)
    size, depth, functions = LIST_BYTES + ENTRY_BYTES * len(items), 0, False
    for item in items:
        size += size_of(item, meter)
        if not isinstance(item, (str, int, float)) and item is not None:
            depth = max(depth, depth_of(item, meter))
            functions = functions or has_functions(item)
    return List(items, size, depth + 1, functions)


def exported(value: object) -> Value:
    """A value as one of an event. It has no functions."""
    if isinstance(value, List):
        return [exported(item) for item in value.items]
    return value.fields if isinstance(value, Record) else value  # type: ignore[return-value]  # the rest are values already


def same(one: object, other: object, meter: Meter) -> bool:
    """Whether two values are equal, as in the predicate language; a function, list or event equals itself. It takes as long as
    the smaller one's size says, which is charged before."""
    if isinstance(one, (List, Record)):
        if type(one) is not type(other):
            return False
        if one is not other:
            meter.charge(min(size_of(one, meter), size_of(other, meter)) // COMPARED_BYTES)
    return _same(one, other)


def _same(one: object, other: object) -> bool:
    if isinstance(one, List):
        if one is other:
            return True
        if not isinstance(other, List) or len(one.items) != len(other.items):
            return False
        return all(map(_same, one.items, other.items))
    if isinstance(one, Record):
        return one is other or (isinstance(other, Record) and equal(one.fields, other.fields))
    return equal(one, other)


def written(value: object, *, within: bool = False) -> str:
    """A value as it is printed: a text as it is, and in quotes within a list or event. It takes as long as its size says."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"' if within else value
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, List):
        return f"({' '.join([written(item, within=True) for item in value.items])})"
    if isinstance(value, Record):
        return written(value.fields)
    if isinstance(value, dict):
        return "".join(["(event", *[f" ({name} {written(each, within=True)})" for name, each in value.items()], ")"])
    if isinstance(value, list):
        return f"({' '.join([written(item, within=True) for item in value])})"
    if isinstance(value, Reference):
        return value.address
    if isinstance(value, Function):
        return f"<function {value.body.name}>"
    return repr(value) if isinstance(value, (int, float)) else "<operator>"
