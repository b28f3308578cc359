"""``gsg subscribe``: the rows of a standing query, as they come and go."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import LocalError, Overrun, Stale, reason
from .printing import Printer
from .talking import peer_option, run

if TYPE_CHECKING:
    from ..rows import Row, Sign

BATCH = 1_000
"""Rows written at once, when so many have come."""


@click.command(short_help="Print the rows of a standing query as they come and go.")
@click.argument("text", required=False)
@click.option("--file", "file", type=click.Path(path_type=Path), help="Read the query from a file instead.")
@click.option("--language", default="gsg", show_default=True, help="What the query is written in.")
@click.option(
    "--jsonl",
    is_flag=True,
    help="One JSON object a line: sign, and row as an object of terms, each as it is printed without this option.",
)
@click.option("--snapshot", is_flag=True, help="Print the rows that hold now and leave.")
@click.option("--count", type=click.IntRange(min=1), help="Leave after so many rows.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    help="End with an error when the query would hold more tokens at the peer, rows included.  [default: 1000000]",
)
@click.option(
    "--overflow",
    type=click.Choice(["resync", "drop_oldest", "error"]),
    default="resync",
    show_default=True,
    help="When this command does not keep up: tell rows as their sum and drop the oldest events, drop the oldest of both, or end.",
)
@peer_option
def command(
    text: str | None,
    file: Path | None,
    language: str,
    jsonl: bool,
    snapshot: bool,
    count: int | None,
    max_tokens: int | None,
    overflow: str,
    url: str,
) -> None:
    """Print the rows of the query TEXT, one a line: + it has become true, - it has stopped being true, ! it was true at an event.

    \b
    gsg subscribe '(?film, <http://example.org/film/directedBy>, ?who)'
    gsg subscribe '(?x, ^on, ?y), NOT { (?y, ^color, red) }' --jsonl
    """
    if text is not None and file is not None:
        raise click.UsageError("give the query as TEXT, or its file with --file, not both")
    if text is None and file is None:
        raise click.UsageError("give the query as TEXT, or its file with --file")
    run(_subscribe(text, file, language, jsonl, snapshot, count, max_tokens, overflow, url))


async def _subscribe(
    text: str | None,
    file: Path | None,
    language: str,
    jsonl: bool,
    snapshot: bool,
    count: int | None,
    max_tokens: int | None,
    overflow: str,
    url: str,
) -> None:
    from ..client import connect
    from ..query import MAX_TOKENS

    query = read(file) if text is None and file is not None else text or ""
    write, printer = _jsonl if jsonl else _plain, Printer(sys.stdout)
    cap = max_tokens or MAX_TOKENS
    async with (
        connect(url) as client,
        await client.subscribe(query, language, max_tokens=cap, overflow=overflow) as subscription,
    ):
        for warning in subscription.warnings:
            click.echo(f"gsg: warning: {warning}", err=True)
        stored = subscription.pending
        left = stored if snapshot else count
        if snapshot and count is not None:
            left = min(stored, count)
        while left is None or left > 0:
            try:
                batch = await subscription.batch(BATCH if left is None else min(left, BATCH))
            except (Overrun, Stale) as error:
                if subscription.has_ended:
                    raise
                click.echo(f"gsg: {error}", err=True)
                continue
            if not batch:
                return
            await printer.print("\n".join(write(sign, row) for sign, row in batch))
            if left is not None:
                left -= len(batch)


def read(file: Path) -> str:
    """The text of a query's file. Raises LocalError."""
    from ..texts import read_text

    try:
        return read_text(file)
    except FileNotFoundError:
        raise LocalError(f"cannot read {file}: there is no such file; write the query into it, or give it as an argument") from None
    except OSError as error:
        raise LocalError(f"cannot read {file}: {reason(error)}; expected a file that holds a query") from None


def _plain(sign: Sign, row: Row) -> str:
    return f"{sign} {row}"


def _jsonl(sign: Sign, row: Row) -> str:
    from ..model import n3

    return json.dumps({"sign": str(sign), "row": {name: n3(row[name]) for name in row}}, ensure_ascii=False)
