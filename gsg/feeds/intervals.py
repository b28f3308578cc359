"""Where a condition without constants is posted that has bounds: under the keys of intervals, if its position is ordered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import rete
from rete.functions import requirements_of

from ..languages.expressions.requirements import numbers_between
from ..tuples.ordered_attributes import POSTED_INTERVALS, OrderedAttributes


class Intervals(NamedTuple):
    """Intervals of an ordered position."""

    position: int
    numbers: Sequence[int]


def intervals_of(alpha: rete.AlphaSpec, ordered: OrderedAttributes, peers: int) -> Intervals | None:
    """Those under whose keys all lies that an alpha memory without constants may hold.

    None where it is to be posted at every peer, of which there are so many: it has no bounds at an ordered position, or there are
    fewer peers than intervals.
    """
    template = alpha.template
    if not ordered or not alpha.tests or template.anchors():
        return None
    arity = len(template.pattern)
    bounds: dict[int, tuple[float, float]] = {}
    for test, places in alpha.tests:
        for at, requirement in requirements_of(test):
            numbers = numbers_between(requirement) if (arity, places[at]) in ordered.by_place else None
            if numbers is not None:
                low, high = bounds.get(places[at], (-math.inf, math.inf))
                bounds[places[at]] = max(low, numbers[0]), min(high, numbers[1])
    found = [
        Intervals(position, attribute.all_between(low, high))
        for position, (low, high) in bounds.items()
        if len((attribute := ordered.by_place[arity, position]).intervals_between(low, high)) <= POSTED_INTERVALS
    ]
    fewest = min(found, key=lambda intervals: len(intervals.numbers), default=None)
    return fewest if fewest is not None and len(fewest.numbers) < peers else None
