"""What a comparison of strategies found, in a sentence on match work and one on tuples, and how lines tell strategies apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..drawing.marks import COLOURS, DASH_DOTTED, DASHED, DOTTED
from ..engine.findings import ALIKE, Bar, Finding, part_said, share_said
from .balance import Outcome
from .strategies import Spread, Strategy

SAVED = 0.9
"""Of what any strategy saves: the first one that saves so much is named, and not one that saves a little more with more parts."""
DEARER = 1.5
"""A strategy that sends so many times the messages of another is no better way to do the same."""
_GROUPS = {
    0: "whole lines have a key for each constant",
    DASHED: "dashed ones other keys, or other peers for them",
    DOTTED: "dotted ones split hot keys",
    DASH_DOTTED: "dots and dashes have several ids for a peer",
}


def findings(outcomes: Sequence[Outcome]) -> list[Finding]:
    """What the busiest peer gets by the worst strategy and by a better one at the same price: of match work, and of tuples.

    Strategies that lose more subscriptions than others, or miss matches, are left out: their peers have less to do because of that.
    So are epochs where tuples are counted: each gives the busiest peer of its time as much as before, and a day has many.
    """
    lost = min(one.lost for one in outcomes)
    fair = [one for one in outcomes if one.lost == lost and not one.meetings.missed] or list(outcomes)
    if len(fair) == 1:
        return [_alone(fair[0])]
    at_all_times = [one for one in fair if not one.has_epochs]
    steady = at_all_times if len(at_all_times) > 1 else fair
    return [
        _beside(fair, _peak_work, lambda one: f"{_peak_work(one):,.0f}", "the match work", "pairs"),
        _beside(steady, lambda one: one.busiest_tuples, lambda one: share_said(one.busiest_tuples), "the tuples", "of all tuples"),
    ]


def _peak_work(outcome: Outcome) -> float:
    return float(outcome.work.largest)


def _beside(
    outcomes: Sequence[Outcome], figure: Callable[[Outcome], float], said: Callable[[Outcome], str], what: str, unit: str
) -> Finding:
    most = max(map(figure, outcomes))
    worst = next(one for one in outcomes if figure(one) * ALIKE >= most)
    payable = [one for one in outcomes if one.messages <= worst.messages * DEARER]
    least = min(map(figure, payable))
    # Among the standard strategies the first is the simplest.
    best = next(one for one in payable if figure(one) <= least + (1 - SAVED) * (most - least))
    better = [one for one in outcomes if figure(one) * ALIKE < least]
    is_dear = most <= least * ALIKE and bool(better)
    best = min(better, key=lambda one: one.messages) if is_dear else best
    bars = tuple(Bar(one.strategy.name, figure(one), f"{said(one)} {unit}") for one in (best, worst))
    if is_dear:
        text = (
            f"Only for {best.messages / worst.messages:.1f} times the messages does {best.strategy.name} give the busiest peer "
            f"{part_said(figure(best), figure(worst))} {what} of {worst.strategy.name}: {said(best)} beside {bars[1].said}."
        )
        return Finding(text, bars)
    if most <= least * ALIKE:
        return Finding(f"By all strategies the busiest peer gets about the same of {what}: {bars[1].said}.", bars[1:])
    times = best.messages / worst.messages
    price = f"with {times:.1f} times the messages" if max(times, 1 / times) > ALIKE else "with as many messages"
    text = (
        f"{best.strategy.name} gives the busiest peer {part_said(figure(best), figure(worst))} {what} of {worst.strategy.name} "
        f"{price}: {said(best)} beside {bars[1].said}."
    )
    return Finding(text, bars)


def _alone(outcome: Outcome) -> Finding:
    most, mean = float(outcome.tuples.largest), outcome.tuples.total / outcome.peers
    times = outcome.spreads()["tuple_load"].max_over_mean
    text = f"By {outcome.strategy.name} the busiest peer gets {times:,.1f} times what a peer gets in the mean: {most:,.0f}"
    bars = (Bar("busiest peer", most, f"{most:,.0f} copies"), Bar("mean of peers", mean, f"{mean:,.1f} copies"))
    return Finding(f"{text} beside {mean:,.1f} copies of tuples.", bars)


def looks(strategies: Sequence[Strategy]) -> list[int]:
    """How the line of each strategy looks: those of a group have the same dashes."""
    return [_group(strategy) + place % COLOURS for place, strategy in enumerate(strategies)]


def groups_said(strategies: Sequence[Strategy]) -> str:
    """What dashes mean, as far as they occur; empty where there is but one kind."""
    there = {_group(strategy) for strategy in strategies}
    said = "; ".join(text for group, text in _GROUPS.items() if group in there)
    return f" {said[0].upper()}{said[1:]}." if len(there) > 1 else ""


def _group(strategy: Strategy) -> int:
    if strategy.virtual > 1:
        return DASH_DOTTED
    if strategy.spread in (Spread.HOT_SPLIT, Spread.GRID):
        return DOTTED
    other_keys = strategy.popular or strategy.composite or strategy.spread or strategy.ordered or strategy.maan
    return DASHED if other_keys or strategy.assigned else 0
