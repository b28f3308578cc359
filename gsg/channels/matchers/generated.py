"""Some conditions as one Python function, in which what they have in common is computed once.

Filman and Lee, section "Event channel algorithms", Compile: the subscriptions are one program. A part that most conditions have
comes first, and what else they require inside it, so a rule that is more special than another stands within that one; ``(> x 7)``
stands behind ``(> x 3)``, which it implies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from ..languages.expressions import And, Comparison, Condition, Constant, Exists, Field, Origin, Relation, fields_of
from ..languages.relations import Relations
from ..languages.source import folded_fields
from ..values import Fields
from .searches import SearchSource

Program: TypeAlias = Callable[[Fields, Fields, Callable[[int], None]], None]
"""Of the fields of an event and its environment, it calls what it is given with the number of each condition that holds."""
MAX_NESTED: Final = 16
"""Tests within tests; what is required beyond is one test. Python reads at most a hundred levels."""
MAX_THRESHOLDS: Final = 8
"""Constants of one comparison of one field that are put in order; where there are more, none is."""


class _Item(NamedTuple):
    number: int
    parts: tuple[Condition, ...]


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """What is to hold all together."""
    return condition.parts if isinstance(condition, And) else (condition,)


def generate(conditions: Mapping[int, Iterable[Condition]], relations: Relations) -> Program:
    """The function of conditions, each given as parts that are to hold all together. It takes some 0.1 ms a condition to make."""
    source = SearchSource(relations)
    items = [_Item(number, tuple(parts)) for number, parts in conditions.items()]
    items = _with_weaker_comparisons(items)
    names = Counter(
        field.path[0]
        for part in {part for item in items for part in item.parts}
        for field in fields_of(part)
        if field.origin is Origin.EVENT and len(field.path) == 1
    )
    lines = ["def program(fields, environment, found):", "    get = fields.get"]
    for number, name in enumerate(name for name, uses in names.items() if uses > 1):
        source.values[name] = f"f{number}"
        lines.append(f"    f{number} = get({name!r}, MISSING)")
    folded = Counter(name for part in {part for item in items for part in item.parts} for name in folded_fields(part))
    for number, name in enumerate(name for name, uses in folded.items() if uses > 1):
        source.folded[name] = f"t{number}"
        lines.append(f"    t{number} = v.casefold() if (v := {source.values[name]}).__class__ is str else None")
    _write(items, source, lines, 1)
    made: dict[str, Program] = {}
    exec("\n".join(lines), source.names, made)  # our own text
    return made["program"]


def _write(items: list[_Item], source: SearchSource, lines: list[str], depth: int) -> None:
    indent = "    " * depth
    lines += [f"{indent}found({item.number})" for item in items if not item.parts]
    left = [item for item in items if item.parts]
    while left:
        part, times = Counter(part for item in left for part in item.parts).most_common(1)[0]
        if times == 1 or depth >= MAX_NESTED:
            break
        lines.append(f"{indent}if {source.condition(part)}:")
        inside = [_Item(item.number, tuple(each for each in item.parts if each != part)) for item in left if part in item.parts]
        _write(inside, source, lines, depth + 1)
        left = [item for item in left if part not in item.parts]
    for item in left:
        tests = " and ".join(map(source.condition, sorted(item.parts, key=test_cost)))
        lines.append(f"{indent}if {tests}: found({item.number})")
    if not items:
        lines.append(f"{indent}pass")


def test_cost(part: Condition) -> int:
    """Cheap tests first, those that mostly fail before others."""
    match part:
        case Comparison("=", Field(), Constant()):
            return 0
        case Comparison(_, Field(), Constant()):
            return 1
        case Exists():
            return 2
        case Relation():
            return 3
        case _:
            return 4


def _with_weaker_comparisons(items: list[_Item]) -> list[_Item]:
    """Add to each condition the comparisons of others that its own imply."""
    known: dict[tuple[Field, str], set[int | float]] = {}
    for item in items:
        for part in item.parts:
            match part:
                case Comparison("<" | "<=" | ">" | ">=" as operator, Field() as field, Constant(int() | float() as value)):
                    known.setdefault((field, operator), set()).add(value)
    chains = {key: values for key, values in known.items() if 1 < len(values) <= MAX_THRESHOLDS}
    if not chains:
        return items
    return [
        _Item(item.number, tuple(dict.fromkeys(each for part in item.parts for each in _implied(part, chains)))) for item in items
    ]


def _implied(part: Condition, chains: Mapping[tuple[Field, str], set[int | float]]) -> list[Condition]:
    match part:
        case Comparison("<" | "<=" | ">" | ">=" as operator, Field() as field, Constant(int() | float() as value)):
            values = chains.get((field, operator), ())
            weaker = [each for each in values if (each > value if operator[0] == "<" else each < value)]
            return [part, *(Comparison(operator, field, Constant(each)) for each in weaker)]
        case _:
            return [part]
