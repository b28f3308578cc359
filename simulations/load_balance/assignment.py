"""Keys that go to peers one after the other, by what these carry already: the least loaded of several, or the closest with room.

A key is what is assigned, whole, as its subscriptions must meet all of its tuples; where keys are split it is a cell. It weighs the
facts that are known of it. Keys come in the order in which they are expected to be inserted first: those with the most facts first,
since tuples come evenly, and by the key among equals. Whatever part of the time has gone by then, all that has come has brought the
same part of its facts; so the peer that is less loaded at that moment is the one whose keys weigh less.

Everything here is exact and in one thread: it is of all peers at once, and done where they are one region (peers.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..engine import kernels
from ..engine.kernels import Whole
from ..engine.ownership import Ownership
from ..engine.randomness import Words
from ..errors import BadParameter
from .peers import Peers
from .plan import Plan, expanded
from .strategies import HUNDREDTHS, Strategy

MAX_ASSIGNED_KEYS = 1 << 23
"""Keys that are assigned at most, at a million in a second or three. More are refused."""
_CHOICE = 1 << 63
"""What the salts of further hashes of a key begin with; no cell of a grid has such a salt."""
_EMPTY = 1 << 62
"""The room of a peer that holds nothing: any key fits, as none can be cut."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where each key is: columns of shape (keys,) in the order of the keys, none twice."""

    keys: Words
    holders: Whole
    probes: Whole
    """How many peers are asked for each key before its holder: whoever looks a key up begins with its first or closest peer."""
    pointers: list[tuple[Whole, Whole]]
    """Numbers of keys, and peers that hold a pointer for each, none twice for one key."""

    def places(self, keys: Words) -> Whole:
        """The number of each key."""
        return np.searchsorted(self.keys, keys)


def assign(plan: Plan, peers: Peers, ownership: Ownership) -> Assignment:
    """Assign all keys of a plan. Raises BadParameter for too many."""
    keys, weights = weighed_keys(plan)
    # Stable, so the lower key is first among equals.
    order = np.argsort(-weights, kind="stable")
    if plan.strategy.bounded:
        bounds = bounds_of(plan.strategy, int(weights.sum()), peers.capacities())
        holders, probes = closest_with_room(keys[order], weights[order], ownership, peers.prefixes(), bounds)
        pointers = []
    else:
        candidates = candidates_of(keys[order], ownership, plan.strategy.choices)
        holders = least_loaded(candidates, weights[order], peers.capacities())
        probes = (candidates[:, 0] != holders).astype(np.int64)
        pointers = _pointers(candidates, holders, order)
    found, asked = np.empty_like(holders), np.empty_like(probes)
    found[order], asked[order] = holders, probes
    return Assignment(keys, found, asked, pointers)


def weighed_keys(plan: Plan) -> tuple[Words, Whole]:
    """All keys of a plan, in order, and what each weighs: the facts known of it, none where no tuple is sent.

    Of a key that is split each part weighs as much, rounded up. Raises BadParameter for more than MAX_ASSIGNED_KEYS.
    """
    keys, weights = [], []
    cells = 0
    for place in plan.all_places:
        sent = plan.sent(place)
        for codes, number in expanded(place.cells):
            cells += len(codes)
            if cells > MAX_ASSIGNED_KEYS:
                raise BadParameter(
                    f"strategy {plan.strategy.name!r} over more than {MAX_ASSIGNED_KEYS} keys; expected fewer constants, or fewer "
                    "parts of keys, since keys are assigned one after the other"
                )
            row, column = place.row_and_column(codes, number)
            keys.append(kernels.cell_key(place.keys[codes], row, column))
            rows = np.ones(len(codes), dtype=np.int64) if place.rows is None else place.rows[codes]
            weights.append(-(-place.facts[codes] * sent[codes] // rows))
    distinct, which = np.unique(np.concatenate(keys), return_inverse=True)
    heaviest = np.zeros(len(distinct), dtype=np.int64)
    # All numbers of an interval have its key, and its facts.
    np.maximum.at(heaviest, which.reshape(-1), np.concatenate(weights))
    return distinct, heaviest


def candidates_of(keys: Words, ownership: Ownership, choices: int) -> Whole:
    """The peers that each key may be at, by so many hashes of it, of which it is itself the first: shape (keys, choices)."""
    hashes = [keys, *(kernels.scattered(keys, _CHOICE + number) for number in range(1, choices))]
    return np.stack([ownership.owners(some) for some in hashes], axis=1)


def least_loaded(candidates: Whole, weights: Whole, capacities: Whole) -> Whole:
    """The holder of each key: the candidate that carries least by then for its capacity, the first among equals.

    Byers, Considine and Mitzenmacher, "Simple Load Balancing for Distributed Hash Tables" (2003), section 3.
    """
    capacity = capacities.tolist()
    load = [0] * len(capacity)
    holders = []
    for peers, weight in zip(candidates.tolist(), weights.tolist(), strict=True):
        best = peers[0]
        for peer in peers[1:]:
            # As fractions, which whole numbers compare exactly.
            if load[peer] * capacity[best] < load[best] * capacity[peer]:
                best = peer
        load[best] += weight
        holders.append(best)
    return np.array(holders, dtype=np.int64)


def _pointers(candidates: Whole, holders: Whole, numbers: Whole) -> list[tuple[Whole, Whole]]:
    """At all candidates that are not the holder, at each once."""
    found = []
    for place in range(candidates.shape[1]):
        mine = candidates[:, place]
        is_new = mine != holders
        for before in range(place):
            is_new &= mine != candidates[:, before]
        found.append((numbers[is_new], mine[is_new]))
    return found


def bounds_of(strategy: Strategy, weight: int, capacities: Whole) -> Whole:
    """What each peer may carry, rounded up: so many times its part, by its capacity, of all that keys weigh."""
    all_capacity = int(capacities.sum())
    # As Python's numbers, which do not overflow.
    distinct, which = np.unique(capacities, return_inverse=True)
    bounds = [-(-strategy.bounded * weight * one // (HUNDREDTHS * all_capacity)) for one in distinct.tolist()]
    return np.array(bounds, dtype=np.int64)[which.reshape(-1)]


def closest_with_room(keys: Words, weights: Whole, ownership: Ownership, prefixes: Words, bounds: Whole) -> tuple[Whole, Whole]:
    """The holder of each key, and how many peers are closer to the key: the closest that stays within its bound with it.

    Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads" (2018), with keys that weigh something and peers in
    the order of XOR. A key cannot be cut: one that no bound allows goes to the closest peer that holds nothing, which then takes no
    other. Where no peer has room, though one has always some left, it goes to the closest that is below its bound.
    """
    room = _Room(prefixes, bounds)
    holders, closer = [], []
    for key, weight, closest in zip(keys.tolist(), weights.tolist(), ownership.owners(keys).tolist(), strict=True):
        peer, probes = closest, 0
        if room.left[peer] < weight:
            found = room.find(key, weight) or room.find(key, 1)
            # All bounds together are more than all keys weigh.
            assert found is not None
            peer, probes = found
        room.take(peer, weight)
        holders.append(peer)
        closer.append(probes)
    return np.array(holders, dtype=np.int64), np.array(closer, dtype=np.int64)


class _Room:
    """What peers have left, as a tree of the branches of their ids: the most that is left below each.

    What a branch says is looked at again only when it has led nowhere: room gets less and never more, so what is said may be too
    much and is never too little.
    """

    def __init__(self, prefixes: Words, bounds: Whole) -> None:
        self._bounds = bounds.tolist()
        self.left = [_EMPTY] * len(prefixes)
        """By peer."""
        order = np.argsort(prefixes)
        self._peers = order.tolist()
        ids = prefixes[order].tolist()
        # Branch i parts leaf i from leaf i + 1 at the highest bit in which they differ, and leaves are ~i: a Cartesian tree.
        self._bit = [(one ^ other).bit_length() - 1 for one, other in pairwise(ids)]
        count = len(self._bit)
        self._children = [(0, 0)] * count
        self._sizes = [(0, 0)] * count
        self._most = [_EMPTY] * count
        self._root = self._grow() if count else ~0

    def _grow(self) -> int:
        right = [~(branch + 1) for branch in range(len(self._bit))]
        left, low = [], []
        open_: list[int] = []
        high = [len(self._bit)] * len(self._bit)
        for branch, bit in enumerate(self._bit):
            below = ~branch
            while open_ and self._bit[open_[-1]] < bit:
                below = open_.pop()
                high[below] = branch
            left.append(below)
            low.append(open_[-1] + 1 if open_ else 0)
            if open_:
                right[open_[-1]] = branch
            open_.append(branch)
        self._children = list(zip(left, right, strict=True))
        self._sizes = [(branch - low[branch] + 1, high[branch] - branch) for branch in range(len(self._bit))]
        return open_[0]

    def take(self, peer: int, weight: int) -> None:
        """A peer takes a key."""
        if weight:
            self.left[peer] = (self._bounds[peer] if self.left[peer] == _EMPTY else self.left[peer]) - weight

    def find(self, key: int, weight: int) -> tuple[int, int] | None:
        """The closest peer that has so much room, and how many are closer; None where none has."""
        while self._below(self._root) >= weight:
            node, closer = self._root, 0
            path = []
            while node >= 0:
                path.append(node)
                side = key >> self._bit[node] & 1
                near, far = self._children[node][side], self._children[node][1 - side]
                if self._below(near) >= weight:
                    node = near
                elif self._below(far) >= weight:
                    closer += self._sizes[node][side]
                    node = far
                else:
                    break
            else:
                return self._peers[~node], closer
            for branch in reversed(path):
                self._most[branch] = max(map(self._below, self._children[branch]))
        return None

    def _below(self, node: int) -> int:
        return self._most[node] if node >= 0 else self.left[self._peers[~node]]
