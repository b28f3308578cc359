"""Tables for people."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ..http.protocol import Report

MIN_WIDTH = 112
"""Columns to write where there is no terminal to ask: the widest of these tables."""


def console() -> Console:
    """Standard output, wide enough for a table where it is no terminal."""
    found = Console()
    return found if found.is_terminal else Console(width=MIN_WIDTH)


def peers_table(report: Report) -> Table:
    """What each peer holds and has done; the peer that was asked comes first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("peer", "id"):
        table.add_column(heading, no_wrap=True)
    for heading in ("key space", "keys", "facts", "entries", "templates", "feeds", "links", "published", "matched", "sent", "MB"):
        table.add_column(heading, justify="right", no_wrap=heading != "key space")
    for peer, share in zip(report.peers, report.shares, strict=True):
        held = (peer.keys, peer.facts, peer.entries, peer.templates, peer.feeds, peer.links)
        done = (peer.published, peer.matched, peer.sent_messages)
        table.add_row(
            peer.address,
            peer.peer.hex()[:6],
            f"{share:.1%}",
            *(f"{count:,}" for count in held + done),
            f"{peer.sent_bytes / 1e6:,.1f}",
        )
    return table


PEERS_LEGEND = """key space: share of all keys that the peer is responsible for; entries: facts under keys (a fact held under
two keys counts twice); templates: of all subscribers; feeds: subscribers of those templates; published: tuples that came in by
this peer's doors; matched: tuples forwarded to subscribers; sent, MB: messages and megabytes to other peers"""
