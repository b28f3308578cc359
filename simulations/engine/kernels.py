"""The decisions of gsg/placement/rules.py and grids.py over whole columns: each function is its namesake there, for many at once.
One is of an ordered attribute (gsg/tuples/ordered_attributes.py).

Positions, codes and loads are columns; keys and draws are their first 64 bits. What is given of templates, and the facts under each
of their constants, have one row for a position: shape (arity, templates). Tests hold that both agree exactly.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gsg.placement.rules import NOWHERE
from gsg.placement.rules import rarity_by_habit as _habit
from gsg.tuples.ordered_attributes import OrderedAttribute

from .randomness import Words, mixed

Whole: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

_WEYL = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_UNKNOWN = np.iinfo(np.int64).max
"""More facts than any key has."""


def scattered(points: Words, salts: Words | int) -> Words:
    """64 bits that belong to each point and its salt."""
    # Of one dimension at least: numpy warns where a single number wraps around, as these do on purpose.
    return mixed(points + (np.atleast_1d(np.asarray(salts, dtype=np.uint64)) + np.uint64(1)) * _WEYL)


def share_of(draws: Words, parts: Whole | int) -> Whole:
    """Which of so many equal parts each 64 random bits fall into."""
    return ((draws >> _HALF) * np.asarray(parts, dtype=np.uint64) >> _HALF).astype(np.int64)


def drawn(keys: list[Words]) -> Words:
    """64 bits that belong to each tuple or template: the keys of its positions, 0 where a template has no constant."""
    draws = np.zeros(len(keys[0]), dtype=np.uint64)
    for column in keys:
        draws = scattered(draws, column)
    return draws


def predicate_anchor(given: Flags) -> Whole:
    """The second place where it holds a constant, else by habit the rarest; NOWHERE without a constant."""
    anchors = _first_given(given)
    return np.where(given[1], 1, anchors) if len(given) > 1 else anchors


def random_anchor(given: Flags, draws: Words) -> Whole:
    """Any of the positions that hold a constant; NOWHERE without one."""
    chosen = share_of(scattered(draws, 0), given.sum(axis=0))
    anchors = np.full(given.shape[1], NOWHERE, dtype=np.int64)
    seen = np.zeros(given.shape[1], dtype=np.int64)
    for position, there in enumerate(given):
        anchors[there & (seen == chosen)] = position
        seen += there
    return anchors


def choose_anchor(given: Flags, facts: Whole) -> Whole:
    """The position whose constant has the fewest facts, by habit among equals; NOWHERE without a constant."""
    order = habit_order(len(given))
    rarest = order[np.where(given, facts, _UNKNOWN)[order].argmin(axis=0)]
    return np.where(given.any(axis=0), rarest, NOWHERE)


def two_rarest(given: Flags, facts: Whole) -> tuple[Whole, Whole]:
    """The two positions, in order, whose constants are rarest; NOWHERE in the first where a template has fewer than two."""
    first = choose_anchor(given, facts)
    rest = given & (np.arange(len(given))[:, None] != first)
    second = choose_anchor(rest, facts)
    return np.where(second == NOWHERE, NOWHERE, np.minimum(first, second)), np.maximum(first, second)


def unpopular(given: Flags, facts: Whole, bearable: int) -> Flags:
    """The positions whose constants have at most so many facts."""
    return given & (facts <= bearable)


def parts_for(load: Whole, bearable: int, at_most: int) -> Whole:
    """Into how many parts each load is cut."""
    return np.clip(-(-load // bearable), 1, at_most)


def cell_key(keys: Words, rows: Whole | int, columns: Whole | int) -> Words:
    """The keys of cells."""
    salts = np.asarray(rows, dtype=np.uint64) << _HALF | np.asarray(columns, dtype=np.uint64)
    return np.where(salts == 0, keys, scattered(keys, salts))


def epoch_of(at_s: NDArray[np.float64], epoch_s: float, epochs: int) -> Whole:
    """The row of each tuple where each date range has its own."""
    return (at_s // epoch_s).astype(np.int64) % epochs


def interval_of(attribute: OrderedAttribute, numbers: NDArray[np.float64]) -> Whole:
    """The interval of each number; an infinite one, which stands for no bound, is in an outer one."""
    width = attribute.high - attribute.low
    above = np.clip(numbers, attribute.low, attribute.high) - attribute.low
    inner = np.minimum(attribute.intervals, 1 + (above * (attribute.intervals / width)).astype(np.int64))
    return np.where(numbers < attribute.low, 0, np.where(numbers >= attribute.high, attribute.intervals + 1, inner))


def virtual_ids(peers: Words, count: int) -> Words:
    """The ids under which peers take part: all own ones, then all second ones; number ``i`` is one of peer ``i % len(peers)``."""
    return np.concatenate([peers, *(scattered(peers, number) for number in range(1, count))])


def habit_order(arity: int) -> Whole:
    """The positions from the one that is rarest by habit."""
    return np.array(sorted(range(arity), key=_habit), dtype=np.int64)


def _first_given(given: Flags) -> Whole:
    order = habit_order(len(given))
    return np.where(given.any(axis=0), order[given[order].argmax(axis=0)], NOWHERE)
