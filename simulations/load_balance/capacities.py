"""What peers are able to carry: by Pareto's law, or in classes, as a peer's part of what all of them are.

Measured overlays are of both kinds: a few peers have a hundred times the bandwidth of most (Saroiu, Gummadi and Gribble 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engine.kernels import Whole
from ..engine.randomness import Stream, fraction_of
from ..errors import BadParameter

UNIT = 100
"""What a capacity of 1 is in the whole numbers that are counted with."""
MOST = 10_000
"""The largest capacity, in times of the smallest of Pareto's law; draws above it are cut."""
PARETO = "pareto"


@dataclass(frozen=True, slots=True)
class Capacities:
    """Capacities by a law, or of given classes with the share of peers in each."""

    text: str
    """As it was said."""
    alpha: float = 0.0
    """The exponent of Pareto's law, 0 for classes."""
    classes: tuple[tuple[int, float], ...] = ()
    """Capacities in hundredths, and the shares of peers that have them, which add up to 1."""

    def draw(self, numbers: Whole, seed: int) -> Whole:
        """The capacity of each of these peers, in hundredths."""
        chance = fraction_of(Stream(seed, "capacity").at(numbers.astype(np.uint64)))
        if self.alpha:
            # 1 - chance is above 0, as a draw is below 1.
            return np.minimum((1 - chance) ** (-1 / self.alpha) * UNIT, MOST * UNIT).astype(np.int64)
        limits = np.cumsum([share for _, share in self.classes])
        limits[-1] = 1.0
        of_class = np.array([capacity for capacity, _ in self.classes], dtype=np.int64)
        return of_class[np.searchsorted(limits, chance, side="right")]


def parse_capacities(text: str) -> Capacities:
    """What a text says: ``pareto:1.5``, or classes with weights such as ``1=60,10=30,100=10``. Raises BadParameter."""
    law, colon, exponent = text.partition(":")
    if colon or law == PARETO:
        alpha = _number(exponent)
        if law != PARETO or not 1 < alpha <= 100:  # beyond it all are the same
            raise BadParameter(
                f"capacities {text!r}: expected pareto:ALPHA with a number above 1 and up to 100, such as pareto:1.5"
            )
        return Capacities(text, alpha)
    classes = []
    for part in text.split(","):
        capacity, _, weight = map(str.strip, part.partition("="))
        if not 1 / UNIT <= _number(capacity) <= MOST or not 0 < _number(weight) < 1e9:  # a finite one
            raise BadParameter(
                f"capacities {text!r}: {part.strip()!r} is no class; expected pareto:ALPHA, or classes of capacities from "
                f"{1 / UNIT:g} to {MOST} with weights above 0, such as 1=60,10=30,100=10"
            )
        classes.append((round(_number(capacity) * UNIT), _number(weight)))
    total = sum(weight for _, weight in classes)
    return Capacities(text, classes=tuple((capacity, weight / total) for capacity, weight in classes))


def ids_for(capacities: Whole, ids: int) -> Whole:
    """Under how many ids each peer takes part so that the mean is about so many: in proportion to its capacity, one at least.

    Godfrey and Stoica, "Heterogeneity and Load Balance in Distributed Hash Tables" (2005), without their rule that a peer's ids are
    neighbours, which would spare links and not load.
    """
    mean = capacities.sum() / len(capacities)
    counts: Whole = np.maximum(1, np.rint(capacities * (ids / mean)).astype(np.int64))
    return counts


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0
