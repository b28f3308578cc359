"""Events that match several templates of one peer at one rendezvous, which come to that peer once.

A tuple meets one template at most for each set of places that hold constants, so it has few; those of them that lie at one peer are
a combination. What a peer would get too often of a combination is the templates of it that it asks for, but one. The largest
audience of a combination is only asked who is in it, since a template that all peers ask for is in very many combinations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gsg.placement.rules import NOWHERE

from ..engine.kernels import Whole

TOGETHER = 1 << 21
"""Members of audiences that are looked at together: a few columns of 16 MB."""


@dataclass(frozen=True, slots=True)
class Repetitions:
    """What of an event is not told again, given the feeds and the rendezvous of each template.

    ``home`` is the peer that is responsible for a tuple's first constant, by its code: there templates without constants are met.
    """

    peers: int
    template: Whole
    peer: Whole
    """Of each feed, sorted by template and then by peer."""
    rendezvous: Whole
    home: Whole

    def count(self, found: Sequence[Whole], codes: tuple[NDArray[np.integer], ...]) -> tuple[Whole, Whole]:
        """Given the templates that each tuple meets, a column for each set of places and -1 for none: how many copies each tuple
        makes too many, shape (tuples,), and how many each peer would get: from itself and from others, shape (2, peers)."""
        too_many, by_peer = np.zeros(len(codes[0]), dtype=np.int64), np.zeros((2, self.peers), dtype=np.int64)
        if not found:
            return too_many, by_peer
        met = np.stack(found)
        at = np.where(met < 0, -1, self.rendezvous[met])
        at = np.where((met >= 0) & (at == NOWHERE), self.home[codes[0]], at)
        order = np.argsort(at, axis=0, kind="stable")
        at, met = np.take_along_axis(at, order, axis=0), np.take_along_axis(met, order, axis=0)
        for first in range(len(met) - 1):
            # The templates that lie where this one does, if it is the first of them.
            begins = at[first] >= 0 if first == 0 else (at[first] >= 0) & (at[first] != at[first - 1])
            some = np.flatnonzero(begins & (at[first + 1] == at[first]))
            if not len(some):
                continue
            together = np.where(at[first:, some] == at[first, some], met[first:, some], -1)
            column = np.concatenate([together, at[first : first + 1, some]])
            combined, which, number = np.unique(column, axis=1, return_inverse=True, return_counts=True)
            each = np.zeros(len(number), dtype=np.int64)
            for combination, peer, repeated in self._repeated(combined[:-1]):
                np.add.at(each, combination, repeated)
                remote = (combined[-1, combination] != peer).astype(np.int64)
                np.add.at(by_peer, (remote, peer), repeated * number[combination])
            too_many[some] += each[which.reshape(-1)]
        return too_many, by_peer

    def _repeated(self, combined: Whole) -> Iterator[tuple[Whole, Whole, Whole]]:
        """Of combinations of templates, a column each: combination, peer, and how many of its feeds there are beside the first."""
        begin, end = (np.searchsorted(self.template, combined, side=side) for side in ("left", "right"))
        sizes = np.where(combined < 0, 0, end - begin)
        largest = sizes.argmax(axis=0)
        columns = np.arange(combined.shape[1])
        most = combined[largest, columns]
        sizes[largest, columns] = 0
        words = self.template * self.peers + self.peer
        ends = np.cumsum(sizes.sum(axis=0))
        at = 0
        while at < len(columns):
            before = ends[at - 1] if at else 0
            to = max(at + 1, int(np.searchsorted(ends, before + TOGETHER, side="right")))
            part = sizes[:, at:to].reshape(-1)
            places = np.repeat(begin[:, at:to].reshape(-1) - (np.cumsum(part) - part), part) + np.arange(part.sum())
            combination = np.repeat(np.tile(columns[at:to], len(sizes)), part)
            pairs, feeds = np.unique(combination * self.peers + self.peer[places], return_counts=True)
            combination, peer = pairs // self.peers, pairs % self.peers
            wanted = most[combination] * self.peers + peer
            there = words[np.minimum(np.searchsorted(words, wanted), len(words) - 1)] == wanted
            repeated = feeds - 1 + there
            kept = repeated > 0
            yield combination[kept], peer[kept], repeated[kept]
            at = to
