"""``gsg subscribe``: the rows of a standing query, as they come and go."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import Overrun, Reconnected, Stale
from ..tuples.escaping import JSON_ERRORS, escape, json_line, one_line
from .arguments import refuse_options
from .connecting import connect, peer_option, reconnect_option, run, say_state
from .json_terms import json_term
from .messages import say
from .output import Printer
from .query_input import asks, check_one, read_query, with_query

if TYPE_CHECKING:
    from ..languages.rows import Row, Sign

TOPIC_OPTIONS = ("topic", "jsonl", "count", "reconnect", "url")
"""All other options are for queries."""
BATCH = 1_000
"""Rows written at once, when so many have come."""


@click.command(short_help="Print the rows of a standing query as they come and go.")
@with_query
@click.option(
    "--jsonl",
    is_flag=True,
    help="One JSON object a line: time, sign, and row as an object of terms: integers and doubles as numbers, all else as GSG "
    "script writes it.",
)
@click.option("--snapshot", is_flag=True, help="Print the rows that hold now and leave.")
@click.option(
    "--topic",
    metavar="NAME",
    help="Print the events of a topic, such as house/temp, or of all that match house/+ or house/#, instead of rows.",
)
@click.option("--count", type=click.IntRange(min=1), help="Leave after so many rows, or events of a topic.")
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
@reconnect_option
@peer_option
def command(text: str | None, file: Path | None, topic: str | None, **given: Any) -> None:  # Any: click checked them
    """Print the rows of the query TEXT, one a line: + it has become true, - it has stopped being true, ! it was true at an event.

    \b
    gsg subscribe '(?film, <http://example.org/film/directedBy>, ?who)'
    gsg subscribe '(?x, ^on, ?y), NOT { (?y, ^color, red) }' --jsonl
    gsg subscribe 'SELECT ?film { ?film <http://example.org/film/starring> ?who }' --snapshot
    gsg subscribe --topic house/temp
    gsg subscribe --topic 'house/+/temp'

    A query that ASKs is answered with true or false where --snapshot is given.
    """
    if topic is not None:
        if text is not None:
            raise click.UsageError(f"query {text!r} beside --topic; a topic has no query: leave one of them out")
        refuse_options("is for a query, and a topic has none; leave it out", lambda name: name not in TOPIC_OPTIONS)
        from . import topics

        run(topics.subscribe(topic, jsonl=given["jsonl"], count=given["count"], url=given["url"], reconnect=given["reconnect"]))
        return
    check_one(text, file)
    if text is None and file is None:
        raise click.UsageError("give the query as TEXT, or its file with --file, or a topic with --topic")
    run(_subscribe(text, file, **given))


async def _subscribe(
    text: str | None,
    file: Path | None,
    language: str | None,
    jsonl: bool,
    snapshot: bool,
    count: int | None,
    max_tokens: int | None,
    overflow: str,
    reconnect: bool,
    url: str,
) -> None:
    from ..languages.query import MAX_TOKENS

    query, language = read_query(text, file, language)
    printer = Printer(sys.stdout, errors=JSON_ERRORS if jsonl else None)
    cap = max_tokens or MAX_TOKENS
    # A snapshot that is begun again would be told as differences to a part of it.
    reconnect = reconnect and not snapshot
    async with (
        connect(url, reconnect=reconnect, on_state=say_state if reconnect else None) as client,
        await client.subscribe(query, language, max_tokens=cap, overflow=overflow) as subscription,
    ):
        for warning in subscription.warnings:
            say(f"gsg: warning: {warning}", err=True)
        stored = subscription.pending
        if snapshot and asks(query, language):
            await printer.print(_json({"time": _now(), "boolean": stored > 0}) if jsonl else "true" if stored else "false")
            return
        if not stored:
            from .hints import hints

            for hint in await hints(client, query, language):
                say(f"gsg: hint: {hint}", err=True)
        left = stored if snapshot else count
        if snapshot and count is not None:
            left = min(stored, count)
        while left is None or left > 0:
            try:
                batch = await subscription.batch(BATCH if left is None else min(left, BATCH))
            except (Overrun, Stale, Reconnected) as error:
                if subscription.has_ended:
                    raise
                say(f"gsg: {error}", err=True)
                continue
            if not batch:
                return
            if jsonl:
                now = _now()
                await printer.print("\n".join(_jsonl(now, sign, row) for sign, row in batch))
            else:
                await printer.print("\n".join(_plain(sign, row, sys.stdout.encoding) for sign, row in batch))
            if left is not None:
                left -= len(batch)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _plain(sign: Sign, row: Row, encoding: str) -> str:
    text = one_line(f"{sign} {row}")
    # A bare name takes no escapes.
    return text if _can_have(text, encoding) else _WORD.sub(lambda found: _quoted(found, encoding), text)


# Texts and IRIs in which a word is none, or a word.
_WORD = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|<[^>]*>|[?@:][\w.-]+|(?P<word>[^\W\d]\w*(?:-\w+)*)""")


def _quoted(found: re.Match[str], encoding: str) -> str:
    word = found["word"]
    if word is None or word.isascii():
        return found[0]
    return "'" + "".join(one if _can_have(one, encoding) else escape(one) for one in word) + "'"


def _can_have(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _jsonl(time: str, sign: Sign, row: Row) -> str:
    return _json({"time": time, "sign": str(sign), "row": {name: json_term(row[name]) for name in row}})


def _json(what: dict[str, object]) -> str:
    return json_line(json.dumps(what, ensure_ascii=False, allow_nan=False))
