"""Outcomes of runs as a table, one system a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .driver import Outcome
from .files import Described


def described(workload: Described) -> str:
    """A workload in a sentence."""
    return (
        f"{workload.changes:,} changes, of which {workload.events:,} are events; {workload.subscriptions:,} subscriptions of "
        f"{workload.users:,} users in {workload.groups:,} groups, with {workload.queries:,} different queries; seed {workload.seed}"
    )


def table(outcomes: Sequence[Outcome], changes: int) -> str:
    """The figures as a table of Markdown."""
    rows: list[tuple[str, Callable[[Outcome], str]]] = [
        ("subscriptions answered right", lambda one: f"{one.verdict.right:,} of {one.subscriptions:,}"),
        ("answered wrong", lambda one: f"{len(one.verdict.wrong):,}"),
        ("refused", lambda one: f"{one.verdict.refused:,}"),
        ("changes a second, load", lambda one: f"{one.load_per_s:,.0f}"),
        ("changes a second, sustained", lambda one: f"{one.changes_per_s:,.0f}"),
        ("subscriptions made a second", lambda one: f"{one.subscribed_per_s:,.0f}"),
        ("notifications", lambda one: f"{one.told:,}"),
        ("latency, median", lambda one: _ms(one, 0)),
        ("latency, the 99th of 100", lambda one: _ms(one, 1)),
        ("latency, worst", lambda one: _ms(one, 2)),
        ("peers", lambda one: f"{len(one.measures.peers):,}" if one.measures.peers else "none"),
        ("messages between peers, per change", lambda one: _per(one, "messages", changes)),
        ("bytes between peers, per change", lambda one: _per(one, "bytes", changes)),
        ("the busiest peer's share of the load", _busiest),
        ("memory, all processes", _memory),
    ]
    lines = [f"| what | {' | '.join(one.system for one in outcomes)} |", f"|---|{'---:|' * len(outcomes)}"]
    lines += [f"| {what} | {' | '.join(cell(one) for one in outcomes)} |" for what, cell in rows]
    return "\n".join(lines)


def notes(outcomes: Sequence[Outcome]) -> list[str]:
    """What is beside the table: what was refused, what is wrong."""
    said = []
    for one in outcomes:
        said += [f"{one.system} refused {count:,}: {why}" for why, count in sorted(one.reasons.items())]
        if one.late_rounds:
            said.append(f"{one.system}: rows were not right in time at the end of {one.late_rounds} rounds")
        if one.verdict.wrong:
            numbers = ", ".join(map(str, one.verdict.wrong[:10])) + (", ..." if len(one.verdict.wrong) > 10 else "")
            rows = f"{one.verdict.missing:,} rows missing and {one.verdict.surplus:,} too many in the end, of those sampled"
            said.append(f"{one.system}: WRONG: subscriptions {numbers}; {rows}")
        if one.disagreeing:
            said.append(f"{one.system}: WRONG: {one.disagreeing:,} subscriptions hold other rows than were told")
    return said


def _ms(outcome: Outcome, which: int) -> str:
    return "" if outcome.latencies_ms is None else f"{outcome.latencies_ms[which]:,.1f} ms"


def _per(outcome: Outcome, name: str, changes: int) -> str:
    values = [getattr(peer, name) for peer in outcome.measures.peers]
    return f"{sum(values) / changes:,.1f}" if values and None not in values else ""


def _busiest(outcome: Outcome) -> str:
    loads = [peer.load for peer in outcome.measures.peers if peer.load is not None]
    return f"{max(loads) / sum(loads):.0%}" if loads and sum(loads) else ""


def _memory(outcome: Outcome) -> str:
    return "" if outcome.measures.memory_bytes is None else f"{outcome.measures.memory_bytes / 1e6:,.0f} MB"
