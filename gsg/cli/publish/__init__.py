"""``gsg publish``: the tuples of files, through a peer's HTTP door."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import click

from ...errors import BadText, GsgError, LocalError
from ...tuples.escaping import one_line
from ..arguments import refuse_options
from ..connecting import connect, peer_option, run
from .pipes import Batch, Pipe, batches, is_pipe
from .progress import PublishProgress
from .sources import Verb, check, opened, runs, written

BATCH = 1_000
"""Tuples in one request."""
UNDER_WAY = 8
"""Requests of facts that are sent before the first of them is answered. Of events one: what waits for a quota is overtaken."""

Send: TypeAlias = "Callable[..., Coroutine[Any, Any, object]]"  # Any: what a coroutine yields to the loop


@click.command(short_help="Publish the facts or events of files, or retract facts.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(allow_dash=True))
@click.option("-e", "--script", "scripts", metavar="TEXT", multiple=True, help="Publish a script, or tuples; may be given again.")
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["nt", "nq", "ttl", "trig", "n3", "rdf", "jsonld", "gsg"]),
    help="What the files hold. [default: by the suffix; of standard input by what it begins with]",
)
@click.option("--base", metavar="IRI", help="What relative IRIs are resolved against. [default: the file's own IRI]")
@click.option("--lenient", is_flag=True, help="Skip what cannot be read: it is told with its line, and counted.")
@click.option(
    "--topic",
    metavar="NAME",
    help="Publish an event to a topic: its values are given in place of files, as in scripts; after -- where one is negative.",
)
@click.option("--retract", is_flag=True, help="Retract what the files would insert.")
@click.option(
    "--audience",
    "audiences",
    metavar="ID[,ID]",
    multiple=True,
    help="Ids of the only peers that may read it, as `gsg status --json` shows them. May be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="The summary as one line of JSON on standard output.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, and no summary for people.")
@peer_option
def command(
    files: tuple[str, ...],
    scripts: tuple[str, ...],
    audiences: tuple[str, ...],
    topic: str | None,
    **given: Any,  # Any: click checked them
) -> None:
    """Publish the tuples of each FILE ('-' for standard input): facts, which stay until they are retracted, and events.

    \b
    Facts:    gsg publish friends.ttl
              gsg publish -e '(lamp, on)'
              echo '(lamp, on)' | gsg publish -
    Events:   gsg publish -e 'NOTIFY { (door, rang) }'
    To a topic:  gsg publish --topic house/temp 21

    FILE is N-Triples (.nt), N-Quads (.nq), Turtle (.ttl), TriG (.trig), N3 (.n3), RDF/XML (.rdf, .owl) or JSON-LD (.jsonld), whose
    triples and quads are all facts, or a GSG script (.gsg), which has INSERT and DELETE for facts and NOTIFY for events; tuples
    alone are facts. Each may be gzipped (.gz). A script is checked as a whole before any of it is sent, unless it comes on a pipe,
    where each block is; the other formats are published as they are read, and an error says how many tuples before it were
    acknowledged. With --audience only the peers named can read the tuples, at their
    doors; to retract them, name the same.

    A file's blank nodes are the same whenever it is read at the same path, or with the same --base, so that publishing it twice
    changes nothing and --retract finds them. Labels on standard input without --base are names of the whole space, as in scripts.
    """
    if topic is not None:
        refuse_options(
            "is for files and scripts; --topic goes with values alone, such as: gsg publish --topic house/temp 21",
            lambda name: name not in ("topic", "files", "quiet", "url"),
        )
        if not files:
            raise click.UsageError("give the values of the event, such as 21, or '-' for a text a line of standard input")
        from .. import topics

        run(topics.publish(topic, files, given["url"]))
        return
    if not files and not scripts:
        raise click.UsageError("give a FILE, '-' for standard input, or a script with -e TEXT, such as -e '(lamp, on)'")
    readers = [reader.strip() for some in audiences for reader in some.split(",")] if audiences else None
    run(_publish(files, scripts, readers=readers, **given))


async def _publish(
    files: tuple[str, ...],
    scripts: tuple[str, ...],
    format_name: str | None,
    base: str | None,
    lenient: bool,
    retract: bool,
    readers: list[str] | None,
    as_json: bool,
    quiet: bool,
    url: str,
) -> None:
    from ...tuples.audiences import audience_of

    if base is not None:
        from ...languages.files import checked_base

        base = checked_base(base)
    audience = audience_of(readers)
    sources = [opened(file, format_name, base) for file in files] + [written(text, format_name, base) for text in scripts]
    names = ["standard input" if file == "-" else one_line(Path(file).name) for file in files]
    names += ["the text of --script"] * len(scripts)
    for file in files:
        check(file, format_name)  # all of them before the first is sent: a mistyped name is no reason to stop halfway
    async with connect(url, wait_for_quota=True, reconnect=False) as client:
        send: dict[Verb, Send] = {
            "insert": partial(client.insert, audience=audience),
            "retract": partial(client.retract, audience=audience),
            "notify": partial(client.notify, audience=audience),
        }
        with PublishProgress(names, quiet=quiet, as_json=as_json, lenient=lenient) as progress:
            for each in sources:
                with each as source:
                    progress.begin(source.raw, source.size_bytes)
                    # What is unpacked comes in blocks, and not as lines are written.
                    flows = source.stream is source.raw and is_pipe(source.raw)
                    complain = progress.skip if lenient else None
                    read = partial(runs, source, retract=retract, by_block=flows, complain=complain)
                    found = Pipe(source.raw, read, BATCH).batches() if flows else batches(read(source.stream), BATCH)
                    try:
                        await _in_order(found, send, progress)
                    except BadText as mistake:
                        raise LocalError(f"{mistake}\n    --lenient skips what cannot be read and goes on") from None
                progress.end()


async def _in_order(found: AsyncIterator[Batch], send: Mapping[Verb, Send], progress: PublishProgress) -> None:
    """Send in order, several requests of facts at once; whatever goes wrong, what was sent is waited for and counted."""
    under_way: deque[tuple[int, asyncio.Task[object]]] = deque()
    verb: Verb = "insert"

    async def settle() -> None:
        count, task = under_way.popleft()
        changed = await task
        progress.acknowledged(count, changed if isinstance(changed, int) else None)

    try:
        async for batch in found:
            while under_way and batch.verb != verb:
                await settle()  # what follows may undo it
            verb = batch.verb
            at_once = 1 if verb == "notify" else UNDER_WAY
            progress.sending()
            under_way.append((len(batch.tuples), asyncio.get_running_loop().create_task(send[verb](batch.tuples))))
            # One turn of the loop, so that the request leaves before the next is read.
            await asyncio.sleep(0)
            # After a batch that is not full the input pauses or ends: time to hear what became of all that was sent.
            while under_way and (len(batch.tuples) < BATCH or len(under_way) >= at_once):
                await settle()
    finally:
        # After a mistake in the file, what was sent before it still counts; after a failed request, so does what follows.
        failure: BaseException | None = None
        try:
            while under_way:
                try:
                    await settle()
                except GsgError as error:
                    failure = failure or error
        finally:
            # Ctrl-C meanwhile: nobody waits for the rest.
            for _, task in under_way:
                task.cancel()
            await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)
        if failure is not None and sys.exc_info()[1] is None:
            raise failure
