"""What a strategy makes of a workload before the first tuple: the keys that subscriptions are posted under, and the grids of keys.

A plan has everything that counting tuples needs (counted_tuples.py), and what turns keys into loads of peers (peer_loads.py): so
it travels to those who do that. Decisions are those of :mod:`gsg.placement.rules`, over columns (kernels.py). What peers learn by
asking, the facts and templates under a key, is read from the workload: a run shows where a strategy leads when all know that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from gsg.placement.rules import NOWHERE, Anchor

from ..engine import kernels
from ..engine.kernels import Flags, Whole
from ..engine.ownership import MAX_PEERS
from ..engine.randomness import Stream, Words
from ..errors import BadParameter, check_range
from ..workload.workload import ARITY, OBJECT, Constants, Subscriptions, Workload
from .interval_keys import constants_of, holding, intervals_asked, known_constants, ranges_asked, values_of
from .learning import split_messages
from .ring import Ranges, points_of
from .strategies import Spread, Strategy

PAIRS = tuple(combinations(range(ARITY), 2))
"""Positions that have keys together."""
PAIR = ARITY
"""The anchor of a subscription that is posted under two of its constants together."""
INTERVALS = ARITY + 1
"""The anchor of a subscription that is posted between its bounds: under intervals, or at peers on MAAN's ring."""
LOST = -2
"""The anchor of a subscription that finds no key to be posted under."""
MAX_ASSIGNED_PEERS = 1 << 21
"""Peers that keys are assigned to at most: one task holds them all, as Python's numbers. More are refused."""
EXPANDED = 1 << 22
"""Cells that are looked at together."""


@dataclass(frozen=True, slots=True)
class Place:
    """The keys of one position, by code, and what is posted under them.

    ``rows`` and ``columns`` are None where each key is one cell. A cell of row ``r`` and column ``c`` is slot
    ``first(rows)[code] + r`` of what is counted of tuples, and slot ``first(columns)[code] + c`` of what is posted, which each row
    has.
    """

    keys: Words
    refused: Flags | None
    """Constants that are too popular to be keys."""
    rows: Whole | None
    columns: Whole | None
    subscriptions: Whole
    """Those posted in each column of each key."""
    templates: Whole
    """As ``subscriptions``, equal ones counted once."""
    met: Whole
    """The templates that a tuple meets in each column of each key.

    Where a number has the key of its interval, those that ask for it or have bounds that hold it: a peer looks at no others."""
    facts: Whole
    """What is known of each key, where keys are assigned by it; else empty."""

    @property
    def cells(self) -> Whole:
        """How many cells each key is."""
        columns = np.ones(len(self.keys), dtype=np.int64) if self.columns is None else self.columns
        return columns if self.rows is None else columns * self.rows

    def row_and_column(self, codes: Whole, numbers: Whole) -> tuple[Whole, Whole]:
        """Those of the cells of these numbers of these codes."""
        return np.divmod(numbers, 1 if self.columns is None else self.columns[codes])

    def first(self, parts: Whole | None) -> Whole:
        """The first slot of each code where slots are parts of codes in order."""
        return np.arange(len(self.keys)) if parts is None else np.cumsum(parts) - parts

    def slots(self) -> int:
        """How many slots tuples are counted in."""
        return len(self.keys) if self.rows is None else int(self.rows.sum())


class Pairs(NamedTuple):
    """Keys of two constants under which something is posted, sorted; how many subscriptions, and how many distinct templates."""

    keys: Words
    subscriptions: Whole
    templates: Whole


@dataclass(frozen=True, slots=True)
class Plan:
    """Where subscriptions are, and where tuples will go."""

    strategy: Strategy
    peers: int
    places: tuple[Place, ...]
    between: Place | None
    """The intervals under which subscriptions with bounds are posted; None where there are no ordered keys. No tuple is counted
    there: its object's key is that of its interval."""
    ranges: Ranges | None
    """The subscriptions that are posted between their bounds on MAAN's ring; None where there are none."""
    pairs: Pairs
    everywhere: int
    """Distinct templates without constants, which are posted at every peer and met at a tuple's first key."""
    everywhere_subscriptions: int
    """The subscriptions that they are."""
    everywhere_met: Whole | None
    """Those of them that a tuple meets, by the code of its object: bounds that do not hold it are not looked at. None for all."""
    lost: int
    """Subscriptions that are posted nowhere."""
    epoch_s: float
    mean: tuple[float, float]
    """What a peer has in the mean of facts and of templates, before any key is split."""
    questions: int
    """Peers that were asked about their load before a subscription was posted."""
    split_messages: int
    """Those that tell into how many parts keys are split."""

    @property
    def all_places(self) -> list[Place]:
        """Those of positions, and that of intervals where there is one."""
        return [*self.places, *([] if self.between is None else [self.between])]

    def sent(self, place: Place) -> Flags:
        """By code of a place, whether tuples are sent to its key at all; of intervals they are by the places of their objects."""
        sent = np.ones(len(place.keys), dtype=bool) if place.refused is None else ~place.refused
        if self.strategy.demand and not (place is self.places[0] and self.everywhere):
            sent &= np.add.reduceat(place.met, place.first(place.columns)) > 0
        return sent


def peer_ids(count: int, seed: int) -> Words:
    """The first 64 bits of so many random ids, none twice. Raises BadParameter for a number of peers that no run can have."""
    check_range(count, 1, MAX_PEERS, "peers")
    return Stream(seed, "peer").words(0, count)


def check(strategy: Strategy, peers: int, *, numbers: bool) -> None:
    """Raises BadParameter for a strategy that so many peers cannot run; ``numbers`` says whether objects of tuples are numbers."""
    if (strategy.ordered or strategy.maan) and not numbers:
        raise BadParameter(
            f"strategy {strategy.name!r} takes objects as numbers, and those of files and traces are not read as numbers; expected "
            "synthetic tuples"
        )
    if strategy.assigned and peers > MAX_ASSIGNED_PEERS:
        raise BadParameter(
            f"strategy {strategy.name!r} among {peers} peers; expected {MAX_ASSIGNED_PEERS} at most, since one task assigns "
            "keys to all of them one after the other"
        )
    if strategy.replicas > peers:
        raise BadParameter(f"{strategy.replicas} holders of a key among {peers} peers; expected no more than there are peers")
    if strategy.virtual * peers > MAX_PEERS:
        raise BadParameter(
            f"{peers} peers under {strategy.virtual} ids each; expected {MAX_PEERS // strategy.virtual} peers at most, or fewer ids"
        )


def make_plan(strategy: Strategy, workload: Workload, subscriptions: Subscriptions, peers: int) -> Plan:
    """Post the subscriptions, among so many peers. Raises BadParameter for a strategy that they cannot run."""
    check(strategy, peers, numbers=workload.constants[OBJECT].values is not None)
    constants, by_interval = constants_of(strategy, workload)
    given = subscriptions.given
    codes = np.where(given, subscriptions.codes, 0)
    # Facts are those of each constant, and of no interval: that is what peers ask for, and by which a template is found.
    asked = known_constants(strategy, workload)
    facts = np.array([known.facts[column] for known, column in zip(asked, codes, strict=True)])
    keys = np.array([known.keys[column] for known, column in zip(workload.constants, codes, strict=True)]) * given
    draws = kernels.drawn(list(keys))
    anchors, pair = anchors_of(strategy, workload.tuples, given, facts, draws)
    if subscriptions.rarest is not None and strategy.anchor is Anchor.RAREST and not strategy.popular and not strategy.composite:
        anchors = subscriptions.rarest
    first_interval, intervals = intervals_asked(strategy, subscriptions, peers)
    ranged = ranges_asked(strategy, subscriptions)
    anchors = np.where((intervals > 0) | ranged, INTERVALS, anchors)
    is_first = np.zeros(len(subscriptions), dtype=bool)
    is_first[subscriptions.firsts(draws, anchors)] = True
    mean = ARITY * workload.tuples / peers, int(is_first.sum()) / peers

    def placed(known: Constants, under: Whole, numbers: Whole) -> Place:
        """A position, with the subscriptions of these numbers posted under these codes."""
        return _place(strategy, workload.tuples, known, under, draws[numbers], is_first[numbers], mean, peers)

    at = [np.flatnonzero(anchors == position) for position in range(ARITY)]
    places = [placed(known, codes[position, at[position]], at[position]) for position, known in enumerate(constants)]
    everywhere = np.flatnonzero((anchors == NOWHERE) & is_first)
    between = everywhere_met = None
    if by_interval is not None:
        mine = np.flatnonzero(anchors == INTERVALS)
        parts = list(expanded(intervals[mine]))
        numbers = np.concatenate([mine[:0], *(mine[some] for some, _ in parts)])
        under = np.concatenate([mine[:0], *(first_interval[mine[some]] + number for some, number in parts)])
        between = placed(by_interval, under, numbers)
    if subscriptions.bounds is not None:
        values = values_of(constants[OBJECT])
        everywhere_met = holding(values, subscriptions.bounds[:, everywhere])
        if between is not None or strategy.maan:
            held = holding(values, subscriptions.bounds[:, (anchors == INTERVALS) & is_first])
            places[OBJECT] = replace(places[OBJECT], met=places[OBJECT].templates + held)
    ranges = None
    if subscriptions.bounds is not None and strategy.maan:
        low, high = subscriptions.bounds[:, ranged]
        ranges = Ranges(points_of(low), points_of(high), is_first[ranged])
    joint = np.zeros(len(subscriptions), dtype=np.uint64)
    for number, (first, second) in enumerate(PAIRS):
        joint[pair == number] = kernels.scattered(keys[first, pair == number], keys[second, pair == number])
    paired, which = np.unique(joint[anchors == PAIR], return_inverse=True)
    return Plan(
        strategy=strategy,
        peers=peers,
        places=tuple(places),
        between=between,
        ranges=ranges,
        pairs=Pairs(paired, *_counted(which.reshape(-1), is_first[anchors == PAIR], len(paired))),
        everywhere=len(everywhere),
        everywhere_subscriptions=int((anchors == NOWHERE).sum()),
        everywhere_met=everywhere_met,
        lost=int((anchors == LOST).sum()),
        epoch_s=workload.seconds / strategy.amount,
        mean=mean,
        questions=int(given.sum()) if strategy.anchor is Anchor.RAREST else 0,
        split_messages=sum(_split_messages(strategy, place, mean, peers) for place in places),
    )


def _split_messages(strategy: Strategy, place: Place, mean: tuple[float, float], peers: int) -> int:
    """Those that tell into how many parts the keys of a place are split, each key once."""
    if strategy.spread not in (Spread.HOT_SPLIT, Spread.GRID):
        return 0
    split = np.flatnonzero(place.cells > 1)
    split = split[np.unique(place.keys[split], return_index=True)[1]]
    rows, columns = (np.ones_like(split) if parts is None else parts[split] for parts in (place.rows, place.columns))
    return split_messages(rows, columns, bearable_loads(strategy, mean), peers)


def _counted(slots: Whole, is_first: Flags, number: int) -> tuple[Whole, Whole]:
    """How many subscriptions are in each of so many slots, and how many of them are the first of those that are equal."""
    # There are at most MAX_SUBSCRIPTIONS, and columns travel to tasks.
    return np.bincount(slots, minlength=number).astype(np.int32), np.bincount(slots[is_first], minlength=number).astype(np.int32)


def expanded(parts: Whole) -> Iterator[tuple[Whole, Whole]]:
    """Each item as often as it has parts, and which part each time; in pieces, so that a million items of many parts fit."""
    ends = np.cumsum(parts)
    begin = 0
    while begin < len(parts):
        before = ends[begin] - parts[begin]
        end = max(begin + 1, int(np.searchsorted(ends, before + EXPANDED, side="right")))
        items = np.repeat(np.arange(begin, end), parts[begin:end])
        yield items, np.arange(len(items)) + before - (ends[items] - parts[items])
        begin = end


def _place(
    strategy: Strategy,
    tuples: int,
    constants: Constants,
    codes: Whole,
    draws: Words,
    is_first: Flags,
    mean: tuple[float, float],
    peers: int,
) -> Place:
    """A position with the subscriptions that are posted there, given by the codes of their anchors."""
    posted = _counted(codes, is_first, len(constants.keys))
    rows, columns = grids(strategy, constants.facts, posted[1], mean, peers)
    refused = constants.facts > bearable_facts(strategy, tuples) if strategy.popular else None
    if columns is not None:
        slots = (np.cumsum(columns) - columns)[codes] + kernels.share_of(draws, columns[codes])
        posted = _counted(slots, is_first, int(columns.sum()))
    facts = constants.facts if strategy.assigned else constants.facts[:0]
    return Place(constants.keys, refused, rows, columns, *posted, met=posted[1], facts=facts)


def anchors_of(strategy: Strategy, tuples: int, given: Flags, facts: Whole, draws: Words) -> tuple[Whole, Whole]:
    """The position that each subscription is posted at, NOWHERE or LOST; and the number of its pair of PAIRS, or -1.

    One that is posted under a pair has the anchor PAIR.
    """
    usable = kernels.unpopular(given, facts, bearable_facts(strategy, tuples)) if strategy.popular else given
    if strategy.anchor is Anchor.PREDICATE:
        anchors = kernels.predicate_anchor(usable)
    elif strategy.anchor is Anchor.RANDOM:
        anchors = kernels.random_anchor(usable, draws)
    else:
        anchors = kernels.choose_anchor(usable, facts)
    anchors = np.where(given.any(axis=0) & ~usable.any(axis=0), LOST, anchors)
    pair = np.full(given.shape[1], -1, dtype=np.int64)
    if strategy.composite:
        first, second = kernels.two_rarest(given, facts)
        for number, positions in enumerate(PAIRS):
            pair[(first == positions[0]) & (second == positions[1])] = number
        anchors = np.where(pair >= 0, PAIR, anchors)
    return anchors, pair


def bearable_facts(strategy: Strategy, tuples: int) -> int:
    """The facts that a constant may have and still be a key."""
    return tuples // strategy.popular


def bearable_loads(strategy: Strategy, mean: tuple[float, float]) -> tuple[int, int]:
    """The facts and the templates of a cell, by the mean load of a peer."""
    return max(1, int(strategy.amount * mean[0])), max(1, int(strategy.amount * mean[1]))


def grids(
    strategy: Strategy, facts: Whole, templates: Whole, mean: tuple[float, float], peers: int
) -> tuple[Whole | None, Whole | None]:
    """The rows and columns of each key, None where all have one; ``mean`` is the load of a peer in facts and in templates."""
    if strategy.spread is Spread.NONE:
        return None, None
    if strategy.spread is Spread.HALVES:
        return np.full(len(facts), 2, dtype=np.int64), None
    if strategy.spread is Spread.EPOCHS:
        return np.full(len(facts), strategy.amount, dtype=np.int64), None
    bearable = bearable_loads(strategy, mean)
    rows = kernels.parts_for(facts, bearable[0], peers)
    if strategy.spread is Spread.HOT_SPLIT:
        return rows, None
    return rows, kernels.parts_for(templates, bearable[1], peers)
