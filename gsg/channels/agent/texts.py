"""The agent language's operators on texts, and those that tell kinds apart. Work is charged by the length of the texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..values import Reference
from .data import List, Record, size_of, written
from .limits import mistake
from .numbers import Operation, read_number, shown, whole
from .run import Run

LINEAR_CHARACTERS: Final = 2_500
LINEAR_PART: Final = 100
LINEAR_CHARACTERS_OF_SHORT_PART: Final = 30_000
"""In a text from the first on CPython's search is linear, where what is searched has as many characters as the second says; for a
shorter part it is from the third on."""


def text(value: object) -> str:
    """The text that a value is. Raises Stop."""
    if isinstance(value, str):
        return value
    raise mistake(f"{shown(value)} is no text; expected one: (text x) makes one of any value")


def as_text(run: Run, value: object) -> str:
    """A value as it is printed."""
    if isinstance(value, str):
        return value
    if isinstance(value, (List, Record)):
        run.charge(size_of(value, run) // 32)
    made = written(value)
    run.expect_length(len(made))
    return made


def _concat(run: Run, *values: object) -> object:
    total, parts = 0, []
    for value in values:
        part = as_text(run, value)
        total += len(part)
        run.expect_length(total)
        parts.append(part)
    return run.text("".join(parts))


def search_steps(within: int, part: int) -> int:
    """Steps that a search may take, by how many characters the texts have: CPython compares short ones at each place."""
    if within < LINEAR_CHARACTERS or (part < LINEAR_PART and within < LINEAR_CHARACTERS_OF_SHORT_PART):
        return within * min(part, within) // 8192
    return within // 256


def _contains(run: Run, within: object, part: object) -> object:
    whole_text, wanted = text(within), text(part)
    run.charge(search_steps(len(whole_text), len(wanted)))
    return wanted in whole_text


def _position(run: Run, within: object, part: object) -> object:
    whole_text, wanted = text(within), text(part)
    run.charge(search_steps(len(whole_text), len(wanted)))
    found = whole_text.find(wanted)
    return None if found < 0 else found


def _substring(run: Run, value: object, start: object, end: object = None) -> object:
    given, first = text(value), whole(run, start)
    last = len(given) if end is None else whole(run, end)
    if not 0 <= first <= last <= len(given):
        raise mistake(
            f"(substring ... {first} {last}) of a text of {len(given):,} characters; expected 0 <= start <= end <= its length"
        )
    return run.text(given[first:last])


def _split(run: Run, value: object, by: object = None) -> object:
    given = text(value)
    if by is None:
        run.charge(len(given) // 8)
        return run.made_list(tuple(given.split(maxsplit=run.limits.items)))
    separator = text(by)
    if not separator:
        raise mistake('(split text ""); expected a separator that is not empty')
    run.charge(search_steps(len(given), len(separator)))
    run.expect_items(given.count(separator) + 1)
    return run.made_list(tuple(given.split(separator)))


def _join(run: Run, values: object, by: object = "") -> object:
    if not isinstance(values, List):
        raise mistake(f"{shown(values)} is no list; expected (join LIST TEXT)")
    separator = text(by)
    parts, total = [], len(separator) * max(0, len(values.items) - 1)
    run.expect_length(total)
    run.charge(len(values.items) // 2)
    for value in values.items:
        parts.append(as_text(run, value))
        total += len(parts[-1])
        if total > run.limits.text_characters:
            run.expect_length(total)
    return run.text(separator.join(parts))


def _replace(run: Run, value: object, old: object, new: object) -> object:
    given, before, after = text(value), text(old), text(new)
    if not before:
        raise mistake('(replace text "" ...); expected a text to be replaced that is not empty')
    run.charge(search_steps(len(given), len(before)))
    run.expect_length(len(given) + given.count(before) * (len(after) - len(before)))
    return run.text(given.replace(before, after))


def _mapped(function: Callable[[str], str]) -> Operation:
    def apply(run: Run, value: object) -> object:
        given = text(value)
        run.charge(len(given) // 16)
        made = function(given)  # at most three times as long
        run.expect_length(len(made))
        return run.text(made)

    return apply


def _tested(function: Callable[[str, str], bool]) -> Operation:
    def apply(run: Run, value: object, part: object) -> object:
        given, wanted = text(value), text(part)
        run.charge(len(wanted) // 256)
        return function(given, wanted)

    return apply


def _is(*kinds: type) -> Operation:
    return lambda _run, value: type(value) in kinds


TEXTS: Final[dict[str, tuple[int, int, Operation]]] = {
    "concat": (1, 99, _concat),
    "substring": (2, 3, _substring),
    "split": (1, 2, _split),
    "join": (1, 2, _join),
    "replace": (3, 3, _replace),
    "upper": (1, 1, _mapped(str.upper)),
    "lower": (1, 1, _mapped(str.lower)),
    "trim": (1, 1, _mapped(str.strip)),
    "contains": (2, 2, _contains),
    "prefix": (2, 2, _tested(str.startswith)),
    "suffix": (2, 2, _tested(str.endswith)),
    "position": (2, 2, _position),
    "text": (1, 1, lambda run, value: run.text(as_text(run, value))),
    "number": (1, 1, read_number),
    "number?": (1, 1, _is(int, float)),
    "text?": (1, 1, _is(str)),
    "list?": (1, 1, _is(List)),
    "event?": (1, 1, _is(Record)),
    "null?": (1, 1, lambda _run, value: value is None),
    "reference?": (1, 1, _is(Reference)),
}
"""Operators on texts: the fewest and most operands, and what they do."""
