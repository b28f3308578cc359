"""How long peers live: the laws by which session times are drawn, and what is left of the lives that are under way at any moment.

    exponential   P(L > t) = exp(-t / mean)
    weibull       P(L > t) = exp(-(t / scale)**shape)
    pareto        P(L > t) = (1 + t / scale)**-shape, the shifted law, which begins at 0
    yao           the same for each peer around a mean of its own, and these means by the same law again: users differ

Whoever looks at an overlay finds long lives more often than they begin, as they are there for longer; and finds each of them at a
moment that may be any of it. So what is left of a life is drawn by the law of renewal theory, with the density P(L > t) / mean
(Feller, "An Introduction to Probability Theory and Its Applications", volume 2, section XI.4): the product of a uniform number and
of a life that was drawn by its length. An overlay that begins so is in its steady state from the first moment.

The laws are those of OverSim (Baumgart, Heep and Krause, "OverSim: A Flexible Overlay Network Simulation Framework", IEEE Global
Internet Symposium 2007): Weibull is the one of LifetimeChurn, ``yao`` of ParetoChurn, where peers do not come back here. Its usual
mean is MEAN_S. Its usual shape for Weibull is 1, the exponential law; WEIBULL_SHAPE lies among those that were measured (Stutzbach
and Rejaie, "Understanding Churn in Peer-to-Peer Networks", IMC 2006). PARETO_SHAPE is OverSim's and that of Yao, Leonard, Wang and
Loguinov, "Modeling Heterogeneous User Churn and Local Resilience of Unstructured P2P Networks", ICNP 2006.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.randomness import Stream, derived_seed
from ..errors import BadParameter

LAWS = ("exponential", "weibull", "pareto", "yao")
MEAN_S = 10_000.0
WEIBULL_SHAPE = 0.6
PARETO_SHAPE = 3.0
LEAST_SHAPE = 0.2
"""Of Weibull: with less, most lives last for less than a thousandth of the mean."""
LEAST_MEAN_HOURS = 0.1
"""Peers that live for less are gone before others have heard that they came, let alone been given their keys."""

Seconds = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """One law with its mean in seconds; ``shape`` is of no matter to the exponential one. Raises BadParameter."""

    law: str
    mean_s: float = MEAN_S
    shape: float = WEIBULL_SHAPE

    def __post_init__(self) -> None:
        """Refuse what no law can be."""
        if self.law not in LAWS:
            raise BadParameter(f"lifetimes {self.law!r}; expected {', '.join(LAWS[:-1])} or {LAWS[-1]}")
        if not LEAST_MEAN_HOURS * 3600 <= self.mean_s < math.inf:
            raise BadParameter(f"lives of {self.mean_s / 3600:g} hours in the mean; expected {LEAST_MEAN_HOURS:g} or more")
        if self.law == "weibull" and not LEAST_SHAPE <= self.shape < math.inf:
            raise BadParameter(f"a Weibull shape of {self.shape:g}; expected {LEAST_SHAPE:g} or more")
        if self.law in ("pareto", "yao") and not 1 < self.shape < math.inf:
            raise BadParameter(f"a Pareto shape of {self.shape:g}; expected more than 1: with less, lives have no mean")

    def drawn(self, seed: int, begin: int, count: int) -> Seconds:
        """Lives ``begin`` to ``begin + count`` of those that a seed decides, in seconds."""
        left = 1.0 - Stream(seed, "lifetimes").uniform(begin, count)
        match self.law:
            case "exponential":
                return -self.mean_s * np.log(left)
            case "weibull":
                return self._weibull_scale * (-np.log(left)) ** (1 / self.shape)
        found = self._shifted_pareto(left, self.shape)
        if self.law == "yao":
            # As the mean of each peer is drawn by the law that its life follows around that, a life is a product of two draws.
            found *= self._shifted_pareto(1.0 - Stream(seed, "means").uniform(begin, count), self.shape) / self.mean_s
        return found

    def remaining(self, seed: int, count: int) -> Seconds:
        """What is left of the lives of so many peers that are found alive, in seconds."""
        left = 1.0 - Stream(seed, "remaining").uniform(0, count)
        if self.law == "exponential":
            return -self.mean_s * np.log(left)
        # By this seed alone, whatever else is drawn; numpy's own draws, as the gamma law has no inverse in closed form.
        gamma = np.random.Generator(np.random.PCG64(derived_seed(seed, "gamma"))).standard_gamma
        if self.law == "weibull":
            # (L / scale)**shape is exponential; of lives by their length it follows the gamma law.
            return left * self._weibull_scale * gamma(1 + 1 / self.shape, count) ** (1 / self.shape)
        found = self._shifted_pareto(left, self.shape - 1)
        if self.law == "yao":
            # Means by the lengths of the lives around them: a beta prime law, which is the ratio of two gamma ones.
            found *= (self.shape - 1) * gamma(2.0, count) / gamma(self.shape - 1, count)
        return found

    @property
    def _weibull_scale(self) -> float:
        return self.mean_s / math.gamma(1 + 1 / self.shape)

    @property
    def _pareto_scale(self) -> float:
        return self.mean_s * (self.shape - 1)

    def _shifted_pareto(self, left: Seconds, shape: float) -> Seconds:
        return self._pareto_scale * (left ** (-1 / shape) - 1)
