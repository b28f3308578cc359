"""What a SUBSCRIBE block says, as it was read: the parser makes it, and _meaning.py makes a query of it.

Expressions and bodies know how deep they are: ``depth`` counts operators, calls and groups inside each other, ``braces`` groups
alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import rete

from ...tuples.terms import Term


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A constant."""

    term: Term
    depth: int = 1
    braces: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A variable."""

    position: int
    name: str
    depth: int = 1
    braces: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """An operator or function of its arguments, by its name in upper case, or an aggregate of its one argument (none for ``*``)."""

    position: int
    function: str
    arguments: tuple[Said, ...]
    depth: int
    braces: int
    distinct: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """``EXISTS { ... }`` or ``NOT EXISTS { ... }``."""

    position: int
    body: Body
    negated: bool
    depth: int
    braces: int


Said: TypeAlias = Value | Named | Called | Asked


@dataclass(frozen=True, slots=True, eq=False)
class Without:
    """``NOT { ... }``."""

    position: int
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """``OPTIONAL { ... }``."""

    position: int
    body: Body


@dataclass(frozen=True, slots=True, eq=False)
class Either:
    """``{ ... } UNION { ... }``, or one group in braces of its own."""

    bodies: tuple[Body, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """``FILTER expression``."""

    position: int
    expression: Said


@dataclass(frozen=True, slots=True, eq=False)
class Let:
    """``LET ?name = expression``."""

    position: int
    name: str
    expression: Said


Element: TypeAlias = rete.Condition | Without | Optional | Either | Filter | Let


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
    expression: Said | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """One of what ORDER BY says."""

    expression: Said
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
    expression: Said


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
