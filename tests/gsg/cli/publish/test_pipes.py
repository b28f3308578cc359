"""What comes on a pipe is handed over when it pauses, and whole batches while it flows."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import IO

import pytest

import gsg
from gsg.cli.publish import _publish
from gsg.cli.publish.pipes import AHEAD, Batch, Pipe, batches, is_pipe
from gsg.cli.publish.sources import Run, Source, runs
from gsg.errors import BadText
from gsg.http.door import HttpDoor
from gsg.languages.files import read_tuples


def READ(stream: IO[bytes]) -> Iterator[Run]:  # noqa: N802  # a constant of these tests
    yield "insert", read_tuples(stream, format="nt", name="a pipe")


@pytest.fixture
def ends() -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as read, os.fdopen(writing, "wb", buffering=0) as write:
        yield read, write


def lines(*numbers: int) -> bytes:
    return b"".join(b"<x:%d> <x:p> <x:o> .\n" % number for number in numbers)


async def test_a_line_is_handed_over_when_the_pipe_pauses_and_stays_open(ends: tuple[IO[bytes], IO[bytes]]) -> None:
    read, write = ends
    async with asyncio.timeout(30), aclosing(Pipe(read, READ, 1_000).batches()) as batches:
        for number in (1, 2):
            write.write(lines(number))
            assert [str(items[0].value) for items in (await anext(batches)).tuples] == [f"x:{number}"]  # type: ignore[union-attr]  # an IRI
        write.close()
        assert [batch async for batch in batches] == []


async def test_a_block_of_a_script_is_handed_over_when_the_pipe_pauses_and_stays_open(ends: tuple[IO[bytes], IO[bytes]]) -> None:
    read, write = ends
    source = Source("a pipe", None, None, read, read, None)
    with_blocks = partial(runs, source, retract=False, by_block=True, complain=None)
    async with asyncio.timeout(30), aclosing(Pipe(read, with_blocks, 1_000).batches()) as found:
        write.write(b"NOTIFY { (1) }\n")
        assert await anext(found) == Batch("notify", [(1,)])
        write.write(b"# why\ninsert{(2)}\n")
        assert await anext(found) == Batch("insert", [(2,)])
        write.write(b"DELETE{(3)}")
        assert await anext(found) == Batch("retract", [(3,)])
        write.close()
        assert [batch async for batch in found] == []


async def test_what_is_to_be_done_with_tuples_is_told_apart() -> None:
    script = b"INSERT { (1) } INSERT { (2) } DELETE { (1) } NOTIFY { (3), (4) } INSERT { (5) }"
    source = Source("a script", None, None, io.BytesIO(script), io.BytesIO(script), None)

    found = [
        (batch.verb, len(batch.tuples))
        async for batch in batches(runs(source, source.stream, retract=False, by_block=False, complain=None), 10)
    ]

    assert found == [("insert", 2), ("retract", 1), ("notify", 2), ("insert", 1)]


async def test_full_batches_come_in_order_and_a_mistake_after_all_before_it(ends: tuple[IO[bytes], IO[bytes]]) -> None:
    read, write = ends
    sizes: list[int] = []

    async def read_all() -> None:
        async for batch in Pipe(read, READ, 10).batches():
            sizes.append(len(batch.tuples))

    write.write(lines(*range(2 * AHEAD * 10 + 5)) + b"oops\n")
    write.close()
    async with asyncio.timeout(30):
        with pytest.raises(BadText, match=rf"^a pipe line {2 * AHEAD * 10 + 6}, "):
            await read_all()
    assert sizes == [10] * 2 * AHEAD + [5]


def test_only_what_may_pause_is_a_pipe(ends: tuple[IO[bytes], IO[bytes]], tmp_path: Path) -> None:
    file = tmp_path / "file.nt"
    file.write_bytes(lines(1))
    with file.open("rb") as stream:
        assert not is_pipe(stream)
    assert not is_pipe(io.BytesIO())
    assert is_pipe(ends[0])


async def test_a_line_on_a_pipe_is_published_while_the_pipe_stays_open(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.nt"
    os.mkfifo(pipe)
    # Open for both, as opening one end alone waits for the other.
    with os.fdopen(os.open(pipe, os.O_RDWR), "wb", buffering=0) as write:
        async with asyncio.timeout(30), gsg.Peer() as peer, HttpDoor(peer, "127.0.0.1", 0) as door:
            subscription = await peer.subscribe("(?x, <x:p>, ?y)")
            publishing = asyncio.create_task(_publish((pipe,), (), None, None, False, False, None, False, True, door.url))
            write.write(lines(1))
            sign, row = await anext(subscription)
            assert (sign, row["x"]) == (1, gsg.IRI("x:1"))
            assert not publishing.done()
            write.close()
            await publishing
