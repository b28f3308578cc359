"""What synthetic tuples do that no steady law does: what is common drifts by the hour, and an adversary aims at a peer or a key."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from ..engine.kernels import Flags, Whole
from ..engine.randomness import Stream, Words
from ..errors import BadParameter

HOUR_S = 3_600.0
MAX_DRIFT_HOURS = 1_000
"""Hours of a drift at most: what is expected of a constant is a sum over them."""
PEER_KEYS = 1_024
"""Constants that an adversary finds whose keys belong to one peer."""
_NEAR = np.uint64(PEER_KEYS - 1)
"""The bits in which their keys differ. Two peers would have to share the 54 others for these to be keys of both."""
_VALUES_WIDTH = 2.0**-40
"""What lies between the numbers that its objects are, all around the middle."""
KEY, PEER = "key", "peer"


@dataclass(frozen=True, slots=True)
class Drift:
    """A share of tuples whose constants have other ranks in each hour: so many as let the commonest one pass all of them in time.

    Raises BadParameter for a share that is none, and too many hours.
    """

    share: float
    seconds: float

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 < self.share <= 1:
            raise BadParameter(f"a drift of {self.share:g}; expected a share of all tuples, above 0 and up to 1, such as 0.5")
        if self.hours > MAX_DRIFT_HOURS:
            raise BadParameter(f"a drift over {self.hours} hours; expected {MAX_DRIFT_HOURS} at most")

    @property
    def hours(self) -> int:
        """How many begin."""
        return ceil(self.seconds / HOUR_S)

    def moved(self, ranks: Whole, drifting: Flags, at_s: NDArray[np.float64], count: int) -> Whole:
        """The constants that such ranks are at those times, out of so many; the rank itself where a tuple does not drift."""
        return np.where(drifting, (ranks + (at_s // HOUR_S).astype(np.int64) * self._step(count)) % count, ranks)

    def chances(self, chance: NDArray[np.float64], until_s: float) -> NDArray[np.float64]:
        """How likely each constant is in the time until then, given that of each rank."""
        found = (1 - self.share) * chance
        for hour in range(ceil(until_s / HOUR_S)):
            part = min(1.0, until_s / HOUR_S - hour) * HOUR_S / until_s
            found += self.share * part * np.roll(chance, hour * self._step(len(chance)))
        return found

    def _step(self, count: int) -> int:
        return max(1, count // self.hours)


@dataclass(frozen=True, slots=True)
class Adversary:
    """A share of tuples whose objects are constants of its choice, as common as each other: of one key, or of keys of one peer.

    Keys are hashes: to find them it has tried about as many constants for each as there are peers. Raises BadParameter for a share
    that is none.
    """

    share: float
    at: str = KEY

    def __post_init__(self) -> None:
        """Refuse what cannot be."""
        if not 0 < self.share < 1:
            raise BadParameter(f"an adversary with {self.share:g} of all tuples; expected a share above 0 and below 1, such as 0.1")

    def __str__(self) -> str:
        """As it is written."""
        return f"{self.at}:{self.share:g}"

    @property
    def constants(self) -> int:
        """How many it has."""
        return PEER_KEYS if self.at == PEER else 1

    def keys(self, seed: int) -> Words:
        """Their keys, beside each other at a point that the seed says."""
        point = Stream(seed, "target").words(0, 1) & ~_NEAR
        found: Words = np.bitwise_or(point, np.arange(self.constants, dtype=np.uint64))
        return found

    def values(self) -> NDArray[np.float64]:
        """The numbers that they are, beside each other."""
        return np.float64(0.5) + np.arange(self.constants, dtype=np.float64) * np.float64(_VALUES_WIDTH)


def parse_adversary(text: str) -> Adversary:
    """What a text such as ``peer:0.1`` or ``key:0.1`` says. Raises BadParameter."""
    at, _, share = text.partition(":")
    try:
        if at in (KEY, PEER):
            return Adversary(float(share), at)
    except ValueError:
        pass
    raise BadParameter(f"adversary {text!r}; expected {KEY}:SHARE or {PEER}:SHARE with a share of all tuples, such as {PEER}:0.1")
