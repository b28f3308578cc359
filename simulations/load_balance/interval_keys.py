"""Constants as a strategy knows them: their facts, and keys of numbers, which are those of intervals or in order on MAAN's ring.

The decisions are those of :mod:`gsg.tuples.ordered_attributes`, over columns (kernels.py). A tuple has as many keys as without. A
subscription that has bounds and no constant is posted under the intervals between its bounds, and not at every peer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gsg.tuples.ordered_attributes import POSTED_INTERVALS, OrderedAttribute

from ..engine import kernels
from ..engine.kernels import Flags, Whole
from ..errors import BadParameter
from ..workload.workload import ARITY, OBJECT, Constants, Recorded, Subscriptions, Synthetic, Workload
from .ring import points_of
from .strategies import ALL_DAY, Strategy


def attribute_of(strategy: Strategy) -> OrderedAttribute | None:
    """What the object's place is declared as: values are from 0 up to and not 1. None where a strategy has no ordered keys."""
    return OrderedAttribute(ARITY, OBJECT, 0.0, 1.0, strategy.ordered) if strategy.ordered else None


def known_constants(strategy: Strategy, workload: Workload) -> tuple[Constants, ...]:
    """The constants of each position with the facts that are known of them by a strategy.

    Raises BadParameter for one that knows the beginning alone, of a workload that does not tell it.
    """
    if strategy.early == ALL_DAY:
        return workload.constants
    if not isinstance(workload, Synthetic | Recorded):
        raise BadParameter(
            f"strategy {strategy.name!r} knows the facts of the beginning, which are not counted of these tuples; expected "
            "synthetic ones, or those of a file that is read in one piece"
        )
    facts = workload.facts_by(strategy.early / ALL_DAY)
    return tuple(replace(known, facts=some) for known, some in zip(workload.constants, facts, strict=True))


def constants_of(strategy: Strategy, workload: Workload) -> tuple[tuple[Constants, ...], Constants | None]:
    """The constants of each position, by code: each object has the key of its interval, and all facts that lie there.

    With MAAN each has its point on the ring. And the intervals as constants; None where a strategy has no ordered keys.
    """
    attribute, constants = attribute_of(strategy), known_constants(strategy, workload)
    objects = constants[OBJECT]
    if strategy.maan:
        return (*constants[:OBJECT], replace(objects, keys=points_of(values_of(objects)))), None
    if attribute is None:
        return constants, None
    inside = kernels.interval_of(attribute, values_of(objects))
    keys = kernels.scattered(np.arange(attribute.intervals + 2, dtype=np.uint64), ARITY)
    facts = np.bincount(inside, weights=objects.facts, minlength=len(keys)).astype(np.int64)
    by_interval = Constants(keys[inside], facts[inside], objects.values)
    return (*constants[:OBJECT], by_interval), Constants(keys, facts)


def intervals_asked(strategy: Strategy, subscriptions: Subscriptions, peers: int) -> tuple[Whole, Whole]:
    """The first interval that each subscription is posted under, and how many: none for one that has a constant or no bounds.

    And none for one that is posted at every peer: its intervals are too many, or no fewer than the peers.
    """
    nowhere = np.zeros(len(subscriptions), dtype=np.int64)
    attribute = attribute_of(strategy)
    if attribute is None or subscriptions.bounds is None:
        return nowhere, nowhere
    first, last = kernels.interval_of(attribute, subscriptions.bounds)
    count = last - first + 1
    by_interval = ~subscriptions.given.any(axis=0) & subscriptions.bounded & (count <= POSTED_INTERVALS) & (count < peers)
    return first, np.where(by_interval, count, 0)


def ranges_asked(strategy: Strategy, subscriptions: Subscriptions) -> Flags:
    """Which subscriptions are posted between their bounds on MAAN's ring: those that have bounds and no constant."""
    if not strategy.maan:
        return np.zeros(len(subscriptions), dtype=bool)
    return ~subscriptions.given.any(axis=0) & subscriptions.bounded


def holding(values: NDArray[np.float64], bounds: NDArray[np.float64]) -> Whole:
    """How many of some bounds, shape (2, subscriptions), hold each value."""
    low, high = np.sort(bounds, axis=1)
    return np.searchsorted(low, values, side="right") - np.searchsorted(high, values, side="left")


def values_of(objects: Constants) -> NDArray[np.float64]:
    """The numbers that objects are, as :func:`plan.check` has seen to."""
    assert objects.values is not None
    return objects.values
