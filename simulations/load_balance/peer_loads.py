"""Keys turned into peers: what each peer of a region is given, holds, and compares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..engine import kernels
from ..engine.kernels import Whole
from ..engine.randomness import Words
from ..workload.workload import OBJECT
from .assignment import assign
from .capacities import UNIT
from .counted_tuples import Counts, holders
from .loads import Histogram
from .peers import Peers, Region
from .plan import Place, Plan, expanded
from .ring import Ranges, Ring
from .strategies import Spread


class PeerLoads(NamedTuple):
    """What some peers have, each of shape (peers,)."""

    peers: Whole
    """Their numbers."""
    capacity: Whole
    """What they are able to carry, in hundredths."""
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
    pointers: Whole
    """Keys that something was sent to and that others hold, of which these peers say whom to ask."""
    assigned: Whole
    """Keys that something was sent to and that came to these peers by what they carried."""
    probes: Whole
    """Peers that were asked in vain for the keys of these, once for each copy of a tuple or a subscription."""

    def histograms(self, *, utilisation: bool = False) -> dict[str, Histogram]:
        """How many of these peers have how much, by name; and their capacities and UTILISATION where those are not alike."""
        found = {name: Histogram.of(getattr(self, name)) for name in LOADS}
        if utilisation:
            found["capacity"] = Histogram.of(self.capacity)
            found[UTILISATION] = Histogram.of(self.tuples * UTILISATION_UNIT // self.capacity)
        return found


LOADS = PeerLoads._fields[2:]
"""The loads of a peer by name."""
UTILISATION = "utilisation"
"""The name of copies of tuples by capacity, in hundredths of a copy for a capacity of 1."""
UTILISATION_UNIT = 100 * UNIT


class _Turning:
    """Turns the keys of one region into its peers."""

    def __init__(self, plan: Plan, peers: Peers, region: Region) -> None:
        self._plan = plan
        self._region = region
        self.numbers, self._ownership = region.peers(peers, plan.strategy.virtual)
        self._ring = Ring(peers.prefixes(), self.numbers) if plan.strategy.maan else None
        self._capacity = peers.capacities_of(self.numbers)
        self._loads = {name: np.zeros(len(self.numbers), dtype=np.int64) for name in LOADS}
        self._assignment = assign(plan, peers, self._ownership) if plan.strategy.assigned else None
        self._has_copies = np.zeros(0 if self._assignment is None else len(self._assignment.keys), dtype=bool)

    def give_everywhere(self) -> None:
        """What is posted at every peer."""
        self._loads["subscriptions"] += self._plan.everywhere_subscriptions
        self._loads["templates"] += self._plan.everywhere

    def give_ranges(self, ranges: Ranges) -> None:
        """What is posted between bounds on MAAN's ring."""
        if self._ring is not None:
            self._loads["subscriptions"] += self._ring.covered(ranges.low, ranges.high)
            self._loads["templates"] += self._ring.covered(ranges.low[ranges.is_first], ranges.high[ranges.is_first])

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
        sent = self._plan.sent(place)
        for codes, number in expanded(place.cells):
            row, column = place.row_and_column(codes, number)
            keys = kernels.cell_key(place.keys[codes], row, column)
            successors = self._ring.successors(keys) if self._ring is not None and place is self._plan.places[OBJECT] else None
            mine = self._region.holds(keys) if successors is None else successors >= 0
            codes, row, column, keys = codes[mine], row[mine], column[mine], keys[mine]
            posted, slots = first_column[codes] + column, first_row[codes] + row
            tuples = np.zeros(len(keys), dtype=np.int64) if counts is None else counts[slots] * sent[codes]
            closest, held_by = (
                self._holders(keys, tuples + place.subscriptions[posted])
                if successors is None
                else (successors[mine], [successors[mine]])
            )
            self._give("subscriptions", closest, place.subscriptions[posted])
            self._give("templates", closest, place.templates[posted])
            if counts is None:
                continue
            for peers in held_by:
                self._give("tuples", peers, tuples)
                if self._plan.strategy.spread is Spread.EPOCHS:
                    self._give("first_epoch", peers, tuples * (row == 0))
            work = tuples * place.met[posted]
            met = everywhere[slots] * sent[codes] if isinstance(everywhere, np.ndarray) else tuples * everywhere
            self._give("work", closest, work + met * (column == 0))

    def _holders(self, keys: Words, copies: Whole) -> tuple[Whole, list[Whole]]:
        """Where tuples meet what is posted under each key, and all peers that hold it, given how many copies go there."""
        if self._assignment is None:
            return holders(self._ownership, self._region.inner(keys), self._plan.strategy.replicas)
        places = self._assignment.places(keys)
        self._has_copies[places[copies > 0]] = True
        closest = self._assignment.holders[places]
        self._give("probes", closest, self._assignment.probes[places] * copies)
        return closest, [closest]

    def give_assigned(self) -> None:
        """What it takes to assign the keys that something was sent to."""
        if self._assignment is None:
            return
        self._give("assigned", self._assignment.holders, self._has_copies.astype(np.int64))
        for keys, peers in self._assignment.pointers:
            self._give("pointers", peers, self._has_copies[keys].astype(np.int64))

    def _owners(self, keys: Words) -> Whole:
        return self._ownership.owners(self._region.inner(keys))

    def _give(self, load: str, peers: Whole, amounts: Whole) -> None:
        some = np.flatnonzero(amounts)
        # Column by column through all peers would cost more than the few that get something.
        np.add.at(self._loads[load], peers[some], amounts[some])

    def loads(self) -> PeerLoads:
        """What was given."""
        return PeerLoads(self.numbers, self._capacity, **self._loads)


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
    if plan.ranges is not None:
        turning.give_ranges(plan.ranges)
    turning.give_assigned()
    return turning.loads()
