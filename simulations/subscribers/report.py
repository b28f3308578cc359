"""What the report says of notifications, counted for a workload or of a trace: how much peers receive, and how unevenly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..drawing.plots import Line, plain
from ..engine.findings import Bar, Finding, share_said
from ..engine.html_page import Figure, Table
from ..engine.intervals import Interval, flat, mean_of
from ..engine.results import line_figure
from ..load_balance.loads import Histogram, ccdf, lorenz
from .frames import Kind
from .matching import CLASSES, least_of
from .notifications import Notified
from .shown import Shown
from .traced import Received


@dataclass(frozen=True)
class Peer:
    """A subscriber's peer in one run, as a row."""

    seed: int
    peer: int
    id: str
    feeds: int
    notifications: int
    messages: int
    bytes: int
    """Over links."""
    sent: int
    """Notifications that it sends as a rendezvous, if it sends each itself."""
    sent_by_heads: int


def peers_of(found: Notified, ids: Sequence[str], seed: int) -> list[Peer]:
    """The rows of one run."""
    feeds = np.bincount(found.feeds.peer, minlength=found.peers)
    columns = (feeds, found.notifications, found.messages, np.rint(found.bytes).astype(np.int64), found.sent, found.sent_by_heads)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    return [Peer(seed, peer, one, *row) for peer, (one, row) in enumerate(zip(ids, numbers, strict=True))]


FIGURES: dict[str, Callable[[Notified], float]] = {
    "notifications": lambda found: float(found.notifications.sum()),
    "copies_of_a_tuple": lambda found: found.copies,
    "copies_median": lambda found: found.copies_of(0.5),
    "copies_p99": lambda found: found.copies_of(0.99),
    "tuples_nobody_hears": lambda found: found.unheard,
    "notifications_per_peer": lambda found: float(found.notifications.mean()),
    "busiest_receives": lambda found: float(found.notifications.max()),
    "busiest_share": lambda found: found.busiest,
    "messages": lambda found: float(found.messages.sum()),
    "bytes": lambda found: float(found.bytes.sum()),
    "bytes_of_busiest": lambda found: float(found.bytes.max()),
    "feeds": lambda found: float(len(found.feeds)),
    "feeds_of_a_subscription": lambda found: len(found.feeds) / found.subscriptions,
    "busiest_rendezvous_sends": lambda found: float(found.sent.max()),
    "busiest_rendezvous_sends_to_heads": lambda found: float(found.sent_by_heads.max()),
}
"""What is kept of each seed, by name."""


def figures_of(found: Notified) -> dict[str, float]:
    """What is kept of one seed; all else of it is let go."""
    return {name: figure(found) for name, figure in FIGURES.items()}


def means_of(runs: Sequence[dict[str, float]]) -> dict[str, Interval]:
    """Each figure over all seeds."""
    return {name: mean_of([one[name] for one in runs]) for name in FIGURES}


def shown(first: Notified, runs: Sequence[dict[str, float]], rows: Sequence[Peer], kind: Kind) -> Shown:
    """All of it; ``first`` is of the first seed, of which curves are."""
    means = means_of(runs)
    what = "changes of facts" if kind is Kind.FACTS else "events"
    table = Table.from_rows(
        "What subscribers' peers receive" + (f", over {len(runs)} seeds: means with 95 % intervals" if len(runs) > 1 else ""),
        _COLUMNS,
        [(label, unit, means[name]) for name, label, unit in _LABELS],
    )
    summary = {"part": "notifications", "kind": str(kind), "seeds": len(runs), "peers": first.peers, "tuples": first.tuples}
    return Shown(
        findings=[_finding(first, means, what)],
        figures=_figures(first, what),
        tables=[table],
        notes=_NOTES,
        summary=[{**summary, "subscriptions": first.subscriptions, **flat(means)}],
        rows={"subscribers": rows},
    )


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
    columns = [(name, np.array([getattr(row, field) for row in rows], dtype=np.int64)) for name, field in loads]
    lines = [Line(name, *ccdf(Histogram.of(load))) for name, load in columns if load.any()]
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
        tables=[Table.from_rows("What each subscriber's peer received", _OF_TRACE, rows)],
        notes="\n".join([_NOTES_OF_TRACE, *remarks]),
        summary=[vars(row) for row in rows],
        rows={"received": rows},
    )


def _finding(first: Notified, means: dict[str, Interval], what: str) -> Finding:
    mean, most = means["notifications_per_peer"].value, means["busiest_receives"].value
    bars = (
        Bar("busiest subscriber's peer", most, f"{most:,.0f} {what}"),
        Bar("mean of peers", mean, f"{mean:,.0f} {what}"),
    )
    unheard, share = (share_said(means[name].value) for name in ("tuples_nobody_hears", "busiest_share"))
    text = (
        f"A tuple makes {plain(means['copies_of_a_tuple'].value)} notifications in the mean, and {unheard} of all tuples none; the "
        f"busiest of {first.peers:,} subscribers' peers receives {share} of all: {most:,.0f} beside {mean:,.0f} in the mean."
    )
    return Finding(text, bars)


def _figures(first: Notified, what: str) -> list[Figure]:
    spread = first.matches.spread
    at_least = np.cumsum(spread[::-1])[::-1] / first.tuples
    copies = least_of(np.arange(CLASSES))
    seen = (at_least > 0) & (copies > 0)
    received, sent = ("received by a subscriber's peer", first.notifications), ("sent by a rendezvous", first.sent)
    loads = [received, sent, ("sent where heads pass on", first.sent_by_heads)]
    histograms = [(name, Histogram.of(load)) for name, load in loads]
    log = {"log_x": True, "log_y": True}
    return [
        line_figure(
            "fan-out",
            [Line("tuples", copies[seen], at_least[seen])],
            x="notifications of a tuple (count)",
            y="tuples with at least so many (share of all)",
            caption="Fan-out. How many notifications one tuple makes; a line far to the right has tuples that very many ask for.",
            **log,
        ),
        line_figure(
            "received",
            [Line(name, *ccdf(load)) for name, load in histograms],
            x=f"{what} at a peer (count)",
            y="peers with at least so many (share of all)",
            caption="Load of peers. What they receive as subscribers, and what they send as rendezvous: left is good.",
            **log,
        ),
        line_figure(
            "even",
            [Line(name, *lorenz(load)) for name, load in histograms],
            x="peers, the least loaded first (share)",
            y=f"{what} (share of all)",
            diagonal=True,
            caption="Lorenz curve. On the diagonal all peers have the same.",
        ),
    ]


_LABELS = (
    ("notifications", "notifications", "count"),
    ("copies_of_a_tuple", "of a tuple, mean", "count"),
    ("copies_median", "of a tuple, median", "count, at least"),
    ("copies_p99", "of a tuple, 99 in 100 have at most", "count, at least"),
    ("tuples_nobody_hears", "tuples of which nobody hears", "of all tuples"),
    ("notifications_per_peer", "a peer receives, mean", "notifications"),
    ("busiest_receives", "busiest peer receives", "notifications"),
    ("busiest_share", "its share", "of all notifications"),
    ("messages", "messages", "count"),
    ("bytes", "over links", "bytes"),
    ("bytes_of_busiest", "of them to the busiest peer", "bytes"),
    ("feeds", "feeds", "count"),
    ("feeds_of_a_subscription", "feeds of a subscription", "count"),
    ("busiest_rendezvous_sends", "busiest rendezvous sends, itself", "notifications"),
    ("busiest_rendezvous_sends_to_heads", "the same, where heads pass on", "notifications"),
)
"""The figures of a run: their names, what a table calls them, and their units; a share's unit begins with ``of all``."""
_COLUMNS: tuple[tuple[str, str, Callable[[tuple[str, str, Interval]], str]], ...] = (
    ("figure", "", lambda row: row[0]),
    ("mean", "", lambda row: row[2].percent() if row[1].startswith("of all") else str(row[2])),
    ("unit", "", lambda row: row[1]),
)
_NOTES = """\
notifications: changes of facts, each to a feed; or events, each to a peer from one rendezvous.
at least: how many a tuple makes is counted in classes, of which the least is told.
messages: what one message of a publisher brings to one feed is one.
bytes: of real messages with the headers of frames, without TLS and TCP; what a peer tells itself is none.
feeds: templates that one peer asks for; one without constants is fed by all holders of a fact's first key.
heads: where more than 64 peers ask for a template, those of them that pass on what they get.
Clients are at any peer with the same chance, and subscribe before the first tuple."""
_OF_TRACE: tuple[tuple[str, str, Callable[[Received], str]], ...] = (
    ("peer", "", lambda row: row.peer[:16]),
    ("templates", "asked for", lambda row: f"{row.feeds:,}"),
    ("stored", "facts that were there", lambda row: f"{row.stored:,}"),
    ("changes", "of facts, from then on", lambda row: f"{row.changes:,}"),
    ("events", "count", lambda row: f"{row.events:,}"),
    ("bytes", "if each came by itself", lambda row: f"{row.bytes:,}"),
)
_NOTES_OF_TRACE = """\
stored, changes, events: as the peer counts them itself (feed_facts_received, feed_changes_received, feed_events_received in
    gsg status), where nobody came or went meanwhile, no link was too slow, and facts were for everybody.
What a peer tells itself counts too. Rows of several peers are in the order of their clocks."""
