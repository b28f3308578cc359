"""The lives of all peers over a run: who is there from when to when, and until when the others take it for alive. Pure.

An overlay has so many places. Whoever dies or leaves is followed in its place by another peer, with another id, ENTERING_S later,
so that the number of peers stays but for those seconds. A peer that leaves in order says so, and is gone for the others at once;
one that crashes is taken for alive until its suspicion has run out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.randomness import Stream, Words, derived_seed
from ..errors import BadParameter
from .lifetimes import Lifetimes

MICRO = 1_000_000
"""Times are whole microseconds: sums of them are exact, in whatever order they are made."""
NEVER = np.int64(1 << 62)
ENTERING_S = 1.0
"""Between a death and the moment from which the others know the peer that follows: it starts, and enters the overlay."""
MAX_LIVES = 1 << 23
"""Lives in one run: five columns of them are 280 MB."""

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lives:
    """All lives in the order of their births, from the first moment to ``end``; a peer is a number here. Times in microseconds."""

    ids: Words
    born: Times
    died: Times
    """Those that outlive the run die after its end."""
    gone: Times
    """From when on the others know that it is not there any more."""
    ordered: NDArray[np.bool_]
    """Whether it leaves in order, and does not crash."""
    end: int

    def __len__(self) -> int:
        """How many."""
        return len(self.ids)

    def living(self, at: int) -> NDArray[np.int64]:
        """The numbers of those that live at a moment."""
        return np.flatnonzero((self.born <= at) & (at < self.died))

    @property
    def deaths(self) -> int:
        """How many die or leave before the end."""
        return int((self.died < self.end).sum())


def expected_lives(lifetimes: Lifetimes, peers: int, end_s: float) -> float:
    """How many lives a run has in the mean, at least."""
    return peers * (1 + end_s / lifetimes.mean_s)


def check_lives(lifetimes: Lifetimes, peers: int, end_s: float) -> None:
    """Raises BadParameter for more lives than fit."""
    expected = expected_lives(lifetimes, peers, end_s)
    if expected > MAX_LIVES:
        raise BadParameter(
            f"{expected:,.0f} lives of {peers:,} peers within {end_s / 86_400:g} days; expected {MAX_LIVES:,} at most: "
            "ask for fewer peers, fewer days or longer lives"
        )


def live(lifetimes: Lifetimes, *, peers: int, end_s: float, graceful: float, noticed_s: tuple[float, float], seed: int) -> Lives:
    """All lives of a run that a seed decides. A crash is noticed after a time between the two of ``noticed_s``."""
    end = round(end_s * MICRO)
    entering = round(ENTERING_S * MICRO)
    # Whose turn it is: in each round the places whose peer is gone before the end get another one.
    born = [np.full(peers, 0, dtype=np.int64)]
    died = [_micros(lifetimes.remaining(derived_seed(seed, "remaining"), peers))]
    rounds = derived_seed(seed, "lives")
    drawn = 0
    while True:
        over = np.flatnonzero(died[-1] + entering < end)
        if not len(over):
            break
        comes = died[-1][over] + entering
        lasts = _micros(lifetimes.drawn(rounds, drawn, len(over)))
        drawn += len(over)
        born.append(comes)
        died.append(comes + lasts)
    first, last = np.concatenate(born), np.concatenate(died)
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    count = len(first)
    ordered = Stream(seed, "ordered").uniform(0, count) < graceful
    least, most = noticed_s
    noticed = _micros(least + (most - least) * Stream(seed, "noticed").uniform(0, count))
    return Lives(
        ids=Stream(seed, "ids").words(0, count),
        born=first,
        died=last,
        gone=np.where(ordered, last, last + noticed),
        ordered=ordered,
        end=end,
    )


def _micros(seconds: NDArray[np.float64]) -> Times:
    """At least one, so that nothing ends in the moment in which it begins; what lasts for ever, as long as a run can."""
    micros: Times = np.maximum(1, np.rint(np.minimum(seconds, 1e11) * MICRO)).astype(np.int64)
    return micros
