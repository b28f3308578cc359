"""What the experiment ``dissemination`` found: a sentence on how long an event takes, one on how soon the dead are forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..engine.findings import Bar, Finding, share_said

Numbers: TypeAlias = dict[str, Any]  # Any: numbers, names and intervals
"""What all runs of one setting came to, by name."""


def findings(removals: Sequence[Numbers], events: Sequence[Numbers]) -> list[Finding]:
    """How long an event takes in the largest overlay and in the smallest, when the dead are forgotten with small and big views."""
    timed = [one for one in events if one["p99_ms"] is not None]
    return [*([_diffusion(timed)] if timed else []), *([_forgetting(removals)] if removals else [])]


def _diffusion(events: Sequence[Numbers]) -> Finding:
    most = max(one["subscribers"] for one in events)
    some = sorted((one for one in events if one["subscribers"] == most), key=lambda one: one["agents"])
    large, small = some[-1], some[0]
    bars = [Bar(f"{one['agents']:,} agents", one["p99_ms"].value, _ms(one["p99_ms"].value)) for one in (large, small)]
    reached = share_said(large["reached"].value)
    text = (
        f"An event reaches {reached} of the subscribers among {large['agents']:,} agents of which {most:.0%} subscribe, and 99% "
        f"of those after {bars[0].said}"
    )
    if large is small:
        return Finding(f"{text}.")
    return Finding(f"{text}, beside {bars[1].said} among {small['agents']:,}.", tuple(bars))


def _forgetting(removals: Sequence[Numbers]) -> Finding:
    smallest = min(one["agents"] for one in removals)
    alike = [one for one in removals if one["agents"] == smallest]
    removed = sorted({one["removed"] for one in alike})
    middle = removed[(len(removed) - 1) // 2]
    some = sorted((one for one in alike if one["removed"] == middle), key=lambda one: one["view"])
    small, large = some[0], some[-1]
    text = (
        f"When {middle:.0%} of {smallest:,} agents are removed, at most one reference in a hundred is to them {_soon(small)} with "
        f"views of {small['view']}"
    )
    if small is large:
        return Finding(f"{text}.")
    rounds = [one["rounds_to_one_percent"] for one in (small, large)]
    bars = tuple(
        Bar(f"views of {one['view']}", float(count), f"{count} rounds")
        for one, count in zip((small, large), rounds, strict=True)
        if count
    )
    return Finding(f"{text}, {_soon(large)} with views of {large['view']}.", bars if len(bars) > 1 else ())


def _soon(one: Numbers) -> str:
    rounds = one["rounds_to_one_percent"]
    return "not even after the last round" if rounds is None else f"after {rounds} {'round' if rounds == 1 else 'rounds'}"


def findings_beside(real: Sequence[Numbers], simulated: Sequence[Numbers]) -> list[Finding]:
    """How long an event takes among real peers and among as many simulated ones; none where that was not measured."""
    times = {(one["agents"], one["subscribers"]): one["p99_ms"] for one in simulated}
    both = [
        (one, times[one["agents"], one["subscribers"]])
        for one in real
        if one["p99_ms"] is not None and times.get((one["agents"], one["subscribers"])) is not None
    ]
    if not both:
        return []
    one, time = max(both, key=lambda pair: (pair[0]["agents"], pair[0]["subscribers"]))
    bars = (Bar("real", one["p99_ms"].value, _ms(one["p99_ms"].value)), Bar("simulated", time.value, _ms(time.value)))
    text = (
        f"An event takes {bars[0].said} to 99% of the subscribers among {one['agents']:,} real peers of which "
        f"{one['subscribers']:.0%} subscribe, {bars[1].said} among simulated ones."
    )
    return [Finding(text, bars)]


def _ms(value: float) -> str:
    return f"{value:,.0f} ms" if value >= 10 else f"{value:.2g} ms"
