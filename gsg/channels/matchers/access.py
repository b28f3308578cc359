"""Under which test of a condition it waits: an event that does not pass that test is spared the condition.

An *access* is a test that an event looks up instead of trying: that a field at the top level equals a constant, that its text
begins with, ends with, contains or is (whatever the case) another, or that it is there at all. A condition waits under one of the
tests that it requires, and where it is an ``or``, under one of each part. So that few events meet it, it waits where the fewest
others do, as long as nothing is known of events. (An access child as in A-Tree, Ji and Jacobsen, SIGMOD 2021; the rarest constant
first as throughout this project.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from ..languages.expressions import And, Comparison, Condition, Constant, Exists, Expression, Field, Or, Origin, Relation
from ..languages.relations import CI, literals_of
from ..languages.signature import required_fields
from .pattern_literals import required_texts
from .text_tests import TEXT_TESTS, is_rare, looked_up

ANY_VALUE: Final = object()
"""In the place of a value: that the field is there."""
EVERY_EVENT: Final = ""
"""In the place of a field, which always has a name: no test."""
EQUAL: Final = "="
"""In the place of a relation."""


class Access(NamedTuple):
    """A field, what :func:`key_of` its value is to be, and how it is to be that: ``=``, or a relation of TEXT_TESTS with a text."""

    field: str
    key: object
    relation: str = EQUAL


EVERYWHERE: Final = Access(EVERY_EVENT, ANY_VALUE)
Crowd = Callable[[Access], int]
"""How many conditions wait there."""
MAX_ACCESSES: Final = 256
"""Tests under which one condition waits at once; one that would need more waits under a field, or under none."""


WEIGHT: Final = 1 / 32
"""Of a test more, beside a condition more that waits at a test: many tests take memory, and few events pass each of them."""


def key_of(value: object) -> object:
    """What values have in common that are equal, as a key: 1 and 1.0 are one number, and no truth value. Unhashable for lists and
    events."""
    return (value,) if value.__class__ is bool else value


def accesses_of(condition: Condition, crowd: Crowd) -> list[Access]:
    """Where a condition is to wait."""
    found = _lookups(condition, crowd)
    if found and len(found) <= MAX_ACCESSES:
        return found
    return _existence(condition, crowd) or [EVERYWHERE]


def _lookups(condition: Condition, crowd: Crowd) -> list[Access]:
    """Tests on values of which one holds wherever the condition does, the least crowded; none where there are no such."""
    match condition:
        case Comparison("=", Field((name,), Origin.EVENT), Constant(value)) if value == value:
            return [Access(name, key_of(value))]
        case Relation(relation, (Field((name,), Origin.EVENT), *constants)):
            relation, texts = _text_tests(relation, constants)
            return [Access(name, text, relation) for text in texts] if all(is_rare(relation, text) for text in texts) else []
        case And(parts):
            ways = [way for way in (_lookups(part, crowd) for part in parts) if 0 < len(way) <= MAX_ACCESSES]
            return min(ways, key=lambda way: sum(map(crowd, way)) + WEIGHT * len(way)) if ways else []
        case Or(parts):
            ways = [_lookups(part, crowd) or _existence(part, crowd) for part in parts]
            return list(dict.fromkeys(access for way in ways for access in way)) if all(ways) else []
        case _:
            return []


def _text_tests(relation: str, constants: Iterable[Expression]) -> tuple[str, dict[str, None]]:
    """The test that is looked up for a relation, and the texts of which one passes it; none for another relation.

    What is as a wildcard says contains its longest piece, and that in which a regular expression is found what this requires.
    """
    texts = [str(one.value) for one in constants if isinstance(one, Constant)]
    if relation.startswith("wildcard"):
        texts = [max(literals_of(text), key=len) for text in texts]
        relation = relation.replace("wildcard", "contains")
    elif relation.removesuffix(CI) == "regex":
        texts = [max(required_texts(text), key=len, default="") for text in texts]
        relation = "contains-ci"
    return relation, dict.fromkeys(looked_up(relation, text) for text in texts if relation in TEXT_TESTS)


def _existence(condition: Condition, crowd: Crowd) -> list[Access]:
    fields = required_fields(condition)
    return [min((Access(name, ANY_VALUE) for name in fields), key=lambda access: (crowd(access), access.field))] if fields else []


def is_implied(part: Condition, access: Access) -> bool:
    """Whether a part of a condition holds of every event that passes an access."""
    match part:
        case Comparison("=", Field((name,), Origin.EVENT), Constant(value)):
            key = key_of(value)
            return access.relation == EQUAL and access.field == name and access.key == key and type(access.key) is type(key)
        case Relation(relation, (Field((name,), Origin.EVENT), *constants)):
            if access.field != name or access.relation != relation:
                return False
            return any(looked_up(relation, str(one.value)) == access.key for one in constants if isinstance(one, Constant))
        case Exists(Field((name,), Origin.EVENT)):
            return access.field == name
        case And(parts):
            return all(is_implied(each, access) for each in parts)
        case Or(parts):
            return any(is_implied(each, access) for each in parts)
        case _:
            return False
