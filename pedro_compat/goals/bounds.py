"""What the comparisons of a subscription require of numbers in a notification, so that of very many thresholds those that it may
pass are looked up (:mod:`rete.predicates`).

``subscribe(temp(kitchen,T),(T > 20),0)`` requires a number of 20 or more where the head has T. A notification may say what has a
value instead, as ``temp(kitchen,15 + 6)`` does: such an argument meets all subscriptions, and is evaluated for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from gsg.rendezvous.demands import Path
from gsg.tuples.terms import Compound, Literal, Symbol
from gsg.tuples.terms import Term as GsgTerm
from rete.predicates import Between, OneOf, Requirement

from ..terms.terms import Term, Var
from ..terms.tuples import simple_value
from .demands import Places, conjuncts

_ABOVE = (">", ">=")
_MIRRORED = {">": "<", ">=": "=<", "<": ">", "=<": ">="}


def bounds_of(body: Term, places: Places) -> Iterator[tuple[Path, Requirement]]:
    """What each solution requires at the end of a path, where variables stand at these places."""
    for goal in conjuncts(body):
        if len(goal) != 3:
            continue
        name, left, right = goal
        if type(name) is not str or name not in _MIRRORED:
            continue
        if type(left) is not Var:
            name, left, right = _MIRRORED[name], right, left
        bound = _number(right)
        if type(left) is Var and bound is not None:
            low, high = (bound, None) if name in _ABOVE else (None, bound)
            for path in places.get(left, ()):
                if path:
                    yield path, (Between(_number_of, low, high), OneOf(_may_have_value, (True,)))


def _number(term: Any) -> float | None:  # Any: whatever stands in a goal, or in a tuple
    if type(term) is not int and type(term) is not float:
        return None
    try:
        value = float(term)
    except OverflowError:
        return math.inf if term > 0 else -math.inf
    return None if math.isnan(value) else value


def _number_of(term: GsgTerm) -> float | None:
    return _number(simple_value(term) if type(term) is Literal else term)


def _may_have_value(term: GsgTerm) -> bool | None:
    """Whether it is no number, and may be an expression: a compound, however a tuple holds it, or an atom such as pi."""
    if type(term) is Literal:
        return True if simple_value(term) is None else None
    return True if type(term) is Compound or type(term) is Symbol else None
