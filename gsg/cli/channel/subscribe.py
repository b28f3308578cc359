"""``gsg channel subscribe``: the events that a subscription describes, as they happen."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from ...errors import Reconnected
from ...tuples.escaping import JSON_ERRORS, json_line, one_line
from ..connecting import connect, peer_option, reconnect_option, run, say_state
from ..messages import say
from ..output import Printer


@click.command(short_help="Print events that a subscription describes, as they happen.")
@click.argument("text", required=False)
@click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read the subscription from a file.")
@click.option(
    "--language",
    type=click.Choice(["predicate", "propositional", "temporal", "agent"]),
    default="predicate",
    show_default=True,
    help="In which TEXT is.",
)
@click.option("--report", metavar="PARTS", help="What of each event is printed, such as '(userid (cost (* price count)))'.")
@click.option(
    "--deliver",
    type=click.Choice(["each", "first", "last", "once"]),
    default="each",
    show_default=True,
    help="Which matches of one event; once: the first ever.",
)
@click.option("--asker", default="", metavar="NAME", help="Who asks, for events that name their readers. [default: the peer's id]")
@click.option("--private", is_flag=True, help="Keep the subscription's text from others.")
@click.option("--jsonl", is_flag=True, help="One JSON object a line: source, number, and event.")
@click.option("--count", type=click.IntRange(min=1), help="Leave after so many events.")
@click.option(
    "--overflow",
    type=click.Choice(["error", "drop_oldest"]),
    default="error",
    show_default=True,
    help="When this command does not keep up: end, or drop the oldest, which is told.",
)
@reconnect_option
@peer_option
def command(text: str | None, file: Path | None, **given: Any) -> None:  # Any: click checked them
    """Print the events of the subscription TEXT, one a line, in the notation of name-value pairs.

    \b
    gsg channel subscribe "(= type 'error)"
    gsg channel subscribe '(and (> temperature 25) (prefix room "b"))' --jsonl
    gsg channel subscribe "(event (type 'in) (user ?u)) (event (type 'out) (user ?u))" --language temporal
    """
    if (text is None) == (file is None):
        raise click.UsageError("give the subscription as TEXT, or its file with --file")
    run(_subscribe(file.read_text(encoding="utf-8") if file is not None else str(text), **given))


async def _subscribe(
    text: str,
    language: str,
    report: str | None,
    deliver: str,
    asker: str,
    private: bool,
    jsonl: bool,
    count: int | None,
    overflow: str,
    reconnect: bool,
    url: str,
) -> None:
    from ...channels.notation import to_json, write

    printer = Printer(sys.stdout, errors=JSON_ERRORS if jsonl else None)
    async with (
        connect(url, reconnect=reconnect, on_state=say_state if reconnect else None) as client,
        await client.channel.subscribe(
            text, language, report=report, deliver=deliver, asker=asker, private=private, overflow=overflow
        ) as events,
    ):
        say("gsg: ready: what is published from now on comes", err=True)
        told = 0
        while True:
            try:
                event = await anext(events)
            except Reconnected as error:
                say(f"gsg: {error}", err=True)
                continue
            except StopAsyncIteration:
                return
            if events.dropped > told:
                say(f"gsg: {events.dropped - told:,} events were dropped, as this command does not keep up", err=True)
                told = events.dropped
            if jsonl:
                line = json_line(to_json({"source": event.source, "number": event.number, "event": event.fields}))
            else:
                line = one_line(write(event.fields))
            await printer.print(line)
            count = None if count is None else count - 1
            if count == 0:
                return
