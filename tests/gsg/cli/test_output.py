"""Standard output whose reader takes its time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress

import pytest

from gsg.cli.output import Printer

LONG = "x" * 300_000
"""More than a pipe holds."""


class Pipe:
    """A file to print to, and the end that reads."""

    def __init__(self) -> None:
        self.reader, ours = os.pipe()
        self.out = os.fdopen(ours, "w")

    def read(self, size: int) -> bytes:
        """So many bytes; waits for them."""
        data = b""
        while len(data) < size:
            data += os.read(self.reader, size)
        return data

    def close(self) -> None:
        """Nobody reads any more; closing twice is allowed."""
        if self.reader >= 0:
            os.close(self.reader)
        self.reader = -1


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    with made.out, suppress(BrokenPipeError):
        yield made
    made.close()


async def test_the_loop_goes_on_while_nobody_reads(pipe: Pipe) -> None:
    printer = Printer(pipe.out)
    async with asyncio.TaskGroup() as group:
        printing = group.create_task(printer.print(LONG))
        await asyncio.sleep(0)
        assert not printing.done()
        data = await asyncio.to_thread(pipe.read, len(LONG) + 1)
    await printer.print("short")

    assert data.decode() == LONG + "\n"
    assert pipe.read(6) == b"short\n"


async def test_a_reader_that_has_gone_is_told(pipe: Pipe) -> None:
    pipe.close()

    with pytest.raises(BrokenPipeError):
        await Printer(pipe.out).print("to nobody")


async def test_whoever_waits_may_be_cancelled_while_the_write_waits(pipe: Pipe) -> None:
    printing = asyncio.create_task(Printer(pipe.out).print(LONG))
    await asyncio.sleep(0)
    printing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await printing
    assert len(await asyncio.to_thread(pipe.read, len(LONG) + 1)) == len(LONG) + 1
