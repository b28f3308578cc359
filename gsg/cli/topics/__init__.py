"""Topics on the command line: ``gsg topics``, and what ``gsg publish`` and ``gsg subscribe`` do with ``--topic``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import click

from ...errors import BadText, LocalError
from ...tuples.escaping import JSON_ERRORS, json_line, one_line
from ..connecting import connect, peer_option, run, say_state
from ..input_lines import lines_of_input
from ..json_terms import json_term
from ..messages import say
from ..output import Printer
from .topic_events import follow

if TYPE_CHECKING:
    from ...topics.backlog import TopicEvent
    from ...tuples.terms import Tuple


@click.command(short_help="List the topics that a peer knows of.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object: members by topic, null where that is unknown.")
@peer_option
def command(as_json: bool, url: str) -> None:
    """List the topics that a peer knows of, and about how many peers are members of each.

    A peer knows of the topics that it is a member of, of those whose members enrol with it, and of some that others advertise. Of
    the last it does not know how many members they have, which is shown as ?; such a topic is forgotten about a minute after its
    last member has left.
    """
    run(_list(as_json, url))


async def _list(as_json: bool, url: str) -> None:
    async with connect(url, reconnect=False) as client:
        sizes = await client.topics()
    printer = Printer(sys.stdout, errors=JSON_ERRORS if as_json else None)
    if as_json:
        found = {name: round(size) if size else None for name, size in sorted(sizes.items())}
        await printer.print(json_line(json.dumps(found, ensure_ascii=False)))
        return
    if not sizes:
        say("gsg: this peer knows of no topics; subscribe to one with gsg subscribe --topic NAME", err=True)
    if not all(sizes.values()):
        say("gsg: ? where this peer has only heard of a topic from others, and does not know how many members it has", err=True)
    for name, size in sorted(sizes.items()):
        await printer.print(one_line(f"{name}  {round(size) if size else '?'}"))


async def publish(topic: str, values: tuple[str, ...], url: str) -> None:
    """Publish one event whose values are as GSG script writes them; of ``-``, one for each line of standard input, a text each."""
    terms = None if values == ("-",) else _terms_of(values)
    async with connect(url, reconnect=False) as client:
        if terms is None:
            async for lines in lines_of_input():
                await client.topic(topic).publish_all([(_text_of(line),) for line in lines])
        else:
            await client.topic(topic).publish(*terms)


def _terms_of(values: tuple[str, ...]) -> Tuple:
    from ...languages import Notify, parse_script

    problem = ""
    try:
        match parse_script(f"NOTIFY {{ ({', '.join(values)}) }}"):
            case [Notify(tuples=[terms])]:
                return terms
    except BadText as error:
        problem = f": {error.problem}"
    raise LocalError(f"{' '.join(values)!r} cannot be the values of an event{problem}; expected such as 21 warm '\"a text\"'")


def _text_of(line: bytes) -> str:
    try:
        return line.decode().removesuffix("\r")
    except UnicodeDecodeError:
        raise LocalError(
            f"line {line[:80]!r} of standard input is no UTF-8; expected text in UTF-8: it is not published, nor are the lines "
            "that came with it and after it"
        ) from None


async def subscribe(topic: str, *, jsonl: bool, count: int | None, url: str, reconnect: bool) -> None:
    """Print the events of a topic, or of all that match a filter, one a line, until so many have come."""
    from ...topics.names import is_filter

    printer = Printer(sys.stdout, errors=JSON_ERRORS if jsonl else None)

    async def show(event: TopicEvent) -> None:
        await printer.print(_jsonl(event) if jsonl else _line(event, names_topic=is_filter(topic)))

    async with (
        connect(url, reconnect=reconnect, on_state=say_state if reconnect else None) as client,
        await client.topic(topic).subscribe() as events,
    ):
        say(f"gsg: ready: what is published to {topic} from now on comes", err=True)
        await follow(events, show, lambda losses: say(f"gsg: {losses}", err=True), count=count)


def _line(event: TopicEvent, *, names_topic: bool) -> str:
    values = ", ".join(_shown(value) for value in event.values)
    return one_line(f"! {event.topic}: {values}" if names_topic else f"! {values}")


def _jsonl(event: TopicEvent) -> str:
    told = {"topic": event.topic, "publisher": event.publisher.hex(), "number": event.number}
    return json_line(json.dumps({**told, "values": [json_term(value) for value in event.values]}, ensure_ascii=False))


def _shown(value: object) -> str:
    from ...tuples.terms import n3

    return n3(value)  # type: ignore[arg-type]  # what comes are terms
