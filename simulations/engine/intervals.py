"""How sure a figure is: 95 % intervals of what several independent runs came to, and of what never happened in them.

A run is one cluster: what happens to the keys or lookups of one overlay hangs together, so the spread between runs says how sure a
mean is, and not how many keys or lookups there were. Shares have the interval of Korn and Graubard ("Confidence Intervals for
Proportions With Small Expected Number of Positive Counts Estimated From Survey Data", Survey Methodology 24, 1998): that of Clopper
and Pearson for as many independent trials as would spread so much. Where nothing was ever seen the spread says nothing; then it is
the bound for the number of trials that were independent for certain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

CONFIDENCE = 0.95
"""How often an interval holds what is true, in the long run."""
_TAIL = (1 - CONFIDENCE) / 2


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean or quantile of several runs, and between what the true one lies; None where too few runs were made to know."""

    value: float
    low: float | None
    high: float | None
    trials: int = 0
    """Of a share: how many trials were independent for certain. It is told where all of them came out alike."""

    def __str__(self) -> str:
        """As a number with its interval behind it."""
        return _told(self, 1.0, "")

    def points(self) -> str:
        """As a difference of shares: in percentage points, without their sign."""
        return _told(self, 100.0, "")

    def percent(self) -> str:
        """As a share: in percent, and where nothing was seen as a bound."""
        if self.value == 0 and self.trials and self.high is not None:
            return f"0 of {self.trials:,}, below {_bound(self.high)}"
        if self.value == 1 and self.trials and self.low is not None:
            return f"all of {self.trials:,}, above {100 - float(_bound(1 - self.low).rstrip('%')):.8g}%"
        return _told(self, 100.0, "%")


def flat(record: Mapping[str, object]) -> dict[str, object]:
    """A record for programs: an interval is its value under its name, and its ends under that name with _low and _high."""
    found: dict[str, object] = {}
    for name, value in record.items():
        if isinstance(value, Interval):
            found |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        else:
            found[name] = value
    return found


def mean_of(values: Sequence[float]) -> Interval:
    """The mean of what independent runs counted (Student's t), which is never below zero: the interval ends there."""
    found = difference_of(values)
    return found if found.low is None else replace(found, low=max(0.0, found.low))


def difference_of(values: Sequence[float]) -> Interval:
    """The mean of differences between independent pairs of runs (Student's t)."""
    mean, count = math.fsum(values) / len(values), len(values)
    if count < 2:
        return Interval(mean, None, None)
    reach = _t(count - 1) * float(np.std(values, ddof=1)) / math.sqrt(count)
    return Interval(mean, mean - reach, mean + reach)


def share_of(shares: Sequence[float], trials: int) -> Interval:
    """The mean of the shares of independent runs of one size, which had so many independent ``trials`` in all."""
    from scipy.special import betaincinv

    runs = len(shares)
    mean = min(1.0, math.fsum(shares) / runs)
    if mean in (0.0, 1.0):
        # One-sided: who saw nothing wants to know how much it may be at most.
        bound = float(-np.expm1(np.log(1 - CONFIDENCE) / trials))
        return Interval(mean, 0.0 if mean == 0 else 1 - bound, bound if mean == 0 else 1.0, trials)
    variance = float(np.var(shares, ddof=1)) / runs if runs > 1 else 0.0
    alike = float(trials)
    if variance:
        # Few runs know their own spread badly.
        alike = mean * (1 - mean) / variance * (_t(math.inf) / _t(runs - 1)) ** 2
    seen = mean * alike
    low = float(betaincinv(seen, alike - seen + 1, _TAIL))
    high = float(betaincinv(seen + 1, alike - seen, 1 - _TAIL))
    return Interval(mean, low, high, trials)


def quantile_of(values: Sequence[float], share: float) -> Interval:
    """What such a share of runs does not exceed, with order statistics around it that hold for whatever law the runs follow.

    An end is None where even the least or the most of so few runs may lie on the wrong side of it.
    """
    from scipy.special import bdtr

    ordered, count = sorted(values), len(values)
    # How likely it is that at most so many of the runs lie below the true quantile.
    below = bdtr(np.arange(count), count, share)
    low = int(np.searchsorted(below, _TAIL, side="right"))
    high = int(np.searchsorted(below, 1 - _TAIL))
    return Interval(
        float(np.quantile(ordered, share, method="inverted_cdf")),
        ordered[low - 1] if low else None,
        ordered[high] if high < count else None,
    )


def _t(freedom: float) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(1 - _TAIL) if math.isinf(freedom) else stdtrit(freedom, 1 - _TAIL))


def _bound(share: float) -> str:
    """A share as a bound, in percent of two digits, rounded up so that it holds."""
    percent = 100 * share
    digits = max(0, 1 - math.floor(math.log10(percent)))
    return f"{math.ceil(percent * 10**digits) / 10**digits:.{digits}f}%"


def _told(interval: Interval, times: float, unit: str) -> str:
    """With as many digits as its ends are apart."""
    value = times * interval.value
    # An end that is nothing beside the value itself would be a row of noughts.
    near = [0.0 if abs(end) < 1e-6 * abs(interval.value) else end for end in (interval.low, interval.high) if end is not None]
    ends = [times * end for end in near]
    apart = max((abs(value - end) for end in ends), default=0.0)
    # What is nothing but the last bits of sums is no interval.
    least = apart if apart > 1e-9 * abs(value) else abs(value) / 100
    digits = min(8, max(0, 1 - math.floor(math.log10(least)))) if least else 0
    shown = f"{_digits(value, digits)}{unit}"
    if interval.low is None and interval.high is None:
        # Its digits say nothing of how sure it is: noughts behind the point would only look so.
        return f"{shown.removesuffix(unit).rstrip('0').rstrip('.')}{unit}" if "." in shown else shown
    if interval.low is None or interval.high is None:
        # An order statistic whose other side is beyond what was seen.
        return f"{shown} ({'up to' if interval.low is None else 'from'} {_digits(ends[0], digits)})"
    return f"{shown} ({_digits(ends[0], digits)} to {_digits(ends[1], digits)})"


def _digits(value: float, digits: int) -> str:
    """Nothing is told as 0, and what is so small that it would look like it with its first digit."""
    shown = f"{value:,.{digits}f}"
    if value == 0 or float(shown.replace(",", "")) != 0:
        return shown if value else "0"
    return f"{value:.{-math.floor(math.log10(abs(value)))}f}"
