"""One tuple and one subscription at a time, by the functions that peers run: what samples of a run, and tests, are held against.

The rule (DESIGN section 1): where a tuple matches a subscription, some key that the tuple goes to is one that the subscription is
posted under. A grid promises more: it is exactly one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gsg.placement import rules as placement
from gsg.placement.rules import Anchor
from gsg.tuples.features import Load, Template

from ..engine import grids, kernels
from ..engine.kernels import Whole
from ..engine.randomness import Words
from ..workload.workload import ARITY, Chunk, Subscriptions, Workload
from .plan import PAIRS, Plan, bearable_facts, bearable_loads
from .strategies import Spread

SAMPLE_TUPLES = 2_000
SAMPLE_PAIRS = 2_000
"""Pairs that are looked at one by one."""


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


class OneByOne:
    """The keys of single tuples and subscriptions under a plan."""

    def __init__(self, plan: Plan, workload: Workload, subscriptions: Subscriptions) -> None:
        self._plan = plan
        self._strategy = plan.strategy
        self._constants = workload.constants
        self._codes = subscriptions.codes
        self._rarest = subscriptions.rarest
        self._peers = len(plan.peers)
        templates = sum(int(place.posted.sum()) for place in plan.places)
        mean = ARITY * workload.tuples / self._peers, (templates + int(plan.pairs[1].sum()) + plan.everywhere) / self._peers
        self._bearable = bearable_loads(plan.strategy, mean)
        self._popular = bearable_facts(plan.strategy, workload.tuples) if plan.strategy.popular else None
        self._templates = [np.add.reduceat(place.posted, place.first(place.columns)) for place in plan.places]
        self._paired = set(plan.pairs[0].tolist())

    def keys_of_tuple(self, codes: tuple[int, ...], at_s: float) -> list[bytes]:
        """The keys that a tuple goes to."""
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
            found += grids.tuple_cells(key, grid, row)
        if self._strategy.composite:
            joint = [grids.pair_key(keys[first], keys[second]) for first, second in PAIRS]
            found += [key for key in joint if not self._strategy.demand or placement.point_of(key) in self._paired]
        return found

    def keys_of_subscription(self, number: int) -> list[bytes] | None:
        """The keys that a subscription is posted under; none for one without constants, None for one that is lost."""
        codes: list[int] = self._codes[:, number].tolist()
        template: Template = Template(tuple(None if code < 0 else code for code in codes))
        keys = [None if code < 0 else self._key(position, code) for position, code in enumerate(codes)]
        candidates = template.anchors()
        # All choose before any is posted: no key has templates yet.
        load_at = {position: Load(self._facts(position, codes[position]), 0, False) for position in candidates}
        draw = placement.drawn(keys)
        if not candidates:
            return []
        if self._strategy.composite and len(candidates) > 1:
            first, second = grids.two_rarest(template, load_at)
            return [grids.pair_key(self._given(keys, first), self._given(keys, second))]
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
        return grids.template_cells(self._given(keys, anchor), grid, draw)

    def _given(self, keys: list[bytes | None], position: int) -> bytes:
        key = keys[position]
        assert key is not None
        return key

    def _key(self, position: int, code: int) -> bytes:
        return int(self._constants[position].keys[code]).to_bytes(8, "big")

    def _load(self, position: int, code: int) -> Load:
        return Load(self._facts(position, code), int(self._templates[position][code]), False)

    def _facts(self, position: int, code: int) -> int:
        return int(self._constants[position].facts[code])

    def _grid(self, load: Load) -> grids.Grid:
        if self._strategy.spread is Spread.HALVES:
            return grids.Grid(2, 1)
        if self._strategy.spread is Spread.EPOCHS:
            return grids.Grid(self._strategy.amount, 1)
        if self._strategy.spread is Spread.HOT_SPLIT:
            return grids.split_for(load.facts, self._bearable[0], self._peers)
        if self._strategy.spread is Spread.GRID:
            return grids.grid_for(load, *self._bearable, self._peers)
        return grids.Grid()


def check_meetings(plan: Plan, workload: Workload, subscriptions: Subscriptions) -> MeetingCheck:
    """Whether tuples meet the subscriptions that they match: a sample of tuples, and of the subscriptions that these match."""
    sample = workload.at(sampled(workload.tuples, SAMPLE_TUPLES))
    at_s = sample.at_s
    tuples, numbers = matching(sample, subscriptions, workload)
    # One pair of each subscription: those that match nearly everything would leave no room for others.
    numbers, firsts = np.unique(numbers, return_index=True)
    chosen = np.unique(np.linspace(0, len(numbers) - 1, min(SAMPLE_PAIRS, len(numbers))).astype(np.int64))
    tuples, numbers = tuples[firsts[chosen]], numbers[chosen]
    one_by_one = OneByOne(plan, workload, subscriptions)
    goes_to: dict[int, set[bytes]] = {}
    met = lost = 0
    for tuple_number, number in zip(tuples.tolist(), numbers.tolist(), strict=True):
        if tuple_number not in goes_to:
            codes = tuple(int(column[tuple_number]) for column in sample.codes)
            goes_to[tuple_number] = set(one_by_one.keys_of_tuple(codes, float(at_s[tuple_number])))
        posted = one_by_one.keys_of_subscription(number)
        if posted is None:
            lost += 1
        # Without constants it is posted at every peer, so it is met wherever the tuple goes at all.
        elif goes_to[tuple_number].intersection(posted) or (not posted and goes_to[tuple_number]):
            met += 1
    return MeetingCheck(len(tuples), met, lost)


def sampled(tuples: int, most: int) -> Whole:
    """The numbers of a sample of tuples: any are a fair one of those made by a law, and every so many of recorded ones."""
    return np.arange(0, tuples, max(1, tuples // most))[:most]


def matching(sample: Chunk, subscriptions: Subscriptions, workload: Workload) -> tuple[Whole, Whole]:
    """The pairs of a tuple and a subscription that it matches, by their numbers."""
    given = subscriptions.given
    shapes = np.unique(given, axis=1).T
    pairs: list[tuple[Whole, Whole]] = []
    for shape in shapes:
        mine = np.flatnonzero((shape == given.T).all(axis=1))
        # Draws belong to what a template gives, so a tuple that is cut to the same shape has the draw of what it matches.
        wanted = _draws([subscriptions.codes[position, mine] for position in range(ARITY)], shape.tolist(), workload)
        held = _draws(sample.codes, shape.tolist(), workload)
        order = np.argsort(wanted, kind="stable")
        begin = np.searchsorted(wanted[order], held)
        count = np.searchsorted(wanted[order], held, side="right") - begin
        tuples = np.repeat(np.arange(len(held)), count)
        places = np.arange(len(tuples)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(begin, count)
        pairs.append((tuples, mine[order[places]]))
    return np.concatenate([tuples for tuples, _ in pairs]), np.concatenate([numbers for _, numbers in pairs])


def _draws(codes: Sequence[NDArray[np.integer]], shape: list[bool], workload: Workload) -> Words:
    nothing = np.zeros(len(codes[0]), dtype=np.uint64)
    keys = [known.keys[column] if there else nothing for known, column, there in zip(workload.constants, codes, shape, strict=True)]
    return kernels.drawn(keys)
