"""The figures of a strategy over several seeds: each draws other peers and subscriptions, and other tuples where a law makes them.

One seed is one overlay and one day: where its hottest keys fall is chance, and so is a good part of what its busiest peer carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..engine.html_page import Table
from ..engine.intervals import Interval, difference_of, flat, mean_of
from ..engine.randomness import MAX_SEED, check_seed
from ..errors import BadParameter, check_range
from .balance import Outcome

MAX_SEEDS = 1_000
"""Seeds of one comparison at most, each of which is a run; more are refused."""

FIGURES: dict[str, Callable[[Outcome], float]] = {
    "copies_per_tuple": lambda outcome: outcome.tuples.total / outcome.published,
    "copies_per_subscription": lambda outcome: outcome.subscriptions.total / outcome.subscribed,
    "max_over_mean": lambda outcome: outcome.spreads()["tuple_load"].max_over_mean,
    "busiest_share_of_tuples": lambda outcome: outcome.busiest_tuples,
    "peak_tuples": lambda outcome: float(outcome.tuples.largest),
    "peak_work": lambda outcome: float(outcome.work.largest),
    "messages_per_tuple": lambda outcome: outcome.messages / outcome.published,
}
"""What is kept of each seed, by name."""


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """What one strategy came to with each seed, by the names of FIGURES."""

    strategy: str
    figures: Sequence[dict[str, float]]

    def values(self, name: str) -> list[float]:
        """A figure, with each seed."""
        return [of_seed[name] for of_seed in self.figures]

    def mean(self, name: str) -> Interval:
        """The mean of a figure."""
        return mean_of(self.values(name))

    def difference(self, name: str, other: OverSeeds) -> Interval:
        """How much a figure is more than by another strategy, seed by seed: what chance does to both is not in it."""
        return difference_of([mine - theirs for mine, theirs in zip(self.values(name), other.values(name), strict=True)])

    def summary(self) -> dict[str, object]:
        """Each figure by name: its mean with the interval, and what it was with each seed."""
        return {**flat({name: self.mean(name) for name in FIGURES}), "values": {name: self.values(name) for name in FIGURES}}


def figures_of(outcome: Outcome) -> dict[str, float]:
    """What is kept of one seed; all else of it is let go."""
    return {name: figure(outcome) for name, figure in FIGURES.items()}


def check_seeds(first: int, seeds: int) -> None:
    """Raises BadParameter for a first seed and a number of seeds that no run can have."""
    check_seed(first)
    check_range(seeds, 1, MAX_SEEDS, "seeds")
    if first + seeds - 1 > MAX_SEED:
        raise BadParameter(f"{seeds} seeds from {first} on; expected none above {MAX_SEED}")


def seeds_table(every: Sequence[OverSeeds]) -> Table:
    """A table of means with their intervals, and of the least and the most that a seed came to."""
    first = every[0]

    def beside_first(one: OverSeeds) -> str:
        return "" if one is first else one.difference("busiest_share_of_tuples", first).points()

    unit = f"percentage points, to {first.strategy}; below 0 is better"
    columns = [*_COLUMNS[:2], ("difference", unit, beside_first), *_COLUMNS[2:]]
    return Table.from_rows(f"Strategies over {len(first.figures)} seeds: means with 95 % intervals", columns, every)


def _from_to(values: Sequence[float]) -> str:
    return f"{min(values):,.1f} to {max(values):,.1f}"


_COLUMNS: tuple[tuple[str, str, Callable[[OverSeeds], str]], ...] = (
    ("strategy", "", lambda one: one.strategy),
    ("busiest gets", "of all tuples; less is better", lambda one: one.mean("busiest_share_of_tuples").percent()),
    ("max/mean", "times; 1 is even", lambda one: str(one.mean("max_over_mean"))),
    ("least to most", "of max/mean", lambda one: _from_to(one.values("max_over_mean"))),
    ("peak load", "copies; less is better", lambda one: str(one.mean("peak_tuples"))),
    ("peak work", "pairs; less is better", lambda one: str(one.mean("peak_work"))),
)
