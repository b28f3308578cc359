"""Tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    # The driver of a simulation prints its tables where neither doors nor the overlay are installed.
    from ..explanations import Holding
    from ..http.protocol import Report

MIN_WIDTH = 120
"""Columns to write where there is no terminal to ask: the widest of these tables."""


def console() -> Console:
    """Standard output, wide enough for a table where it is no terminal."""
    found = Console(highlight=False)
    return found if found.is_terminal else Console(highlight=False, width=MIN_WIDTH)


def peers_table(report: Report) -> Table:
    """What each peer holds and has done; the peer that was asked comes first."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("peer", no_wrap=True)
    for heading in ("keyspace", "keys", "facts", "entries", "templates", "feeds", "links", "published", "matched", "sent", "MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    for peer, share in zip(report.peers, report.shares, strict=True):
        held = (peer.keys, peer.facts, peer.entries, peer.templates, peer.feeds, peer.links)
        done = (peer.published, peer.matched, peer.sent_messages)
        counts = (f"{count:,}" for count in held + done)
        table.add_row(peer.address, f"{share:.1%}", *counts, f"{peer.sent_bytes / 1e6:,.1f}")
    return table


def counts_table(report: Report) -> Table:
    """What doors and tests have counted, one line for each thing that has happened."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("peer", no_wrap=True)
    table.add_column("counted since its start", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    for peer in report.peers:
        for one in peer.counts:
            if one.count:
                table.add_row(peer.address, one.name.replace("_", " "), f"{one.count:,}")
    return table


PEERS_LEGEND = (
    "keyspace: share of all keys that the peer is responsible for. "
    "entries: facts under keys, a fact held under two keys counts twice. "
    "templates: of all subscribers. feeds: subscribers of those templates. published: tuples that came in by this peer's doors. "
    "matched: tuples forwarded to subscribers. sent, MB: messages and megabytes to other peers."
)


def holdings_table(held: list[Holding]) -> Table:
    """The subscriptions of a peer and what each holds there."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("id", "rows", "tokens", "own", "kB", "shared by"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("client", no_wrap=True)
    table.add_column("language", no_wrap=True)
    table.add_column("query", overflow="fold")
    for one in held:
        counts = (f"{count:,}" for count in (one.number, one.rows, one.tokens, one.own_tokens))
        table.add_row(
            *counts, f"{one.bytes / 1e3:,.1f}", f"{one.sharing:,}", one.client or "-", one.language, " ".join(one.text.split())
        )
    return table


HOLDINGS_LEGEND = (
    "tokens: partial rows that the subscription's joins keep, those shared with others included; own: what ending it would free. "
    "kB: an estimate of what they take, with their indexes. shared by: subscriptions of one template, in one network."
)
