"""One tuple and one subscription at a time, by the functions that peers run: what samples of a run, and tests, are held against.

The rule: where a tuple matches a subscription, some key that the tuple goes to is one that the subscription is
posted under. A grid promises more: it is exactly one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gsg.placement import rules as placement
from gsg.placement.rules import Anchor
from gsg.tuples.features import Load, Template
from gsg.tuples.ordered_attributes import POSTED_INTERVALS

from ..engine import grids, kernels
from ..engine.kernels import Whole
from ..engine.randomness import Words
from ..workload.workload import ARITY, OBJECT, Chunk, Subscriptions, Workload
from .interval_keys import attribute_of, constants_of, known_constants, values_of
from .plan import PAIRS, Plan, bearable_facts, bearable_loads
from .strategies import Spread

SAMPLE_TUPLES = 2_000
SAMPLE_PAIRS = 2_000
"""Pairs that are looked at one by one."""
SAMPLE_BOUNDED = 4_000
"""Subscriptions that are looked at where some have bounds: each may match as many tuples as there are."""


@dataclass(frozen=True, slots=True)
class MeetingCheck:
    """What a sample of pairs of a tuple and a subscription that it matches came to."""

    pairs: int
    met: int
    lost: int
    """Those whose subscription is posted nowhere."""

    @property
    def missed(self) -> int:
        """Those that should have met."""
        return self.pairs - self.met - self.lost


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a tuple and a subscription that it matches meet."""

    keys: list[bytes]
    """Of the cells in which they do."""
    everywhere: bool
    """Whether it is because the subscription is posted at every peer."""
    lost: bool
    """Whether the subscription is posted nowhere."""


class OneByOne:
    """The keys of single tuples and subscriptions under a plan."""

    def __init__(self, plan: Plan, workload: Workload, subscriptions: Subscriptions) -> None:
        self._plan = plan
        self._strategy = plan.strategy
        self._attribute = attribute_of(plan.strategy)
        self._asked = known_constants(plan.strategy, workload)
        self._constants, self._intervals = constants_of(plan.strategy, workload)
        self._codes = subscriptions.codes
        self._bounds = subscriptions.bounds
        self._rarest = subscriptions.rarest
        self._peers = plan.peers
        self._bearable = bearable_loads(plan.strategy, plan.mean)
        self._popular = bearable_facts(plan.strategy, workload.tuples) if plan.strategy.popular else None
        self._templates = [np.add.reduceat(place.met, place.first(place.columns)) for place in plan.places]
        self._paired = set(plan.pairs.keys.tolist())

    def cells_of_tuple(self, codes: tuple[int, ...], at_s: float) -> list[grids.TupleCells]:
        """The cells that a tuple goes to."""
        keys = [self._key(position, code) for position, code in enumerate(codes)]
        found = []
        for position, (code, key) in enumerate(zip(codes, keys, strict=True)):
            load = self._load(position, code)
            if self._popular is not None and not grids.unpopular({position: load}, self._popular):
                continue
            if self._strategy.demand and not load.templates and not (position == 0 and self._plan.everywhere):
                continue
            grid = self._grid(load)
            if self._strategy.spread is Spread.EPOCHS:
                row = grids.epoch_of(at_s, self._plan.epoch_s, self._strategy.amount)
            else:
                row = placement.share_of(placement.drawn(keys), grid.rows)
            found.append(grids.TupleCells(key, grid, row))
        if self._strategy.composite:
            joint = [grids.pair_key(keys[first], keys[second]) for first, second in PAIRS]
            wanted = [key for key in joint if not self._strategy.demand or placement.point_of(key) in self._paired]
            found += [grids.TupleCells(key, grids.Grid(), 0) for key in wanted]
        return found

    def cells_of_subscription(self, number: int) -> list[grids.TemplateCells] | None:
        """The cells that a subscription is posted at; none for one that is posted at every peer, or at those of a part of MAAN's
        ring; None for one that is lost."""
        codes: list[int] = self._codes[:, number].tolist()
        template: Template = Template(tuple(None if code < 0 else code for code in codes))
        keys = [None if code < 0 else _bytes(self._asked[position].keys[code]) for position, code in enumerate(codes)]
        candidates = template.anchors()
        # All choose before any is posted: no key has templates yet.
        load_at = {position: Load(int(self._asked[position].facts[codes[position]]), 0, False) for position in candidates}
        draw = placement.drawn(keys)
        if not candidates:
            return self._cells_between_bounds(number)
        if self._strategy.composite and len(candidates) > 1:
            first, second = grids.two_rarest(template, load_at)
            joint = grids.pair_key(self._key(first, codes[first]), self._key(second, codes[second]))
            return [grids.TemplateCells(joint, grids.Grid(), draw)]
        if self._popular is not None:
            load_at = grids.unpopular(load_at, self._popular)
            if not load_at:
                return None
        if self._strategy.anchor is Anchor.PREDICATE:
            anchor = placement.predicate_anchor(candidates)
        elif self._strategy.anchor is Anchor.RANDOM:
            anchor = placement.random_anchor(candidates, draw)
        elif self._rarest is not None and self._popular is None:
            anchor = int(self._rarest[number])
        else:
            anchor = placement.choose_anchor(template, load_at)
        grid = self._grid(self._load(anchor, codes[anchor]))
        return [grids.TemplateCells(self._key(anchor, codes[anchor]), grid, draw)]

    def meetings(self, sample: Chunk, tuples: Whole, numbers: Whole) -> Iterator[Meeting]:
        """How each pair of a tuple of a sample and a subscription meet."""
        at_s = sample.at_s
        goes_to: dict[int, list[grids.TupleCells]] = {}
        posted: dict[int, list[grids.TemplateCells] | None] = {}
        for place, number in zip(tuples.tolist(), numbers.tolist(), strict=True):
            if place not in goes_to:
                codes = tuple(int(column[place]) for column in sample.codes)
                goes_to[place] = self.cells_of_tuple(codes, float(at_s[place]))
            if number not in posted:
                posted[number] = self.cells_of_subscription(number)
            at = posted[number]
            met = [template.met_by(cells) for template in at or () for cells in goes_to[place]]
            if at == [] and self._is_on_ring(number):
                yield Meeting(self._met_on_ring(number, goes_to[place][OBJECT].key), everywhere=False, lost=False)
                continue
            # Without constants it is posted at every peer, so it is met wherever the tuple goes at all.
            everywhere = at == [] and bool(goes_to[place])
            yield Meeting([key for key in met if key is not None], everywhere=everywhere, lost=at is None)

    def _is_on_ring(self, number: int) -> bool:
        """Whether a subscription without constants is posted between its bounds on MAAN's ring."""
        bounds = () if self._bounds is None else self._bounds[:, number].tolist()
        return self._strategy.maan and any(map(math.isfinite, bounds))

    def _met_on_ring(self, number: int, key: bytes) -> list[bytes]:
        """The key of a tuple's object, if it is between the bounds of a subscription."""
        assert self._bounds is not None
        low, high = map(ring_point, self._bounds[:, number].tolist())
        return [key] if low <= placement.point_of(key) <= high else []

    def _cells_between_bounds(self, number: int) -> list[grids.TemplateCells]:
        """The cells of a subscription without constants."""
        if self._attribute is None or self._intervals is None or self._bounds is None:
            return []
        low, high = self._bounds[:, number].tolist()
        asked = self._attribute.intervals_between(low, high)
        if (math.isinf(low) and math.isinf(high)) or len(asked) > POSTED_INTERVALS or len(asked) >= self._peers:
            return []
        found = []
        for interval in asked:
            grid = self._grid(Load(int(self._intervals.facts[interval]), 0, False))
            found.append(grids.TemplateCells(_bytes(self._intervals.keys[interval]), grid, 0))
        return found

    def _key(self, position: int, code: int) -> bytes:
        return _bytes(self._constants[position].keys[code])

    def _load(self, position: int, code: int) -> Load:
        return Load(int(self._constants[position].facts[code]), int(self._templates[position][code]), False)

    def _grid(self, load: Load) -> grids.Grid:
        (facts, templates), spread = self._bearable, self._strategy.spread
        if spread is Spread.HALVES:
            return grids.Grid(2)
        if spread is Spread.EPOCHS:
            return grids.Grid(self._strategy.amount)
        if spread is Spread.NONE:
            return grids.Grid()
        rows = grids.parts_for(load.facts, facts, self._peers)
        return grids.Grid(rows, grids.parts_for(load.templates, templates, self._peers) if spread is Spread.GRID else 1)


def ring_point(value: float) -> int:
    """Where a number is on MAAN's ring, whose 64 bits stand for 0 up to and not 1; others are at its ends."""
    if value >= 1:
        return 2**64 - 1
    return int(value * 2**64) if value > 0 else 0


def check_meetings(plan: Plan, workload: Workload, subscriptions: Subscriptions) -> MeetingCheck:
    """Whether tuples meet the subscriptions that they match: a sample of tuples, and of the subscriptions that these match."""
    sample = workload.at(sampled(workload.tuples, SAMPLE_TUPLES))
    looked_at = np.arange(0, len(subscriptions), 1 if subscriptions.bounds is None else -(-len(subscriptions) // SAMPLE_BOUNDED))
    # One pair of each subscription: those that match nearly everything would leave no room for others.
    tuples, numbers = first_matching(sample, subscriptions.only(looked_at), workload)
    chosen = np.unique(np.linspace(0, len(numbers) - 1, min(SAMPLE_PAIRS, len(numbers))).astype(np.int64))
    tuples, numbers = tuples[chosen], looked_at[numbers[chosen]]
    met = lost = 0
    for meeting in OneByOne(plan, workload, subscriptions).meetings(sample, tuples, numbers):
        lost += meeting.lost
        met += bool(meeting.keys) or meeting.everywhere
    return MeetingCheck(len(tuples), met, lost)


def sampled(tuples: int, most: int) -> Whole:
    """The numbers of a sample of tuples: any are a fair one of those made by a law, and every so many of recorded ones."""
    return np.arange(0, tuples, max(1, tuples // most))[:most]


def matching(sample: Chunk, subscriptions: Subscriptions, workload: Workload) -> tuple[Whole, Whole]:
    """The pairs of a tuple and a subscription that it matches, by their numbers."""
    pairs: list[tuple[Whole, Whole]] = []
    for mine, wanted, held in _by_shape(sample, subscriptions, workload):
        order = np.argsort(wanted, kind="stable")
        begin = np.searchsorted(wanted[order], held)
        count = np.searchsorted(wanted[order], held, side="right") - begin
        tuples = np.repeat(np.arange(len(held)), count)
        places = np.arange(len(tuples)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(begin, count)
        pairs.append((tuples, mine[order[places]]))
    found, asking = (np.concatenate(column) for column in zip(*pairs, strict=True))
    if subscriptions.bounds is not None:
        values = values_of(workload.constants[OBJECT])[sample.codes[OBJECT][found]]
        low, high = subscriptions.bounds[:, asking]
        held = (low <= values) & (values <= high)
        found, asking = found[held], asking[held]
    return found, asking


def first_matching(sample: Chunk, subscriptions: Subscriptions, workload: Workload) -> tuple[Whole, Whole]:
    """The subscriptions that any tuple matches, in order, and before them the first tuple that does, by their numbers."""
    if subscriptions.bounds is not None:
        tuples, numbers = matching(sample, subscriptions, workload)
        numbers, firsts = np.unique(numbers, return_index=True)
        return tuples[firsts], numbers
    firsts = np.full(len(subscriptions), -1, dtype=np.int64)
    for mine, wanted, held in _by_shape(sample, subscriptions, workload):
        order = np.argsort(held, kind="stable")
        place = np.minimum(np.searchsorted(held[order], wanted), len(held) - 1)
        firsts[mine] = np.where(held[order[place]] == wanted, order[place], -1)
    numbers = np.flatnonzero(firsts >= 0)
    return firsts[numbers], numbers


def _by_shape(sample: Chunk, subscriptions: Subscriptions, workload: Workload) -> Iterator[tuple[Whole, Words, Words]]:
    """The numbers of subscriptions that give constants in the same positions, and 64 bits of each of these and of each tuple.

    They belong to what a template gives, so a tuple that is cut to the same positions has the bits of what it matches.
    """
    given = subscriptions.given
    shape_of = np.ravel_multi_index(tuple(given.astype(np.int64)), (2,) * ARITY)
    for number in np.flatnonzero(np.bincount(shape_of)):
        mine = np.flatnonzero(shape_of == number)
        shape = given[:, mine[0]].tolist()
        wanted = _draws([subscriptions.codes[position, mine] for position in range(ARITY)], shape, workload)
        yield mine, wanted, _draws(sample.codes, shape, workload)


def _bytes(key: np.uint64) -> bytes:
    return int(key).to_bytes(8, "big")


def _draws(codes: Sequence[NDArray[np.integer]], shape: list[bool], workload: Workload) -> Words:
    nothing = np.zeros(len(codes[0]), dtype=np.uint64)
    keys = [known.keys[column] if there else nothing for known, column, there in zip(workload.constants, codes, shape, strict=True)]
    return kernels.drawn(keys)
