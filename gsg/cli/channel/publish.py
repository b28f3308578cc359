"""``gsg channel publish``: events, each an object of JSON or a text of name-value pairs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ...errors import BadTerm, BadText, LocalError
from ..connecting import connect, peer_option, run
from ..input_lines import lines_of_input
from ..messages import say
from ..publish.progress import TOLD

if TYPE_CHECKING:
    from ...channels.values import Value


@click.command(short_help="Publish events, from arguments or a stream of lines.")
@click.argument("events", nargs=-1, metavar="[EVENT]...")
@click.option(
    "--environment",
    metavar="EVENT",
    help="What they are published with, beside GSG_ENVIRONMENT of the caller: subscriptions look at it by (env NAME).",
)
@click.option(
    "--reader",
    "readers",
    metavar="NAME",
    multiple=True,
    help="Who alone may notice them: a name of `gsg channel subscribe --asker`, or the id of a peer. May be given again.",
)
@click.option("--lenient", is_flag=True, help="Skip lines of standard input that hold no event: each is told with its number.")
@click.option("--json", "as_json", is_flag=True, help="The summary as one line of JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@peer_option
def command(events: tuple[str, ...], **given: Any) -> None:  # Any: click checked them
    """Publish each EVENT; with '-' those of standard input, one a line.

    \b
    gsg channel publish 'userid: Fred; type: error; code: #5'
    gsg channel publish '{"userid": "Fred", "code": 5}'
    tail -f events.jsonl | gsg channel publish -

    A value is a text; #5 is a number, #true, #false and #null what they say, [a, #2] a list, {a: b} an event.
    """
    if not events:
        raise click.UsageError("give an EVENT such as 'type: error', or '-' for the lines of standard input")
    run(_publish(events, **given))


async def _publish(
    events: tuple[str, ...],
    environment: str | None,
    readers: tuple[str, ...],
    lenient: bool,
    as_json: bool,
    quiet: bool,
    url: str,
) -> None:
    from ...channels.environment import current
    from ...channels.notation import read_any

    carried = {**current(), **({} if environment is None else read_any(environment))}
    # All of them before the first is sent: a mistake is no reason to stop halfway.
    given = [read_any(text) for text in events if text != "-"]
    published = skipped = 0
    try:
        async with connect(url, reconnect=False) as client:
            send = partial(client.channel.publish, readers=readers or None, environment=carried)
            published += await send(*given)
            if "-" in events:
                async for batch in _batches(_reader(carried, readers), lenient=lenient):
                    published += await send(*batch.events)
                    if lenient:
                        skipped = _told(batch.mistakes, skipped)
                    elif batch.mistakes:
                        raise LocalError(f"{batch.mistakes[0]}\n    --lenient skips what cannot be read and goes on")
    finally:
        if as_json:
            say(json.dumps({"published": published} | ({"skipped": skipped} if lenient else {})))
        elif not quiet:
            left_out = f"; {skipped:,} mistake{'' if skipped == 1 else 's'} skipped" if skipped else ""
            say(f"{published:,} event{'' if published == 1 else 's'} published{left_out}", err=True)


@dataclass(slots=True)
class _Batch:
    """The events of lines that came together, and what is wrong with other lines: the first alone, unless they are skipped."""

    events: list[dict[str, Value]] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)


def _reader(environment: Mapping[str, Value], readers: tuple[str, ...]) -> Callable[[str], dict[str, Value]]:
    """Reads the event of one line. What is too large for a peer is refused here: there it would take all of its request with it."""
    from ...channels.events import Event
    from ...channels.notation import read_any
    from ...channels.overlay.sending import check_event

    def read(line: str) -> dict[str, Value]:
        fields = read_any(line)
        check_event(Event(fields, environment=environment, readers=frozenset(readers) or None))
        return fields

    return read


def _told(mistakes: list[str], skipped: int) -> int:
    """Tell of lines that are skipped; how many there are now, with those before."""
    for mistake in mistakes:
        skipped += 1
        if skipped <= TOLD:
            say(f"gsg: skipped: {mistake}", err=True)
        elif skipped == TOLD + 1:
            say("gsg: more is skipped, and counted at the end", err=True)
    return skipped


async def _batches(read: Callable[[str], dict[str, Value]], *, lenient: bool) -> AsyncIterator[_Batch]:
    """The events of standard input, as they come."""
    number = 0
    async for lines in lines_of_input():
        batch = _Batch()
        for line in lines:
            number += 1
            try:
                if line.strip():
                    batch.events.append(read(line.decode()))
            except (BadTerm, BadText, UnicodeDecodeError) as error:
                batch.mistakes.append(f"line {number} of standard input: {error}")
                if not lenient:
                    break
        yield batch
