"""Keys by ranges of time: what they make of tuples and of subscriptions that ask for ranges.

The idea is of Shvartzshnaider, Ott and Levy, "Publish/Subscribe on Top of DHT Using RETE Algorithm": time is cut into epochs, and a
constant has a key of its own in each, so that no peer is hot for ever. A tuple goes to the keys of its epoch, and a subscription is
posted under its anchor in each epoch that its range touches, within a limit; beyond, it is refused, and its matches are lost.

Without epochs a range is a test of the template: it travels, and is made at the rendezvous. So it is in an epoch that is touched in
part; one that lies within the range needs none, and there subscriptions that are otherwise equal share a template.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..engine import kernels
from ..engine.kernels import Whole
from ..engine.ownership import Ownership
from ..engine.randomness import Stream, Words
from ..workload.workload import ARITY, Constants, Subscriptions, Workload, chunks_of


@dataclass(frozen=True, slots=True)
class Ranges:
    """When the range of each subscription begins and ends, counted in epochs."""

    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    epochs: int
    """How many there are."""

    @property
    def first(self) -> Whole:
        """The first epoch that each touches."""
        return np.minimum(self.begin.astype(np.int64), self.epochs - 1)

    @property
    def last(self) -> Whole:
        """The last one: a range that ends with an epoch touches no further one."""
        return np.clip(np.ceil(self.end).astype(np.int64) - 1, self.first, self.epochs - 1)

    @property
    def touched(self) -> Whole:
        """How many."""
        return self.last - self.first + 1


def drawn_ranges(
    count: int, lengths: tuple[tuple[float, float], ...], whole: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """When the ranges of so many subscriptions begin and end, by lengths and their shares: within the whole time, if they fit."""
    length = np.array([one for one, _ in lengths])
    limits = np.cumsum([share for _, share in lengths])
    limits[-1] = 1.0
    chosen = length[np.searchsorted(limits, Stream(seed, "range").uniform(0, count), side="right")]
    begin = Stream(seed, "range begins").uniform(0, count) * np.maximum(whole - chosen, 0.0)
    return begin, np.minimum(begin + chosen, whole)


@dataclass(frozen=True, slots=True)
class Cells:
    """What lies under the keys of one position, by code and epoch: ``code * epochs + epoch``, ascending."""

    cell: Whole
    tuples: Whole
    """Of the cells of tuples; of those of subscriptions the copies that are posted there."""
    templates: Whole
    """Distinct ones; of the cells of tuples none."""


def cells_of_tuples(workload: Workload, whole: float) -> tuple[Cells, ...]:
    """The cells that tuples go to, for each position; ``whole`` is all the time in epochs, of which the last may be cut short."""
    epochs = ceil(whole)
    found: list[list[tuple[Whole, Whole]]] = [[] for _ in range(ARITY)]
    for begin, size in chunks_of(workload.tuples):
        chunk = workload.chunk(begin, size)
        epoch = np.minimum((chunk.at_s * (whole / workload.seconds)).astype(np.int64), epochs - 1)
        for position, codes in enumerate(chunk.codes):
            found[position].append(np.unique(codes * np.int64(epochs) + epoch, return_counts=True))
    cells = []
    for parts in found:
        cell, where = np.unique(np.concatenate([cell for cell, _ in parts]), return_inverse=True)
        tuples = np.zeros(len(cell), dtype=np.int64)
        np.add.at(tuples, where, np.concatenate([number for _, number in parts]))
        cells.append(Cells(cell, tuples, np.zeros(len(cell), dtype=np.int64)))
    return tuple(cells)


def cells_of_subscriptions(codes: Whole, words: Words, ranges: Ranges, numbers: Whole) -> Cells:
    """The cells that the subscriptions of these numbers are posted in, given the code and the word of each at its anchor."""
    touched = ranges.touched[numbers]
    of = np.repeat(numbers, touched)
    epoch = np.arange(len(of)) - np.repeat(np.cumsum(touched) - touched, touched) + ranges.first[of]
    # One that is touched in part has the range as a test, which no other has.
    in_part = (ranges.begin[of] > epoch) | (ranges.end[of] < epoch + 1)
    same = np.where(in_part, kernels.scattered(words[of], of.astype(np.uint64)), words[of])
    cell = codes[of] * np.int64(ranges.epochs) + epoch
    order = np.lexsort((same, cell))
    cell, same = cell[order], same[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (cell[1:] != cell[:-1]) | (same[1:] != same[:-1])
    posted, begin, copies = np.unique(cell, return_index=True, return_counts=True)
    templates = np.add.reduceat(is_first.astype(np.int64), begin) if len(begin) else np.zeros(0, dtype=np.int64)
    return Cells(posted, copies, templates)


@dataclass(slots=True)
class Loads:
    """What peers carry, each shape (peers,)."""

    tuples: Whole
    copies: Whole
    work: Whole
    """Pairs of a tuple and a distinct template that meet in one cell."""
    templates: int = 0
    most_in_epoch: int = 0
    """Copies of tuples of one epoch that one peer gets at most."""


def loads_of(
    cells: tuple[Cells, ...], posted: tuple[Cells, ...], constants: tuple[Constants, ...], ownership: Ownership, epochs: int
) -> Loads:
    """What cells make of their owners."""
    nothing = np.zeros(len(ownership), dtype=np.int64)
    loads = Loads(nothing, nothing.copy(), nothing.copy())
    places, amounts = [], []
    for known, there, wanted in zip(constants, cells, posted, strict=True):
        owner = _owners(there, known, ownership, epochs)
        np.add.at(loads.tuples, owner, there.tuples)
        places.append(owner * np.int64(epochs) + there.cell % epochs)
        amounts.append(there.tuples)
        at = _owners(wanted, known, ownership, epochs)
        np.add.at(loads.copies, at, wanted.tuples)
        loads.templates += int(wanted.templates.sum())
        place = np.minimum(np.searchsorted(there.cell, wanted.cell), len(there.cell) - 1)
        met = np.where(there.cell[place] == wanted.cell, there.tuples[place], 0)
        np.add.at(loads.work, at, met * wanted.templates)
    at_once, where = np.unique(np.concatenate(places), return_inverse=True)
    in_epoch = np.zeros(len(at_once), dtype=np.int64)
    np.add.at(in_epoch, where, np.concatenate(amounts))
    loads.most_in_epoch = int(in_epoch.max(initial=0))
    return loads


def _owners(cells: Cells, known: Constants, ownership: Ownership, epochs: int) -> Whole:
    code, epoch = cells.cell // epochs, cells.cell % epochs
    return ownership.owners(kernels.cell_key(known.keys[code], epoch, 0))


def posted_at(anchors: Whole, subscriptions: Subscriptions, words: Words, ranges: Ranges, limit: int) -> tuple[Cells, ...]:
    """The cells of all subscriptions within the limit that have an anchor, for each position."""
    kept = ranges.touched <= limit
    return tuple(
        cells_of_subscriptions(subscriptions.codes[position], words, ranges, np.flatnonzero(kept & (anchors == position)))
        for position in range(ARITY)
    )
