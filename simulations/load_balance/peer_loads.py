"""Keys turned into peers: what each peer of a region is given, holds, and compares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine import kernels
from ..engine.kernels import Flags, Whole
from ..engine.randomness import Words
from .counted_tuples import Counts, holders
from .loads import Histogram
from .peers import Peers, Region
from .plan import Place, Plan, expanded
from .strategies import Spread


class PeerLoads(NamedTuple):
    """What some peers have, each of shape (peers,)."""

    peers: Whole
    """Their numbers."""
    tuples: Whole
    """Copies of tuples, at all holders of their keys."""
    subscriptions: Whole
    """Copies of subscriptions."""
    templates: Whole
    """As ``subscriptions``, equal ones counted once."""
    work: Whole
    """Pairs of a tuple and a template that met under one key, equal templates counted once.

    Of templates with bounds and no constant only those whose bounds hold the tuple's object: a peer finds them by their bounds."""
    first_epoch: Whole
    """Copies of tuples of the first date range: what peers carry at one time where each range has keys of its own."""

    def histograms(self) -> dict[str, Histogram]:
        """How many of these peers have how much, by name of the load."""
        return {name: Histogram.of(getattr(self, name)) for name in LOADS}


LOADS = PeerLoads._fields[1:]
"""The loads of a peer by name."""


class _Turning:
    """Turns the keys of one region into its peers."""

    def __init__(self, plan: Plan, peers: Peers, region: Region) -> None:
        self._plan = plan
        self._region = region
        self.numbers, self._ownership = region.peers(peers, plan.strategy.virtual)
        self._loads = {name: np.zeros(len(self.numbers), dtype=np.int64) for name in LOADS}

    def give_everywhere(self) -> None:
        """What is posted at every peer."""
        self._loads["subscriptions"] += self._plan.everywhere_subscriptions
        self._loads["templates"] += self._plan.everywhere

    def give_pairs(self, counts: Counts) -> None:
        """What has keys of two constants."""
        mine = self._region.holds(self._plan.pairs.keys)
        owners = self._owners(self._plan.pairs.keys[mine])
        self._give("subscriptions", owners, self._plan.pairs.subscriptions[mine])
        self._give("templates", owners, self._plan.pairs.templates[mine])
        if self._plan.strategy.composite:
            self._loads["tuples"] += counts.pair_tuples[self.numbers]
            self._loads["work"] += counts.pair_work[self.numbers]

    def give_place(self, place: Place, counts: Whole | None, everywhere: Whole | int = 0) -> None:
        """What has the keys of a place: ``counts`` are tuples by slot, None where none have.

        ``everywhere`` is what tuples meet besides at their first key: so many each, or by slot what all of a slot do.
        """
        first_row, first_column = place.first(place.rows), place.first(place.columns)
        sent = self._sent(place, first_column, everywhere=isinstance(everywhere, np.ndarray) or everywhere > 0)
        columns = np.ones(len(place.keys), dtype=np.int64) if place.columns is None else place.columns
        cells = columns if place.rows is None else columns * place.rows
        for codes, number in expanded(cells):
            row, column = np.divmod(number, columns[codes])
            keys = kernels.cell_key(place.keys[codes], row, column)
            mine = self._region.holds(keys)
            codes, row, column, keys = codes[mine], row[mine], column[mine], keys[mine]
            closest, held_by = holders(self._ownership, self._region.inner(keys), self._plan.strategy.replicas)
            posted = first_column[codes] + column
            self._give("subscriptions", closest, place.subscriptions[posted])
            self._give("templates", closest, place.templates[posted])
            if counts is None:
                continue
            slots = first_row[codes] + row
            tuples = counts[slots] * sent[codes]
            for peers in held_by:
                self._give("tuples", peers, tuples)
                if self._plan.strategy.spread is Spread.EPOCHS:
                    self._give("first_epoch", peers, tuples * (row == 0))
            work = tuples * place.met[posted]
            met = everywhere[slots] * sent[codes] if isinstance(everywhere, np.ndarray) else tuples * everywhere
            self._give("work", closest, work + met * (column == 0))

    def _sent(self, place: Place, first_column: Whole, *, everywhere: bool) -> Flags:
        """By code, whether tuples are sent to it at all."""
        sent = np.ones(len(place.keys), dtype=bool) if place.refused is None else ~place.refused
        if self._plan.strategy.demand and not everywhere:
            sent &= np.add.reduceat(place.met, first_column) > 0
        return sent

    def _owners(self, keys: Words) -> Whole:
        return self._ownership.owners(self._region.inner(keys))

    def _give(self, load: str, peers: Whole, amounts: Whole) -> None:
        some = np.flatnonzero(amounts)
        # Column by column through all peers would cost more than the few that get something.
        np.add.at(self._loads[load], peers[some], amounts[some])

    def loads(self) -> PeerLoads:
        """What was given."""
        return PeerLoads(self.numbers, **self._loads)


def loads_in(region: Region, plan: Plan, counts: Counts, peers: Peers) -> PeerLoads:
    """What the peers of a region have, all peers where the region is the whole space. Raises BadParameter."""
    turning = _Turning(plan, peers, region)
    turning.give_everywhere()
    turning.give_pairs(counts)
    # Where nothing is posted everywhere, by slot there is nothing but zeros.
    met = counts.met_everywhere if plan.everywhere and plan.everywhere_met is not None else plan.everywhere
    for position, (place, slots) in enumerate(zip(plan.places, counts.slots, strict=True)):
        turning.give_place(place, slots, met if position == 0 else 0)
    if plan.between is not None:
        turning.give_place(plan.between, None)
    return turning.loads()
