"""What is said of a trace: what each subscriber's peer of the overlay received, and in what shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..drawing.plots import Line
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Table
from ..engine.results import line_figure
from ..load_balance.loads import ccdf
from .shown import Shown
from .traced import Received


def shown_received(rows: Sequence[Received], remarks: Sequence[str]) -> Shown:
    """All peers of a trace; ``remarks`` say what is missing in it."""
    total = np.array([row.changes + row.stored + row.events for row in rows], dtype=np.int64)
    most, mean = float(total.max(initial=0)), float(total.mean()) if len(total) else 0.0
    bars = (Bar("busiest peer", most, f"{most:,.0f}"), Bar("mean of peers", mean, f"{mean:,.1f}"))
    text = (
        f"The subscribers' peers received {total.sum():,} facts, changes and events, of which the busiest of {len(rows)} got "
        f"{share_said(most / max(1, int(total.sum())))}."
    )
    loads = (("facts that were there", "stored"), ("changes", "changes"), ("events", "events"))
    lines = [Line(name, *ccdf(load)) for name, field in loads if (load := np.array([getattr(row, field) for row in rows])).any()]
    received = line_figure(
        "received",
        lines,
        x="received by a peer (count)",
        y="peers with at least so many (share of all)",
        caption="Load of peers. What their subscriptions brought them: left is good.",
        log_x=True,
        log_y=True,
    )
    return Shown(
        findings=[Finding(text, bars)],
        figures=[received],
        tables=[Table.from_rows("What each subscriber's peer received", _COLUMNS, rows)],
        notes=". ".join([_NOTES, *remarks]),
        summary=[vars(row) for row in rows],
        rows={"received": rows},
    )


_COLUMNS: tuple[tuple[str, str, Callable[[Received], str]], ...] = (
    ("peer", "", lambda row: row.peer[:16]),
    ("templates", "asked for", lambda row: f"{row.feeds:,}"),
    ("stored", "facts that were there", lambda row: f"{row.stored:,}"),
    ("changes", "of facts, from then on", lambda row: f"{row.changes:,}"),
    ("events", "count", lambda row: f"{row.events:,}"),
    ("bytes", "if each came by itself", lambda row: f"{row.bytes:,}"),
)
_NOTES = (
    "Each number is what the peer has counted itself, as gsg status says (feed_facts_received, feed_changes_received, "
    "feed_events_received), as long as nobody came or went meanwhile, no link was too slow, and facts were for everybody. What a "
    "peer tells itself counts too. Rows of several peers are in the order of their clocks"
)
