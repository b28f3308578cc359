"""``gsg channel publish``: events, each an object of JSON or a text of name-value pairs."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any

import click

from ...errors import BadTerm, BadText, LocalError
from ..connecting import peer_option, run
from ..messages import say

if TYPE_CHECKING:
    from ...channels.values import Value

PIECE_BYTES = 65_536
AHEAD = 4
"""Pieces of standard input read before they are asked for; it is left alone then, so that whoever writes to it waits."""


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
    events: tuple[str, ...], environment: str | None, readers: tuple[str, ...], as_json: bool, quiet: bool, url: str
) -> None:
    from ...channels.environment import current
    from ...channels.notation import read_any
    from ...http.client import connect

    carried = {**current(), **({} if environment is None else read_any(environment))}
    # All of them before the first is sent: a mistake is no reason to stop halfway.
    given = [read_any(text) for text in events if text != "-"]
    published = 0
    try:
        async with connect(url) as client:
            send = partial(client.channel.publish, readers=readers or None, environment=carried)
            published += await send(*given)
            if "-" in events:
                async for batch in _batches():
                    published += await send(*batch.events)
                    batch.check()
    finally:
        if as_json:
            say(json.dumps({"published": published}))
        elif not quiet:
            say(f"{published:,} event{'' if published == 1 else 's'} published", err=True)


@dataclass(slots=True)
class _Batch:
    """The events of lines that came together, up to one that holds none."""

    events: list[dict[str, Value]] = field(default_factory=list)
    mistake: str = ""

    def check(self) -> None:
        """Raise LocalError where a line holds no event."""
        if self.mistake:
            raise LocalError(self.mistake)


async def _batches() -> AsyncIterator[_Batch]:
    """The events of standard input, as they come."""
    from ...channels.notation import read_any

    number = 0
    async for lines in _lines():
        batch = _Batch()
        for line in lines:
            number += 1
            try:
                if line.strip():
                    batch.events.append(read_any(line.decode()))
            except (BadTerm, BadText, UnicodeDecodeError) as error:
                batch.mistake = f"line {number} of standard input: {error}"
                break
        yield batch


async def _lines() -> AsyncIterator[list[bytes]]:
    """The lines of standard input, all that have come at once."""
    loop, room = asyncio.get_running_loop(), Semaphore(AHEAD)
    come: asyncio.Queue[list[bytes] | None] = asyncio.Queue()
    read_some: Callable[[int], bytes]
    try:
        # Python aborts at its end where a thread waits in a buffered stream.
        read_some = partial(os.read, sys.stdin.fileno())
    except (OSError, ValueError):
        read_some = sys.stdin.buffer.read  # in memory, as in a test

    def hand_over(lines: list[bytes] | None) -> None:
        room.acquire()
        loop.call_soon_threadsafe(come.put_nowait, lines)

    def read() -> None:
        rest = b""
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            while piece := read_some(PIECE_BYTES):
                *lines, rest = (rest + piece).split(b"\n")
                hand_over(lines)
            hand_over([rest])
            hand_over(None)

    # A daemon, as it may wait for standard input for ever.
    Thread(target=read, name="standard input", daemon=True).start()
    while (lines := await come.get()) is not None:
        room.release()
        yield lines
