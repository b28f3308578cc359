"""``gsg publish``: the tuples of a file, through a peer's HTTP door."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import click

from ..errors import GsgError, LocalError, Unsupported, reason
from .pipes import Pipe, is_pipe
from .progress import PublishProgress
from .talking import peer_option, run

if TYPE_CHECKING:
    from ..audiences import Audience
    from ..client import Client
    from ..model import Tuple

BATCH = 1_000
"""Tuples in one request."""
UNDER_WAY = 8
"""Requests of facts that are sent before the first of them is answered. Of events one: what waits for a quota is overtaken."""

Send: TypeAlias = "Callable[..., Coroutine[Any, Any, object]]"  # Any: what a coroutine yields to the loop
Only: TypeAlias = "dict[str, Audience | None]"
"""For whom, as a keyword of whatever sends."""


@click.command(short_help="Publish the facts or events of a file, or retract facts.")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--format", "format_name", type=click.Choice(["nt", "ttl", "gsg"]), help="What the file holds. [default: by its suffix]"
)
@click.option("--retract", is_flag=True, help="Retract what the file would insert.")
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
    file: Path, format_name: str | None, retract: bool, audiences: tuple[str, ...], as_json: bool, quiet: bool, url: str
) -> None:
    """Publish the tuples of FILE ('-' for standard input): facts, which stay until they are retracted, and events.

    \b
    Facts:    gsg publish friends.ttl
              echo 'INSERT { (lamp, on) }' | gsg publish --format gsg -
    Events:   echo 'NOTIFY { (door, rang) }' | gsg publish --format gsg -

    FILE is N-Triples (.nt) or Turtle (.ttl), each perhaps gzipped (.gz), whose triples are all facts, or a GSG script (.gsg), which
    has INSERT and DELETE for facts and NOTIFY for events. A script is checked as a whole before any of it is sent; the other
    formats are published as they are read, and an error says how many tuples before it were acknowledged. With --audience only the
    peers named can read the tuples, at their doors; to retract them, name the same.
    """
    readers = [reader.strip() for some in audiences for reader in some.split(",")] if audiences else None
    run(_publish(file, format_name, retract, readers, as_json, quiet, url))


async def _publish(
    file: Path, format_name: str | None, retract: bool, readers: list[str] | None, as_json: bool, quiet: bool, url: str
) -> None:
    from ..audiences import audience_of
    from ..client import connect
    from ..files import format_of, read_tuples

    if format_name is None and str(file) == "-":
        raise Unsupported("standard input has no suffix; say --format nt, --format ttl or --format gsg")
    name = "standard input" if str(file) == "-" else file.name
    only = {"audience": audience_of(readers)}
    with _opened(file) as (stream, raw, size_bytes):
        # Once it is there: of a name that was mistyped the suffix is not what is wrong.
        format_name = format_name or format_of(file)
        async with connect(url, wait_for_quota=True) as client:
            with PublishProgress(name, raw, size_bytes, quiet=quiet, as_json=as_json) as progress:
                if format_name == "gsg":
                    await _script(client, stream, name, retract, only, progress)
                else:
                    send: Send = client.retract if retract else client.insert
                    read = partial(read_tuples, format=format_name, name=name)
                    # What is unpacked comes in blocks, and not as lines are written.
                    flows = stream is raw and is_pipe(raw)
                    batches = Pipe(raw, read, BATCH).batches() if flows else _batches(read(stream))
                    await _in_order(batches, partial(send, **only), progress)


@contextmanager
def _opened(file: Path) -> Iterator[tuple[IO[bytes], IO[bytes], int | None]]:
    """The stream to read, the file under it and that file's size (None where it has none)."""
    if str(file) == "-":
        yield sys.stdin.buffer, sys.stdin.buffer, None
        return
    try:
        raw = file.open("rb")
    except FileNotFoundError:
        raise LocalError(
            f"cannot read {file}: there is no such file; check its name, or give '-' and --format to publish standard input"
        ) from None
    except OSError as error:
        raise LocalError(f"cannot read {file}: {reason(error)}; expected a file of tuples") from None
    with raw:
        size_bytes = os.fstat(raw.fileno()).st_size
        yield (gzip.GzipFile(fileobj=raw) if file.suffix == ".gz" else raw), raw, size_bytes  # type: ignore[misc]  # reads bytes


async def _script(client: Client, stream: IO[bytes], name: str, retract: bool, only: Only, progress: PublishProgress) -> None:
    from ..languages import Delete, Insert, Subscribe
    from ..languages.script import parse

    try:
        text = stream.read().decode()
    except UnicodeDecodeError as error:
        raise LocalError(f"cannot read {name}: byte {error.start} is not UTF-8") from None
    blocks = parse(text, what=name)
    for block in blocks:
        if isinstance(block, Subscribe):
            raise Unsupported(f"{name} holds a SUBSCRIBE block, which has nobody to read it here; use gsg subscribe --file")
        if retract and not isinstance(block, Insert):
            raise Unsupported(f"{name} holds more than INSERT blocks, and only those can be retracted")
    for block in blocks:
        if isinstance(block, Subscribe):
            continue
        send: Send = client.notify
        under_way = 1
        if isinstance(block, Insert | Delete):
            send = client.insert if isinstance(block, Insert) != retract else client.retract
            under_way = UNDER_WAY
        await _in_order(_batches(block.tuples), partial(send, **only), progress, under_way)


async def _in_order(batches: AsyncIterator[list[Tuple]], send: Send, progress: PublishProgress, at_once: int = UNDER_WAY) -> None:
    """Send in order, so many requests at once; whatever goes wrong, what was sent is waited for and counted."""
    under_way: deque[tuple[int, asyncio.Task[object]]] = deque()

    async def settle() -> None:
        count, task = under_way.popleft()
        changed = await task
        progress.acknowledged(count, changed if isinstance(changed, int) else None)

    try:
        async for batch in batches:
            progress.sending()
            under_way.append((len(batch), asyncio.get_running_loop().create_task(send(batch))))
            # One turn of the loop, so that the request leaves before the next is read.
            await asyncio.sleep(0)
            # After a batch that is not full the input pauses or ends: time to hear what became of all that was sent.
            while under_way and (len(batch) < BATCH or len(under_way) >= at_once):
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


async def _batches(tuples: Iterable[Tuple]) -> AsyncIterator[list[Tuple]]:
    """Batches in order; a mistake among the tuples is raised after the batch of all that came before it."""
    batch: list[Tuple] = []
    try:
        for items in tuples:
            batch.append(items)
            if len(batch) >= BATCH:
                yield batch
                batch = []
    except GsgError:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
