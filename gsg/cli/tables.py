"""Tables for people."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..monitoring.metrics import is_gauge
from ..tuples.escaping import one_line

if TYPE_CHECKING:
    # The driver of a simulation prints its tables where neither doors nor the overlay are installed.
    from ..explain.explanations import Holding
    from ..http.protocol import ChannelSubscription, Report, Vocabulary
    from ..wire.status_messages import MembershipChange, SilentPeer

WIDE = 120
"""Columns to write where there is no terminal to ask, and no COLUMNS."""
NARROWEST = 20
"""Nothing is laid out for fewer columns: a terminal that has fewer wraps."""
FOLDED = 24
"""Columns that a text which may be folded has at least, or all that it needs."""


class _Output(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the command, which says with what it ends."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console() -> Console:
    """Standard output, wide enough for a table where it is no terminal."""
    found = Console(highlight=False)
    is_told = os.environ.get("COLUMNS", "").strip("0").isdigit()
    width = found.width if found.is_terminal or is_told else WIDE
    return _Output(highlight=False, width=max(NARROWEST, width))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of figures, or of texts where ``is_text``, which may go on in a further line where ``folds``."""

    heading: str
    is_text: bool = False
    folds: bool = False


class FittedTable:
    """Rows under columns, of which nothing is cut: what does not fit side by side comes as several tables, one below the other.

    Each has the first ``keys`` columns, which say what a row is about, and as many others as there is room for. A single one that
    needs more than there is is written all the same, for the terminal to wrap. Print it by :func:`print_table`.
    """

    def __init__(self, columns: Sequence[Column], rows: Iterable[Sequence[str]], *, keys: int = 1) -> None:
        self._columns = columns
        self._rows = [[Text(one_line(cell)) for cell in row] for row in rows]
        self._keys = keys

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The tables for so much room."""
        for columns in self._side_by_side(console, options.max_width):
            width = max(options.max_width, self._needed(console, columns))
            yield from console.render(self._table(columns), options.update(width=width))

    def _side_by_side(self, console: Console, width: int) -> Iterator[list[int]]:
        """The columns of each table."""
        keys = list(range(self._keys))
        beside: list[int] = []
        for column in range(self._keys, len(self._columns)):
            if beside and self._needed(console, [*keys, *beside, column]) > width:
                yield [*keys, *beside]
                beside = []
            beside.append(column)
        yield [*keys, *beside]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As wide as it may be."""
        return Measurement(1, options.max_width)

    def _needed(self, console: Console, columns: list[int]) -> int:
        table = self._table(columns)
        return Measurement.get(console, console.options.update(width=10_000), table).minimum

    def _table(self, columns: list[int]) -> Table:
        table = plain_table()
        for at in columns:
            column = self._columns[at]
            longest = max((row[at].cell_len for row in self._rows), default=0)
            # A table may be narrower than its cells where they have spaces: it would be broken there, or cut.
            whole = max(longest, *(Text(line).cell_len for line in column.heading.split("\n")))
            table.add_column(
                column.heading,
                justify="left" if column.is_text else "right",
                no_wrap=not column.folds,
                overflow="fold",
                min_width=min(longest, FOLDED) if column.folds else whole,
            )
        for row in self._rows:
            table.add_row(*(row[at] for at in columns))
        return table


def plain_table() -> Table:
    """A table without columns yet, as all that the command prints look."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))


def print_table(output: Console, table: FittedTable) -> None:
    """Write a table, and cut nothing off where it is wider than the terminal."""
    output.print(table, crop=False)


def peers_table(report: Report) -> FittedTable:
    """What each peer holds and has done; the peer that was asked comes first."""
    headings = ("keyspace", "keys", "facts", "entries", "templates", "feeds", "links", "published", "matched", "sent", "MB")
    rows = []
    for peer, share in zip(report.peers, report.shares, strict=True):
        held = (peer.keys, peer.facts, peer.entries, peer.templates, peer.feeds, peer.links)
        done = (peer.published, peer.matched, peer.sent_messages)
        counts = (f"{count:,}" for count in held + done)
        rows.append((peer.address, f"{share:.1%}", *counts, f"{peer.sent_bytes / 1e6:,.1f}"))
    return FittedTable([Column("peer", is_text=True), *map(Column, headings)], rows)


def processes_table(report: Report) -> FittedTable:
    """What each peer's process is; a peer of an earlier version does not say."""
    rows = []
    for peer in report.peers:
        started = _time_text(peer.started_s) if peer.version else "-"
        figures = (peer.memory_bytes, peer.disk_bytes, peer.disk_free_bytes)
        rows.append((peer.address, peer.version or "-", started, *(f"{each / 1e6:,.1f}" if each else "-" for each in figures)))
    texts = (Column("peer", is_text=True), Column("version", is_text=True), Column("started", is_text=True))
    return FittedTable([*texts, *map(Column, ("memory MB", "disk MB", "disk free MB"))], rows)


def _time_text(unix_s: float) -> str:
    """A time that a peer said, which may be any number."""
    try:
        return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{unix_s:g} s"


def counts_table(report: Report) -> FittedTable:
    """What doors and tests have counted, one line for each thing that has happened, or that is so now."""
    rows = [
        (peer.address, f"{one.name.replace('_', ' ')}{' (now)' if is_gauge(one.name) else ''}", f"{one.count:,}")
        for peer in report.peers
        for one in peer.counts
        if one.count
    ]
    return FittedTable(
        [Column("peer", is_text=True), Column("counted since its start", is_text=True, folds=True), Column("")], rows, keys=2
    )


def silent_text(peer: SilentPeer) -> str:
    """What is said of a peer that has not answered."""
    return f"no answer from peer {peer.peer.hex()[:12]} at {peer.address}: {peer.why}"


def change_text(one: MembershipChange) -> str:
    """What a peer has noticed of another one, and when."""
    peer = f"peer {one.peer.hex()[:12]}{f' at {one.address}' if one.address else ''}"
    what = {"suspected": "was suspected to be dead", "back": "was back"}.get(one.what, one.what)
    return f"{_time_text(one.at_s)}: {peer} {what}: {one.why}"


def constants_table(vocabulary: Vocabulary) -> FittedTable:
    """Constants, where they stand, and what lies under them."""
    from ..tuples.long_constants import constant_text

    rows = [
        (constant_text(one.constant), f"{one.position}/{one.arity}", f"{one.facts:,}", f"{one.templates:,}")
        for one in vocabulary.constants
    ]
    return FittedTable([Column("constant", is_text=True, folds=True), *map(Column, ("position", "facts", "templates"))], rows)


def arities_table(vocabulary: Vocabulary) -> FittedTable:
    """How much there is of tuples of each arity."""
    rows = [(f"{one.arity:,}", f"{one.facts:,}", f"{one.keys:,}") for one in vocabulary.totals]
    return FittedTable([*map(Column, ("terms", "facts", "keys"))], rows)


PEERS_LEGEND = (
    "keyspace: share of all keys that the peer is responsible for. "
    "entries: facts under keys, a fact held under two keys counts twice. "
    "templates: of all subscribers. feeds: subscribers of those templates. published: tuples that came in by this peer's doors. "
    "matched: tuples forwarded to subscribers. sent, MB: messages and megabytes to other peers."
)


def holdings_table(held: list[Holding]) -> FittedTable:
    """The subscriptions of a peer and what each holds there."""
    headings = ("id", "rows", "tokens", "own", "kB", "shared by")
    rows = []
    for one in held:
        counts = (f"{count:,}" for count in (one.number, one.rows, one.tokens, one.own_tokens))
        about = (one.client or "-", one.language, " ".join(one.text.split()))
        rows.append((*counts, f"{one.bytes / 1e3:,.1f}", f"{one.sharing:,}", *about))
    texts = (Column("client", is_text=True), Column("language", is_text=True), Column("query", is_text=True, folds=True))
    return FittedTable([*map(Column, headings), *texts], rows)


def channel_table(subscriptions: list[ChannelSubscription]) -> FittedTable:
    """The subscriptions of a channel, and how often each matched."""
    rows = [
        (
            *(f"{count:,}" for count in (one.number, one.matched, one.delivered, one.failed)),
            one.client or "-",
            one.language,
            " ".join(one.text.split()) or "(private)",
        )
        for one in subscriptions
    ]
    texts = (Column("client", is_text=True), Column("language", is_text=True), Column("subscription", is_text=True, folds=True))
    return FittedTable([*map(Column, ("id", "matched", "delivered", "failed")), *texts], rows)


CONSTANTS_LEGEND = (
    "position: 1/3 is the second of three terms. facts: that everybody may read. "
    "templates: conditions of subscriptions that are posted under the constant. keys: constants at positions."
)


HOLDINGS_LEGEND = (
    "tokens: partial rows that the subscription's joins keep, those shared with others included; own: what ending it would free. "
    "kB: an estimate of what they take, with their indexes. shared by: subscriptions of one template, in one network."
)
