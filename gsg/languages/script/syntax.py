"""The syntax tree of a SUBSCRIBE block: grammar.py makes it of a text, and translation.py makes a query of it.

Expressions and bodies know how deep they are: ``depth`` counts operators, calls and groups inside each other, ``braces`` groups
alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import rete

from ...tuples.terms import Term


@dataclass(frozen=True, slots=True, eq=False)
class ConstantNode:
    """A constant."""

    term: Term
    depth: int = 1
    braces: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class VariableNode:
    """A variable."""

    position: int
    name: str
    depth: int = 1
    braces: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class CallNode:
    """An operator or function of its arguments, by its name in upper case, or an aggregate of its one argument (none for ``*``)."""

    position: int
    function: str
    arguments: tuple[ExpressionNode, ...]
    depth: int
    braces: int
    distinct: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ExistsNode:
    """``EXISTS { ... }`` or ``NOT EXISTS { ... }``."""

    position: int
    body: Body
    negated: bool
    depth: int
    braces: int


ExpressionNode: TypeAlias = ConstantNode | VariableNode | CallNode | ExistsNode


@dataclass(frozen=True, slots=True, eq=False)
class NotGroup:
    """``NOT { ... }``."""

    position: int
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class OptionalGroup:
    """``OPTIONAL { ... }``."""

    position: int
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class UnionGroup:
    """``{ ... } UNION { ... }``, or one group in braces of its own."""

    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """``FILTER expression``."""

    position: int
    expression: ExpressionNode


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """``LET ?name = expression``."""

    position: int
    name: str
    expression: ExpressionNode


Element: TypeAlias = rete.Condition | NotGroup | OptionalGroup | UnionGroup | Filter | Let


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What stands between braces, in its order."""

    elements: tuple[Element, ...]
    depth: int
    braces: int


@dataclass(frozen=True, slots=True, eq=False)
class Item:
    """One of what a row shows, or of what groups have in common: a variable, or an expression AS a variable."""

    position: int
    name: str
    expression: ExpressionNode | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """One of what ORDER BY says."""

    expression: ExpressionNode
    descends: bool


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """``GROUP BY ...``."""

    position: int
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Having:
    """``HAVING expression``."""

    position: int
    expression: ExpressionNode


@dataclass(frozen=True, slots=True, eq=False)
class Ordering:
    """``ORDER BY ...``."""

    position: int
    sorts: tuple[Sort, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Limits:
    """``LIMIT`` and ``OFFSET``; None where there is no limit."""

    offset: int
    limit: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Subscription:
    """A whole SUBSCRIBE block."""

    position: int
    body: Body
    distinct: bool = False
    selection: tuple[Item, ...] = ()
    grouping: Grouping | None = None
    having: Having | None = None
    ordering: Ordering | None = None
    limits: Limits | None = None
