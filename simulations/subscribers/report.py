"""What the report says of notifications, counted for a workload or of a trace: how much peers receive, and how unevenly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..drawing.plots import Line
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
        f"What subscribers' peers receive, over {len(runs)} seed{'s' * (len(runs) > 1)}: means with 95 % intervals",
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
        notes=". ".join([_NOTES_OF_TRACE, *remarks]),
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
        f"A tuple makes {means['copies_of_a_tuple'].value:,.3g} notifications in the mean, and {unheard} of all tuples none; the "
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
    ("copies_median", "of a tuple, median", "count, of its class the least"),
    ("copies_p99", "of a tuple, 99 in 100 have at most", "count, of its class the least"),
    ("tuples_nobody_hears", "tuples of which nobody hears", "share of all"),
    ("notifications_per_peer", "a peer receives, mean", "count"),
    ("busiest_receives", "busiest peer receives", "count"),
    ("busiest_share", "its share", "of all notifications"),
    ("messages", "messages", "count"),
    ("bytes", "over links", "bytes"),
    ("bytes_of_busiest", "of them to the busiest peer", "bytes"),
    ("feeds", "feeds", "count"),
    ("feeds_of_a_subscription", "feeds of a subscription", "count; below 1 peers ask once for several"),
    ("busiest_rendezvous_sends", "busiest rendezvous sends, itself", "notifications"),
    ("busiest_rendezvous_sends_to_heads", "the same, where heads pass on", "notifications"),
)
_COLUMNS: tuple[tuple[str, str, Callable[[tuple[str, str, Interval]], str]], ...] = (
    ("figure", "", lambda row: row[0]),
    ("mean", "with its interval", lambda row: row[2].percent() if row[1].startswith(("share", "of all")) else str(row[2])),
    ("unit", "", lambda row: row[1]),
)
_NOTES = (
    "A notification is a change of a fact that goes to a feed, which is a template of one subscriber's peer; or an event that "
    "goes to a peer from one rendezvous, whatever it matches there. A template without constants is fed by all holders of a "
    "fact's first key. Clients are at any peer with the same chance, and all subscriptions stand before the first tuple. Bytes "
    "are those of real messages as they are encoded, with the headers of frames and without those of TLS and TCP; what a peer "
    "tells itself is no byte. Messages: what one message of a publisher brings to one feed is one message. Where more than 64 "
    "peers ask for a template, some of them pass on what they get: then a rendezvous sends to those alone."
)
_OF_TRACE: tuple[tuple[str, str, Callable[[Received], str]], ...] = (
    ("peer", "", lambda row: row.peer[:16]),
    ("templates", "asked for", lambda row: f"{row.feeds:,}"),
    ("stored", "facts that were there", lambda row: f"{row.stored:,}"),
    ("changes", "of facts, from then on", lambda row: f"{row.changes:,}"),
    ("events", "count", lambda row: f"{row.events:,}"),
    ("bytes", "if each came by itself", lambda row: f"{row.bytes:,}"),
)
_NOTES_OF_TRACE = (
    "Each number is what the peer has counted itself, as gsg status says (feed_facts_received, feed_changes_received, "
    "feed_events_received), as long as nobody came or went meanwhile, no link was too slow, and facts were for everybody. What a "
    "peer tells itself counts too. Rows of several peers are in the order of their clocks"
)
