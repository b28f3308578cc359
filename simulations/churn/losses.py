"""What is lost while peers come and go: matches against the number of holders, with keys handed over and without.

Time goes in epochs. A template is posted, and a fact published, at the r peers closest to their common key; in every epoch a share
of all peers dies at one moment, and as many new ones join. A match is lost when no living peer that the fact reaches has the
template.

* With hand-over, whoever is closest at the end of an epoch has what any living holder had: a template is lost only if all its r
  holders die at one moment.
* Without, it stays where it was posted: it is lost when those peers are dead, or no longer among the closest because others have
  come between.
* If, moreover, facts go to the closest peer alone, it is lost as soon as a newcomer is the closest, however many hold it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.ownership import MAX_PEERS, Ownership
from ..engine.randomness import Stream, Words
from ..errors import BadParameter, check_range

MAX_EPOCHS = 10_000


@dataclass(frozen=True, slots=True)
class Lost:
    """One epoch: the shares that are lost of templates posted in the first epoch and facts published in this one.

    Of keys, each counted once; a share of matches is the same in the mean, and spreads more the fewer keys carry them.
    """

    epoch: int
    with_hand_over: float
    without: float
    closest_alone: float
    """Without hand-over, where facts are published to the closest peer alone."""
    matches_with_hand_over: float
    matches_without: float
    copies_moved: float
    """Holders that had to be given a key, per key."""
    apart: int
    """Sets of holders in the first epoch of which no two share a peer: so many trials, at least, are independent of each other."""


def check(*, peers: int, replicas: int, dying: float, epochs: int) -> None:
    """Raises BadParameter for what makes no sense."""
    check_range(peers, 2, MAX_PEERS, "peers")
    check_range(replicas, 1, min(peers, 64), f"holders of a key among {peers} peers")
    if not 0 <= dying < 1:
        raise BadParameter(f"a share of {dying:g} peers that die; expected 0 or more, and less than 1")
    check_range(epochs, 1, MAX_EPOCHS, "epochs")


def simulate(
    keys: Words, *, peers: int, replicas: int, dying: float, epochs: int, weights: NDArray[np.int64] | None = None, seed: int = 0
) -> Iterator[Lost]:
    """Each epoch in turn, for matches that meet under these keys: ``weights`` of them under each, or as many everywhere.

    Raises BadParameter for what makes no sense.
    """
    check(peers=peers, replicas=replicas, dying=dying, epochs=epochs)
    if not len(keys):
        raise BadParameter("0 keys; expected 1 or more")
    share = np.full(len(keys), 1 / len(keys)) if weights is None else weights / weights.sum()
    ids = Stream(seed, "peers", 0).words(0, peers)
    # Peers are told apart by their ids, which are never used again: a peer that joins in the place of a dead one is another.
    posted = ids[Ownership(ids).holders(keys, replicas)]
    apart = sets_apart(posted)
    kept = posted.copy()
    has = np.ones(kept.shape, dtype=bool)
    """Whether each of the closest has the template, with hand-over."""
    for epoch in range(1, epochs + 1):
        died = Stream(seed, "dying", epoch).uniform(0, peers) < dying
        living = np.sort(ids[~died])
        has &= _among(kept, living)
        ids = np.where(died, Stream(seed, "peers", epoch).words(0, peers), ids)
        closest = ids[Ownership(ids).holders(keys, replicas)]
        survives: NDArray[np.bool_] = np.any(has, axis=1)
        already: NDArray[np.bool_] = np.any(closest[:, :, None] == np.where(has, kept, np.uint64(0))[:, None, :], axis=2)
        moved = (survives[:, None] & ~already).sum()
        kept, has = closest, np.repeat(survives[:, None], replicas, axis=1)
        there = np.where(_among(posted, np.sort(ids)), posted, np.uint64(0))
        meets = (closest[:, :, None] == there[:, None, :]) & (there[:, None, :] != 0)
        met = meets.any(axis=(1, 2))
        yield Lost(
            epoch,
            1 - float(survives.mean()),
            1 - float(met.mean()),
            1 - float(meets[:, 0].any(axis=1).mean()),
            float(share[~survives].sum()),
            float(share[~met].sum()),
            float(moved / len(keys)),
            apart,
        )


def sets_apart(holders: NDArray[np.uint64]) -> int:
    """How many rows, taken as they come in order, share no peer with one that was taken before."""
    taken: set[int] = set()
    apart = 0
    for row in np.unique(np.sort(holders, axis=1), axis=0).tolist():
        if taken.isdisjoint(row):
            taken.update(row)
            apart += 1
    return apart


def _among(wanted: NDArray[np.uint64], ordered: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the wanted are in a sorted array that is not empty."""
    if not len(ordered):
        return np.zeros(wanted.shape, dtype=bool)
    places = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    there: NDArray[np.bool_] = ordered[places] == wanted
    return there
