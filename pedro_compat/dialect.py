"""The two ways to read Pedro: as its paper and manual say, or as the server 1.14 behaves in valid use.

Everything that differs between them is a field here, so that the rest of the package asks a field and never a name. What is
common to both is not a field: the occurs check, 1 is not 1.0, a type error fails the whole match, integers are exact.

An operator is written as its priority and the highest priority of each operand (ISO 13211-1, 6.3.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Dialect:
    """What one reading of Pedro allows. There are two instances: ``PAPER`` and ``V1_14``."""

    name: str
    infix: Mapping[str, tuple[int, int, int]]
    """Operator -> its priority, the highest of its left operand, the highest of its right operand."""
    prefix: Mapping[str, tuple[int, int]]
    """Operator -> its priority, the highest of its operand."""
    operators_stand_alone: bool
    """Whether ``-`` may be an argument and ``+`` a whole line (paper 3.1: any atom is a notification)."""
    empty_arguments: bool
    """Whether ``f()`` is read, as ``f('$none_')`` [R]; the manual wants at least one argument (section 4)."""
    notification_variables_bind: bool
    """Whether ``ask(area(R,A),H)`` is covered by ``ask(area(kitchen,_),_)`` (paper 5.1), or its variables are constants."""
    lists_are_notifications: bool
    """Whether ``[1,2]`` is one; ``[]`` is an atom and always is."""
    goals: frozenset[tuple[str, int]]
    """Name and arity of the goals that are not control."""
    functions: frozenset[tuple[str, int]]
    """Name and arity of what can be evaluated."""
    mod_follows_divisor: bool
    """Whether ``-7 mod 3`` is 2 (ISO 13211-1, 9.1.3) or -1."""
    undefined_is_error: bool
    """Whether ``sqrt(-1)`` and ``1 / 0.0`` are type errors, or NaN and infinity."""
    address_functor: str | None
    """The functor that an address must have; ``None``: any of two arguments."""
    unsubscribe_acks_id: bool
    """Whether ``unsubscribe(7)`` is answered by 7 instead of 1."""

    def __repr__(self) -> str:
        return f"<Pedro {self.name}>"


_INFIX = {
    ";": (1100, 1099, 1100),
    "->": (1050, 1049, 1050),
    ",": (1000, 999, 1000),
    **dict.fromkeys(("=", "is", "<", "=<", ">", ">="), (700, 699, 699)),
    **dict.fromkeys(("+", "-", "/\\", "\\/"), (500, 500, 499)),
    **dict.fromkeys(("*", "/", "//", "mod", "<<", ">>"), (400, 400, 399)),
    # The right side must be a primary, so that `2 ** (-1)` needs its parentheses [R].
    "**": (200, 199, 0),
    # The manual says xfx; yfx accepts all that xfx does, and `a:t:n@h` occurs [R].
    "@": (100, 100, 99),
    ":": (50, 50, 49),
}
_PREFIX_OPERAND = (200, 100)

_GOALS = frozenset(
    {("=", 2), ("is", 2), ("<", 2), ("=<", 2), (">", 2), (">=", 2), ("member", 2), ("split", 3), ("splitstring", 3)}
    | {(test, 1) for test in ("number", "atom", "string", "list")}
)
_FUNCTIONS = frozenset(
    {("pi", 0), ("e", 0), ("-", 1), ("\\", 1)}
    | {(name, 2) for name in ("+", "-", "*", "/", "//", "mod", "**", "/\\", "\\/", "<<", ">>")}
    | {(name, 1) for name in ("abs", "round", "floor", "ceiling", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "log")}
)

PAPER = Dialect(
    name="paper",
    infix=MappingProxyType(_INFIX | {"rem": (400, 400, 399)}),
    prefix=MappingProxyType(dict.fromkeys(("-", "+", "\\"), _PREFIX_OPERAND)),
    operators_stand_alone=True,
    empty_arguments=False,
    notification_variables_bind=True,
    lists_are_notifications=True,
    # nonvar stands in one example of the paper (5.4) and nowhere in its table.
    goals=_GOALS | {("nonvar", 1)},
    functions=_FUNCTIONS | {("rem", 2), ("+", 1)},
    mod_follows_divisor=True,
    undefined_is_error=True,
    address_functor="@",
    unsubscribe_acks_id=False,
)
"""The semantics of the paper and of the manual's section 5, and standard Prolog's where both are silent. The default."""

V1_14 = Dialect(
    name="1.14",
    infix=MappingProxyType(_INFIX),
    prefix=MappingProxyType({"-": _PREFIX_OPERAND}),
    operators_stand_alone=False,
    empty_arguments=True,
    notification_variables_bind=False,
    lists_are_notifications=False,
    goals=_GOALS,
    functions=_FUNCTIONS,
    mod_follows_divisor=False,
    undefined_is_error=False,
    address_functor=None,
    unsubscribe_acks_id=True,
)
"""What the recorded server 1.14 does in valid use; its accidents (quirks.jsonl) are not reproduced."""

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in (PAPER, V1_14)})
"""By the name that stands in a test's source and in the door's options."""
