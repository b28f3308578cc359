"""The agent language's operators on lists and on fields of events. Lists are copied, a step for each 32 items.

map, filter, fold and sort call functions of the program: machine.py takes their turns.
"""

from __future__ import annotations

from typing import Final

from ..values import MISSING, value_at
from .data import ENTRY_BYTES, LIST_BYTES, List, Record, imported, same, size_of
from .limits import mistake
from .numbers import NUMBERS, Operation, shown, whole
from .run import Run
from .texts import text


def items_of(value: object) -> tuple[object, ...]:
    """The items of the list that a value is. Raises Stop."""
    if isinstance(value, List):
        return value.items
    raise mistake(f"{shown(value)} is no list; expected one, such as (list 1 2 3)")


def as_list(value: object) -> List:
    """The list that a value is. Raises Stop."""
    if isinstance(value, List):
        return value
    raise mistake(f"{shown(value)} is no list; expected one, such as (list 1 2 3)")


def _first(_run: Run, values: object) -> object:
    items = items_of(values)
    return items[0] if items else None


def _last(_run: Run, values: object) -> object:
    items = items_of(values)
    return items[-1] if items else None


def _rest(run: Run, values: object) -> object:
    given = as_list(values)
    if not given.items:
        return given
    run.charge(len(given.items) // 32)
    size = given.bytes - size_of(given.items[0], run) - ENTRY_BYTES
    return run.sized(List(given.items[1:], size, given.depth, given.has_functions))


def _append(run: Run, *values: object) -> object:
    lists = [as_list(value) for value in values]
    run.expect_items(sum(len(each.items) for each in lists))
    joined: list[object] = []
    for each in lists:
        joined.extend(each.items)
    size = sum(each.bytes for each in lists) - LIST_BYTES * (len(lists) - 1)
    depth, functions = max(each.depth for each in lists), any(each.has_functions for each in lists)
    return run.sized(List(tuple(joined), size, depth, functions))


def _length(_run: Run, value: object) -> object:
    if isinstance(value, str):
        return len(value)
    return len(value.fields) if isinstance(value, Record) else len(items_of(value))


def _nth(run: Run, values: object, index: object) -> object:
    items, at = items_of(values), whole(run, index)
    if not 0 <= at < len(items):
        raise mistake(f"(nth ... {shown(at)}) of a list of {len(items):,} items; expected 0 to {len(items) - 1:,}")
    return items[at]


def _slice(run: Run, values: object, start: object, end: object) -> object:
    items = items_of(values)
    first, last = max(0, whole(run, start)), max(0, whole(run, end))
    return run.made_list(items[first:last])


def _reverse(run: Run, values: object) -> object:
    given = as_list(values)
    run.charge(len(given.items) // 32)
    return run.sized(List(given.items[::-1], given.bytes, given.depth, given.has_functions))


def _member(run: Run, value: object, values: object) -> object:
    items = items_of(values)
    for item in items:
        run.charge(1)
        if same(value, item, run):
            return True
    return False


def _range(run: Run, count: object) -> object:
    length = whole(run, count)
    run.expect_items(max(0, length))
    run.charge(max(0, length) // 8)
    return run.made_list(tuple(range(length)))


def _sum(run: Run, values: object) -> object:
    items = items_of(values)
    run.charge(len(items))
    return NUMBERS["+"][2](run, 0, *items)


def sorted_by(run: Run, values: tuple[object, ...], keys: tuple[object, ...]) -> List:
    """Values in the order of their keys, equal ones as they were. Keys are all numbers or all texts."""
    texts = all(isinstance(key, str) for key in keys)
    if not texts and not all(type(key) in (int, float) for key in keys):
        wrong = next(key for key in keys if type(key) not in (int, float))
        raise mistake(
            f"a list with {shown(wrong)} among others has no order; expected numbers only or texts only, or (sort list key)"
        )
    turns = max(1, len(keys).bit_length())
    run.charge(len(keys) * turns // 2)
    if texts:
        run.charge(sum(map(len, keys)) // 256 * turns)  # type: ignore[arg-type]  # texts
    order = sorted(range(len(keys)), key=keys.__getitem__)  # type: ignore[arg-type]  # of one kind, as just seen
    return run.made_list(tuple([values[at] for at in order]))


def sorted_list(run: Run, values: object) -> object:
    """A list in order."""
    items = items_of(values)
    return sorted_by(run, items, items)


def _fields(run: Run, value: object) -> object:
    return run.made_list(tuple(record_of(value).fields))


def record_of(value: object) -> Record:
    """The event that a value is. Raises Stop."""
    if isinstance(value, Record):
        return value
    raise mistake(f"{shown(value)} is no event; expected one, such as (field event name)")


def _get(run: Run, value: object, name: object, default: object = None) -> object:
    found = record_of(value).fields.get(text(name), MISSING)
    return default if found is MISSING else imported(found, run)


def field_at(path: tuple[str, ...]) -> Operation:
    """What reads the value at a path of an event, null where there is none."""

    def apply(run: Run, value: object, default: object = None) -> object:
        found: object = value_at(record_of(value).fields, path)
        return default if found is MISSING else imported(found, run)

    return apply


def has_at(path: tuple[str, ...]) -> Operation:
    """What tells whether an event has something at a path."""
    return lambda _run, value: value_at(record_of(value).fields, path) is not MISSING


LISTS: Final[dict[str, tuple[int, int, Operation]]] = {
    "list": (0, 99, lambda run, *values: run.made_list(values)),
    "first": (1, 1, _first),
    "last": (1, 1, _last),
    "rest": (1, 1, _rest),
    "cons": (2, 2, lambda run, item, values: run.put_before(item, as_list(values))),
    "append": (1, 99, _append),
    "length": (1, 1, _length),
    "nth": (2, 2, _nth),
    "slice": (3, 3, _slice),
    "reverse": (1, 1, _reverse),
    "member": (2, 2, _member),
    "range": (1, 1, _range),
    "sum": (1, 1, _sum),
    "empty?": (1, 1, lambda _run, values: not items_of(values)),
    "fields": (1, 1, _fields),
    "get": (2, 3, _get),
}
"""Operators on lists and events: the fewest and most operands, and what they do."""
