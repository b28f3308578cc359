"""What a condition demands beyond the constants of its template: constants inside nested terms, and those that its test requires.

A demand is a path and constants: at the end of the path there is one of them in every tuple that the condition matches. It is a
feature that looks further than the top level of a tuple, and conditions are found by it in the same way: one look-up (DESIGN
section 1). The rule that makes it right, and is tested as a property:

    If tuple t can match condition c, then for each demand of c the constants of t along its path hold one that is demanded,
    or a variable stands in the way: it may be bound to anything.

A path is a position in the tuple, then one in a compound there, and so on; MEMBER stands for every item of a list, and WHOLE, at
the end of a path, for the compound or list that stands there as one constant, however large.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from ..tuples.terms import Compound, List, Term, Tuple, Variable

Path: TypeAlias = tuple[int, ...]

MEMBER = -1
"""The step to the items of a list, all of them."""
WHOLE = -2
"""The step to a compound or list as a whole."""
MAX_STEPS = 6
"""Longest path. What lies deeper is left to the condition's test."""
MAX_CONSTANTS = 64
"""Most constants in one demand; more of them select little."""


class Demand(NamedTuple):
    """One of the constants stands at the end of the path."""

    path: Path
    constants: tuple[Term, ...]


def constants_at(items: Tuple, path: Path) -> Iterable[Term] | None:
    """The terms of a tuple at the end of a path, among them its constants; None when a variable stands in the way.

    A list whose tail is a variable may have any item, so the variable stands in the way there too.
    """
    first = path[0]
    if first >= len(items):
        return ()
    found: list[Term] = [items[first]]
    for step in path[1:]:
        if step == WHOLE:
            whole = [value for value in found if type(value) is Compound or type(value) is List or type(value) is Variable]
            return whole if all(map(is_one_constant, whole)) else None
        inner: list[Term] = []
        for value in found:
            kind = type(value)
            if kind is Compound:
                if 0 <= step < len(value.items):  # type: ignore[union-attr]  # a compound
                    inner.append(value.items[step])  # type: ignore[union-attr]  # as above
            elif kind is List:
                if step == MEMBER:
                    if type(value.tail) is Variable:  # type: ignore[union-attr]  # a list
                        return None
                    inner.extend(value.items)  # type: ignore[union-attr]  # as above
            elif kind is Variable:
                return None
        found = inner
    return None if Variable in map(type, found) else found


def is_one_constant(term: Term) -> bool:
    """Whether a term equals what matches it, and nothing else: it holds no variable, and is written in one way only."""
    pending = [term]
    while pending:
        item = pending.pop()
        if type(item) is Compound:
            pending.extend(item.items)
        elif type(item) is List:
            # What follows the bar may be a list again, which another writes without a bar.
            if item.tail is not None:
                return False
            pending.extend(item.items)
        elif type(item) is Variable:
            return False
    return True
