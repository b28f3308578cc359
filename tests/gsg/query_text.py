"""A query of conditions and NOT as GSG script, for tests that make queries as data."""

from __future__ import annotations

import rete
from gsg.languages.query import Query
from gsg.tuples.terms import n3


def write_query(query: Query) -> str:
    """A text that reads as the same query. Its constants must be such as GSG script can write."""
    assert isinstance(query.body, rete.Group)
    return "SUBSCRIBE { " + _group(query.body) + " }"


def _group(group: rete.Group) -> str:
    conditions = [f"({', '.join(map(_item, condition.pattern))})" for condition in group.conditions]
    return ", ".join([*conditions, *(f"NOT {{ {_group(negated)} }}" for negated in group.negated)])


def _item(item: object) -> str:
    if isinstance(item, rete.Variable):
        return "?" + item.name
    return "*" if item is rete.WILDCARD else n3(item)  # type: ignore[arg-type]  # rete's constants are opaque: here they are terms
