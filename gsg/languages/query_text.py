"""A query as GSG script: what a client sends for a block that it has read."""

from __future__ import annotations

import rete

from ..errors import Unsupported
from ..model import n3
from ..query import Query


def write_query(query: Query) -> str:
    """A text that reads as the same query. Its constants must be such as GSG script can write."""
    if not isinstance(query.body, rete.Group):
        raise Unsupported("only a query of conditions and NOT groups can be written as GSG script")
    return "SUBSCRIBE { " + _group(query.body) + " }"


def _group(group: rete.Group) -> str:
    conditions = [f"({', '.join(map(_item, condition.pattern))})" for condition in group.conditions]
    return ", ".join([*conditions, *(f"NOT {{ {_group(negated)} }}" for negated in group.negated)])


def _item(item: object) -> str:
    if isinstance(item, rete.Variable):
        return "?" + item.name
    return "*" if item is rete.WILDCARD else n3(item)  # type: ignore[arg-type]  # rete's constants are opaque: here they are terms
